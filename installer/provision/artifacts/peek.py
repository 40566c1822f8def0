"""A large library of a wheel, read in part: its first bytes, its last ones, and samples from its middle.

That is a few megabytes of hundreds, and says nearly as much: the section table lies at the end of an ELF
file, the dynamic strings near its start or (once patched) at its end, and GPU code of all architectures
alternates all along.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from provision.artifacts.deflate import Resumed, resume
from provision.artifacts.gpucode import scan_sample
from provision.artifacts.view import HEAD, Extent, PartsView, View
from provision.artifacts.wheel import Member, Wheel
from provision.model.artifact import GpuCode

#: What code of a processor and tables are packed to, about; GPU code is packed to hardly less than it is.
RATIO = 0.28
#: Places of samples in the region of GPU code, as shares of it, in an order that spreads them.
PLACES = (0.5, 0.85, 0.2, 0.65, 0.35, 0.95, 0.05, 0.75)
#: Sampling ends when so many samples in a row brought no new architecture,
QUIET = 2
#: and each was seen so often on average: one that is there is then missed with less than 1 %.
OFTEN = 5
#: It also ends when so many samples showed no code at all.
NONE = 4


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a library at hand: its start, and its end in two readings (see `deflate`).

    `likely` takes what is not certain for zero, as it mostly is; what `sure` holds is certain."""

    size: int
    start: bytes
    end_at: int
    end: Resumed

    def likely(self) -> View:
        return PartsView(self.size, (0, self.start), (self.end_at, self.end.first))

    def other(self) -> View:
        """The second reading, which differs in every byte that is not certain."""
        return PartsView(self.size, (0, self.start), (self.end_at, self.end.second))

    def readings(self) -> tuple[bytes, bytes]:
        """All bytes at hand, in both readings."""
        return self.start + self.end.first, self.start + self.end.second

    def words(self, offset: int, length: int) -> frozenset[bytes]:
        """The zero-ended words in this extent that are certain. Raises Miss."""
        found = [set(view.read(offset, length).split(b"\0")) for view in (self.likely(), self.other())]
        return frozenset(found[0] & found[1])


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

    def parts(self, start: bytes, packed: int) -> Parts:
        """These first bytes, and the last ones as far as `packed` stored ones hold them."""
        begin = max(0, self.member.packed - packed)
        stored = self._wheel.stored(self.member.name, begin, packed)
        found = self._inflated(stored, final=True)
        if found is None or len(found.first) > self.member.size:
            found = Resumed(b"", b"")
        return Parts(self.member.size, start, self.member.size - len(found.first), found)

    def sample(self, place: int, packed: int) -> Resumed | None:
        """What `packed` stored bytes from the stored byte `place` hold."""
        return self._inflated(self._wheel.stored(self.member.name, place, packed), final=False)

    def _inflated(self, stored: bytes, final: bool) -> Resumed | None:
        return resume(stored, final) if self._wheel.deflated(self.member.name) else Resumed(stored, stored)

    def code(
        self, region: Extent, packed: int, affordable: Callable[[], bool]
    ) -> tuple[tuple[GpuCode, ...], int]:
        """GPU code seen in samples from a region (offset, length) of the library, and the number of
        samples."""
        merged: dict[tuple[str, str], GpuCode] = {}
        taken = quiet = 0
        for place in self._places(region, packed):
            if not affordable() or (merged and quiet >= QUIET and _representative(merged.values())):
                break
            if quiet >= NONE and not merged:
                break
            taken += 1
            found = self.sample(place, packed)
            before = len(merged)
            for item in scan_sample(found.first, found.second) if found else ():
                _merge(merged, item)
            quiet = 0 if len(merged) > before else quiet + 1
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


def head(peek: Peek) -> bytes:
    """The library's first bytes, where its header and its table of segments or sections lie."""
    return peek.start(HEAD, HEAD)


def _representative(found: Iterable[GpuCode]) -> bool:
    counts = [item.count for item in found]
    return sum(counts) >= OFTEN * len(counts)


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
