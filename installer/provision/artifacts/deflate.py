"""Read a deflated file from its middle or its end, without what comes before.

A deflate stream is a row of blocks, and a block may begin at any bit. Where one begins is found by trying:
what is no block soon ends in an error. Its references to earlier bytes, which are not at hand, are filled
from a made-up window. Doing that with two windows that differ in every byte shows which bytes are certain:
those on which both agree. So a few megabytes say what the end of a library of hundreds holds.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
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
#: Instead of a bit: a stored block, found by its lengths.
STORED = 8


@dataclass(frozen=True, slots=True)
class Resumed:
    """The same stretch of a file, twice: a byte is certain where both are equal."""

    first: bytes
    second: bytes


def resume(packed: bytes, final: bool) -> Resumed | None:
    """Inflate from the first block that begins in `packed`. With `final` the stretch must end where the
    stream does. None where no block is found, or too little is left to be sure of one."""
    for byte, shift in chain(_stored(packed), _dynamic(packed)):
        if len(packed) - byte < CONFIRM:
            continue
        start = _from(packed[byte:], shift)
        start = start if final else start[:-1]  # its last bits are padding
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
            head = word >> shift  # not the last block, type 2; at most 286 literal codes
            if head & 7 == 4 and head & 0xF0 != 0xF0 and _begins(packed, byte, shift):
                yield byte, shift


def _begins(packed: bytes, byte: int, shift: int) -> bool:
    return _codes_fit(packed, byte, shift) and _tastes(_from(packed[byte : byte + TASTE], shift))


def _codes_fit(packed: bytes, byte: int, shift: int) -> bool:
    """Are the lengths of the block's first Huffman code those of a complete code? (RFC 1951, 3.2.7)"""
    head = int.from_bytes(packed[byte : byte + 10], "little") >> shift
    if (head >> 8) & 31 > 29:
        return False
    lengths = (head >> 17) & ((1 << 3 * (((head >> 13) & 15) + 4)) - 1)
    shares, total = _shares(), 0
    while lengths and total <= 128:
        total += shares[lengths & 0xFFF]
        lengths >>= 12
    return total == 128


@cache
def _shares() -> tuple[int, ...]:
    """What four code lengths of 3 bits take of all codes together, in 1/128; by their 12 bits."""
    one = (0, 64, 32, 16, 8, 4, 2, 1)
    return tuple(sum(one[(four >> bit) & 7] for bit in (0, 3, 6, 9)) for four in range(4096))


def _stored(packed: bytes) -> Iterator[tuple[int, int]]:
    """Bytes at which the lengths of a stored block may stand: two bytes, and the same two inverted."""
    head = packed[: SEARCH + 4]
    number = int.from_bytes(head, "little")
    differing = (number ^ (number >> 16)).to_bytes(len(head), "little")[:-4]
    at = differing.find(b"\xff\xff")
    while at >= 0:
        yield at, STORED
        at = differing.find(b"\xff\xff", at + 1)


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
