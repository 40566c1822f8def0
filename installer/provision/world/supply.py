"""The artifacts of a lock as local files: from the store by hash, else from where this machine finds its indexes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from provision.messages import message
from provision.model.finding import ApplyError, BlockedError, Evidence, Finding, Remedy, UsageError
from provision.model.lock import VENDOR, Artifact, Lock
from provision.model.stack import Library
from provision.ports import CatalogFailure, ClosedPackage, ClosureRequest, ListedFile, LocalFile
from provision.world.bundles import Bundle, in_bundle, of_bundle
from provision.world.catalog import HostCatalog
from provision.world.fetching import Fetcher
from provision.world.indexes import IndexConfig, redact_text
from provision.world.store import Store, Wanted


class HostSupply:
    """Implements ports.Store. The hash decides what a file is; places only say where to look."""

    def __init__(
        self, config: IndexConfig, cache: Path, catalog: HostCatalog, offline: bool = False,
        given: Mapping[str, Path] | None = None, beside: Path | None = None, bundle: Bundle | None = None,
    ) -> None:  # fmt: skip
        """`given`: library -> a file, or a folder of files, that the user has of it; its hash decides all the same.
        So it does for the files of a `bundle`.

        `beside` is the folder that a lock's folder of vendor files is relative to.
        """
        self._beside = beside
        self._bundle = bundle
        self._config = config
        self._given = dict(given or {})
        self._offline = offline
        self._catalog = catalog
        self._kept = Store(cache)
        self._fetcher = Fetcher(cache=cache, config=config, offline=offline)

    def present(self, artifacts: Sequence[Artifact]) -> frozenset[str]:
        return self._stored(artifacts) | in_bundle(self._bundle, map(wanted_file, artifacts))

    def _stored(self, artifacts: Sequence[Artifact]) -> frozenset[str]:
        return frozenset(a.sha256 for a in artifacts if self._kept.holds(wanted_file(a)))

    def place(self, artifact: Artifact) -> str | None:
        wanted = wanted_file(artifact)
        return str(self._kept.path(wanted)) if self._kept.holds(wanted) else None

    def fetch(self, lock: Lock, advance: Callable[[int], None]) -> tuple[LocalFile, ...]:
        artifacts = lock.artifacts
        self._check_given(lock)
        held = self._stored(artifacts)
        wanted = [wanted_file(a) for a in artifacts if a.sha256 in held]
        wanted += self._located([a for a in lock.packages if a.sha256 not in held], lock)
        wanted += self._located([a for a in lock.build if a.sha256 not in held], lock)
        wanted += self._located([a for a in lock.archives if a.sha256 not in held], lock)
        paths = self._fetcher.fetch(wanted, _deltas(advance))
        return tuple(LocalFile(a, str(paths[a.sha256])) for a in artifacts)

    def check_here(self, lock: Lock) -> None:
        """Offline: raises BlockedError with every file that no place of this machine has."""
        if self._offline:
            held = self._stored(lock.artifacts)
            self._fetcher.near(self._located([a for a in lock.artifacts if a.sha256 not in held], lock))

    def _located(self, missing: Sequence[Artifact], lock: Lock) -> list[Wanted]:
        """Folders of this machine first (they cost nothing), then the address that the index gives."""
        folders = [f for f in map(_folder, (*self._config.find_links, *self._vendor_folder(lock))) if f]
        own = {**of_bundle(self._bundle, map(wanted_file, missing)), **self._own(lock)}
        remote = [a for a in missing if not a.url and a.file not in own and not _in_folders(a, folders)]
        if absent := [a for a in remote if a.index == VENDOR]:
            raise BlockedError([_vendor_file_missing(a, lock) for a in absent])
        urls = self._addresses(remote, lock) if remote and not self._offline else {}
        return [
            wanted_file(
                a,
                [own[a.file]]
                if a.file in own
                else [*folders, *([a.url] if a.url else []), *urls.get(a.file, ())],
            )
            for a in missing
        ]

    def _vendor_folder(self, lock: Lock) -> tuple[str, ...]:
        """Where the files of vendors lie: where this machine maps them, or beside the profile."""
        mapped = self._config.named(VENDOR)
        return (
            (mapped,)
            if mapped
            else (str(self._beside / lock.wheels),)
            if self._beside and lock.wheels
            else ()
        )

    def _own(self, lock: Lock) -> dict[str, str]:
        """File name in the lock -> the file that the user gave for it."""
        found: dict[str, str] = {}
        for library in lock.libraries:
            given = self._given.get(library.library)
            if given is None:
                continue
            names = [library.archive.file] if library.archive else _files_of(lock, library)
            found |= _matched(library, given, names)
        return found

    def _check_given(self, lock: Lock) -> None:
        known = {library.library for library in lock.libraries} | {
            n for one in lock.libraries for n in one.needs
        }
        for name, path in self._given.items():
            if name not in known:
                raise UsageError(_not_placed(name, known))
            if not path.exists():
                raise UsageError(
                    Finding(
                        "no-such-file", "error", message("world.no-such-file.summary", path=path, name=name)
                    )
                )

    def _addresses(self, artifacts: Sequence[Artifact], lock: Lock) -> Mapping[str, list[str]]:
        """File name -> addresses. The engine asks the indexes, as this machine has them configured."""
        request = ClosureRequest(
            requirements=tuple(f"{a.name}=={a.version}" for a in artifacts),
            python=lock.python,
            target=lock.target,
            indexes=lock.indexes,
            dependencies=False,
        )
        answer = self._catalog.close(request)
        if isinstance(answer, CatalogFailure):
            raise ApplyError(_not_located(answer))
        return {listed.name: [listed.url] for package in answer for listed in _files(package)}


def _vendor_file_missing(artifact: Artifact, lock: Lock) -> Finding:
    where = artifact.where or message("world.vendor-file-missing.its-maker")
    return Finding(
        "vendor-files-missing",
        "error",
        message("world.vendor-files-missing.summary", file=artifact.file, wheels=lock.wheels),
        evidence=(Evidence(where, artifact.file),),
        remedies=(Remedy(message("world.vendor-files-missing.way", where=where, wheels=lock.wheels)),),
    )


def _files_of(lock: Lock, library: Library) -> list[str]:
    return [a.file for a in lock.packages if a.name in library.packages]


def _matched(library: Library, given: Path, names: Sequence[str]) -> dict[str, str]:
    """Which of the wanted files a path is, or holds. A single wanted file may have any name: its hash decides."""
    if given.is_dir():
        return {name: str(given / name) for name in names if (given / name).is_file()}
    name = given.name if given.name in names else names[0] if len(names) == 1 else None
    if name is None:
        text = message(
            "world.matched.is-no-file",
            name=given.name,
            library=library.library,
            version=library.version,
            names=tuple(names),
        )
        raise UsageError(Finding("not-a-library-file", "error", text))
    return {name: str(given)}


def _not_placed(name: str, known: Collection[str]) -> Finding:
    return Finding(
        "library-not-placed", "error", message("world.library-not-placed.summary", name=name),
        detail=message("world.library-not-placed.detail", what=', '.join(sorted(known)) or 'none'),
        remedies=(Remedy(message("world.library-not-placed.way"), "provision plan PROFILE"),),
    )  # fmt: skip


def _files(package: ClosedPackage) -> Sequence[ListedFile]:
    return [*package.wheels, *([package.sdist] if package.sdist else [])]


def _folder(place: str) -> str | None:
    path = unquote(urlsplit(place).path) if place.startswith("file:") else place
    return path if "://" not in path and Path(path).is_dir() else None


def _in_folders(artifact: Artifact, folders: Sequence[str]) -> bool:
    return any(Path(folder, artifact.file).is_file() for folder in folders)


def wanted_file(artifact: Artifact, urls: Sequence[str] = ()) -> Wanted:
    """A file of a lock as the store names it."""
    return Wanted(
        filename=artifact.file,
        sha256=artifact.sha256,
        urls=tuple(urls),
        size=artifact.size,
        index=artifact.index,
    )


def _not_located(failure: CatalogFailure) -> Finding:
    code = "index-unreachable" if failure.unreachable else "file-gone"
    what = (
        message("world.not-located.index-cannot-be-reached")
        if failure.unreachable
        else message("world.not-located.index-does-not-have-locked")
    )
    return Finding(
        code,
        "error",
        message("world.not-located.summary", what=what),
        detail=redact_text(failure.text),
        remedies=(
            Remedy(message("world.not-located.way")),
            Remedy(message("world.not-located.way-2"), "provision lock PROFILE --upgrade"),
        ),
    )


def _deltas(advance: Callable[[int], None]) -> Callable[[int], None]:
    """The fetcher says how many bytes it holds; a Reporter is told how many came."""
    last = 0

    def tell(held: int) -> None:
        nonlocal last
        advance(held - last)
        last = held

    return tell
