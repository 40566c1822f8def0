"""One library of a wheel, or on disk: read whole where that is cheap, in part where it is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from provision.artifacts import elf, pe
from provision.artifacts.gpucode import CodeScanner
from provision.artifacts.peek import Parts, Peek, head
from provision.artifacts.seekable import SourceFile
from provision.artifacts.view import Extent, Miss, PartsView, View, in_passes
from provision.artifacts.wheel import Member, Wheel
from provision.messages import joined, message
from provision.model.artifact import ArtifactError, LibraryFacts, artifact_error
from provision.ports import ByteSource

#: Libraries up to this size are unpacked in memory at once, in bytes.
IN_MEMORY = 32 << 20
PIECE = 1 << 20
#: The start of a library is packed to less than one part in so many.
START_RATIO = 8
NO_END = message("artifacts.module.its-end-could-not-be")
TOO_DEEP = message("artifacts.module.its-imports-lie-too-deep")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much of a wheel's libraries may be read, in stored bytes.

    `whole`: a library up to this size is read whole; a larger one in part: up to `start` of its beginning,
    `end` of its end, and samples of `sample`. `total` is for all libraries together. At most `small`
    libraries are read whole and `large` in part; of the others the names are known.
    """

    whole: int
    start: int = 0
    end: int = 0
    sample: int = 0
    total: int
    small: int
    large: int = 0


class Budget:
    """What may still be read of a wheel, in stored bytes."""

    def __init__(self, wheel: Wheel, total: int) -> None:
        self._wheel = wheel
        self._end = wheel.file.bytes_read + total

    def allows(self, cost: int) -> bool:
        return self._wheel.file.bytes_read + cost <= self._end


#: For a wheel at hand: everything.
EVERYTHING = Limits(whole=1 << 62, total=1 << 62, small=1 << 30)
#: For a wheel on a server: a few megabytes.
GLANCE = Limits(whole=2 << 20, start=6 << 20, end=1 << 20, sample=3 << 18, total=12 << 20, small=12, large=2)
#: The same without GPU code: what its libraries need and bring.
NEEDS = replace(GLANCE, sample=0)


def read_whole(wheel: Wheel, member: Member) -> LibraryFacts:
    """All facts of one library. Raises ArtifactError where it is broken."""
    if member.size <= IN_MEMORY:
        data = b"".join(wheel.stream(member.name))
        return _read(member.name, member.size, lambda: iter((data,)))
    return _read(member.name, member.size, lambda: wheel.stream(member.name))


def read_part(wheel: Wheel, member: Member, limits: Limits, budget: Budget) -> LibraryFacts:
    """What the start, the end and samples of a large library say. Raises ArtifactError where it is broken."""
    peek = Peek(wheel, member)
    first = head(peek)
    facts = LibraryFacts(path=member.name, size=member.size, reading="part")
    if first.startswith(elf.MAGIC):
        return _part_of_elf(peek, first, facts, limits, budget)
    if first.startswith(pe.MAGIC):
        return _part_of_pe(peek, first, facts, limits, budget)
    return replace(facts, note=message("artifacts.common.neither-elf-nor-pe-file"))


def inspect_library(source: ByteSource) -> LibraryFacts:
    """All facts of a library that is a file of its own. Raises ArtifactError where it is broken."""
    file = SourceFile(source)
    size = file.seek(0, 2)

    def pieces() -> Iterator[bytes]:
        file.seek(0)
        while piece := file.read(PIECE):
            yield piece

    return _read(source.name, size, pieces)


def _read(path: str, size: int, pieces: Callable[[], Iterator[bytes]]) -> LibraryFacts:
    scanner = CodeScanner()
    try:
        facts = in_passes(size, pieces, _hints, lambda view: _parse(path, size, view), scanner.feed)
    except Miss as error:
        raise artifact_error(
            "artifact-library-broken",
            message("artifacts.read.leads-nowhere", path=path),
            message("artifacts.read.wanted", error=error),
        ) from error
    note = facts.note or _packed_note(scanner.packed_bundles)
    return replace(facts, code=scanner.code(), note=note)


def _hints(view: View) -> list[Extent]:
    magic = view.read(0, 4)
    if magic == elf.MAGIC:
        return elf.hints(view)
    return pe.hints(view) if magic.startswith(pe.MAGIC) else []


def _parse(path: str, size: int, view: View) -> LibraryFacts:
    facts = LibraryFacts(path=path, size=size)
    magic = view.read(0, 4)
    if magic == elf.MAGIC:
        return _with_elf(facts, elf.read(view))
    if magic.startswith(pe.MAGIC):
        return _with_pe(facts, pe.read(view))
    return replace(facts, note=message("artifacts.common.neither-elf-nor-pe-file"))


