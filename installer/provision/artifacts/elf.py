"""What an ELF shared library asks for and brings: sonames, run paths, the floor of its symbol versions.

A whole library is read by its dynamic segment: its section table, at the end of the file, is not used, so
that a library of a gigabyte can be read as it goes by. Of a library at hand only in part, the section table
says where the strings are, and they name what it needs.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any, NamedTuple, cast

from provision.artifacts.gpucode import numbers
from provision.artifacts.view import Extent, Miss, View, ViewFile
from provision.messages import message
from provision.model.artifact import ArtifactError, artifact_error

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

MAGIC = b"\x7fELF"
VERSION = re.compile(r"(GLIBC|GLIBCXX|CXXABI)_(\d+(?:\.\d+)*)")
#: The most bytes kept of the first loaded segment: strings and version needs lie there in most libraries.
FIRST_SEGMENT = 64 << 20
#: Segments of data up to this size are kept whole: patchelf puts moved strings into ones of their own.
SMALL_SEGMENT = 16 << 20
EXECUTABLE = 0x1
#: Strings are read in blocks, which may end behind the table.
BEHIND = 4096
#: The most version needs that are followed, so that a broken chain ends.
MOST_NEEDS = 10_000
WEAK = 0x2
#: Types and flags of sections (ELF specification).
PROGRAM_BITS, STRING_TABLE, NO_BITS, LOADED = 1, 3, 8, 2
SONAME = re.compile(rb"[A-Za-z0-9_+.-]+\.so(?:\.[0-9]+)*")
ARCHS = {"EM_X86_64": "x86_64", "EM_AARCH64": "aarch64", "EM_386": "i686", "EM_ARM": "armv7l"}
#: Where a section of GPU code is named.
GPU_SECTIONS = (".nv_fatbin", ".hip_fatbin")


@dataclass(frozen=True, slots=True, kw_only=True)
class ElfFacts:
    """`needed` are sonames in the order of the file; `floors` the highest symbol version of each family."""

    arch: str = ""
    soname: str = ""
    needed: tuple[str, ...] = ()
    runpaths: tuple[str, ...] = ()
    floors: dict[str, str] = field(default_factory=dict)


class Section(NamedTuple):
    """A section: its name (empty where it cannot be seen), type, flags, and where it lies in the file, in
    bytes."""

    name: str
    kind: int
    flags: int
    offset: int
    size: int

    @property
    def end(self) -> int:
        return self.offset + self.size


def hints(view: View) -> list[Extent]:
    """Extents (offset, length) that reading the library will want, told from its first bytes."""
    try:
        segments = list(_open(view).iter_segments())
    except Exception:  # whatever is wrong with the header: `read` says it
        return []
    loads = [s for s in segments if s["p_type"] == "PT_LOAD"]
    wanted = [(s["p_offset"], s["p_filesz"]) for s in segments if s["p_type"] == "PT_DYNAMIC"]
    wanted += [(s["p_offset"], s["p_filesz"]) for s in loads if _small_data(s)]
    wanted += [(0, min(FIRST_SEGMENT, s["p_offset"] + s["p_filesz"])) for s in loads[:1]]
    return [(int(offset), int(length) + BEHIND) for offset, length in wanted]


def _small_data(segment: Any) -> bool:
    return segment["p_filesz"] <= SMALL_SEGMENT and not segment["p_flags"] & EXECUTABLE


def read(view: View) -> ElfFacts:
    """The facts of a library. Raises Miss for bytes that the view lacks, ArtifactError for junk."""
    try:
        return _read(_open(view), view)
    except Miss:
        raise
    except Exception as error:  # pyelftools raises many kinds for a broken file
        raise _broken(f"{type(error).__name__}: {error}") from error


def sections(view: View, other: View) -> tuple[Section, ...]:
    """The section table. `other` is a second reading of the file: a name counts if both hold it.

    Raises Miss where the view lacks the table, ArtifactError for junk and for files that are not 64-bit
    little-endian ones."""
    head = view.read(0, 64)
    if len(head) < 64 or head[:6] != MAGIC + b"\x02\x01":
        raise _broken(message("artifacts.sections.not-64-bit-little-endian"))
    (table,) = struct.unpack_from("<Q", head, 0x28)
    size, count, names = struct.unpack_from("<HHH", head, 0x3A)
    if size != 64 or not names < count:
        raise _broken(message("artifacts.sections.elf-file-without-section-table"))
    rows = [struct.unpack("<IIQQQQ", view.read(table + 64 * i, 40).ljust(40, b"\0")) for i in range(count)]
    words = [_section_names(v, rows[names][4], rows[names][5]) for v in (view, other)]
    named = [(_word(words[0], row[0]), _word(words[1], row[0])) for row in rows]
    found = tuple(
        Section(one if one == two else "", row[1], row[2], row[4], 0 if row[1] == NO_BITS else row[5])
        for (one, two), row in zip(named, rows, strict=True)
    )
    if any(rows[0][:2]) or any(section.end > view.size for section in found):
        raise _broken(message("artifacts.sections.section-table-that-does-not"))
    return found


def dynamic_strings(table: tuple[Section, ...]) -> Section | None:
    """The string table that is loaded with the library."""
    return next((s for s in table if s.kind == STRING_TABLE and s.flags & LOADED), None)


def gpu_section(table: tuple[Section, ...]) -> Section | None:
    """The section of GPU code; where names cannot be seen, the largest that could be it."""
    named = [s for s in table if s.name in GPU_SECTIONS]
    if named or all(s.name for s in table[1:]):
        return named[0] if named else None
    plain = [s for s in table if not s.name and s.kind == PROGRAM_BITS and s.flags == LOADED]
    return max(plain, key=lambda s: s.size, default=None)


def _section_names(view: View, offset: int, size: int) -> bytes:
    try:
        return view.read(offset, min(size, 1 << 16))
    except Miss:
        return b""


def strings(found: frozenset[bytes], own_name: str) -> ElfFacts:
    """What a library's dynamic strings name: the sonames needed (all that stand there but the library's own)
    and the floors. Less sure than `read`: a soname may be left from before the library was patched."""
    named = sorted({s.decode() for s in found if SONAME.fullmatch(s)} - {own_name})
    floors = highest(s.decode() for s in found if s.startswith((b"GLIBC", b"CXXABI")) and s.isascii())
    return ElfFacts(soname=own_name, needed=tuple(named), floors=floors)


def confirmed(facts: ElfFacts, found: frozenset[bytes]) -> bool:
    """Do all names in the facts stand in these dynamic strings? Then facts read from uncertain bytes
    count."""
    names = (*facts.needed, facts.soname, ":".join(facts.runpaths))
    return bool(facts.needed) and all(name.encode() in found for name in names if name)


def arch(head: bytes) -> str:
    """The machine that a little-endian library is for, from its first bytes; empty if it is another one."""
    return {62: "x86_64", 183: "aarch64"}.get(int.from_bytes(head[18:20], "little"), "")


def highest(versions: Iterable[str]) -> dict[str, str]:
    """The highest version of each family; private ones (`GLIBC_PRIVATE`) count for nothing."""
    found: dict[str, str] = {}
    for name in versions:
        if match := VERSION.fullmatch(name):
            family, version = match.groups()
            found[family] = max(found.get(family, ""), version, key=numbers)
    return dict(sorted(found.items()))


def _open(view: View) -> ELFFile:
    from elftools.elf.elffile import ELFFile

    return ELFFile(cast(IO[bytes], ViewFile(_WithoutSections(view))))


class _WithoutSections:
    """The view with an ELF header that names no section table, so that nobody looks for one."""

    def __init__(self, view: View) -> None:
        self._view = view
        self.size = view.size

    def read(self, offset: int, length: int) -> bytes:
        data = self._view.read(offset, length)
        if offset >= 64:
            return data
        head = bytearray(self._view.read(0, 64))
        wide = head[4:5] == b"\x02"
        for start, end in ((0x28, 0x30), (0x3C, 0x40)) if wide else ((0x20, 0x24), (0x30, 0x34)):
            head[start:end] = bytes(len(head[start:end]))
        return bytes(head[offset : offset + length]) + data[64 - offset :]


def _read(elf: ELFFile, view: View) -> ElfFacts:
    machine = ARCHS.get(str(elf["e_machine"]), str(elf["e_machine"]))
    dynamic: Any = next((s for s in elf.iter_segments() if s["p_type"] == "PT_DYNAMIC"), None)
    if dynamic is None:
        return ElfFacts(arch=machine)
    words: dict[str, list[str]] = {}
    places: dict[str, int] = {}
    for tag in dynamic.iter_tags():
        kind = str(tag.entry.d_tag)
        attribute = kind.removeprefix("DT_").lower()
        if attribute in ("needed", "soname", "runpath", "rpath"):
            words.setdefault(attribute, []).append(str(getattr(tag, attribute)))
        else:
            places[kind] = int(tag.entry.d_val)
    paths = [path for line in words.get("runpath", []) + words.get("rpath", []) for path in line.split(":")]
    return ElfFacts(
        arch=machine,
        soname="".join(words.get("soname", [])[:1]),
        needed=tuple(words.get("needed", [])),
        runpaths=tuple(dict.fromkeys(path for path in paths if path)),
        floors=highest(_version_needs(elf, view, places)),
    )


def _version_needs(elf: ELFFile, view: View, places: dict[str, int]) -> list[str]:
    """The names of the symbol versions that must be there (weak ones need not)."""
    if "DT_VERNEED" not in places or "DT_STRTAB" not in places:
        return []
    order = "<" if elf.little_endian else ">"
    at, names = _offset(elf, places["DT_VERNEED"]), _offset(elf, places["DT_STRTAB"])
    found: list[str] = []
    for _ in range(min(places.get("DT_VERNEEDNUM", 0), MOST_NEEDS)):
        _, count, _, first, following = struct.unpack(order + "HHIII", view.read(at, 16))
        aux = at + first
        for _ in range(min(count, MOST_NEEDS - len(found))):
            _, flags, _, name, step = struct.unpack(order + "IHHII", view.read(aux, 16))
            if not flags & WEAK:
                found.append(_word(view.read(names + name, 64), 0))
            aux += step
        at += following
    return found


def _offset(elf: ELFFile, address: int) -> int:
    return int(next(iter(elf.address_offsets(address))))


def _broken(words: str) -> ArtifactError:
    return artifact_error(
        "artifact-library-broken", message("artifacts.broken.elf-file-that-cannot-be"), words
    )


def _word(data: bytes, at: int) -> str:
    return data[at:].split(b"\0", 1)[0].decode("ascii", "replace")
