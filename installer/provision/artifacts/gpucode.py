"""Which GPU architectures a library holds code for, read from its bytes as they go by: no GPU, no toolkit.

CUDA: a fat binary starts with a 16-byte header (magic u32 0xBA55ED50, version u16, header size u16, body
size u64). Its body is a run of entries: kind u16 @0 (1 PTX, 2 machine code, 8 LTO), header size u32 @4,
payload size u64 @8, minor and major u16 @24 (of PTX: its ISA version), architecture u32 @28, flags u64 @40.
Packed payloads have plain headers, so nothing need be unpacked. AMD: a bundle of the clang offload bundler,
magic `__CLANG_OFFLOAD_BUNDLE__`, count u64, then per entry offset, size, length of the triple u64, the
triple.

Seen: fat binaries of nvcc 10 to 13 in published wheels, and those that nvcc 13.0 writes for known options.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Iterable

from provision.model.artifact import CodeKind, GpuCode

FATBIN = struct.pack("<I", 0xBA55ED50)
BUNDLE = b"__CLANG_OFFLOAD_BUNDLE__"
PACKED_BUNDLE = b"CCOB"
#: Fat binary entries that are code of an architecture, and the word before its number.
KINDS: dict[int, tuple[CodeKind, str]] = {1: ("ptx", "compute_"), 2: ("machine", "sm_"), 8: ("lto", "lto_")}
#: Flags of code that runs on one architecture only (`sm_90a`) or on one family (`sm_100f`).
ONLY, FAMILY = 1 << 20, 1 << 21
ENTRY = 64
ENTRY_START = re.compile(rb"[\x01\x02\x08]\0\x01\x01[\x30-\xff]\0\0\0", re.DOTALL)
#: The most bytes that the table of one AMD bundle may take.
TABLE = 16 << 10
TRIPLE = re.compile(rb"[a-z0-9_.+:-]{0,200}-(gfx[0-9a-f]+)(?::[a-z0-9:+-]*)?", re.ASCII)


class CodeScanner:
    """Feed it a file in pieces, in order; then ask `code()`. `packed_bundles` counts AMD bundles that are
    packed as a whole, whose architectures cannot be seen."""

    def __init__(self) -> None:
        self.packed_bundles = 0
        self._found: Counter[tuple[CodeKind, str, str]] = Counter()
        self._rest = b""
        self._skip = 0
        self._body = 0
        self._places: dict[bytes, int] = {}

    def feed(self, piece: bytes) -> None:
        if self._skip >= len(piece):
            self._skip -= len(piece)
            return
        data = self._rest + piece[self._skip :]
        self._places = dict.fromkeys((FATBIN, BUNDLE, PACKED_BUNDLE), -1)
        at = 0
        while at < len(data):
            if not self._body:
                at = self._locate(data, at)
            following = self._entry(data, at) if self._body else self._begin(data, at)
            if following is None:
                break
            at = following
        self._skip = max(0, at - len(data))
        self._rest = data[at:]

    def feed_sample(self, data: bytes) -> None:
        """A stretch that may begin inside a fat binary: its entries are told by their own first bytes."""
        for match in ENTRY_START.finditer(data):
            header, size = struct.unpack_from("<IQ", data[match.start() + 4 :] + bytes(12))
            self._body = header + size
            self._entry(data, match.start())
        self._body = 0
        self._rest = b""
        self._places = {BUNDLE: -1, PACKED_BUNDLE: -1}
        at: int | None = 0
        while at is not None and at < len(data) - len(BUNDLE):
            at = self._begin(data, self._locate(data, at))

    def code(self) -> tuple[GpuCode, ...]:
        """What was found, by kind and architecture; `isa` is the highest of that architecture's PTX."""
        merged: dict[tuple[CodeKind, str], tuple[int, str]] = {}
        for (kind, arch, isa), count in self._found.items():
            before, highest = merged.get((kind, arch), (0, ""))
            merged[kind, arch] = (before + count, max(highest, isa, key=numbers))
        found = (GpuCode(kind=kind, arch=arch, count=n, isa=isa) for (kind, arch), (n, isa) in merged.items())
        return tuple(sorted(found, key=lambda c: (c.kind, numbers(c.arch), c.arch)))

    def _locate(self, data: bytes, at: int) -> int:
        """The next magic number; where there is none, the last bytes in which one may have begun."""
        for magic, place in self._places.items():
            if place < at:
                found = data.find(magic, at)
                self._places[magic] = len(data) if found < 0 else found
        nearest = min(self._places.values())
        return nearest if nearest < len(data) else max(at, len(data) - len(BUNDLE) + 1)

    def _begin(self, data: bytes, at: int) -> int | None:
        """Read what the magic number at `at` begins; None where more bytes are needed."""
        if data.startswith(FATBIN, at):
            return self._begin_fatbin(data, at)
        if data.startswith(BUNDLE, at):
            return self._bundle(data, at)
        if data.startswith(PACKED_BUNDLE, at):
            return self._packed_bundle(data, at)
        return None

    def _begin_fatbin(self, data: bytes, at: int) -> int | None:
        if len(data) - at < 16:
            return None
        version, header, body = struct.unpack_from("<HHQ", data, at + 4)
        if version != 1 or not 16 <= header <= ENTRY:
            return at + len(FATBIN)
        self._body = body
        return int(at + header)

    def _entry(self, data: bytes, at: int) -> int | None:
        """One entry of a fat binary; the run ends with its body, or with what cannot be an entry."""
        if self._body < ENTRY:
            at, self._body = at + self._body, 0
            return at
        if len(data) - at < ENTRY:
            return None
        kind, _, header, size = struct.unpack_from("<HHIQ", data, at)
        minor, major, number = struct.unpack_from("<HHI", data, at + 24)
        if not (32 <= header <= 4096 and header + size <= self._body and 10 <= number <= 999):
            self._body = 0
            return at
        (flags,) = struct.unpack_from("<Q", data, at + 40)
        self._count(kind, number, flags if header >= 48 else 0, f"{major}.{minor}")
        self._body -= header + size
        return int(at + header + size)

    def _count(self, kind: int, number: int, flags: int, isa: str) -> None:
        if kind in KINDS:
            name, word = KINDS[kind]
            suffix = "a" if flags & ONLY else "f" if flags & FAMILY else ""
            self._found[name, f"{word}{number}{suffix}", isa if name == "ptx" else ""] += 1

    def _bundle(self, data: bytes, at: int) -> int | None:
        """The table of an AMD bundle; its code is left to go by, other bundles may follow in it."""
        place = at + len(BUNDLE)
        waiting = None if len(data) - at < TABLE else place
        if len(data) < place + 8:
            return waiting
        (count,) = struct.unpack_from("<Q", data, place)
        place += 8
        triples = []
        for _ in range(count if count <= 256 else 0):
            if len(data) < place + 24:
                return waiting
            (length,) = struct.unpack_from("<Q", data, place + 16)
            if length > 256:
                return at + len(BUNDLE)
            if len(data) < place + 24 + length:
                return waiting
            triples.append(data[place + 24 : place + 24 + length])
            place += 24 + length
        for triple in triples:
            if found := TRIPLE.fullmatch(triple):
                self._found["gfx", found[1].decode(), ""] += 1
        return int(place)

    def _packed_bundle(self, data: bytes, at: int) -> int | None:
        if len(data) - at < 8:
            return None
        version, method = struct.unpack_from("<HH", data, at + 4)
        self.packed_bundles += version in (1, 2, 3) and method in (0, 1)
        return at + len(PACKED_BUNDLE)


def scan_sample(first: bytes, second: bytes) -> tuple[GpuCode, ...]:
    """The code in a stretch from the middle of a file, read twice: what both readings hold is certain.

    Entries are found by themselves, as the head of their fat binary may lie before the stretch."""
    scanners = [CodeScanner(), CodeScanner()]
    for scanner, data in zip(scanners, (first, second), strict=True):
        scanner.feed_sample(data)
    both = CodeScanner()
    both._found = scanners[0]._found & scanners[1]._found
    return both.code()


def scan(pieces: Iterable[bytes]) -> tuple[GpuCode, ...]:
    """The GPU code in one file, given in pieces."""
    scanner = CodeScanner()
    for piece in pieces:
        scanner.feed(piece)
    return scanner.code()


def numbers(text: str) -> tuple[int, ...]:
    """The numbers in a version or architecture, for ordering: `8.10` after `8.9`, `sm_90` after `sm_86`."""
    return tuple(int(n) for n in re.findall(r"\d+", text))