def _with_elf(facts: LibraryFacts, found: elf.ElfFacts) -> LibraryFacts:
    return replace(
        facts,
        format="elf",
        arch=found.arch or facts.arch,
        soname=found.soname,
        needed=found.needed,
        runpaths=found.runpaths,
        floors=found.floors,
    )


def _with_pe(facts: LibraryFacts, found: pe.PeFacts) -> LibraryFacts:
    return replace(facts, format="pe", arch=found.arch, needed=found.needed, delayed=found.delayed)


def _packed_note(bundles: int) -> str:
    return message("artifacts.packed-note.bundles-amd-code-are-packed", bundles=bundles) if bundles else ""


def _part_of_elf(
    peek: Peek, first: bytes, facts: LibraryFacts, limits: Limits, budget: Budget
) -> LibraryFacts:
    facts = replace(facts, format="elf", arch=elf.arch(first))
    parts = peek.parts(first, limits.end)
    try:
        table = elf.sections(parts.likely(), parts.other())
    except (Miss, ArtifactError):
        return replace(facts, note=NO_END)
    facts = _with_elf_strings(peek, parts, table, facts, limits)
    code = elf.gpu_section(table)
    return _with_samples(peek, facts, (code.offset, code.size) if code else None, limits, budget)


def _with_elf_strings(
    peek: Peek, parts: Parts, table: tuple[elf.Section, ...], facts: LibraryFacts, limits: Limits
) -> LibraryFacts:
    """The library's needs: exact where its dynamic segment is at hand, else what its strings name."""
    where = elf.dynamic_strings(table)
    if where is None:
        return replace(facts, note=message("artifacts.with-elf-strings.it-has-no-dynamic-strings"))
    if where.offset < parts.end_at:
        parts = _further(peek, parts, where, limits)
    try:
        words = parts.words(where.offset, where.size)
    except Miss:
        return replace(facts, note=message("artifacts.with-elf-strings.its-dynamic-strings-lie-too"))
    named = elf.strings(words, facts.path.rsplit("/", 1)[-1])
    try:
        exact = elf.read(parts.likely())
        if elf.confirmed(exact, words):
            return _with_elf(facts, replace(exact, floors=named.floors))
    except (Miss, ArtifactError):
        pass
    return replace(
        _with_elf(facts, named), note=message("artifacts.with-elf-strings.its-needs-are-those-that")
    )


def _further(peek: Peek, parts: Parts, where: elf.Section, limits: Limits) -> Parts:
    """More of the start, or of the end: whichever the dynamic strings lie nearer to."""
    if where.end <= limits.start * START_RATIO:
        return replace(parts, start=peek.start(limits.start, where.end))
    if parts.size - where.offset <= limits.start * START_RATIO:
        return peek.parts(parts.start, min(limits.start, limits.end * 4))
    return parts


def _part_of_pe(
    peek: Peek, first: bytes, facts: LibraryFacts, limits: Limits, budget: Budget
) -> LibraryFacts:
    view = PartsView(facts.size, (0, first))
    table = pe.sections(view)
    wanted = max((offset + length for offset, length in pe.hints(view)), default=0)
    if len(first) < wanted <= limits.start * START_RATIO:
        first = peek.start(limits.start, min(wanted, facts.size))
    parts = peek.parts(first, limits.end)
    try:
        found = pe.read(parts.likely())
        names = [name.encode() + b"\0" for name in (*found.needed, *found.delayed)]
        sure = all(name in data for name in names for data in parts.readings())
        facts = _with_pe(facts, found) if sure else replace(facts, format="pe", note=TOO_DEEP)
    except (Miss, ArtifactError):
        facts = replace(facts, format="pe", note=TOO_DEEP)
    region = next((table[name] for name in pe.GPU_SECTIONS if name in table), None)
    return _with_samples(peek, facts, region, limits, budget)


def _with_samples(
    peek: Peek, facts: LibraryFacts, region: Extent | None, limits: Limits, budget: Budget
) -> LibraryFacts:
    if region is None or not limits.sample:
        return facts
    code, taken = peek.code((region[0], region[1]), limits.sample, lambda: budget.allows(limits.sample))
    words = (
        message("artifacts.with-samples.its-code-was-seen-in", taken=taken)
        if code
        else message("artifacts.with-samples.samples-showed-no-gpu-code", taken=taken)
    )
    return replace(facts, code=code, note=joined(filter(None, (facts.note, words)), "; "))


def unreadable(error: ArtifactError) -> str:
    """The words of an error, for a note."""
    return "; ".join(f.summary + (f" ({f.detail})" if f.detail else "") for f in error.findings)
