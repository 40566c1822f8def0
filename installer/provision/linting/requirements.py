"""requirements.txt as pip reads it: options, includes, hashes, line continuation, comments."""

from __future__ import annotations

import os.path
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from provision.documents.source import Source
from provision.linting.nouns import Kind, Place, Setting, Wanted, canonical
from provision.messages import message
from provision.model.finding import Finding

#: Path -> text of an included file; raises OSError.
Read = Callable[[str], str | bytes]
_OPTIONS: dict[str, Kind] = {
    "-i": "index-url",
    "--index-url": "index-url",
    "--pypi-url": "index-url",
    "--extra-index-url": "extra-index-url",
    "-f": "find-links",
    "--find-links": "find-links",
    "--no-index": "no-index",
    "--pre": "pre",
}
_BARE = ("--no-index", "--pre")
_INCLUDES = {"-r": "r", "--requirement": "r", "-c": "c", "--constraint": "c"}
#: Options of one requirement stand behind it.
_PER_REQUIREMENT = re.compile(r"\s--?(hash|global-option|install-option|config-settings?)\b")


@dataclass
class Lines:
    """What one file of requirements holds. `includes` are (place, path, is a constraints file)."""

    wanted: list[Wanted] = field(default_factory=list)
    settings: list[Setting] = field(default_factory=list)
    includes: list[tuple[Place, str, bool]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def read_requirements(source: Source, read: Read | None) -> Lines:
    """All that a requirements file and the files it includes ask for. Constraints only narrow: they are left out."""
    found = _file(source)
    seen = {os.path.normpath(source.origin)}
    waiting = list(found.includes)
    while waiting:
        place, name, constrains = waiting.pop(0)
        path = os.path.normpath(PurePath(place.source.origin).parent / name)
        if constrains or read is None or path in seen:
            continue
        seen.add(path)
        more = _included(place, path, read)
        found.wanted += more.wanted
        found.settings += more.settings
        found.findings += more.findings
        waiting += more.includes
    return found


def _included(place: Place, path: str, read: Read) -> Lines:
    try:
        data = read(path)
    except (OSError, ValueError):
        ways = (message("linting.included.name-file-that-stands-beside"),)
        return Lines(
            findings=[
                place.finding(
                    "unreadable", "error", message("linting.included.cannot-be-read", path=path), ways=ways
                )
            ]
        )
    text = data if isinstance(data, str) else data.decode("utf-8-sig", "replace")
    return _file(Source(text, path))


def _file(source: Source) -> Lines:
    lines = Lines()
    for start, text in logical_lines(source.text):
        read_line(Place(source, start, start + len(text)), text, lines)
    return lines


def logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """(offset, text) of each line that says something: continued lines as one, comments taken off.

    A backslash before a line break becomes spaces of the same length, so that offsets stay true.
    """
    joined = re.sub(r"\\\r?\n", lambda match: " " * len(match[0]), text)
    for match in re.finditer(r"[^\r\n]+", joined):
        line = re.sub(r"(^|\s)#.*$", "", match[0])
        stripped = line.strip()
        if stripped:
            yield match.start() + line.index(stripped[0]), stripped


def read_line(place: Place, text: str, lines: Lines) -> None:
    """One logical line, also of a pip section elsewhere: an option, an include, or a requirement."""
    if text.startswith("-"):
        _option(place, text, lines)
        return
    behind = _PER_REQUIREMENT.search(text)
    wanted = text[: behind.start()].strip() if behind else text
    place = replace(place, end=place.start + len(wanted))
    found = requirement(place, wanted, lines.findings)
    if found is not None:
        lines.wanted.append(replace(found, hashed="--hash" in text))


def _option(place: Place, text: str, lines: Lines) -> None:
    words = _words(text)
    while words:
        name, _, value = words.pop(0).partition("=")
        if name in _BARE:
            lines.settings.append(Setting(place, _OPTIONS[name]))
            continue
        if not value and not name.startswith("--") and len(name) > 2:
            name, value = name[:2], name[2:]  # -rfile
        if name in _OPTIONS or name in _INCLUDES or name in ("-e", "--editable"):
            value = value or (words.pop(0) if words else "")
        if name in _OPTIONS:
            lines.settings.append(Setting(place, _OPTIONS[name], value))
        elif name in _INCLUDES:
            lines.includes.append((place, value, _INCLUDES[name] == "c"))


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def requirement(place: Place, text: str, findings: list[Finding]) -> Wanted | None:
    """One requirement: PEP 508, or the address or path of a wheel. What names no package gives None."""
    if re.match(r"[\w+]+://|\.{0,2}/|[A-Za-z]:\\|.*\.whl$", text) and " @ " not in text:
        return _wheel(place, text)
    if re.fullmatch(r"\$\{\w+\}.*|\.[\w./\\-]*(\[.*\])?", text):
        return None
    try:
        found = Requirement(text)
    except InvalidRequirement:
        findings.append(_bad_requirement(place, text))
        return None
    return Wanted(
        place=place,
        name=canonical(found.name),
        extras=tuple(sorted(canonical(extra) for extra in found.extras)),
        specifier=str(found.specifier),
        url=found.url or "",
        marker=str(found.marker or ""),
    )


def _wheel(place: Place, text: str) -> Wanted | None:
    file = re.split(r"[/\\]", text.partition("#")[0].partition("?")[0])[-1].replace("%2B", "+")
    try:
        name, version, *_ = parse_wheel_filename(file)
    except (InvalidWheelFilename, ValueError):
        return None
    return Wanted(place=place, name=str(name), specifier=f"=={version}", url=text)


def _bad_requirement(place: Place, text: str) -> Finding:
    doubled = re.sub(r"(?<![<>=!~])=(?!=)", "==", text)
    ways = (
        (message("linting.bad-requirement.did-you-mean", doubled=doubled),)
        if doubled != text
        else (message("linting.bad-requirement.write-it-like-numpy-1"),)
    )
    return place.finding(
        "bad-requirement", "error", message("linting.bad-requirement.is-no-requirement", text=text), ways=ways
    )
