"""A package index on the loopback interface, honest by default and broken on request.

`LoopbackIndex` serves any number of simple indexes (PEP 503 HTML and PEP 691 JSON) from folders of
files, one folder a project: `<root>/<index>/<project>/<file>`. `fail()` makes paths misbehave.
"""

from __future__ import annotations

import base64
import contextlib
import fnmatch
import hashlib
import html
import json
import re
import shutil
import socket
import ssl
import struct
import sys
import threading
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

from tests.support import wheels

with contextlib.suppress(ImportError):  # Not on Windows.
    import fcntl
    import termios

JSON_TYPE = "application/vnd.pypi.simple.v1+json"
CERTIFICATE = Path(__file__).with_name("loopback.pem")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """How a response departs from the right one; the functions below build the usual ones.

    `cut`: bytes of the body sent before `end` happens (a fraction of the body if it is a float).
    `chunk`, `pause`: bytes at a time, seconds between. `length` replaces Content-Length.
    """

    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: int | float | None = None
    end: Literal["close", "reset", "stall"] = "close"
    silent: bool = False
    corrupt: bool = False
    chunk: int = 0
    pause: float = 0.0
    ranges: bool = True
    offset: int = 0
    length: int | None = None
    login: str = ""


def status(code: int, **headers: str) -> Fault:
    """Answer with this status; `Retry_After="1"` becomes a header."""
    return Fault(status=code, headers={k.replace("_", "-"): v for k, v in headers.items()})


def not_found() -> Fault:
    return status(404)


def redirect(to: str, code: int = 302) -> Fault:
    return status(code, Location=to)


def truncated(at: int | float = 0.7) -> Fault:
    """Promise the whole body, send a part of it, close as if all were well."""
    return Fault(cut=at)


def reset(at: int | float = 0.5) -> Fault:
    """Send a part of the body, then reset the connection (RST)."""
    return Fault(cut=at, end="reset")


def stalled(at: int | float = 0.5) -> Fault:
    """Send a part of the body, then nothing more, with the connection open."""
    return Fault(cut=at, end="stall")


def mute() -> Fault:
    """Accept the request and never answer."""
    return Fault(silent=True)


def corrupt() -> Fault:
    """The right number of wrong bytes."""
    return Fault(corrupt=True)


def drip(chunk: int = 1024, pause: float = 0.01) -> Fault:
    return Fault(chunk=chunk, pause=pause)


def no_ranges() -> Fault:
    """Answer range requests with the whole file, as some servers do."""
    return Fault(ranges=False)


def shifted_range(by: int = 1) -> Fault:
    """Answer a range request with another range than the one asked for, and say so."""
    return Fault(offset=by)


def wrong_length(length: int) -> Fault:
    return Fault(length=length)


def requires_login(user: str, password: str) -> Fault:
    return Fault(login=f"{user}:{password}")


@dataclass(frozen=True, slots=True)
class Request:
    """One request as the server saw it, and the body bytes that it sent."""

    method: str
    path: str
    host: str
    status: int
    range: str
    sent: int
    authorized: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """What an index says of a file beyond its bytes."""

    yanked: str | None = None
    uploaded: str | None = None
    requires_python: str | None = None
    sha256: str | None = None
    hashed: bool = True


@dataclass(slots=True)
class _Rule:
    pattern: str
    fault: Fault
    left: int | None


