"""Library sets into a generation: files, links beside the frameworks, the start-up hook, and the manifest of it all."""

from __future__ import annotations

import csv
import json
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from provision.messages import message
from provision.model.finding import ApplyError, Evidence, Finding, Remedy
from provision.model.plan import Step
from provision.model.stack import Library
from provision.ports import Files, PlacedFile, Placer
from provision.prefix import MANIFEST, placed_files, site_packages

if TYPE_CHECKING:
    from provision.applying.steps import Context

#: The folder in site-packages for what comes from archives, the module of the hook, and what starts it.
FOLDER = "provision_libraries"
HOOK = "_provision_libraries.py"
START = "provision_libraries.pth"
_SHARED = re.compile(r"[^/]+\.(so(\.\d+)*|dll)", re.IGNORECASE)
_ASSEMBLER = re.compile(r"/bin/ptxas(\.exe)?$", re.IGNORECASE)


class PlaceLibraries:
    """Handler of `place library`. Undo is the transaction's: everything stands inside the new generation."""

    def do(self, context: Context, steps: Sequence[Step]) -> None:
        from provision.applying.steps import gather

        gather(context)
        packages = site_packages(context.effects.files, context.folder)
        if packages is None:
            raise ApplyError(
                Finding(
                    "no-site-packages",
                    "error",
                    message("applying.no-site-packages.summary", folder=context.folder),
                )
            )
        _Placing(context, packages).run()
        names = ", ".join(f"{one.library} {one.version}" for one in context.lock.libraries)
        context.effects.reporter.stage(message("applying.stage.placed"), names)

    def holds(self, context: Context, steps: Sequence[Step]) -> bool:
        """Every file of the manifest is there at its size, every link shows to a file."""
        files = context.effects.files
        listed = placed_files(files, context.folder)
        return bool(listed) and all(_stands(files, context.folder, row) for row in listed)


def _stands(files: Files, prefix: str, row: Mapping[str, Any]) -> bool:
    path = str(PurePath(prefix, row["path"]))
    found = files.stat(path)
    if found is None:
        return False
    if row.get("link"):
        return files.stat(posixpath.normpath(str(PurePath(path).parent / row["link"]))) is not None
    return bool(found.size == row["size"])


class _Placing:
    """One run over all sets of a lock."""

    def __init__(self, context: Context, packages: str) -> None:
        assert context.effects.placer is not None
        self.context, self.packages = context, packages
        self.files: Files = context.effects.files
        self.placer: Placer = context.effects.placer
        self.prefix = context.folder
        self.owners = dict(_owners(self.files, packages))
        self.rows: list[dict[str, Any]] = []

    def run(self) -> None:
        found: dict[str, str] = {}
        told = []
        for library in self.context.lock.libraries:
            names = self._of_archive(library) if library.archive else dict(self._of_wheels(library))
            self._complete(library, names)
            self._link(library, names)
            found.update(self._needed(library))
            found.update({name: names[name] for name in library.holds})
            told.append(_told(library))
        self._hook(found)
        document = {"schema": 1, "libraries": told, "files": self.rows}
        self.files.write(str(PurePath(self.prefix, MANIFEST)), json.dumps(document, indent=1) + "\n")

    def _of_wheels(self, library: Library) -> Iterator[tuple[str, str]]:
        """File name -> path in site-packages, of the shared libraries that the set's distributions own."""
        wanted = set(library.packages)
        for path, owner in self.owners.items():
            if owner in wanted and _SHARED.fullmatch(posixpath.basename(path)):
                yield posixpath.basename(path), path

    def _of_archive(self, library: Library) -> dict[str, str]:
        assert library.archive is not None
        folder = posixpath.join(FOLDER, library.library)
        self._free(folder)
        self.files.make_folder(str(PurePath(self.packages, FOLDER)))
        local = self.context.wheels[library.archive.sha256]
        placed = self.placer.unpack(
            local.path, library.archive.sha256, library.archive.folder, str(PurePath(self.packages, folder))
        )
        self._note(placed)
        return {PurePath(one.path).name: posixpath.join(folder, PurePath(one.path).name) for one in placed}

    def _needed(self, library: Library) -> Iterator[tuple[str, str]]:
        """Files that a set opens and no source holds: the user's, where they were given."""
        for name in library.needs:
            if given := self.context.effects.given.get(name):
                folder = posixpath.join(FOLDER, "given")
                self.files.make_folder(str(PurePath(self.packages, folder)))
                place = posixpath.join(folder, name)
                self._free(place)
                self._note([self.placer.copy(given, str(PurePath(self.packages, place)))])
                yield name, place

    def _complete(self, library: Library, names: Mapping[str, str]) -> None:
        missing = [name for name in library.holds if name not in names]
        if missing:
            raise ApplyError(
                Finding(
                    "library-incomplete",
                    "error",
                    message(
                        "applying.library-incomplete.summary",
                        library=library.library,
                        version=library.version,
                        missing=", ".join(missing),
                    ),
                    evidence=(Evidence(library.id, library.source),),
                )
            )

    def _link(self, library: Library, names: Mapping[str, str]) -> None:
        """Relative links in the folders that the frameworks' run paths name."""
        for folder in library.reach:
            if self.files.stat(str(PurePath(self.packages, folder))) is None:
                continue
            for name, path in sorted({**unversioned(names), **names}.items()):
                place = posixpath.join(folder, name)
                self._free(place)
                target = posixpath.relpath(path, folder)
                self.placer.link(str(PurePath(self.packages, place)), target)
                self._note([PlacedFile(path=str(PurePath(self.packages, place)), link=target)])

    def _hook(self, found: Mapping[str, str]) -> None:
        wanted = {name for library in self.context.lock.libraries for name in library.packages}
        tools = compilers(path for path, owner in self.owners.items() if owner in wanted)
        frameworks = self.context.lock.frameworks
        for name, text in ((HOOK, hook_text(frameworks, found, tools)), (START, f"import {HOOK[:-3]}\n")):
            self._free(name)
            path = str(PurePath(self.packages, name))
            self.files.write(path, text)
            self._note(
                [PlacedFile(path=path, size=len(text.encode()), sha256=self.placer.digest(path) or "")]
            )

    def _free(self, place: str) -> None:
        """Raises ApplyError where something stands already: two owners of one file end badly."""
        path = str(PurePath(self.packages, place))
        if self.files.stat(path) is not None:
            raise ApplyError(_taken(place, self.owners.get(place, "")))

    def _note(self, placed: Sequence[PlacedFile]) -> None:
        for one in placed:
            row: dict[str, Any] = {"path": PurePath(one.path).relative_to(self.prefix).as_posix()}
            row |= {"link": one.link} if one.link else {"size": one.size, "sha256": one.sha256}
            self.rows.append(row)


