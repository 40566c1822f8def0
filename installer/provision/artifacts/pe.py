"""What a Windows DLL (or .pyd, .exe) imports: the names of its DLLs, those loaded at first use told apart.

The format is that of Microsoft's "PE Format" specification. Header and section table stand in the first
bytes; of the rest only the import descriptors and the names are read, so that a DLL of a gigabyte can be
read as it goes by (parsers at hand want the whole file and every imported function).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import NamedTuple

from provision.artifacts.view import Extent, Miss, View
from provision.messages import message
from provision.model.artifact import ArtifactError, artifact_error

MAGIC = b"MZ"
#: Rows of the data directory: imports, and imports loaded at first use.
IMPORTS, DELAYED = 1, 13
#: Bytes of one descriptor, and where in it the address of the DLL's name stands.
DESCRIPTORS = {IMPORTS: (20, 12), DELAYED: (32, 4)}
#: Where the number of directory rows stands in the optional header, by its magic (PE32, PE32+).
DIRECTORY = {0x10B: 92, 0x20B: 108}
#: The header of an existing file is shorter than this, in bytes.
HEADER = 4096
#: More DLLs and sections than any file has.
MOST_DLLS, MOST_SECTIONS = 2000, 96
#: Names stand near the descriptors: bytes kept before and behind them.
NEAR = 2 << 20
NAME_LIMIT = 260
ARCHS = {0x8664: "x86_64", 0xAA64: "aarch64", 0x14C: "i686"}
#: Sections of GPU code (a name has eight bytes at most).
GPU_SECTIONS = (".nv_fatb", ".hip_fat")


@dataclass(frozen=True, slots=True, kw_only=True)
class PeFacts:
    """DLL names as the file spells them, each once."""

    arch: str = ""
    needed: tuple[str, ...] = ()
    delayed: tuple[str, ...] = ()


class _Section(NamedTuple):
    """A section: its address and length in memory, its offset and length in the file, in bytes."""

    name: str
    length: int
    address: int
    stored: int
    offset: int


class _Header(NamedTuple):
    arch: str
    tables: dict[int, int]
    sections: tuple[_Section, ...]

    def offset(self, address: int) -> int:
        """Where in the file a relative virtual address lies."""
        for section in self.sections:
            if section.address <= address < section.address + max(section.length, section.stored):
                return address - section.address + section.offset
        raise _broken(message("artifacts.offset.address-outside-its-sections"))


def hints(view: View) -> list[Extent]:
    """Extents (offset, length) that reading the file will want, told from its first bytes."""
    try:
        header = _header(view)
        places = [header.offset(address) for address in header.tables.values()]
    except (ArtifactError, Miss):  # whatever is wrong with the header: `read` says it
        return []
    return [(place - NEAR, 2 * NEAR) for place in places]


def read(view: View) -> PeFacts:
    """The imports. Raises Miss for bytes that the view lacks, ArtifactError for junk."""
    header = _header(view)
    found = {kind: _dlls(view, header, kind) for kind in DESCRIPTORS}
    return PeFacts(arch=header.arch, needed=found[IMPORTS], delayed=found[DELAYED])


def sections(view: View) -> dict[str, Extent]:
    """Where each section lies in the file (offset, length). Raises as `read` does."""
    return {section.name: (section.offset, section.stored) for section in _header(view).sections}


def _header(view: View) -> _Header:
    head = view.read(0, HEADER)
    try:
        (place,) = struct.unpack_from("<I", head, 0x3C)
        signature, machine, count = struct.unpack_from("<4sHH", head, place)
        optional, (length,) = place + 24, struct.unpack_from("<H", head, place + 20)
        (magic,) = struct.unpack_from("<H", head, optional)
        if (
            not head.startswith(MAGIC)
            or signature != b"PE\0\0"
            or magic not in DIRECTORY
            or count > MOST_SECTIONS
        ):
            raise _broken(message("artifacts.header.its-header-is-not-that"))
        tables = _tables(head, optional + DIRECTORY[magic])
        rows = [struct.unpack_from("<8sIIII", head, optional + length + 40 * i) for i in range(count)]
    except struct.error as error:
        raise _broken(message("artifacts.header.its-header-is-cut-short")) from error
    named = tuple(_Section(row[0].rstrip(b"\0").decode("ascii", "replace"), *row[1:]) for row in rows)
    return _Header(ARCHS.get(machine, hex(machine)), tables, named)


def _tables(head: bytes, at: int) -> dict[int, int]:
    """The addresses of the two tables of imports, where the file has them."""
    (rows,) = struct.unpack_from("<I", head, at)
    found = {
        kind: struct.unpack_from("<I", head, at + 4 + 8 * kind)[0] for kind in DESCRIPTORS if kind < rows
    }
    return {kind: address for kind, address in found.items() if address}


def _dlls(view: View, header: _Header, kind: int) -> tuple[str, ...]:
    if kind not in header.tables:
        return ()
    step, place = DESCRIPTORS[kind]
    at, found = header.offset(header.tables[kind]), []
    for _ in range(MOST_DLLS):
        descriptor = view.read(at, step)
        if len(descriptor) < step or not (name := struct.unpack_from("<I", descriptor, place)[0]):
            break
        found.append(_name(view, header.offset(name)))
        at += step
    return tuple(dict.fromkeys(name for name in found if name))


def _name(view: View, at: int) -> str:
    try:
        data = view.read(at, NAME_LIMIT)
    except Miss:
        data = view.read(at, 64)
    return data.split(b"\0")[0].decode("ascii", "replace")


def _broken(words: str) -> ArtifactError:
    return artifact_error(
        "artifact-library-broken", message("artifacts.broken.pe-file-that-cannot-be"), words
    )
