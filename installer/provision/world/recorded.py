"""A Catalog that replays a recorded catalogue, records one, or both.

Pages and metadata come from the recorded folder where it holds them; what it does not hold comes from where this
machine finds its indexes, or from nowhere offline. The engine asks a server on the loopback interface for all that.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from packaging.utils import canonicalize_name

from provision.messages import message
from provision.model.finding import Evidence, Finding, ProvisionError, Remedy
from provision.model.lock import PYPI, VENDOR
from provision.model.profile import Index
from provision.ports import CatalogFailure, ClosedPackage, ClosureRequest, ListedFile, Release
from provision.world.catalog import HostCatalog, version_of
from provision.world.indexes import redact_text
from provision.world.pages import IndexFile
from provision.world.recorded_files import (
    Catalogue,
    Described,
    RecordedFile,
    RecordedPage,
    Recorder,
    described,
    fitting,
    identity,
)
from provision.world.recorded_server import LoopbackServer
from provision.world.uv import Place

#: Stated for a file whose hash is not known; it never leaves this module.
_UNKNOWN = "0" * 64


class RecordedCatalog:
    """Implements ports.Catalog around the machine's own one.

    `folder` is a catalogue to replay, `record` one to write. With `offline` nothing but the catalogue is asked.
    """

    def __init__(
        self, host: HostCatalog, folder: Path | None = None, record: Path | None = None, offline: bool = False
    ) -> None:
        self._host = host
        self._held = Catalogue(folder) if folder else None
        self._record = record
        self._offline = offline
        self._writing = threading.Lock()

    def close(self, request: ClosureRequest) -> tuple[ClosedPackage, ...] | CatalogFailure:
        shelf = _Shelf(
            host=self._host, request=request, held=self._held, offline=self._offline, record=self._record
        )
        with LoopbackServer(shelf) as server:
            routed = self._routed(request.indexes)
            places = {name: Place(url=server.url(name)) for name in routed}
            answer = self._host.close(request, places, sealed=PYPI in routed)
            if isinstance(answer, CatalogFailure):
                return shelf.failure(answer, places)
            if shelf.troubles:
                return CatalogFailure("", unreachable=True, findings=tuple(shelf.troubles))
            with self._writing:
                shelf.save()
            return tuple(shelf.upstream(package) for package in answer)

    def _routed(self, indexes: Sequence[Index]) -> tuple[str, ...]:
        """Indexes that the loopback server stands for: all where nothing else may be asked or all is recorded."""
        # A vendor's files lie on this machine: no page of theirs is asked for, and none is recorded.
        names = (PYPI, *(index.name for index in indexes if index.name != VENDOR))
        if self._offline or self._record is not None:
            return names
        held = self._held.indexes() if self._held else ()
        return tuple(name for name in names if name in held)

    def releases(self, project: str, index: Index | None = None) -> tuple[Release, ...] | None:
        page = self._held.page(index.name if index else PYPI, project) if self._held else None
        if page is None:
            return None if self._offline else self._host.releases(project, index)
        return tuple(
            _release(file, version) for file in page.files if (version := version_of(file.name)) is not None
        )

    def build_requires(self, package: ClosedPackage) -> tuple[str, ...]:
        from provision.world.sdists import requires_of

        name = package.sdist.name if package.sdist else ""
        path = self._held.whole(package.index, package.name, name) if self._held and name else None
        return requires_of(path) if path else self._host.build_requires(package)


def _release(file: RecordedFile, version: str) -> Release:
    return Release(
        version=version,
        file=file.name,
        yanked=file.yanked,
        requires_python=file.requires_python,
        uploaded=file.uploaded,
    )


@dataclass(slots=True, kw_only=True)
class _Shelf:
    """Implements recorded_server.Shelf for one closure: recorded first, then the machine's own indexes."""

    host: HostCatalog
    request: ClosureRequest
    held: Catalogue | None
    offline: bool
    record: Path | None
    troubles: list[Finding] = field(default_factory=list)
    _missed: list[tuple[str, str]] = field(default_factory=list)
    _pages: dict[tuple[str, str], RecordedPage | None] = field(default_factory=dict)
    _listed: dict[tuple[str, str, str], IndexFile] = field(default_factory=dict)
    _recorded_keys: set[tuple[str, str]] = field(default_factory=set)
    _used: dict[tuple[str, str, str], Described] = field(default_factory=dict)
    _wholes: dict[tuple[str, str, str], Path] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def page(self, index: str, project: str) -> RecordedPage | None:
        key = index, canonicalize_name(project)
        with self._lock:
            if key not in self._pages:
                self._pages[key] = self._recorded(*key) or self._asked(*key)
            return self._pages[key]

    def _recorded(self, index: str, project: str) -> RecordedPage | None:
        try:
            page = self.held.page(index, project) if self.held else None
        except ProvisionError as error:
            self.troubles += error.findings
            return None
        if page is not None:
            self._recorded_keys.add((index, project))
        return page

    def _asked(self, index: str, project: str) -> RecordedPage | None:
        if self.offline:
            self._missed.append((index, project))
            return None
        try:
            listing = self.host.listing(project, self._index(index))
        except ProvisionError as error:
            self.troubles += error.findings
            return None
        if listing is None:
            return None
        self._listed.update({(index, project, file.name): file for file in listing})
        files = tuple(self._as_recorded(index, file) for file in listing)
        return RecordedPage(index=index, project=project, files=files)

    def _index(self, name: str) -> Index | None:
        return next((index for index in self.request.indexes if index.name == name), None)

    def _as_recorded(self, index: str, file: IndexFile) -> RecordedFile:
        local = _local(file.url)
        sha256 = file.sha256 or (hashlib.sha256(local.read_bytes()).hexdigest() if local else None)
        return RecordedFile(
            name=file.name,
            url=None if index == PYPI or local else file.url,
            sha256=sha256,
            size=file.size,
            requires_python=file.requires_python,
            uploaded=file.uploaded,
            yanked=file.yanked,
        )

    def sha256(self, page: RecordedPage, file: RecordedFile) -> str | None:
        """A file whose hash nobody recorded is not fetched for it: the lock is to say that the hash is unknown."""
        return file.sha256 or (_UNKNOWN if (page.index, page.project) in self._recorded_keys else None)

    def tells(self, file: RecordedFile) -> bool:
        return file.described is not None or (self.record is not None and file.name.endswith(".whl"))

    def metadata(self, index: str, project: str, name: str) -> str | None:
        page = self.page(index, project)
        file = page.file(name) if page else None
        if file is None:
            return None
        what = file.described or self._read_metadata(index, project, name)
        if what is None:
            return None
        with self._lock:
            self._used[index, canonicalize_name(project), name] = what
        return what.text(*identity(name))

    def _read_metadata(self, index: str, project: str, name: str) -> Described | None:
        listed = self._listing_of(index, project, name)
        if listed is None:
            return None
        try:
            return described(self.host.metadata(listed))
        except ProvisionError as error:
            self.troubles += error.findings
            return None

    def _listing_of(self, index: str, project: str, name: str) -> IndexFile | None:
        """Where a file really is: its page is asked once more if it came from the catalogue."""
        key = index, canonicalize_name(project), name
        with self._lock:
            if key not in self._listed and not self.offline:
                self._asked(*key[:2])
            return self._listed.get(key)

    def whole(self, index: str, project: str, name: str) -> Path | str | None:
        kept = self.held.whole(index, project, name) if self.held else None
        if kept is None:
            page = self.page(index, project)
            file = page.file(name) if page else None
            if self.record is None and file is not None and file.url:
                return None if self.offline else file.url
            kept = self._fetched(index, project, name, file)
        if kept is not None:
            with self._lock:
                self._wholes[index, canonicalize_name(project), name] = kept
        return kept

    def _fetched(self, index: str, project: str, name: str, file: RecordedFile | None) -> Path | None:
        listed = self._listing_of(index, project, name)
        if listed is None or file is None:
            return None
        local = _local(listed.url)
        if local is not None:
            return local
        try:
            return self.host.fetch(replace(listed, sha256=file.sha256), index)
        except ProvisionError as error:
            self.troubles += error.findings
            return None

    def upstream(self, package: ClosedPackage) -> ClosedPackage:
        """A closed package with the addresses of the indexes, not of the server here."""
        return replace(
            package,
            wheels=tuple(self._moved(package, file) for file in package.wheels),
            sdist=self._moved(package, package.sdist) if package.sdist else None,
        )

    def _moved(self, package: ClosedPackage, listed: ListedFile) -> ListedFile:
        key = package.index, canonicalize_name(package.name)
        page = self._pages.get(key)
        file = page.file(listed.name) if page else None
        if file is None:
            return listed
        here = self._listed.get((*key, listed.name))
        sha256 = file.sha256 if key in self._recorded_keys else file.sha256 or listed.sha256
        return replace(listed, url=file.url or (here.url if here else ""), size=file.size, sha256=sha256)

    def failure(self, failure: CatalogFailure, places: Mapping[str, Place]) -> CatalogFailure:
        """The engine's words with the addresses of the indexes, and what the server knows better."""
        text = failure.text
        for name, place in places.items():
            index = self._index(name)
            text = text.replace(place.url, index.url if index else "the default index")
        found = (*self.troubles, *(() if self.troubles else map(self._not_held, self._missed)))
        return CatalogFailure(
            redact_text(text), unreachable=failure.unreachable or bool(found), findings=found
        )

    def _not_held(self, missed: tuple[str, str]) -> Finding:
        index, project = missed
        where = str(self.held.folder) if self.held else message("world.not-held.catalogue")
        return Finding(
            "offline-missing",
            "error",
            message("world.offline-missing.summary-2", project=project, index=f"{index!r}"),
            evidence=(Evidence(where, message("world.not-held.no-json", index=index, project=project)),),
            remedies=(
                Remedy(message("world.offline-missing.way-2"), "provision lock --record DIR PROFILE"),
                Remedy(message("world.offline-missing.way-3")),
            ),
        )

    def save(self) -> None:
        """Add what this closure used to the catalogue that is being recorded."""
        if self.record is None:
            return
        recorder = Recorder(self.record)
        for page in self._pages.values():
            if page is not None:
                files = tuple(fitting(page.files, self.request.python, self.request.target))
                recorder.put(replace(page, files=files))
        for (index, project, name), what in self._used.items():
            recorder.describe(index, project, name, what)
        for (index, project, name), path in self._wholes.items():
            recorder.keep(index, project, name, path)
        recorder.save()


def _local(url: str) -> Path | None:
    parts = urlsplit(url)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None
