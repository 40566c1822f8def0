"""The artifacts of a lock as local files: from the store by hash, else from where this machine finds its indexes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from provision.model.finding import ApplyError, Finding, Remedy
from provision.model.lock import Artifact, Lock
from provision.ports import CatalogFailure, ClosedPackage, ClosureRequest, ListedFile, LocalFile
from provision.world.catalog import HostCatalog
from provision.world.fetching import Fetcher
from provision.world.indexes import IndexConfig, redact_text
from provision.world.store import Store, Wanted


class HostSupply:
    """Implements ports.Store. The hash decides what a file is; places only say where to look."""

    def __init__(self, config: IndexConfig, cache: Path, catalog: HostCatalog, offline: bool = False) -> None:
        self._config = config
        self._offline = offline
        self._catalog = catalog
        self._kept = Store(cache)
        self._fetcher = Fetcher(cache=cache, config=config, offline=offline)

    def present(self, artifacts: Sequence[Artifact]) -> frozenset[str]:
        return frozenset(a.sha256 for a in artifacts if self._kept.holds(_wanted(a)))

    def place(self, artifact: Artifact) -> str | None:
        wanted = _wanted(artifact)
        return str(self._kept.path(wanted)) if self._kept.holds(wanted) else None

    def fetch(self, lock: Lock, advance: Callable[[int], None]) -> tuple[LocalFile, ...]:
        artifacts = (*lock.packages, *lock.build)
        held = self.present(artifacts)
        wanted = [_wanted(a) for a in artifacts if a.sha256 in held]
        wanted += self._located([a for a in lock.packages if a.sha256 not in held], lock)
        wanted += self._located([a for a in lock.build if a.sha256 not in held], lock)
        paths = self._fetcher.fetch(wanted, _deltas(advance))
        return tuple(LocalFile(a, str(paths[a.sha256])) for a in artifacts)

    def _located(self, missing: Sequence[Artifact], lock: Lock) -> list[Wanted]:
        """Folders of this machine first (they cost nothing), then the address that the index gives."""
        folders = [f for f in map(_folder, self._config.find_links) if f]
        remote = [a for a in missing if not a.url and not _in_folders(a, folders)]
        urls = self._addresses(remote, lock) if remote and not self._offline else {}
        return [_wanted(a, [*folders, *([a.url] if a.url else []), *urls.get(a.file, ())]) for a in missing]

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


def _files(package: ClosedPackage) -> Sequence[ListedFile]:
    return [*package.wheels, *([package.sdist] if package.sdist else [])]


def _folder(place: str) -> str | None:
    path = unquote(urlsplit(place).path) if place.startswith("file:") else place
    return path if "://" not in path and Path(path).is_dir() else None


def _in_folders(artifact: Artifact, folders: Sequence[str]) -> bool:
    return any(Path(folder, artifact.file).is_file() for folder in folders)


def _wanted(artifact: Artifact, urls: Sequence[str] = ()) -> Wanted:
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
        "The index cannot be reached"
        if failure.unreachable
        else "The index does not have a locked file any more"
    )
    return Finding(
        code,
        "error",
        f"{what}; nothing was changed.",
        detail=redact_text(failure.text),
        remedies=(
            Remedy("Check the network and the index configuration, then try again."),
            Remedy("If the file is gone for good, lock again.", "provision lock PROFILE --upgrade"),
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
