"""The artifacts of a lock as local files: from the store by hash, else from where this machine finds its indexes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from provision.model.lock import PYPI, Artifact
from provision.model.profile import Index
from provision.ports import LocalFile
from provision.world.catalog import HostCatalog
from provision.world.fetching import Fetcher
from provision.world.indexes import IndexConfig
from provision.world.pages import IndexClient
from provision.world.store import Store, Wanted

_LOOKUPS = 8


class HostSupply:
    """Implements ports.Store. The hash decides what a file is; places only say where to look."""

    def __init__(self, config: IndexConfig, cache: Path, offline: bool = False) -> None:
        self._config = config
        self._offline = offline
        self._kept = Store(cache)
        self._fetcher = Fetcher(cache=cache, config=config, offline=offline)
        self._pages = IndexClient(config, cache=cache, offline=offline)
        self._catalog = HostCatalog(config, cache, offline=offline)

    def present(self, artifacts: Sequence[Artifact]) -> frozenset[str]:
        return frozenset(a.sha256 for a in artifacts if self._kept.holds(_wanted(a)))

    def fetch(
        self, artifacts: Sequence[Artifact], indexes: Sequence[Index], advance: Callable[[int], None]
    ) -> tuple[LocalFile, ...]:
        named = {i.name: i for i in indexes}
        held = self.present(artifacts)
        missing = [a for a in artifacts if a.sha256 not in held]
        wanted = [_wanted(a) for a in artifacts if a.sha256 in held] + self._located(missing, named)
        paths = self._fetcher.fetch(wanted, _deltas(advance))
        return tuple(LocalFile(a, str(paths[a.sha256])) for a in artifacts)

    def _located(self, missing: Sequence[Artifact], named: dict[str, Index]) -> list[Wanted]:
        """Pages are asked for side by side: an environment has dozens of packages."""
        if not missing:
            return []
        with ThreadPoolExecutor(_LOOKUPS) as pool:
            return list(pool.map(lambda a: self._locate(a, named.get(a.index)), missing))

    def _locate(self, artifact: Artifact, index: Index | None) -> Wanted:
        """Folders of this machine first (they cost nothing), then the file's address on its index's page."""
        local = [
            folder for folder in self._config.find_links if "://" not in folder or folder.startswith("file:")
        ]
        urls = [artifact.url] if artifact.url else []
        if not self._offline and not _in_folders(artifact, local):
            urls += self._listed(artifact, index)
        return _wanted(artifact, (*local, *urls))

    def _listed(self, artifact: Artifact, index: Index | None) -> list[str]:
        place = self._catalog.place(index) if index is not None and artifact.index != PYPI else None
        if place is not None and place.flat:
            return [place.url]
        url = place.url if place else index.url if index else None
        files = self._pages.project(artifact.name, url) or ()
        return [f.url for f in files if f.name == artifact.file]


def _in_folders(artifact: Artifact, folders: Sequence[str]) -> bool:
    return any(Path(f.removeprefix("file://"), artifact.file).is_file() for f in folders)


def _wanted(artifact: Artifact, urls: Sequence[str] = ()) -> Wanted:
    return Wanted(
        filename=artifact.file,
        sha256=artifact.sha256,
        urls=tuple(urls),
        size=artifact.size,
        index=artifact.index,
    )


def _deltas(advance: Callable[[int], None]) -> Callable[[int], None]:
    """The fetcher says how many bytes it holds; a Reporter is told how many came."""
    last = 0

    def tell(held: int) -> None:
        nonlocal last
        advance(held - last)
        last = held

    return tell
