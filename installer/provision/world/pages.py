"""What an index lists for a project: JSON (PEP 691), HTML (PEP 503), folders of this machine.

Pages are kept in `<cache>/pages` and asked for again with their ETag; offline, what is kept is what there is.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import tempfile
import time
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)

from provision.messages import message
from provision.model.artifact import ArtifactError
from provision.model.finding import ApplyError, BlockedError, Evidence, Finding, Remedy
from provision.world.indexes import IndexConfig, redact
from provision.world.web import Limits, Page, Trouble, Web, host_of, is_remote

_ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.01"
_WORKERS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexFile:
    """A file as an index lists it; None where it does not say. `size` is in bytes, `uploaded` ISO 8601.

    `yanked` is the reason (it may be empty) of a file that was yanked, None for all others. `metadata`:
    the METADATA of the wheel can be had alone, at `url` + `.metadata` (PEP 658).
    """

    name: str
    url: str
    sha256: str | None = None
    size: int | None = None
    requires_python: str | None = None
    yanked: str | None = None
    uploaded: str | None = None
    metadata: bool = False


Listing = tuple[IndexFile, ...]


@dataclass(kw_only=True)
class _Memory:
    """What this run has learnt already."""

    listings: dict[tuple[str, str], Listing | None] = field(default_factory=dict)
    default: str | None = None


class IndexClient:
    """Asks indexes about projects. `cache` is provision's cache folder, None for none."""

    def __init__(
        self,
        config: IndexConfig | None = None,
        *,
        cache: Path | None = None,
        offline: bool = False,
        limits: Limits | None = None,
    ) -> None:
        self._config = config or IndexConfig()
        self._kept = _Pages(cache / "pages") if cache else None
        self._scratch = cache / "tmp" if cache else None
        self._offline = offline
        self._limits = limits or Limits()
        self._memory = _Memory(default=self._config.default_url)
        self._web = Web(self._config, stall=self._limits.stall, connections=_WORKERS)

    def close(self) -> None:
        self._web.close()

    def project(self, name: str, place: str | None = None) -> Listing | None:
        """All files of a project in a place, None if the place does not know the name.

        A place is the URL of an index (also `file://`) or of a page of links (`.html`), or a folder: an index
        on the disk or a flat folder of files. None is the default index of this machine. Raises ApplyError
        where the place cannot be asked, BlockedError where the machine's set-up bars the way or offline.
        """
        name = canonicalize_name(name)
        place = place or self.default()
        key = (place, name)
        if key not in self._memory.listings:
            try:
                self._memory.listings[key] = self._ask(name, place)
            except Trouble as trouble:
                raise trouble.kind(trouble.finding) from trouble
        return self._memory.listings[key]

    def projects(self, names: Iterable[str], place: str | None = None) -> dict[str, Listing | None]:
        """`project` for many names at once, in parallel; keyed by the names as given."""
        from concurrent.futures import ThreadPoolExecutor

        place = place or self.default()
        wanted = list(dict.fromkeys(names))
        with ThreadPoolExecutor(_WORKERS) as crew:
            return dict(zip(wanted, crew.map(lambda name: self.project(name, place), wanted), strict=True))

    def metadata(self, file: IndexFile) -> str:
        """The METADATA of a listed wheel: from beside it where the index has it there, else out of the wheel.

        Raises ApplyError where it cannot be had, BlockedError offline.
        """
        if is_remote(file.url) and file.metadata:
            try:
                page = self._page(f"{file.url}.metadata")
            except Trouble as trouble:
                raise trouble.kind(trouble.finding) from trouble
            if page is not None:
                return page.body.decode("utf-8", "replace")
        if is_remote(file.url) and self._offline:
            raise BlockedError(_offline(file.url))
        from provision.world.ranges import wheel_metadata

        try:
            return wheel_metadata(file.url)
        except ArtifactError as error:
            raise ApplyError(error.findings) from error

    def default(self) -> str:
        """The address of the default index: the machine's, else the one that the engine falls back on."""
        if self._memory.default is None:
            self._memory.default = _engines_default(self._scratch)
        return self._memory.default

    def _ask(self, name: str, place: str) -> Listing | None:
        if not is_remote(place):
            return _on_disk(name, _path(place))
        if urlsplit(place).path.endswith((".html", ".htm")):
            page = self._page(place)
            return None if page is None else _of_project(_read(page), name) or None
        page = self._page(f"{place.rstrip('/')}/{name}/")
        return None if page is None else _read(page)

    def _page(self, url: str) -> Page | None:
        kept = self._kept.get(url) if self._kept else None
        if self._offline:
            if kept is None:
                raise Trouble(_offline(url), kind=BlockedError)
            return kept.page
        if kept is not None and kept.fresh_until > time.time():
            return kept.page
        headers = {"Accept": _ACCEPT, **({"If-None-Match": kept.tag} if kept and kept.tag else {})}
        try:
            page = self._web.read(url, headers, self._limits)
        except Trouble as trouble:
            if trouble.finding.code == "not-found":
                return None
            raise
        if page.status == 304 and kept is not None:
            page = Page(
                status=200,
                url=kept.page.url,
                headers={**kept.page.headers, **page.headers},
                body=kept.page.body,
            )
        if self._kept:
            self._kept.put(url, page)
        return page


