"""A recorded catalogue on the disk: what indexes list and what wheels say of themselves, as small JSON files.

`<folder>/<index>/<project>.json` is a page; `<folder>/<index>/<project>/<file>` holds a whole file where one had to
be read (a source). docs/catalog.md describes the format.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

from provision.messages import message
from provision.model.finding import Finding, Remedy, UsageError

FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """The part of a wheel's METADATA that decides what it brings along. `source` says who recorded it."""

    requires_dist: tuple[str, ...] = ()
    provides_extra: tuple[str, ...] = ()
    requires_python: str | None = None
    source: str = ""

    def text(self, name: str, version: str) -> str:
        """METADATA as an installer reads it; the same facts give the same bytes."""
        lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
        lines += [f"Requires-Python: {self.requires_python}"] if self.requires_python else []
        lines += [f"Requires-Dist: {requirement}" for requirement in self.requires_dist]
        lines += [f"Provides-Extra: {extra}" for extra in self.provides_extra]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedFile:
    """A file as its index lists it, None where nobody recorded it. `url` is where the index keeps it, never where
    this machine found it, and None for the default index; `size` is in bytes; `yanked` as in IndexFile."""

    name: str
    url: str | None = None
    sha256: str | None = None
    size: int | None = None
    requires_python: str | None = None
    uploaded: str | None = None
    yanked: str | None = None
    described: Described | None = None
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedPage:
    """What an index lists for a project, in a stable order. `source` is that of all files which name none."""

    index: str
    project: str
    files: tuple[RecordedFile, ...] = ()
    source: str = ""

    def file(self, name: str) -> RecordedFile | None:
        return next((file for file in self.files if file.name == name), None)


def described(metadata: str) -> Described:
    """The facts of a METADATA text."""
    headers = HeaderParser().parsestr(metadata)
    return Described(
        requires_dist=tuple(" ".join(r.split()) for r in headers.get_all("Requires-Dist", ())),
        provides_extra=tuple(headers.get_all("Provides-Extra", ())),
        requires_python=headers.get("Requires-Python"),
    )


def identity(filename: str) -> tuple[str, str]:
    """(project, version) of a distribution's file name. Raises ValueError for another file."""
    try:
        if filename.endswith(".whl"):
            name, version, _, _ = parse_wheel_filename(filename)
        else:
            name, version = parse_sdist_filename(filename)
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion) as error:
        raise ValueError(str(error)) from None
    return str(name), str(version)


# Reading.


@dataclass(frozen=True, slots=True)
class Catalogue:
    """A recorded catalogue in a folder; a page is read when it is asked for."""

    folder: Path

    def indexes(self) -> tuple[str, ...]:
        """Names of the indexes of which something is held. Raises UsageError where there is no such folder."""
        if not self.folder.is_dir():
            raise UsageError(_no_folder(self.folder))
        return tuple(sorted(p.name for p in self.folder.iterdir() if p.is_dir() and any(p.glob("*.json"))))

    def page(self, index: str, project: str) -> RecordedPage | None:
        """A page, None if it is not held. Raises UsageError for a file that is none."""
        path = self.folder / index / f"{canonicalize_name(project)}.json"
        try:
            page = read_page(path.read_text(encoding="utf-8"))
            if (page.index, page.project) != (index, canonicalize_name(project)):
                raise ValueError(f"it is the page of {page.project} on the index {page.index}")
            return page
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UsageError(_unreadable(path, error)) from error

    def whole(self, index: str, project: str, name: str) -> Path | None:
        """The path of a file that is kept whole."""
        path = self.folder / index / canonicalize_name(project) / name
        return path if path.is_file() else None


def read_page(text: str) -> RecordedPage:
    """A page from its JSON. Raises ValueError, KeyError or TypeError for something else."""
    document = json.loads(text)
    if document["catalog"] != FORMAT:
        raise ValueError(f"format {document['catalog']} of the catalogue is not known here")
    known = {key: _described(row) for key, row in document.get("metadata", {}).items()}
    files = tuple(_file(row, known) for row in document["files"])
    return RecordedPage(
        index=document["index"],
        project=document["project"],
        files=files,
        source=document.get("source", ""),
    )


def _described(row: Mapping[str, Any]) -> Described:
    return Described(
        requires_dist=tuple(row.get("requires-dist", ())),
        provides_extra=tuple(row.get("provides-extra", ())),
        requires_python=row.get("requires-python"),
        source=row.get("source", ""),
    )


def _file(row: Mapping[str, Any], known: Mapping[str, Described]) -> RecordedFile:
    sha256 = row.get("sha256")
    if sha256 is not None and not re.fullmatch(r"[0-9a-f]{64}", sha256):
        raise ValueError(f"{row['name']}: {sha256!r} is no SHA-256")
    return RecordedFile(
        name=row["name"],
        url=row.get("url"),
        sha256=sha256,
        size=row.get("size"),
        requires_python=row.get("requires-python"),
        uploaded=row.get("uploaded"),
        yanked=row.get("yanked"),
        described=known[row["metadata"]] if "metadata" in row else None,
        source=row.get("source", ""),
    )


# Writing.


