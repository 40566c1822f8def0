"""Real byte sources: a file on disk, and a file on a server read by HTTP range requests."""

from __future__ import annotations

import io
import os
import re
import time
import zipfile
from netrc import NetrcParseError
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from provision.messages import message
from provision.model.artifact import ArtifactError
from provision.model.finding import Evidence, Finding, Remedy

if TYPE_CHECKING:
    import httpx

#: Tries for one range before giving up, and the first pause between them in seconds (it doubles).
TRIES = 4
PAUSE = 0.3
#: Seconds without a byte after which a request counts as stalled.
TIMEOUT = 20.0
#: Answers that a later try may turn into a good one.
PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})


def local_path(url: str) -> Path | None:
    """The path that a file URL (or a plain path) means; None for an address on a server."""
    parts = urlsplit(url)
    if parts.scheme == "file":
        return Path(url2pathname(parts.path))
    return None if "://" in url else Path(url)


class FileSource:
    """A file on disk."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file = path.open("rb", buffering=0)
            self._size = os.fstat(self._file.fileno()).st_size
        except OSError as error:
            raise ArtifactError(_unreadable(str(path), error.strerror or str(error))) from error

    @property
    def name(self) -> str:
        return self._path.name

    def size(self) -> int:
        return self._size

    def read(self, offset: int, length: int) -> bytes:
        try:
            self._file.seek(offset)
            return self._file.read(length)
        except OSError as error:
            raise ArtifactError(_unreadable(str(self._path), error.strerror or str(error))) from error

    def close(self) -> None:
        self._file.close()


class HttpSource:
    """A file on a server that answers range requests. Proxies and .netrc are taken from the environment.

    Raises ArtifactError with `artifact-no-ranges` where the server sends whole files only,
    `artifact-changed` where the file changes between two reads, `artifact-unreachable` for the rest.
    No message holds the credentials or the query of the address.
    """

    def __init__(self, url: str, client: httpx.Client | None = None, size: int | None = None) -> None:
        import httpx

        self._url = url
        self._shown = _without_secrets(url)
        self._client = client or httpx.Client(follow_redirects=True, timeout=TIMEOUT, auth=_netrc(url))
        self._size = size
        self._etag = ""

    @property
    def name(self) -> str:
        return unquote(urlsplit(self._url).path.rsplit("/", 1)[-1])

    def size(self) -> int:
        if self._size is None:
            self.read(0, 1)
        return self._size or 0

    def read(self, offset: int, length: int) -> bytes:
        if length <= 0 or (self._size is not None and offset >= self._size):
            return b""
        trouble = ""
        for number in range(TRIES):
            if number:
                time.sleep(PAUSE * 2 ** (number - 1))
            found = self._try(offset, offset + length - 1)
            if isinstance(found, bytes):
                return found
            trouble = found
        raise ArtifactError(
            _unreachable(self._shown, message("world.read.times", trouble=trouble, tries=TRIES))
        )

    def _try(self, first: int, last: int) -> bytes | str:
        """The bytes, or what went wrong and may go right on the next try."""
        import httpx

        headers = {"Range": f"bytes={first}-{last}", "Accept-Encoding": "identity"}
        try:
            with self._client.stream("GET", self._url, headers=headers) as answer:
                if answer.status_code in PASSING:
                    return message("world.try.server-answered", status_code=answer.status_code)
                self._accept(answer)
                total = self._total(answer)
                data = _body(answer, last - first + 1)
        except httpx.TransportError as error:
            return f"{type(error).__name__}: {_without_secrets(str(error))}"
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ArtifactError(_unreachable(self._shown, _without_secrets(str(error)))) from error
        wanted = min(last, total - 1) - first + 1
        return (
            data
            if len(data) == wanted
            else message("world.try.answer-ended-after-bytes", data=len(data), wanted=wanted)
        )

    def _accept(self, answer: httpx.Response) -> None:
        if answer.status_code == 200:
            raise ArtifactError(_no_ranges(self._shown))
        if answer.status_code != 206:
            status = answer.status_code
            raise ArtifactError(
                _unreachable(self._shown, message("world.accept.server-answered", status=status), status)
            )
        etag = answer.headers.get("ETag", "")
        if self._etag and etag and etag != self._etag:
            raise ArtifactError(_changed(self._shown))
        self._etag = self._etag or etag

    def _total(self, answer: httpx.Response) -> int:
        """The size of the whole file, from Content-Range; it must not change between two reads."""
        found = re.fullmatch(r"bytes \d+-\d+/(\d+)", answer.headers.get("Content-Range", "").strip())
        if found is None:
            raise ArtifactError(_no_ranges(self._shown))
        total = int(found[1])
        if self._size is not None and total != self._size:
            raise ArtifactError(_changed(self._shown))
        self._size = total
        return total

    def close(self) -> None:
        self._client.close()


class _Seekable(io.RawIOBase):
    """A byte source as zipfile wants it."""

    def __init__(self, source: FileSource | HttpSource) -> None:
        self._source = source
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._source.size()}[whence]
        self._at = max(0, start + offset)
        return self._at

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        data = self._source.read(self._at, min(len(view), max(0, self._source.size() - self._at)))
        view[: len(data)] = data
        self._at += len(data)
        return len(data)


def wheel_metadata(url: str) -> str:
    """METADATA of a wheel at an http(s) or file URL, read without the rest of it. Raises ArtifactError."""
    parts = urlsplit(url)
    source = FileSource(Path(unquote(parts.path))) if parts.scheme == "file" else HttpSource(url)
    try:
        with zipfile.ZipFile(io.BufferedReader(_Seekable(source), 1 << 16)) as archive:
            name = next(n for n in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", n))
            return archive.read(name).decode("utf-8", "replace")
    except (zipfile.BadZipFile, StopIteration, OSError, NotImplementedError) as error:
        said = str(error) or message("world.wheel-metadata.it-holds-no-metadata")
        raise ArtifactError(_unreadable(_without_secrets(url), said)) from error
    finally:
        source.close()


def _netrc(url: str) -> httpx.Auth | None:
    """The credentials of ~/.netrc (or of the file that NETRC names), unless the address holds its own."""
    import httpx

    path = Path(os.environ.get("NETRC") or Path.home() / ("_netrc" if os.name == "nt" else ".netrc"))
    try:
        return None if urlsplit(url).username or not path.is_file() else httpx.NetRCAuth(str(path))
    except (OSError, NetrcParseError):
        return None  # a file that nobody can read gives no credentials


def _body(answer: httpx.Response, limit: int) -> bytes:
    """The body, no more than was asked for, however much the server sends."""
    pieces: list[bytes] = []
    size = 0
    for piece in answer.iter_raw(1 << 16):
        pieces.append(piece)
        size += len(piece)
        if size > limit:
            break
    return b"".join(pieces)


def _without_secrets(text: str) -> str:
    """An address as it may be shown: no user, password, query or fragment."""
    return re.sub(r"(https?://)(?:[^/@\s]*@)?([^\s?#]*)(?:[?#]\S*)?", r"\1\2", text)


def _unreadable(path: str, words: str) -> Finding:
    return Finding(
        "artifact-unreadable", "error", message("world.artifact-unreadable.summary", path=path), words
    )


def _unreachable(url: str, words: str, status: int = 0) -> Finding:
    remedies = {
        401: Remedy(message("world.unreachable.way")),
        403: Remedy(message("world.unreachable.way-2")),
        404: Remedy(message("world.unreachable.way-3")),
    }
    other = Remedy(message("world.unreachable.way-4"))
    remedy, evidence = remedies.get(status, other), Evidence(url, words)
    return Finding(
        "artifact-unreachable",
        "error",
        message("world.artifact-unreachable.summary", url=url),
        words,
        (evidence,),
        (remedy,),
    )


def _no_ranges(url: str) -> Finding:
    return Finding(
        "artifact-no-ranges",
        "error",
        message("world.artifact-no-ranges.summary", url=url),
        message("world.artifact-no-ranges.detail"),
        (Evidence(url, message("world.no-ranges.answer-to-range-request-was")),),
        (Remedy(message("world.artifact-no-ranges.way")),),
    )


def _changed(url: str) -> Finding:
    return Finding(
        "artifact-changed",
        "error",
        message("world.artifact-changed.summary", url=url),
        message("world.artifact-changed.detail"),
        remedies=(Remedy(message("world.artifact-changed.way")),),
    )
