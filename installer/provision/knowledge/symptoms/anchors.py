"""The literal text that a line must hold before a regular expression can match it."""

from __future__ import annotations

_META = set(".^$*+?{}[]()|\\")
_CLASSES = set("dDwWsSbBAZ")
SHORTEST = 5


def anchors_of(regex: str) -> tuple[str, ...]:
    """The longest literal run that every match of `regex` holds. Text inside groups is not looked at, since a
    group may be optional. ValueError where there is none that is long enough: give `anchor` in the row then.

    >>> anchors_of(r"driver version is (?P<v>\\S+) on this")
    ('driver version is ',)
    """
    if regex.startswith("(?i"):
        raise ValueError(f"a pattern that ignores case needs an anchor: {regex}")
    best = max(_runs(regex), key=len, default="")
    if len(best) < SHORTEST:
        raise ValueError(f"no literal text of {SHORTEST} characters in {regex}: give an anchor")
    return (best,)


def _runs(regex: str) -> list[str]:
    runs, run, depth, at = [], "", 0, 0
    while at < len(regex):
        char, width, literal = _token(regex, at)
        at += width
        if char == "|" and depth == 0 and not literal:
            return []
        depth += {"(": 1, ")": -1}.get(char, 0) if not literal else 0
        if literal and depth == 0 and not _optional(regex, at):
            run += char
        else:
            runs.append(run)
            run = ""
    return [*runs, run]


def _token(regex: str, at: int) -> tuple[str, int, bool]:
    """The character at `at`, how many characters of the pattern it takes, whether it stands for itself."""
    char = regex[at]
    if char == "\\":
        escaped = regex[at + 1]
        return escaped, 2, escaped not in _CLASSES and not escaped.isalnum()
    if char == "[":
        return "[", _class_width(regex, at), False
    if char == "{":
        return "{", regex.index("}", at) - at + 1, False
    return char, 1, char not in _META


def _class_width(regex: str, at: int) -> int:
    end = at + 1
    while regex[end] != "]" or end == at + 1:
        end += 2 if regex[end] == "\\" else 1
    return end - at + 1


def _optional(regex: str, at: int) -> bool:
    return at < len(regex) and regex[at] in "?*{+"
