"""What a Windows DLL (or .pyd, .exe) imports: the names of its DLLs, those loaded at first use told apart."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from provision.artifacts.view import HEAD, Extent, Miss, View
from provision.model.artifact import artifact_error

if TYPE_CHECKING:
    from pefile import PE

MAGIC = b"MZ"
#: Rows of the data directory (PE format, optional header): imports and imports loaded at first use.
IMPORTS, DELAYED = 1, 13
#: Bytes of one descriptor, and where in it the address of the DLL's name stands.
DESCRIPTORS = {IMPORTS: (20, 12), DELAYED: (32, 4)}
#: More DLLs than any file imports.
MOST_DLLS = 2000
#: Names stand near the descriptors: bytes kept before and behind them.
NEAR = 2 << 20
NAME_LIMIT = 260
ARCHS = {0x8664: "x86_64", 0xAA64: "aarch64", 0x14C: "i686"}
#: Windows sections that hold CUDA fat binaries.
GPU_SECTIONS = (".nv_fatb", ".nv_fatbin", ".hip_fat")


@dataclass(frozen=True, slots=True, kw_only=True)
class PeFacts:
    """DLL names as the file spells them, each once."""

    arch: str = ""
    needed: tuple[str, ...] = ()
    delayed: tuple[str, ...] = ()


class _Span(NamedTuple):
    address: int
    length: int
    offset: int


class _Header(NamedTuple):
    arch: str
    tables: dict[int, int]
    spans: tuple[_Span, ...]
    sections: dict[str, Extent]

    def offset(self, address: int) -> int:
        """Where in the file a relative virtual address lies."""
        for span in self.spans:
            if span.address <= address < span.address + span.length:
                return address - span.address + span.offset
        raise artifact_error("artifact-library-broken", "A PE file with an address outside its sections")


def hints(view: View) -> list[Extent]:
    """Extents (offset, length) that reading the file will want, told from its first bytes."""
    try:
        header = _header(view)
        places = [header.offset(address) for address in header.tables.values()]
    except Exception:  # whatever is wrong with the header: `read` says it
        return []
    return [(place - NEAR, 2 * NEAR) for place in places]


def read(view: View) -> PeFacts:
    """The imports. Raises Miss for bytes that the view lacks, ArtifactError for junk."""
    header = _header(view)
    found = {kind: _dlls(view, header, kind) for kind in DESCRIPTORS}
    return PeFacts(arch=header.arch, needed=found[IMPORTS], delayed=found[DELAYED])


def sections(view: View) -> dict[str, Extent]:
    """Where each section lies in the file (offset, length). Raises as `read` does."""
    return _header(view).sections


def _header(view: View) -> _Header:
    head = view.read(0, HEAD)
    try:
        return _facts(_parsed(head))
    except Exception as error:  # pefile raises many kinds for a broken file
        words = f"{type(error).__name__}: {error}"
        raise artifact_error("artifact-library-broken", "A PE file that cannot be read", words) from error


def _parsed(head: bytes) -> PE:
    import pefile

    return pefile.PE(data=head, fast_load=True)


def _facts(pe: PE) -> _Header:
    directory = pe.OPTIONAL_HEADER.DATA_DIRECTORY
    tables = {kind: int(directory[kind].VirtualAddress) for kind in DESCRIPTORS if kind < len(directory)}
    spans = tuple(
        _Span(s.VirtualAddress, max(s.Misc_VirtualSize, s.SizeOfRawData), s.PointerToRawData) for s in pe.sections
    )
    places = {
        s.Name.rstrip(b"\0").decode("ascii", "replace"): (int(s.PointerToRawData), int(s.SizeOfRawData))
        for s in pe.sections
    }
    arch = ARCHS.get(pe.FILE_HEADER.Machine, hex(pe.FILE_HEADER.Machine))
    return _Header(arch, {kind: address for kind, address in tables.items() if address}, spans, places)


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
