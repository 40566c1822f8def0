"""Read a deflated file from its middle or its end, without what comes before.

A deflate stream is a row of blocks, and a block may begin at any bit. Where one begins is found by trying: what is
no block soon ends in an error. Its references to earlier bytes, which are not at hand, are filled from a made-up
window. Doing that with two windows that differ in every byte shows which bytes are certain: those on which
both agree. So a few megabytes say what the end of a library of hundreds holds.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

WINDOW = 1 << 15
#: Two made-up pasts that agree nowhere.
PASTS = (bytes(WINDOW), b"\xff" * WINDOW)
#: How far to look for the start of a block, in packed bytes. Blocks of the common writers have 10 to 64 KiB.
SEARCH = 192 << 10
#: Packed bytes of the first, cheap try.
TASTE = 1 << 10
#: The least that must decode before a place counts as the start of a block, in packed bytes.
CONFIRM = 64 << 10
STORED = 8
#: What a code of each length takes of all codes, in 1/128.
SHARES = (0, 64, 32, 16, 8, 4, 2, 1)


@dataclass(frozen=True, slots=True)
class Resumed:
    """The same stretch of a file, twice: a byte is certain where both are equal."""

    first: bytes
    second: bytes


def resume(packed: bytes, final: bool) -> Resumed | None:
    """Inflate from the first block that begins in `packed`. With `final` the stretch must end where the stream
    does. None where no block is found, or too little is left to be sure of one."""
    for byte, shift in chain(_stored(packed), _dynamic(packed)):
        if len(packed) - byte < CONFIRM:
            continue
        start = _from(packed[byte:], shift)
        first = _inflated(start, PASTS[0], final)
        second = first and _inflated(start, PASTS[1], final)
        if first and second and len(first) == len(second):
            return Resumed(first, second)
    return None


def _dynamic(packed: bytes) -> Iterator[tuple[int, int]]:
    """Bytes and bits at which a block with its own Huffman codes may begin: one that passes the cheap try."""
    for byte in range(min(SEARCH, len(packed) - 10)):
        word = packed[byte] | packed[byte + 1] << 8
        for shift in range(8):
            # not the last block, type 2; at most 286 literal codes
            if (word >> shift) & 7 == 4 and (word >> shift) & 0xF0 != 0xF0 and _codes_fit(packed, byte, shift):
                if _tastes(_from(packed[byte : byte + TASTE], shift)):
                    yield byte, shift


def _codes_fit(packed: bytes, byte: int, shift: int) -> bool:
    """Are the lengths of the block's first Huffman code those of a complete code? (RFC 1951, 3.2.7)"""
    head = int.from_bytes(packed[byte : byte + 10], "little") >> shift
    if (head >> 8) & 31 > 29:
        return False
    lengths = (head >> 17) & ((1 << 3 * (((head >> 13) & 15) + 4)) - 1)
    total = 0
    while lengths:
        total += SHARES[lengths & 7]
        lengths >>= 3
    return total == 128


def _stored(packed: bytes) -> Iterator[tuple[int, int]]:
    """Bytes at which the lengths of a stored block may stand; `STORED` instead of a bit."""
    for byte in range(min(SEARCH, len(packed) - 4)):
        if packed[byte] ^ packed[byte + 2] == 0xFF and packed[byte + 1] ^ packed[byte + 3] == 0xFF:
            yield byte, STORED


def _from(packed: bytes, shift: int) -> bytes:
    """The stream from that bit on, moved to the start of a byte; before a stored block its header is put."""
    if shift == STORED:
        return b"\0" + packed
    return (int.from_bytes(packed, "little") >> shift).to_bytes(len(packed), "little")


def _tastes(start: bytes) -> bool:
    try:
        zlib.decompressobj(-zlib.MAX_WBITS, zdict=PASTS[0]).decompress(start, WINDOW)
    except zlib.error:
        return False
    return True


def _inflated(start: bytes, past: bytes, final: bool) -> bytes:
    """All that comes out, or nothing where it is no deflate stream (or, with `final`, has another end)."""
    inflater = zlib.decompressobj(-zlib.MAX_WBITS, zdict=past)
    try:
        data = inflater.decompress(start)
    except zlib.error:
        return b""
    ends_right = inflater.eof and len(inflater.unused_data) <= 1 if final else not inflater.eof
    return data if ends_right else b""