class LoopbackIndex:
    """Serves `root` on 127.0.0.1; a context manager. All methods may be used while it runs."""

    def __init__(self, root: Path, *, tls: bool = False) -> None:
        self.root = root
        self._requests: list[Request] = []
        self._answering = 0
        #: Serve PEP 691 JSON to those who accept it; metadata files beside the wheels (PEP 658).
        self.json = True
        self.metadata = False
        self.scheme = "https" if tls else "http"
        self._details: dict[Path, Details] = {}
        self._rules: list[_Rule] = []
        self._lock = threading.Condition()
        self._closing = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.index = self
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(CERTIFICATE)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> LoopbackIndex:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def address(self, path: str = "", host: str = "127.0.0.1") -> str:
        """The URL of a path. `localhost` is the same server under another host name."""
        return f"{self.scheme}://{host}:{self.port}{path}"

    def url(self, name: str = "simple") -> str:
        """The URL of an index, as given to an installer."""
        return self.address(f"/{name}")

    def file_url(self, path: Path) -> str:
        """The URL of a served file."""
        return self.address("/files/" + path.relative_to(self.root).as_posix())

    def wheel(
        self, name: str, version: str, *, index: str = "simple", details: Details | None = None, **more: Any
    ) -> Path:
        """Build a wheel into an index (the arguments are those of `make_wheel`)."""
        return self._built(wheels.make_wheel, name, version, index, details, more)

    def sdist(
        self, name: str, version: str, *, index: str = "simple", details: Details | None = None, **more: Any
    ) -> Path:
        """Build an sdist into an index (the arguments are those of `make_sdist`)."""
        return self._built(wheels.make_sdist, name, version, index, details, more)

    def _built(
        self, maker: Any, name: str, version: str, index: str, details: Details | None, more: dict[str, Any]
    ) -> Path:
        path: Path = maker(self.root / index / wheels.normalized(name), name, version, **more)
        self.describe(path, replace(details or Details(), requires_python=more.get("requires_python")))
        return path

    def add(self, path: Path, name: str, *, index: str = "simple", details: Details | None = None) -> Path:
        """Serve a copy of any file as a file of a project."""
        folder = self.root / index / wheels.normalized(name)
        folder.mkdir(parents=True, exist_ok=True)
        target = Path(shutil.copy(path, folder / path.name))
        self.describe(target, details or Details())
        return target

    def describe(self, path: Path, details: Details) -> None:
        self._details[path] = details

    def fail(self, pattern: str, fault: Fault, times: int | None = None) -> None:
        """Let requests whose path matches (`fnmatch`) meet a fault, the first `times` of them or all.

        Of several rules that match, the oldest that is not used up counts.
        """
        with self._lock:
            self._rules.append(_Rule(pattern, fault, times))

    def heal(self) -> None:
        with self._lock:
            self._rules.clear()

    @property
    def requests(self) -> list[Request]:
        """All requests answered so far; waits for answers under way, which clients may have read already."""
        with self._lock:
            self._lock.wait_for(lambda: self._answering == 0, timeout=30)
            return list(self._requests)

    def sent(self, pattern: str = "*") -> int:
        """Body bytes sent so far for paths that match."""
        return sum(r.sent for r in self.requests if fnmatch.fnmatch(r.path, pattern))

    def paths(self) -> list[str]:
        return [r.path for r in self.requests]

    def fault_for(self, path: str) -> Fault:
        with self._lock:
            for rule in self._rules:
                if rule.left != 0 and fnmatch.fnmatch(path, rule.pattern):
                    if rule.left is not None:
                        rule.left -= 1
                    return rule.fault
        return Fault()

    def begin(self) -> None:
        with self._lock:
            self._answering += 1

    def log(self, request: Request) -> None:
        with self._lock:
            self._requests.append(request)
            self._answering -= 1
            self._lock.notify_all()

    def pause(self, seconds: float) -> None:
        """Sleep, but not past the end of the server."""
        self._closing.wait(seconds)

    def closing(self) -> bool:
        return self._closing.is_set()

    def respond(self, path: str, accept: str) -> tuple[str, bytes] | None:
        """Content type and body of a good answer, None for what does not exist."""
        parts = [unquote(p) for p in path.strip("/").split("/")]
        if parts[0] == "files":
            return self._file(self.root.joinpath(*parts[1:]))
        folder = self.root.joinpath(*parts)
        if len(parts) > 2 or ".." in parts or not folder.is_dir():
            return None
        if self.json and JSON_TYPE in accept:
            page = self._project_json(folder) if len(parts) == 2 else self._list_json(folder)
            return JSON_TYPE, json.dumps(page).encode()
        lines = self._project_html(folder) if len(parts) == 2 else self._list_html(folder)
        return "text/html", f"<!DOCTYPE html>\n<html><body>\n{''.join(lines)}</body></html>\n".encode()

    def _file(self, path: Path) -> tuple[str, bytes] | None:
        if path.name.endswith(".metadata") and self.metadata:
            return "binary/octet-stream", _metadata_of(path.with_name(path.name[: -len(".metadata")]))
        return ("binary/octet-stream", path.read_bytes()) if path.is_file() else None

    def _list_json(self, folder: Path) -> dict[str, Any]:
        projects = [{"name": p.name} for p in sorted(folder.iterdir()) if p.is_dir()]
        return {"meta": {"api-version": "1.1"}, "projects": projects}

    def _list_html(self, folder: Path) -> Iterator[str]:
        for project in sorted(p.name for p in folder.iterdir() if p.is_dir()):
            yield f'<a href="{project}/">{project}</a><br/>\n'

    def _project_json(self, folder: Path) -> dict[str, Any]:
        files = [self._file_json(p) for p in _files(folder)]
        return {"meta": {"api-version": "1.1"}, "name": folder.name, "files": files}

    def _file_json(self, path: Path) -> dict[str, Any]:
        details = self._details.get(path, Details())
        row: dict[str, Any] = {
            "filename": path.name,
            "url": self._relative(path),
            "hashes": {"sha256": details.sha256 or wheels.sha256(path)} if details.hashed else {},
            "size": path.stat().st_size,
            "yanked": details.yanked if details.yanked is not None else False,
        }
        if details.requires_python:
            row["requires-python"] = details.requires_python
        if details.uploaded:
            row["upload-time"] = details.uploaded
        if self.metadata and path.suffix == ".whl":
            row["core-metadata"] = {"sha256": hashlib.sha256(_metadata_of(path)).hexdigest()}
        return row

    def _project_html(self, folder: Path) -> Iterator[str]:
        for path in _files(folder):
            details = self._details.get(path, Details())
            fragment = f"#sha256={details.sha256 or wheels.sha256(path)}" if details.hashed else ""
            attributes = ""
            if details.requires_python:
                attributes += f' data-requires-python="{html.escape(details.requires_python)}"'
            if details.yanked is not None:
                attributes += f' data-yanked="{html.escape(details.yanked)}"'
            if self.metadata and path.suffix == ".whl":
                attributes += f' data-core-metadata="sha256={hashlib.sha256(_metadata_of(path)).hexdigest()}"'
            yield f'<a href="{self._relative(path)}{fragment}"{attributes}>{path.name}</a><br/>\n'

    def _relative(self, path: Path) -> str:
        return "../../files/" + path.relative_to(self.root).as_posix()


