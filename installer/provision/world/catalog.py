"""The real Catalog: closures through uv, pages through HTTP, with the machine's own index configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from provision.model.finding import ApplyError, BlockedError
from provision.model.lock import PYPI, VENDOR
from provision.model.profile import Index
from provision.ports import CatalogFailure, ClosedPackage, ClosureRequest, Release
from provision.world.indexes import IndexConfig
from provision.world.uv import Place, UvResolver

if TYPE_CHECKING:
    from provision.world.pages import IndexClient, IndexFile


class HostCatalog:
    """Implements ports.Catalog.

    A named index is looked for in this order: where this machine maps it; a folder of files that pip's
    configuration names and that holds the very build (its local version is the index's own, `+cpu`); where the
    profile says.
    """

    def __init__(
        self,
        config: IndexConfig,
        cache: Path,
        offline: bool = False,
        interpreters: Mapping[str, str] | None = None,
    ) -> None:
        self._config = config
        self._cache = cache
        self._offline = offline
        self._interpreters = {} if interpreters is None else interpreters

    def close(
        self, request: ClosureRequest, places: Mapping[str, Place] | None = None, sealed: bool = False
    ) -> tuple[ClosedPackage, ...] | CatalogFailure:
        """`places` go before what this machine has configured; `sealed`: there are no others (see UvResolver).

        Raises BlockedError where a SOCKS proxy is set that only the resolver could speak: what is locked is fetched.
        """
        if not sealed:
            self.check_way(request.indexes)
        own = {i.name: place for i in request.indexes if (place := self.place(i)) is not None}
        if self._config.default_url:
            own[PYPI] = _mapped_place(self._config.default_url)
        resolver = UvResolver(
            places={**own, **(places or {})},
            offline=self._offline and not sealed,
            sealed=sealed,
            interpreters=self._interpreters,
            scratch=self._cache / "tmp",
        )
        return resolver.close(request)

    def check_way(self, indexes: Sequence[Index]) -> None:
        """Raises BlockedError where the default index or one of these is behind a proxy that is not spoken here."""
        from provision.world.web import check_way, may_be_socks

        if self._offline or not may_be_socks(self._config):
            return
        places = ((self.place(i), i.url) for i in indexes if i.name != VENDOR)
        named = [place.url if place else url for place, url in places]
        check_way(self._config, [self._pages.default(), *named])

    def place(self, index: Index) -> Place | None:
        """Where a named index is on this machine, or None for where the profile says."""
        if index.name == VENDOR:
            return Place(url=index.url, flat=True)
        mapped = self._config.named(index.name)
        if mapped is not None:
            return _mapped_place(mapped)
        local = _local_version(index.url)
        for folder in self._config.find_links:
            path = _folder(folder)
            if path is not None and local and _holds(path, index.packages, local):
                return Place(url=path.as_uri(), flat=True)
        return None

    def releases(self, project: str, index: Index | None = None) -> tuple[Release, ...] | None:
        try:
            files = self.listing(project, index)
        except (ApplyError, BlockedError):
            return None
        if files is None:
            return None
        return tuple(
            Release(
                version=v,
                file=f.name,
                yanked=f.yanked,
                requires_python=f.requires_python,
                uploaded=f.uploaded,
            )
            for f in files
            if (v := version_of(f.name)) is not None
        )

    def listing(self, project: str, index: Index | None = None) -> tuple[IndexFile, ...] | None:
        """All files of a project. Raises ApplyError or BlockedError where the index cannot be asked."""
        url = None
        if index is not None:
            place = self.place(index)
            url = place.url if place else index.url
        return self._pages.project(canonicalize_name(project), url)

    def metadata(self, file: IndexFile) -> str:
        """The METADATA of a listed wheel. Raises ApplyError or BlockedError."""
        return self._pages.metadata(file)

    def fetch(self, file: IndexFile, index: str) -> Path:
        """A listed file with a known hash, in the store. Raises as Fetcher.fetch."""
        from provision.world.fetching import Fetcher
        from provision.world.store import Wanted

        sha256 = file.sha256 or ""
        wanted = Wanted(filename=file.name, sha256=sha256, urls=(file.url,), size=file.size, index=index)
        fetcher = Fetcher(cache=self._cache, config=self._config, offline=self._offline)
        return fetcher.fetch([wanted])[sha256]

    def build_requires(self, package: ClosedPackage) -> tuple[str, ...]:
        from provision.world.fetching import Fetcher
        from provision.world.sdists import build_requires

        return build_requires(package, Fetcher(cache=self._cache, config=self._config, offline=self._offline))

    @cached_property
    def _pages(self) -> IndexClient:
        from provision.world.pages import IndexClient

        return IndexClient(self._config, cache=self._cache, offline=self._offline)


def _mapped_place(mapped: str) -> Place:
    if "://" in mapped:
        return Place(url=mapped)
    path = Path(mapped).expanduser().absolute()
    return Place(url=path.as_uri(), flat=is_flat(path))


def is_flat(path: Path) -> bool:
    """A folder of files, not of projects."""
    return any(path.glob("*.whl"))


def _local_version(url: str) -> str:
    """What the builds of a PyTorch-style index carry: `.../whl/cpu` -> `cpu`."""
    return urlsplit(url).path.rstrip("/").rsplit("/", 1)[-1]


def _folder(place: str) -> Path | None:
    path = Path(unquote(urlsplit(place).path)) if place.startswith("file:") else Path(place)
    return path if path.is_dir() else None


def _holds(folder: Path, packages: Sequence[str], local: str) -> bool:
    """True if the folder has a build of one of these packages with that local version."""
    wanted = {canonicalize_name(name) for name in packages}
    for path in folder.glob("*.whl"):
        try:
            name, version, _, _ = parse_wheel_filename(path.name)
        except InvalidWheelFilename:
            continue
        if name in wanted and version.local == local:
            return True
    return False


def version_of(filename: str) -> str | None:
    """The version in a distribution's file name; None for a file that is none."""
    from packaging.utils import InvalidSdistFilename, parse_sdist_filename
    from packaging.version import InvalidVersion

    try:
        if filename.endswith(".whl"):
            return str(parse_wheel_filename(filename)[1])
        return str(parse_sdist_filename(filename)[1])
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
        return None
