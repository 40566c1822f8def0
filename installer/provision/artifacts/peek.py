"""A large library of a wheel, read in part: its first bytes, its last ones, and samples from its middle.

That is a few megabytes of hundreds, and says nearly as much: the section table lies at the end of an ELF file, the
dynamic strings near its start or (once patched) at its end, and GPU code of all architectures alternates all along.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from provision.artifacts.deflate import Resumed, resume
from provision.artifacts.gpucode import scan_sample
from provision.artifacts.view import HEAD, Extent, PartsView
from provision.artifacts.wheel import Member, Wheel
from provision.model.artifact import GpuCode

Found = TypeVar("Found")

#: What code of a processor and tables are packed to, about; GPU code is packed to hardly less than it is.
RATIO = 0.28
#: Places of samples in the region of GPU code, as shares of it, in an order that spreads them.
PLACES = (0.5, 0.85, 0.2, 0.65, 0.35, 0.95, 0.05, 0.75)
#: Sampling ends when so many samples in a row that held code brought no new architecture.
ENOUGH = 2


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a library whose place is known; a byte is certain where both readings agree."""

    offset: int
    bytes: Resumed


class Peek:
    """One large member of a wheel. Nothing is read until it is asked for."""

    def __init__(self, wheel: Wheel, member: Member) -> None:
        self._wheel = wheel
        self.member = member

    def start(self, packed: int, wanted: int) -> bytes:
        """The first bytes: at least `wanted`, unless `packed` stored bytes hold fewer."""
        found: list[bytes] = []
        have = 0
        for piece in self._wheel.stream(self.member.name, packed):
            found.append(piece)
            have += len(piece)
            if have >= wanted:
                break
        return b"".join(found)

    def end(self, packed: int) -> Stretch | None:
        """The last bytes, as far as `packed` stored ones hold them; None where they cannot be read alone."""
        begin = max(0, self.member.packed - packed)
        stored = self._wheel.stored(self.member.name, begin, packed)
        found = resume(stored, final=True) if self._wheel.deflated(self.member.name) else Resumed(stored, stored)
        if found is None or len(found.first) > self.member.size:
            return None
        return Stretch(self.member.size - len(found.first), found)

    def sample(self, place: int, packed: int) -> Resumed | None:
        """What `packed` stored bytes from the stored byte `place` hold."""
        stored = self._wheel.stored(self.member.name, place, packed)
        return resume(stored, final=False) if self._wheel.deflated(self.member.name) else Resumed(stored, stored)

    def code(self, region: Extent, packed: int, affordable: Callable[[], bool]) -> tuple[tuple[GpuCode, ...], int]:
        """GPU code seen in samples from a region (offset, length) of the library, and the number of samples."""
        merged: dict[tuple[str, str], GpuCode] = {}
        taken = quiet = 0
        for place in self._places(region, packed):
            if quiet >= ENOUGH or not affordable():
                break
            taken += 1
            found = self.sample(place, packed)
            seen = scan_sample(found.first, found.second) if found else ()
            before = len(merged)
            for item in seen:
                _merge(merged, item)
            quiet = 0 if len(merged) > before else quiet + bool(seen)
        return tuple(merged[key] for key in sorted(merged, key=_order)), taken

    def _places(self, region: Extent, packed: int) -> Iterator[int]:
        """Where to sample, in stored bytes: guessed from what the parts around the region are packed to."""
        name, total = self.member, self.member.packed
        begin = min(int(region[0] * RATIO), total)
        end = max(begin, total - int((name.size - region[0] - region[1]) * RATIO))
        if not self._wheel.deflated(name.name):
            begin, end = region[0], region[0] + region[1]
        for share in PLACES:
            yield min(int(begin + share * (end - begin)), max(0, total - packed))


def agreed(parse: Callable[[PartsView], Found], size: int, start: bytes, end: Stretch | None) -> Found | None:
    """`parse` the parts at hand, once with each reading of the end: None where the two are not the same."""
    if end is None:
        return parse(PartsView(size, (0, start)))
    first, second = (parse(PartsView(size, (0, start), (end.offset, data))) for data in (end.bytes.first, end.bytes.second))
    return first if first == second else None


def head(peek: Peek) -> bytes:
    """The library's first bytes, where its header and its table of segments or sections lie."""
    return peek.start(HEAD, HEAD)


def _merge(merged: dict[tuple[str, str], GpuCode], item: GpuCode) -> None:
    before = merged.get((item.kind, item.arch))
    if before is not None:
        isa = max(before.isa, item.isa, key=_isa)
        item = GpuCode(kind=item.kind, arch=item.arch, count=before.count + item.count, isa=isa)
    merged[item.kind, item.arch] = item


def _isa(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part)


def _order(key: tuple[str, str]) -> tuple[str, int, str]:
    digits = "".join(c for c in key[1] if c.isdigit())
    return key[0], int(digits or 0), key[1]