def unversioned(names: Mapping[str, str]) -> dict[str, str]:
    """`libcupti.so` for `libcupti.so.11.8`: the name that a loader falls back to, which would else be found in a CUDA
    of another version on the machine."""
    plain = {
        name.partition(".so.")[0] + ".so": path for name, path in sorted(names.items()) if ".so." in name
    }
    return {name: path for name, path in plain.items() if name not in names}


def _told(library: Library) -> dict[str, Any]:
    origin = library.archive.file if library.archive else ", ".join(library.packages)
    return {
        "library": library.library,
        "version": library.version,
        "id": library.id,
        "licence": library.licence,
        "from": origin,
        "holds": list(library.holds),
    }


def compilers(paths: Iterable[str]) -> str:
    """The folder that XLA needs to be told of: it holds bin/ptxas and nvvm/libdevice. Empty where none does."""
    roots = [path.rpartition("/bin/")[0] for path in paths if _ASSEMBLER.search(path)]
    return min(roots, default="")


def hook_text(frameworks: Sequence[str], found: Mapping[str, str], compilers: str = "") -> str:
    """The hook for these frameworks (import names), libraries (file name -> path in site-packages) and compilers."""
    text = _hook_source()
    text = text.replace("FRAMEWORKS = ()", f"FRAMEWORKS = {tuple(frameworks)!r}", 1)
    rows = "".join(f"    {(name, path)!r},\n" for name, path in found.items())
    text = text.replace("LIBRARIES = ()", f"LIBRARIES = (\n{rows})", 1)
    return text.replace('COMPILERS = ""', f"COMPILERS = {compilers!r}", 1)


@cache
def _hook_source() -> str:
    return resources.files("provision.applying").joinpath("hook").joinpath(HOOK).read_text(encoding="utf-8")


def _owners(files: Files, packages: str) -> Iterator[tuple[str, str]]:
    """Path in site-packages -> the distribution whose RECORD names it, canonical."""
    from packaging.utils import canonicalize_name

    for name in files.listdir(packages):
        if name.endswith(".dist-info"):
            text = files.read_text(str(PurePath(packages, name, "RECORD")), limit=1 << 26) or ""
            owner = canonicalize_name(name.removesuffix(".dist-info").rpartition("-")[0])
            yield from ((row[0], owner) for row in csv.reader(text.splitlines()) if row)


def _taken(place: str, owner: str) -> Finding:
    whose = message("applying.owned", owner=owner) if owner else message("applying.not-owned")
    return Finding(
        "place-taken", "error", message("applying.place-taken.summary", place=place, whose=whose),
        evidence=(Evidence("RECORD", owner or message("applying.none")),),
        remedies=(
            Remedy(message("applying.place-taken.way")),
            Remedy(message("applying.place-taken.way-2")),
        ),
    )  # fmt: skip
