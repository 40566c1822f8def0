"""Random access to what can only be read from its start, or in part: a packed library in a wheel.

`Miss` names what a parser wanted and the view does not have; another pass over the stream may keep it.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

Found = TypeVar("Found")
Extent = tuple[int, int]

#: Kept from the start of every library, in bytes: its header and table of segments.
HEAD = 64 << 10
#: Passes over one library before it counts as unreadable.
PASSES = 5
#: Bytes kept around a place that a parser missed.
ROOM = 256 << 10


class Miss(Exception):
    """`length` bytes at `offset` are not at hand."""

    def __init__(self, offset: int, length: int) -> None:
        super().__init__(f"{length} bytes at {offset}")
        self.offset = offset
        self.length = length


class View(Protocol):
    """Bytes by place, of a whole file or of the parts at hand."""

    @property
    def size(self) -> int:
        """Bytes of the whole file."""

    def read(self, offset: int, length: int) -> bytes:
        """The bytes, fewer only at the end of the file. Raises Miss."""


class PartsView:
    """A file of `size` bytes of which these parts (offset, bytes) are at hand."""

    def __init__(self, size: int, *parts: tuple[int, bytes]) -> None:
        self.size = size
        self._parts = parts

    def read(self, offset: int, length: int) -> bytes:
        length = max(0, min(offset + length, self.size) - offset)
        if not length:
            return b""
        for start, data in self._parts:
            if start <= offset and offset + length <= start + len(data):
                return data[offset - start : offset - start + length]
        raise Miss(offset, length)


class PassingView:
    """The wanted extents of a file that goes by in pieces."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._kept: dict[Extent, bytearray] = {}

    def want(self, offset: int, length: int) -> None:
        """Keep this extent; in the pass that runs, only if its start has not gone by."""
        start, end = max(0, offset), min(offset + length, self.size)
        if start < end:
            self._kept.setdefault((start, end), bytearray())

    def begin(self) -> None:
        """A new pass: extents that are not complete are kept anew."""
        for (start, end), data in self._kept.items():
            if len(data) < end - start:
                data.clear()

    def pass_by(self, at: int, piece: bytes) -> None:
        for (start, end), data in self._kept.items():
            following = start + len(data)
            if following < end and at <= following < at + len(piece):
                data += piece[following - at : end - at]

    def read(self, offset: int, length: int) -> bytes:
        parts = ((start, data) for (start, _), data in self._kept.items())
        return bytes(PartsView(self.size, *parts).read(offset, length))  # type: ignore[arg-type]


class ViewFile(io.RawIOBase):
    """A view as the seekable file that other people's parsers want."""

    def __init__(self, view: View) -> None:
        super().__init__()
        self._view, self._at = view, 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._view.size}[whence] + offset
        return self._at

    def read(self, size: int = -1) -> bytes:
        left = self._view.size - self._at
        length = max(0, left if size < 0 else min(size, left))
        data = self._view.read(self._at, length) if length else b""
        self._at += len(data)
        return data


def in_passes(
    size: int,
    pieces: Callable[[], Iterator[bytes]],
    hints: Callable[[View], list[Extent]],
    parse: Callable[[View], Found],
    watch: Callable[[bytes], None],
) -> Found:
    """Run `parse` over a stream of `size` bytes that can be begun anew.

    `hints` tells from the first bytes which extents (offset, length) will be wanted; `watch` sees every
    piece once, in order. Raises Miss where even `PASSES` passes do not show what the parser wants.
    """
    view = PassingView(size)
    view.want(0, HEAD)
    _first_pass(view, pieces(), hints, watch)
    for _ in range(PASSES - 1):
        try:
            return parse(view)
        except Miss as miss:
            view.want(miss.offset - ROOM, miss.length + 2 * ROOM)
            view.begin()
            at = 0
            for piece in pieces():
                view.pass_by(at, piece)
                at += len(piece)
    return parse(view)


def _first_pass(
    view: PassingView,
    pieces: Iterator[bytes],
    hints: Callable[[View], list[Extent]],
    watch: Callable[[bytes], None],
) -> None:
    at, head, wanted = 0, b"", min(HEAD, view.size)
    for piece in pieces:
        watch(piece)
        if len(head) < wanted:
            head += piece
            if len(head) >= wanted:
                for offset, length in hints(PartsView(view.size, (0, head))):
                    view.want(offset, length)
                view.pass_by(0, head)
        view.pass_by(at, piece)
        at += len(piece)