def _files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.iterdir() if p.is_file())


def _metadata_of(path: Path) -> bytes:
    with zipfile.ZipFile(path) as archive:
        return next(archive.read(n) for n in archive.namelist() if n.endswith(".dist-info/METADATA"))


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    index: LoopbackIndex

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are what these tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def log_message(self, *args: Any) -> None:
        """The request log is a list, not a stream."""

    def _answer(self, *, body: bool) -> None:
        index = self.server.index
        # As a proxy it is asked for whole URLs; it answers for all hosts itself.
        path = urlsplit(self.path).path
        fault = index.fault_for(path)
        if fault.silent:
            self._end("stall")
            return
        code, headers, data = self._refusal(fault) or self._content(index, path, fault)
        sent = 0
        index.begin()
        try:
            sent = self._write(code, headers, data if body else b"", fault)
        finally:
            index.log(
                Request(
                    method=self.command,
                    path=path,
                    host=self.headers.get("Host", ""),
                    status=code,
                    range=self.headers.get("Range", ""),
                    sent=sent,
                    authorized="Authorization" in self.headers,
                )
            )
        if fault.cut is not None:
            self._end(fault.end)

    def _refusal(self, fault: Fault) -> tuple[int, dict[str, str], bytes] | None:
        if fault.login:
            wanted = "Basic " + base64.b64encode(fault.login.encode()).decode()
            if self.headers.get("Authorization") != wanted:
                return 401, {"WWW-Authenticate": 'Basic realm="loopback"', "Content-Length": "0"}, b""
        if fault.status is not None:
            return fault.status, {"Content-Length": "0", **fault.headers}, b""
        return None

    def _content(self, index: LoopbackIndex, path: str, fault: Fault) -> tuple[int, dict[str, str], bytes]:
        found = index.respond(path, self.headers.get("Accept", ""))
        if found is None:
            return 404, {"Content-Length": "0"}, b""
        kind, data = found
        tag = f'"{hashlib.sha256(data).hexdigest()[:16]}"'
        headers = {"Content-Type": kind, "ETag": tag}
        if self.headers.get("If-None-Match") == tag:
            return 304, headers, b""
        if fault.corrupt:
            data = data.translate(bytes(range(255, -1, -1)))
        if fault.ranges:
            headers["Accept-Ranges"] = "bytes"
            wanted = self._range(len(data), tag)
            if wanted is not None:
                return self._partial(data, wanted, headers, fault)
        return 200, headers | {"Content-Length": str(_length(fault, len(data)))}, data

    def _range(self, size: int, tag: str) -> tuple[int, int] | None:
        """First and last byte asked for; None when the whole file is meant."""
        match = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if match is None or self.headers.get("If-Range", tag) != tag:
            return None
        first, last = match.groups()
        if not first:
            return max(0, size - int(last or 0)), size - 1
        return int(first), min(int(last), size - 1) if last else size - 1

    def _partial(
        self, data: bytes, wanted: tuple[int, int], headers: dict[str, str], fault: Fault
    ) -> tuple[int, dict[str, str], bytes]:
        first, last = wanted
        if first > last:
            return 416, {"Content-Range": f"bytes */{len(data)}", "Content-Length": "0"}, b""
        first = min(first + fault.offset, last)
        part = data[first : last + 1]
        headers |= {
            "Content-Range": f"bytes {first}-{last}/{len(data)}",
            "Content-Length": str(_length(fault, len(part))),
        }
        return 206, headers, part

    def _write(self, code: int, headers: Mapping[str, str], data: bytes, fault: Fault) -> int:
        """Send status, headers and as much of the body as the fault lets through; the bytes sent."""
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if code != 304 and self.command != "HEAD" and headers.get("Content-Length") != str(len(data)):
            self.close_connection = True
        if fault.cut is not None:
            data = data[: int(fault.cut * len(data)) if isinstance(fault.cut, float) else fault.cut]
        size = fault.chunk or 1 << 16
        sent = 0
        for start in range(0, len(data), size):
            if self.server.index.closing():
                break
            self.wfile.write(data[start : start + size])
            sent += len(data[start : start + size])
            if fault.pause:
                self.server.index.pause(fault.pause)
        self.wfile.flush()
        return sent

    def _end(self, how: str) -> None:
        self.close_connection = True
        if how == "stall":
            self.server.index.pause(60)
        if how == "reset":
            self._wait_until_received()
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()

    def _wait_until_received(self) -> None:
        """A reset throws away what is still under way; so that N bytes come, wait for them."""
        if sys.platform != "linux":
            self.server.index.pause(0.2)
            return
        left = bytearray(4)
        for _ in range(200):
            fcntl.ioctl(self.connection, termios.TIOCOUTQ, left)
            if not any(left):
                break
            self.server.index.pause(0.01)


def _length(fault: Fault, size: int) -> int:
    return size if fault.length is None else fault.length
