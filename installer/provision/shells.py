"""Commands of remedies: their words in quotes where need be, and the whole as PowerShell takes it (rows write for a POSIX
shell). Pure."""

from __future__ import annotations

import re

#: Commands one after the other; what stands in quotes belongs together.
_PART = re.compile(r"""((?:"[^"]*"|'[^']*'|&(?!&)|[^"'&;])+)(?:&&|;|$)\s*""")
_EXPORT = re.compile(r"export ((?:\w+=[^\s$]+ ?)+)")
_UNSET = re.compile(r"unset (\w+)")
_REMOVE = re.compile(r"rm -r (.+)")
_BEFORE = re.compile(r"(\w+)=([^\s$]*) (\S.*)")
_GREP = re.compile(r"\| grep(?: -\w+)* (\S+)")
_QUOTED = re.compile(r"""("[^"]*")|'([^'"$]*)'""")
_WORD = r"'[^']*'|\S+"
#: How a command begins that is PowerShell's already.
_ITS_OWN = ("$env:", "Remove-Item ", "Get-ChildItem ", "& ")


_SPECIAL = re.compile(r"""[\s'"$&;()<>|*?`!#~\[\]{}]""")
_OF_WINDOWS = re.compile(r"""(?:[A-Za-z]:)?[^/"$`]*\\[^/"$`]*""")


def quoted(path: object) -> str:
    """A path as a word of a command: in quotes where a shell would read more than a name in it."""
    text = str(path)
    if text and not _SPECIAL.search(text):
        return text
    # PowerShell and cmd both know double quotes. What a shell would put in within them stands in single ones.
    return f'"{text}"' if _OF_WINDOWS.fullmatch(text) else "'" + text.replace("'", "'\\''") + "'"


def powershell(command: str) -> str:
    """The same command for Windows PowerShell, which knows neither `&&` nor `export`; requirements stand in double
    quotes, so that cmd takes their lines too. What is not recognised stays as it is, so does what is its own."""
    if command.startswith(_ITS_OWN):
        return command
    found = list(_PART.finditer(command))
    if "".join(match[0] for match in found) != command:
        return command  # A quote that never ends: not ours to cut.
    return "; ".join(_one(part) for part in (match[1].strip() for match in found) if part)


def _one(command: str) -> str:
    if match := _EXPORT.fullmatch(command):
        return "; ".join(_set(*pair.split("=", 1)) for pair in match[1].split())
    if match := _UNSET.fullmatch(command):
        return f"Remove-Item Env:{match[1]}"
    if match := _REMOVE.fullmatch(command):
        return f"Remove-Item -Recurse {', '.join(re.findall(_WORD, match[1]))}"
    if match := _BEFORE.fullmatch(command):
        return f"{_set(match[1], match[2])}; {_one(match[3])}"
    if command.startswith("env |"):
        command = f"Get-ChildItem Env:{command[3:]}"
    command = _GREP.sub(r"| Select-String \1", command)
    # A quoted path alone is a text there, not a program.
    return ("& " if command.startswith('"') else "") + _QUOTED.sub(_doubly, command)


def _doubly(match: re.Match[str]) -> str:
    return match[1] or f'"{match[2]}"'


def _set(name: str, value: str) -> str:
    return f"$env:{name} = '{value}'"
