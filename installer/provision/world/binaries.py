"""The processor that an executable was built for, from its first bytes (ELF, PE, Mach-O)."""

from __future__ import annotations

import struct
from pathlib import Path

_ELF = {3: "x86", 62: "x86_64", 183: "aarch64", 40: "armv7l", 21: "ppc64le", 22: "s390x", 243: "riscv64"}
_PE = {0x14C: "x86", 0x8664: "x86_64", 0xAA64: "aarch64"}
_MACH_O = {0x01000007: "x86_64", 0x0100000C: "arm64"}
_MACH_O_64 = b"\xcf\xfa\xed\xfe"
_MACH_O_FAT = (b"\xca\xfe\xba\xbe", b"\xca\xfe\xba\xbf")


def architecture(path: Path) -> str:
    """`x86_64`, `aarch64`, `arm64` (macOS), `universal2`, ...; empty where it cannot be told."""
    try:
        with path.open("rb") as file:
            return architecture_of(file.read(4096))
    except OSError:
        return ""


def architecture_of(head: bytes) -> str:
    """The same for the first bytes of a file."""
    try:
        return _read(head)
    except struct.error:
        return ""


def _read(head: bytes) -> str:
    if head[:4] == b"\x7fELF":
        order = "<" if head[5:6] == b"\x01" else ">"
        return _ELF.get(struct.unpack_from(order + "H", head, 18)[0], "")
    if head[:2] == b"MZ":
        at = struct.unpack_from("<I", head, 0x3C)[0]
        return (
            _PE.get(struct.unpack_from("<H", head, at + 4)[0], "") if head[at : at + 4] == b"PE\0\0" else ""
        )
    if head[:4] == _MACH_O_64:
        return _MACH_O.get(struct.unpack_from("<I", head, 4)[0], "")
    return "universal2" if head[:4] in _MACH_O_FAT else ""
