"""Small wheels, libraries, GPU code and servers, made for the tests of artifacts."""

from __future__ import annotations

import hashlib
import http.server
import io
import random
import re
import shutil
import struct
import subprocess
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import settings

#: For properties: enough examples for every run of the suite.
quick = settings(max_examples=40, deadline=None)
KINDS = {"compute": 1, "sm": 2, "lto": 8}


class Bytes:
    """A byte source in memory that notes what was asked of it."""

    def __init__(self, data: bytes, name: str = "tiny-1.0-py3-none-any.whl") -> None:
        self.data, self.name, self.reads = data, name, []

    def size(self) -> int:
        return len(self.data)

    def read(self, offset: int, length: int) -> bytes:
        self.reads.append((offset, length))
        return self.data[offset : offset + length]


def make_wheel(
    files: dict[str, bytes],
    name: str = "tiny",
    version: str = "1.0",
    metadata: str = "",
    tag: str = "py3-none-any",
) -> bytes:
    info = f"{name}-{version}.dist-info"
    files = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{metadata}\n".encode(),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nTag: {tag}\n".encode(),
    }
    files[f"{info}/RECORD"] = "".join(
        f"{path},sha256={hashlib.sha256(data).hexdigest()},{len(data)}\n" for path, data in files.items()
    ).encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            archive.writestr(path, data)
    return packed.getvalue()


def entry(word: str, payload: bytes = b"\x7fELF" + b"\1" * 60, isa: tuple[int, int] = (8, 5)) -> bytes:
    """One entry of a fat binary: `sm_86`, `sm_90a`, `sm_100f`, `compute_80`, `lto_80`."""
    family, number, suffix = re.fullmatch(r"(sm|compute|lto)_(\d+)([af]?)", word).groups()
    flags = 0x11 | {"": 0, "a": 1 << 20, "f": 1 << 21}[suffix]
    head = struct.pack(
        "<HHIQIIHHI", KINDS[family], 0x101, 64, len(payload), 0, 0, isa[1], isa[0], int(number)
    )
    return head + struct.pack("<QQQQ", 0, flags, 0, 0) + payload


def fatbin(*words: str, **how: object) -> bytes:
    body = b"".join(entry(word, **how) for word in words)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def bundle(*triples: str) -> bytes:
    """A bundle of the clang offload bundler."""
    rows = b"".join(struct.pack("<QQQ", 4096, 64, len(t)) + t.encode() for t in triples)
    return b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(triples)) + rows


def noise(size: int, seed: int = 1) -> bytes:
    """Bytes that do not pack."""
    return random.Random(seed).randbytes(size)


