"""A seekable file over a ByteSource that makes few reads: it remembers what it read and reads ahead."""

from __future__ import annotations

import io
from bisect import bisect_right

from provision.messages import message
from provision.model.artifact import artifact_error
from provision.ports import ByteSource

#: The first read-ahead in bytes; it doubles while reading goes on in order, up to the last.
AHEAD_FIRST = 16 << 10
AHEAD_LAST = 4 << 20
#: Bytes remembered; older pieces are forgotten first. The end of the file (a zip's directory) never is.
KEEP = 48 << 20


class SourceFile(io.RawIOBase):
    """What `zipfile` reads from. `bytes_read` and `requests` count what was asked of the source."""

    def __init__(self, source: ByteSource, keep: int = KEEP) -> None:
        super().__init__()
        self._source = source
        self._size = source.size()
        self._keep = keep
        self._at = 0
        self._pieces: dict[int, bytes] = {}
        self._starts: list[int] = []
        self._pinned: set[int] = set()
        self._held = 0
        self._ahead = AHEAD_FIRST
        self._next = -1
        self.bytes_read = 0
        self.requests = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        if base + offset < 0:
            raise OSError("seek before the start of the file")
        self._at = base + offset
        return self._at

    def read(self, size: int = -1) -> bytes:
        """`size` bytes, all that is left for -1, fewer only at the end."""
        left = self._size - self._at if size < 0 else min(size, self._size - self._at)
        found: list[bytes] = []
        while left > 0:
            found.append(self._read_some(left))
            left -= len(found[-1])
        return b"".join(found)

    def fetch(self, offset: int, length: int, pin: bool = False) -> None:
        """Have these bytes at hand, in one request for all that is not remembered yet."""
        end = min(offset + length, self._size)
        while offset < end and (piece := self._piece_at(offset)) is not None:
            offset = piece[0] + len(piece[1])
        if offset < end:
            self._load(offset, end - offset, pin)

    def _read_some(self, length: int) -> bytes:
        piece = self._piece_at(self._at)
        if piece is None:
            self._load(self._at, max(length, self._grow()))
            piece = self._piece_at(self._at)
            if piece is None:  # an empty answer where bytes were promised
                raise artifact_error(
                    "artifact-cut-short",
                    message("artifacts.read-some.ends-at-byte", name=self._source.name, at=self._at),
                )
        start, data = piece
        found = data[self._at - start : self._at - start + length]
        self._at += len(found)
        return found

    def _grow(self) -> int:
        in_order = self._at == self._next
        self._ahead = min(self._ahead * 2, AHEAD_LAST) if in_order else AHEAD_FIRST
        return self._ahead

    def _piece_at(self, offset: int) -> tuple[int, bytes] | None:
        index = bisect_right(self._starts, offset) - 1
        if index < 0:
            return None
        start = self._starts[index]
        data = self._pieces[start]
        return (start, data) if offset < start + len(data) else None

    def _load(self, offset: int, length: int, pin: bool = False) -> None:
        index = bisect_right(self._starts, offset)
        stop = self._starts[index] if index < len(self._starts) else self._size
        data = self._source.read(offset, min(length, stop - offset, self._size - offset))
        self.requests += 1
        self.bytes_read += len(data)
        self._next = offset + len(data)
        if not data:
            return
        if pin:
            self._pinned.add(offset)
        self._forget(len(data))
        self._starts.insert(bisect_right(self._starts, offset), offset)
        self._pieces[offset] = data
        self._held += len(data)

    def _forget(self, coming: int) -> None:
        for start in [s for s in self._pieces if s not in self._pinned]:
            if self._held + coming <= self._keep:
                return
            self._held -= len(self._pieces.pop(start))
            self._starts.remove(start)
