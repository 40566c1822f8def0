"""The knowledge base: rows of the packaged files and a team's overlays, and the questions the stages ask."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, TypeVar

from provision.knowledge.builds import Build, expand
from provision.knowledge.reading import read_rows
from provision.knowledge.rows import (
    KINDS,
    ArchitectureRow,
    BuildRow,
    CompanionRow,
    CudnnRow,
    FamilyRow,
    IndexRow,
    LibraryRow,
    LoaderRow,
    MetadataRow,
    NameRow,
    PatchRow,
    Row,
    RuleRow,
    RuntimeRow,
)
from provision.knowledge.rules import applies
from provision.knowledge.versions import canonicalize_name, holds, holds_any

_Kind = TypeVar("_Kind", bound=Row)
_TOP_KEY = re.compile(r"^([a-z][a-z-]*):", re.MULTILINE)
#: Files of this folder that other readers own.
_NOT_OURS = ("artifacts", "devices", "sonames", "symptoms")


class Knowledge:
    """Rows by kind. Files are read when a question first needs a kind that stands in them.

    A row of a later file replaces one with the same id, so that a team's overlay can correct a packaged row.
    """

    def __init__(self, files: Sequence[tuple[str, str]]) -> None:
        self._files = tuple(files)
        self._read: dict[int, tuple[Row, ...]] = {}
        self._by_kind: dict[type[Row], tuple[Row, ...]] = {}
        self._builds: dict[tuple[str, frozenset[str]], tuple[Build, ...]] = {}

    def rows(self, kind: type[_Kind]) -> tuple[_Kind, ...]:
        """All rows of a kind, in the order of files and rows."""
        if kind not in self._by_kind:
            rows = {
                row.id: row
                for row in self._stream(lambda text: kind.__name__ in _kinds_in(text))
                if isinstance(row, kind)
            }
            self._by_kind[kind] = tuple(rows.values())
        return self._by_kind[kind]  # type: ignore[return-value]

    def patches(self, package: str, version: str, python: str, target: str) -> tuple[PatchRow, ...]:
        """Patches for one version of a package on one Python (`3.10`) and target."""
        return tuple(
            row
            for row in self._patches_by_package.get(canonicalize_name(package), ())
            if holds_any(row.versions, _public(version))
            and holds(row.python, python)
            and (not row.targets or target in row.targets)
        )

    def dead_name(self, name: str, version: str | None = None) -> NameRow | None:
        """The row that says why a name, or this version of it, is not to be used. None if nothing is known.

        No version means: the name is asked for without one (what an installer would take then).
        """
        for row in self.names(name):
            about_name = not row.versions and not (row.unpinned_only and version)
            if about_name or (version and holds_any(row.versions, version)):
                return row
        return None

    def names(self, name: str) -> tuple[NameRow, ...]:
        """Every row about a name, those that concern some versions only included."""
        return self._names.get(canonicalize_name(name), ())

    def families_of(self, name: str) -> tuple[FamilyRow, ...]:
        """The families that a distribution belongs to."""
        return self._families.get(canonicalize_name(name), ())

    def builds(self, framework: str, kinds: Collection[str] = ()) -> tuple[Build, ...]:
        """Every known build of a framework, one per distribution, version and target.

        `kinds` are the runtimes asked for (`cuda`, `cpu`); none means all. Fewer kinds read fewer files.
        """
        key = (framework, frozenset(kinds))
        if key not in self._builds:
            rows = {
                row.id: row
                for row in self._stream(lambda text: _may_hold(text, framework, kinds))
                if isinstance(row, BuildRow) and row.framework == framework
            }
            wanted = (row for row in rows.values() if not kinds or row.runtime.kind in kinds)
            self._builds[key] = tuple(build for row in wanted for build in expand(row))
        return self._builds[key]

    def declares(self, build: Build) -> dict[str, str]:
        """What the build's own metadata requires, where it decides compatibility: name -> specifier set."""
        found: dict[str, str] = {}
        for row in self._metadata.get(canonicalize_name(build.distribution), ()):
            if (
                holds_any(row.versions, build.version)
                and row.local == build.local
                and (not row.extra or row.extra in build.extras)
                and (not row.targets or build.target in row.targets)
            ):
                found |= row.declares
        return found

    def companions(self, leader: str, version: str) -> tuple[tuple[str, str, CompanionRow], ...]:
        """(package, version or specifier, row) of what goes with one version of a package."""
        found = []
        for row in self.rows(CompanionRow):
            if row.leader == canonicalize_name(leader):
                match = _match(row.match, _public(version))
                if match is not None:
                    found.append((row.package, match, row))
        return tuple(found)

    def index_url(self, name: str) -> str | None:
        """The address of a named index (`pytorch-cu118`), or None if no row knows it. `pypi` has none on
        purpose.
        """
        for row in self.rows(IndexRow):
            before, variable, _ = row.name.partition("{variant}")
            if name == row.name:
                return row.url
            if variable and name.startswith(before):
                return row.url.replace("{variant}", name.removeprefix(before))
        return None

    def runtimes(self, kind: str) -> tuple[RuntimeRow, ...]:
        return tuple(row for row in self.rows(RuntimeRow) if row.kind == kind)

    def runtime(self, kind: str, version: str) -> RuntimeRow | None:
        """The row of a runtime version (`cuda`, `11.8`)."""
        return next((row for row in self.runtimes(kind) if row.version == version), None)

    def architecture(self, vendor: str, name: str) -> ArchitectureRow | None:
        return next(
            (row for row in self.rows(ArchitectureRow) if (row.vendor, row.name) == (vendor, name)), None
        )

    def loaders(self, library: str, version: str) -> tuple[LoaderRow, ...]:
        """File names that belong to a library version (`cuda`, `11.2`)."""
        return tuple(
            row for row in self.rows(LoaderRow) if row.library == library and holds(row.versions, version)
        )

    def cudnn(self, version: str) -> tuple[CudnnRow, ...]:
        return tuple(row for row in self.rows(CudnnRow) if holds(row.versions, version))

    def library(self, library: str, version: str, cuda: str = "") -> LibraryRow | None:
        """A library set that can be placed: `version` may be a prefix (`8.6`), `cuda` a version or its
        major.
        """
        for row in self.rows(LibraryRow):
            fits_cuda = not cuda or f"{cuda}.".startswith(f"{row.cuda}.")
            if row.library == library and fits_cuda and f"{row.version}.".startswith(f"{version}."):
                return row
        return None

    def rules(self, facts: Mapping[str, Any] | None = None) -> tuple[RuleRow, ...]:
        """All rules, or those whose `when` holds for these facts (rules.yaml names the facts)."""
        rules = self.rows(RuleRow)
        return rules if facts is None else tuple(rule for rule in rules if applies(rule, facts))

    def row(self, name: str) -> Row | None:
        """The row with this id. Reads no file that does not name it."""
        if "_by_id" in self.__dict__:
            return self._by_id.get(name)
        rows = [row for row in self._stream(lambda text: name in text) if row.id == name]
        return rows[-1] if rows else None

    def list(self, kind: str = "") -> tuple[Row, ...]:
        """All rows, or those of one kind (`patch`, `build`, ...)."""
        return tuple(row for row in self._by_id.values() if not kind or kind_of(row) == kind)

    def search(self, text: str) -> tuple[Row, ...]:
        """Rows that hold every word of the text, in any field; letter case does not matter."""
        words = text.lower().split()
        return tuple(
            self._by_id[name] for name, all_of in self._texts.items() if all(w in all_of for w in words)
        )

    def digest(self, ids: Iterable[str]) -> str:
        """SHA-256 of what the named rows say: changes when one of them changes, not when others do."""
        rows = [
            asdict(self._by_id[name]) | {"origin": ""} for name in sorted(set(ids)) if name in self._by_id
        ]
        return hashlib.sha256(json.dumps(rows, sort_keys=True, ensure_ascii=False).encode()).hexdigest()

    @cached_property
    def _by_id(self) -> dict[str, Row]:
        return {row.id: row for row in self._stream()}

    @cached_property
    def _texts(self) -> dict[str, str]:
        """What can be searched in each row, in lower case."""
        return {name: " ".join(_words(asdict(row))).lower() for name, row in self._by_id.items()}

    @cached_property
    def _patches_by_package(self) -> dict[str, tuple[PatchRow, ...]]:
        return _grouped(
            (canonicalize_name(name), row) for row in self.rows(PatchRow) for name in row.packages
        )

    @cached_property
    def _metadata(self) -> dict[str, tuple[MetadataRow, ...]]:
        return _grouped(
            (canonicalize_name(name), row) for row in self.rows(MetadataRow) for name in row.packages
        )

    @cached_property
    def _names(self) -> dict[str, tuple[NameRow, ...]]:
        return _grouped((canonicalize_name(row.name), row) for row in self.rows(NameRow))

    @cached_property
    def _families(self) -> dict[str, tuple[FamilyRow, ...]]:
        return _grouped(
            (canonicalize_name(name), row) for row in self.rows(FamilyRow) for name in row.members
        )

    def read_from(self, first: int) -> None:
        """Read the files from this number on now, so that their errors show at once."""
        for number in range(first, len(self._files)):
            self._rows_of(number)

    def _stream(self, wanted: Callable[[str], bool] = bool) -> Iterator[Row]:
        """The rows of the files whose text is wanted, without parsing the others."""
        for number, (_, text) in enumerate(self._files):
            if wanted(text):
                yield from self._rows_of(number)

    def _rows_of(self, number: int) -> tuple[Row, ...]:
        if number not in self._read:
            origin, text = self._files[number]
            self._read[number] = _parsed(origin, text)
        return self._read[number]