def prose(size: int, seed: int = 2) -> bytes:
    """Bytes that pack as machine code does: words of a small vocabulary, and some that occur once."""
    chance = random.Random(seed)
    words = [chance.randbytes(chance.randint(3, 12)) for _ in range(4000)]
    once = size // 30
    found = chance.choices(words, k=size // 7) + [chance.randbytes(4) for _ in range(once)]
    chance.shuffle(found)
    return b"".join(found)[:size]


def gpu_code(count: int) -> bytes:
    """Fat binaries of four architectures; their code does not pack and has 20 to 60 KB, as in many files."""
    words = ("sm_70", "sm_80", "sm_86", "compute_86")
    return b"".join(fatbin(*words, payload=noise(20_000 + i * 40_000 // count, i)) for i in range(count))


def compiled(folder: Path, source: str, name: str, *options: str) -> Path:
    """A shared library, made with the C compiler at hand. Skips the test where there is none."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here")
    text, library = folder / f"{name}.c", folder / name
    text.write_text(source)
    command = [compiler, "-shared", "-fPIC", "-o", str(library), str(text), f"-Wl,-soname,{name}", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"the C compiler cannot link: {done.stderr[:200]}")
    return library


def make_pe(
    imports: list[str], delayed: list[str] = (), sections: dict[str, bytes] | None = None, padding: int = 0
) -> bytes:
    """A DLL: header, `.text` of `padding` bytes, `.rdata` with the import tables, and more sections."""
    base, rdata = 0x1000, bytearray()
    blocks = [(".text", b"\xcc" * max(padding, 512))]
    address = base + _round(len(blocks[0][1]), 0x1000)
    tables = {}
    for row, names, step, place in ((1, imports, 20, 12), (13, list(delayed), 32, 4)):
        if not names:
            continue
        tables[row] = address + len(rdata)
        text = address + len(rdata) + step * (len(names) + 1)
        words = b""
        for name in names:
            descriptor = bytearray(step)
            struct.pack_into("<I", descriptor, place, text + len(words))
            rdata += descriptor
            words += name.encode() + b"\0"
        rdata += bytes(step) + words
    blocks.append((".rdata", bytes(rdata) or b"\0"))
    blocks += list((sections or {}).items())
    return _pe(blocks, tables)


def _pe(blocks: list[tuple[str, bytes]], tables: dict[int, int]) -> bytes:
    directory = b"".join(struct.pack("<II", tables.get(i, 0), 40 if i in tables else 0) for i in range(16))
    optional = struct.pack("<H", 0x20B) + bytes(106) + struct.pack("<I", 16) + directory
    coff = struct.pack("<4sHHIIIHH", b"PE\0\0", 0x8664, len(blocks), 0, 0, 0, len(optional), 0x2022)
    rows, body, address, offset = b"", b"", 0x1000, 1024
    for name, data in blocks:
        stored = _round(len(data), 512)
        rows += struct.pack("<8sIIIIIIHHI", name.encode(), len(data), address, stored, offset, 0, 0, 0, 0, 0)
        body += data.ljust(stored, b"\0")
        address, offset = address + _round(len(data), 0x1000), offset + stored
    head = b"MZ".ljust(0x3C, b"\0") + struct.pack("<I", 0x40) + coff + optional + rows
    return head.ljust(1024, b"\0") + body


def _round(number: int, step: int) -> int:
    return (number + step - 1) // step * step


class _Handler(http.server.BaseHTTPRequestHandler):
    """Answers as `how` says; a subclass for each server holds the data, the calls so far and the log."""

    protocol_version = "HTTP/1.1"
    data, how, calls = b"", "", 0
    log: list[str]

    def do_GET(self) -> None:
        type(self).calls += 1
        asked, login = self.headers.get("Range", ""), self.headers.get("Authorization", "")
        self.log.append(asked)
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", asked)
        if self.how == "missing":
            self._answer(404, b"no")
        elif self.how == "auth" and "Basic bWU6c2VjcmV0" not in login:
            self._answer(401, b"no", {"WWW-Authenticate": 'Basic realm="x"'})
        elif self.how == "flaky" and self.calls % 2:
            self._answer(503, b"later")
        elif self.how == "no-ranges" or wanted is None:
            self._answer(200, self.data)
        else:
            self._part(int(wanted[1]), min(int(wanted[2]), len(self.data) - 1))

    def _part(self, first: int, last: int) -> None:
        total = len(self.data) + (self.calls if self.how == "changing" else 0)
        headers = {"Content-Range": f"bytes {first}-{last}/{total}", "ETag": '"one"'}
        self._answer(206, self.data[first : last + 1], {} if self.how == "lying" else headers)

    def _answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = cut = self.how == "truncated"
        self.wfile.write(body[: len(body) // 2] if cut else body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served(data: bytes, how: str = "ranges", log: list[str] | None = None) -> Iterator[str]:
    """The address of a file on a server here. `how`: ranges, no-ranges, truncated, flaky,
    changing, missing, lying, or `auth` (asks for user `me`, password `secret`)."""
    handler = type("Handler", (_Handler,), {"data": data, "how": how, "log": [] if log is None else log})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/simple/tiny-1.0-py3-none-any.whl"
        finally:
            server.shutdown()