def write_page(page: RecordedPage) -> str:
    """A page as JSON, a line a file: the same page gives the same bytes."""
    files = sorted(page.files, key=_order)
    keys = _keys(files)
    rows = [_row(file, keys) for file in files]
    shared = {key: _metadata_row(what) for what, key in keys.items()}
    head = {"catalog": FORMAT, "index": page.index, "project": page.project}
    if page.source:
        head["source"] = page.source
    parts = [f'"{name}": {_json(value)}' for name, value in head.items()]
    parts.append('"metadata": {\n' + _lines(f" {_json(k)}: {_json(v)}" for k, v in shared.items()) + "}")
    parts.append('"files": [\n' + _lines(f" {_json(row)}" for row in rows) + "]")
    return "{" + ",\n".join(parts) + "}\n"


def _order(file: RecordedFile) -> tuple[Version, str]:
    try:
        return Version(identity(file.name)[1]), file.name
    except ValueError:
        return Version("0"), file.name


def _keys(files: Sequence[RecordedFile]) -> dict[Described, str]:
    """Each metadata under its version; where files of one version differ, `version/2` and so on."""
    keys: dict[Described, str] = {}
    for file in files:
        if file.described is not None and file.described not in keys:
            version = identity(file.name)[1]
            same = sum(1 for key in keys.values() if key.partition("/")[0] == version)
            keys[file.described] = f"{version}/{same + 1}" if same else version
    return keys


def _row(file: RecordedFile, keys: Mapping[Described, str]) -> dict[str, Any]:
    key = keys[file.described] if file.described is not None else None
    row = {
        "name": file.name, "url": file.url, "sha256": file.sha256, "size": file.size,
        "requires-python": file.requires_python, "uploaded": file.uploaded, "yanked": file.yanked,
        "metadata": key, "source": file.source or None,
    }  # fmt: skip
    return {name: value for name, value in row.items() if value is not None}


def _metadata_row(what: Described) -> dict[str, Any]:
    row = {
        "requires-python": what.requires_python, "requires-dist": list(what.requires_dist),
        "provides-extra": list(what.provides_extra), "source": what.source,
    }  # fmt: skip
    return {name: value for name, value in row.items() if value}


def _lines(rows: Iterable[str]) -> str:
    return ",\n".join(rows)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


@dataclass(slots=True)
class Recorder:
    """Collects what a run uses, and adds it to a catalogue."""

    folder: Path
    pages: dict[tuple[str, str], RecordedPage] = field(default_factory=dict)
    wholes: dict[tuple[str, str, str], Path] = field(default_factory=dict)

    def put(self, page: RecordedPage) -> None:
        self.pages[page.index, page.project] = page

    def describe(self, index: str, project: str, name: str, what: Described) -> None:
        page = self.pages[index, project]
        files = tuple(replace(f, described=what) if f.name == name else f for f in page.files)
        self.pages[index, project] = replace(page, files=files)

    def keep(self, index: str, project: str, name: str, path: Path) -> None:
        """A whole file, to be copied."""
        self.wholes[index, project, name] = path

    def save(self) -> None:
        """Write the pages, merged into what an earlier run left."""
        former = Catalogue(self.folder)
        for (index, project), page in self.pages.items():
            path = self.folder / index / f"{project}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            merged = merge(former.page(index, project), page)
            path.write_text(write_page(merged), encoding="utf-8", newline="\n")
        for (index, project, name), source in self.wholes.items():
            target = self.folder / index / project / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())


def merge(former: RecordedPage | None, page: RecordedPage) -> RecordedPage:
    """A page with the files and the metadata that an earlier record of it holds beside."""
    if former is None:
        return page
    old = {file.name: file for file in former.files}
    files = [
        replace(f, described=f.described or (old[f.name].described if f.name in old else None))
        for f in page.files
    ]
    here = {file.name for file in files}
    return replace(
        page, files=(*files, *(f for f in former.files if f.name not in here)), source=former.source
    )


def fitting(files: Iterable[RecordedFile], python: str, target: str) -> Iterator[RecordedFile]:
    """Leave out the wheels that are surely for another Python or system: they can never be chosen."""
    system, _, arch = target.partition("-")
    families = {"linux": ("linux",), "windows": ("win",), "macos": ("macosx",)}[system]
    arches = {"x86_64": ("x86_64", "amd64", "i386", "universal2", "intel"), "arm64": ("arm64", "universal2")}
    wanted = arches.get(arch, (arch,))
    for file in files:
        if not file.name.endswith(".whl") or _may_fit(file.name, python, families, wanted):
            yield file


def _may_fit(name: str, python: str, families: Sequence[str], arches: Sequence[str]) -> bool:
    try:
        tags = parse_wheel_filename(name)[3]
    except (InvalidWheelFilename, InvalidVersion):
        return False
    minor = int(python.partition(".")[2])
    for tag in tags:
        if tag.interpreter.startswith(("pp", "cp2", "py2")):
            continue
        match = re.fullmatch(r"(?:cp|py)3(\d+)", tag.interpreter)
        if match and (int(match[1]) > minor or (int(match[1]) < minor and tag.abi not in ("abi3", "none"))):
            continue
        here = tag.platform.startswith(tuple(families)) or ("linux" in tag.platform and "linux" in families)
        if tag.platform == "any" or (here and tag.platform.endswith(tuple(arches))):
            return True
    return False


# Findings.


def _no_folder(folder: Path) -> Finding:
    return Finding(
        "no-such-catalogue",
        "error",
        message("world.no-such-catalogue.summary", folder=folder),
        remedies=(Remedy(message("world.no-such-catalogue.way"), "provision lock --record DIR PROFILE"),),
    )


def _unreadable(path: Path, error: Exception) -> Finding:
    said = f"{type(error).__name__}: {error}"
    return Finding("bad-catalogue", "error", message("world.bad-catalogue.summary", path=path), detail=said)
