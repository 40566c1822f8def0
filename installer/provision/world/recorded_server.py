"""A package index on the loopback interface that lives as long as one question to the engine.

It speaks PEP 691 and PEP 658, so that a closure is made from pages and metadata alone. What it serves, a Shelf decides.
"""

from __future__ import annotations

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol
from urllib.parse import quote, unquote, urlsplit

from provision.world.recorded_files import RecordedFile, RecordedPage, identity

_JSON = "application/vnd.pypi.simple.v1+json"
_BYTES = "application/octet-stream"
_HOST = "127.0.0.1"

#: Status, headers, body.
Answer = tuple[int, dict[str, str], bytes]


class Shelf(Protocol):
    """What the server hands out. Called from several threads; raises nothing."""

    def page(self, index: str, project: str) -> RecordedPage | None: ...

    def tells(self, file: RecordedFile) -> bool:
        """Whether `metadata` has an answer for a file."""

    def sha256(self, page: RecordedPage, file: RecordedFile) -> str | None:
        """The hash to state; None has the engine read the file for it."""

    def metadata(self, index: str, project: str, name: str) -> str | None: ...

    def whole(self, index: str, project: str, name: str) -> Path | str | None:
        """A whole file: its path here, or the address to ask instead."""


class LoopbackServer:
    """A context manager; inside it the indexes of a shelf answer at `url`."""

    def __init__(self, shelf: Shelf) -> None:
        self._server = _Server((_HOST, 0), _Handler)
        self._server.shelf = shelf
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> LoopbackServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def url(self, index: str) -> str:
        return f"http://{_HOST}:{self._server.server_address[1]}/{quote(index)}"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    shelf: Shelf

    def handle_error(self, request: Any, client_address: Any) -> None:
        """An engine that hangs up has heard enough."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        self._reply(body=True)

    def do_HEAD(self) -> None:
        self._reply(body=False)

    def log_message(self, *args: Any) -> None:
        """Nothing is logged: findings say what went wrong."""

    def _reply(self, *, body: bool) -> None:
        status, headers, data = _answer(self.server.shelf, urlsplit(self.path).path)
        self.send_response(status)
        # The address is another one next time: what is kept of it helps nobody.
        for name, value in {**headers, "Cache-Control": "no-store", "Content-Length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(data)


def _answer(shelf: Shelf, path: str) -> Answer:
    parts = [unquote(part) for part in path.strip("/").split("/")]
    if parts[0] == "files" and len(parts) == 4:
        return _file(shelf, *parts[1:])
    page = shelf.page(*parts) if len(parts) == 2 else None
    if page is None:
        return _missing()
    return 200, {"Content-Type": _JSON}, json.dumps(_listing(shelf, page)).encode()


def _missing() -> Answer:
    return 404, {}, b""


def _file(shelf: Shelf, index: str, project: str, name: str) -> Answer:
    if name.endswith(".metadata"):
        text = shelf.metadata(index, project, name.removesuffix(".metadata"))
        return (200, {"Content-Type": _BYTES}, text.encode()) if text is not None else _missing()
    found = shelf.whole(index, project, name)
    if found is None:
        return _missing()
    if isinstance(found, Path):
        return 200, {"Content-Type": _BYTES}, found.read_bytes()
    return 302, {"Location": found}, b""


def _listing(shelf: Shelf, page: RecordedPage) -> dict[str, Any]:
    rows = [_row(shelf, page, file) for file in page.files]
    return {"meta": {"api-version": "1.1"}, "name": page.project, "files": rows}


def _row(shelf: Shelf, page: RecordedPage, file: RecordedFile) -> dict[str, Any]:
    sha256 = shelf.sha256(page, file)
    row: dict[str, Any] = {
        "filename": file.name,
        "url": f"/files/{quote(page.index)}/{quote(page.project)}/{quote(file.name)}",
        "hashes": {"sha256": sha256} if sha256 else {},
        "yanked": False if file.yanked is None else file.yanked or True,
        "core-metadata": _metadata_hash(file) or shelf.tells(file),
    }
    optional = {"size": file.size, "requires-python": file.requires_python, "upload-time": file.uploaded}
    return row | {name: value for name, value in optional.items() if value is not None}


def _metadata_hash(file: RecordedFile) -> dict[str, str] | None:
    if file.described is None:
        return None
    return {"sha256": hashlib.sha256(file.described.text(*identity(file.name)).encode()).hexdigest()}