def _engines_default(scratch: Path | None) -> str:
    """Ask uv, without a network, which address it uses where nobody names one."""
    from provision.world import uv

    with uv.temporary_folder(scratch) as folder:
        Path(folder, "requirements.in").touch()
        done = uv.run(
            ["pip", "compile", "requirements.in", "--emit-index-url", "--offline", "--quiet"], cwd=folder
        )
    match = re.search(r"^--(?:default-index|index-url) (\S+)$", done.stdout, re.MULTILINE)
    if match is None:
        raise ApplyError(_no_default(done.stderr))
    return match[1]


# Pages kept.


@dataclass(frozen=True, slots=True)
class _Kept:
    page: Page
    tag: str
    fresh_until: float


class _Pages:
    """Pages on the disk: a line of JSON about the answer, then its body.

    A page that cannot be read or written is a page that is not kept.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _path(self, url: str) -> Path:
        # The hash hides what the address may hold (a login), and fits every file system.
        return self._folder / hashlib.sha256(url.encode()).hexdigest()

    def get(self, url: str) -> _Kept | None:
        try:
            head, _, body = self._path(url).read_bytes().partition(b"\n")
            document = json.loads(head)
            page = Page(status=200, url=document["url"], headers=document["headers"], body=body)
            return _Kept(page, page.headers.get("etag", ""), float(document["fresh-until"]))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def put(self, url: str, page: Page) -> None:
        kept = ("etag", "content-type", "cache-control")
        document = {
            "url": page.url,
            "headers": {name: value for name, value in page.headers.items() if name in kept},
            "fresh-until": time.time() + _max_age(page.headers),
        }
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            # Made for the owner alone: pages of a private index are nobody else's business.
            handle, made = tempfile.mkstemp(dir=self._folder, suffix=".new")
            with os.fdopen(handle, "wb") as file:
                file.write(json.dumps(document).encode() + b"\n" + page.body)
            Path(made).replace(self._path(url))


def _max_age(headers: Mapping[str, str]) -> float:
    """Seconds for which a page need not be asked for again."""
    control = headers.get("cache-control", "")
    match = re.search(r"max-age=(\d+)", control)
    return float(match[1]) if match and "no-" not in control else 0.0


# Reading pages.


def _read(page: Page) -> Listing:
    kind = page.headers.get("content-type", "")
    try:
        rows = (
            _json_rows(page) if "json" in kind else _html_rows(page.body.decode("utf-8", "replace"), page.url)
        )
        return tuple(rows)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Trouble(_unreadable(page.url, str(error))) from error


def _json_rows(page: Page) -> Iterator[IndexFile]:
    for row in json.loads(page.body)["files"]:
        yanked = row.get("yanked", False)
        size = row.get("size")
        yield IndexFile(
            name=row["filename"],
            url=_joined(page.url, row["url"]),
            sha256=row.get("hashes", {}).get("sha256"),
            size=size if isinstance(size, int) else None,
            requires_python=row.get("requires-python") or None,
            yanked=None if yanked is False else yanked if isinstance(yanked, str) else "",
            uploaded=row.get("upload-time"),
            metadata=bool(row.get("core-metadata") or row.get("dist-info-metadata")),
        )


def _joined(base: str, url: str) -> str:
    # Most addresses are whole, and joining thousands of them takes longer than reading the page.
    return url if url.startswith(("https://", "http://")) else urljoin(base, url)


class _Links(HTMLParser):
    """The links of a page with their attributes, and the base that the page gives for them."""

    def __init__(self) -> None:
        super().__init__()
        self.base = ""
        self.found: list[dict[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "a" and attributes.get("href"):
            self.found.append(attributes)
        elif tag == "base" and not self.base:
            self.base = attributes.get("href", "")


def _html_rows(text: str, url: str) -> Iterator[IndexFile]:
    links = _Links()
    links.feed(text)
    base = urljoin(url, links.base)
    for link in links.found:
        address, _, fragment = urljoin(base, link["href"].strip()).partition("#")
        name = unquote(urlsplit(address).path.rsplit("/", 1)[-1])
        if not name:
            continue
        stated = re.search(r"(?:^|&)sha256=([0-9a-fA-F]{64})", fragment)
        metadata = link.get("data-core-metadata", link.get("data-dist-info-metadata", "false"))
        yield IndexFile(
            name=name,
            url=address,
            sha256=stated[1].lower() if stated else None,
            requires_python=link.get("data-requires-python") or None,
            yanked=link.get("data-yanked"),
            metadata=metadata != "false",
        )


# Folders.


def _path(place: str) -> Path:
    parts = urlsplit(place)
    return Path(urllib.request.url2pathname(parts.path) if parts.scheme == "file" else place).absolute()


def _on_disk(name: str, place: Path) -> Listing | None:
    """A page of links, an index (a folder a project), or a flat folder."""
    if place.is_file():
        return _of_project(_local_page(place), name) or None
    if not place.is_dir():
        raise Trouble(_no_folder(place))
    folder = place / name
    page = folder / "index.html"
    if page.is_file():
        return _local_page(page)
    if folder.is_dir():
        return tuple(_local_file(path) for path in sorted(folder.iterdir()) if path.is_file())
    files = tuple(_local_file(path) for path in sorted(place.iterdir()) if path.is_file())
    return _of_project(files, name) or None


def _local_page(path: Path) -> Listing:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise Trouble(_unreadable(str(path), error.strerror or str(error))) from error
    return tuple(_with_size(file) for file in _html_rows(text, path.as_uri()))


def _with_size(file: IndexFile) -> IndexFile:
    from dataclasses import replace

    parts = urlsplit(file.url)
    path = Path(urllib.request.url2pathname(parts.path))
    return replace(file, size=path.stat().st_size) if parts.scheme == "file" and path.is_file() else file


def _local_file(path: Path) -> IndexFile:
    return IndexFile(name=path.name, url=path.as_uri(), size=path.stat().st_size)


def _of_project(files: Listing, name: str) -> Listing:
    return tuple(file for file in files if _project_of(file.name) == name)


def _project_of(filename: str) -> str | None:
    with contextlib.suppress(InvalidWheelFilename, InvalidSdistFilename):
        if filename.endswith(".whl"):
            return str(parse_wheel_filename(filename)[0])
        return str(parse_sdist_filename(filename)[0])
    return None


# Findings.


def _finding(code: str, summary: str, source: str, said: str, remedy: str) -> Finding:
    return Finding(code, "error", summary, said, (Evidence(redact(source), said),), (Remedy(remedy),))


def _offline(url: str) -> Finding:
    summary = message("world.offline.page-is-not-in-cache", host_of=host_of(url))
    return _finding("offline-missing", summary, url, "", message("world.offline.run-once-without-offline"))


def _unreadable(url: str, said: str) -> Finding:
    place = host_of(url) if is_remote(url) else url
    summary = message("world.unreadable.answers-with-something-that-is", place=place)
    return _finding(
        "bad-index", summary, url, said, message("world.unreadable.check-address-it-usually-ends")
    )


def _no_folder(place: Path) -> Finding:
    summary = message("world.no-folder.index-is-folder-that-does", place=place)
    return _finding(
        "index-unreachable",
        summary,
        str(place),
        message("world.no-folder.no-such-folder"),
        message("world.no-folder.correct-configuration-indexes"),
    )


def _no_default(said: str) -> Finding:
    summary = message("world.no-default.uv-does-not-say-which")
    return _finding(
        "index-unreachable",
        summary,
        "uv pip compile --emit-index-url",
        said,
        message("world.no-default.set-variable"),
    )