def load_knowledge(overlays: Sequence[tuple[str, str]] = ()) -> Knowledge:
    """The packaged rows, then the overlays: (origin, YAML text) each, the last one wins.

    Raises KnowledgeError for an overlay that cannot be read; the packaged files are read when first needed.
    """
    knowledge = Knowledge((*_packaged(), *overlays))
    knowledge.read_from(len(_packaged()))
    return knowledge


def kind_of(row: Row) -> str:
    """`patch`, `name`, `build` ...: how a kind of row is called in commands."""
    return type(row).__name__.removesuffix("Row").lower()


@lru_cache(maxsize=1)
def _packaged() -> tuple[tuple[str, str], ...]:
    files = sorted(Path(__file__).parent.glob("*.yaml"))
    return tuple(
        (f"knowledge/{file.name}", file.read_text(encoding="utf-8"))
        for file in files
        if not file.name.startswith(_NOT_OURS)
    )


@lru_cache(maxsize=256)
def _parsed(origin: str, text: str) -> tuple[Row, ...]:
    return tuple(read_rows(text, origin))


@lru_cache(maxsize=256)
def _kinds_in(text: str) -> frozenset[str]:
    """The kinds of rows that a file holds, by its top-level keys, without parsing it."""
    return frozenset(KINDS[key].__name__ for key in _TOP_KEY.findall(text) if key in KINDS)


def _may_hold(text: str, framework: str, kinds: Collection[str]) -> bool:
    """Whether a file can hold builds of the framework for one of the runtimes: yes in vain, but never a wrong
    no.
    """
    return _names(text, "framework", framework) and (
        not kinds or any(_names(text, "kind", kind) for kind in kinds)
    )


def _names(text: str, key: str, word: str) -> bool:
    return re.search(rf"""\b{key}["']?:\s*["']?{re.escape(word)}\b""", text) is not None


def _grouped(pairs: Iterable[tuple[str, _Kind]]) -> dict[str, tuple[_Kind, ...]]:
    groups: dict[str, list[_Kind]] = {}
    for key, row in pairs:
        groups.setdefault(key, []).append(row)
    return {key: tuple(rows) for key, rows in groups.items()}


def _match(match: dict[str, str], version: str) -> str | None:
    if version in match:
        return match[version]
    return next((value for spec, value in match.items() if spec[0] in "<>=!~" and holds(spec, version)), None)


def _public(version: str) -> str:
    return version.partition("+")[0]


def _words(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield str(key)
            yield from _words(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _words(item)
    else:
        yield str(value)
