"""Clean lines out of any log: huge, binary, coloured, in UTF-8, UTF-16 or GBK, with progress bars in it.

Bounded memory: one block of a megabyte at a time, whatever the size of the log or of a line.
"""

from __future__ import annotations

import codecs
import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

BLOCK = 1 << 20
#: Bytes of one line that are kept: what stands before and after the place of interest.
BEFORE, AFTER = 2000, 6000

# Colours and cursor moves, as bytes and as JSON or caret notation spell them (notebooks, CI logs).
_ANSI = re.compile(
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]{0,512}(?:\x07|\x1b\\)|[@-Z\\-_])"
    rb"|\\u001[bB]\[[0-9;]*[A-Za-z]|\\x1[bB]\[[0-9;]*[A-Za-z]|\\033\[[0-9;]*[A-Za-z]|\^\[\[[0-9;]*m"
)
_JUNK = bytes(set(range(32)) - {9, 10, 13, 27})  # control characters, NUL among them
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u200b\ufeff]")


@dataclass(frozen=True, slots=True)
class Line:
    """`number` counts line feeds from 1, as editors and `grep -n` do."""

    number: int
    text: str


class Words:
    """The literals that make a line interesting. A word that has been seen often enough can be retired, so
    that a log that repeats one error a million times stays cheap."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words = frozenset(w for w in words if w)
        self.pattern = _compile(self._words)

    def retire(self, words: Iterable[str]) -> None:
        left = self._words - frozenset(words)
        if left != self._words:
            self._words = left
            self.pattern = _compile(left)


@functools.lru_cache(maxsize=8)
def _compile(words: frozenset[str]) -> re.Pattern[bytes] | None:
    keys = {key for word in words for key in _keys(word)}
    return re.compile(_alternation(keys)) if keys else None


def _keys(word: str) -> Iterator[bytes]:
    """What to look for in the bytes for one word: a part of it that starts with a rare character."""
    part = _rarest(word)
    yield part.encode()
    if not part.isascii():
        yield part.encode("gb18030")


#: Characters by how often they begin a place in logs, rarest first; others count as rarest.
_COMMON = "QZJqzXYKVWjHUBGOxFNMLRPDSTACIEkvwb'\"`<>@&=_gypufchmdl/:\\-srnioate,.0123456789 "


def _rarest(word: str, least: int = 6) -> str:
    starts = range(max(1, len(word) - least + 1))
    best = min(starts, key=lambda i: (_COMMON.find(word[i]), i))
    return word[best : best + 16]


def _alternation(words: Iterable[bytes]) -> bytes:
    """A regular expression for any of the words, as a trie: the engine then skips by first character."""
    trie: dict[int, dict] = {}  # type: ignore[type-arg]
    for word in sorted(words):
        node = trie
        for at, char in enumerate(word):
            if at and not node:
                break  # a shorter word already stands for this one
            node = node.setdefault(char, {})
        else:
            node.clear()
    return _emit(trie)


def _emit(node: dict[int, dict]) -> bytes:  # type: ignore[type-arg]
    parts = []
    for char, rest in node.items():
        tail = _emit(rest)
        parts.append(re.escape(bytes([char])) + (b"(?:" + tail + b")" if len(rest) > 1 else tail))
    return b"|".join(parts)


def lines(stream: BinaryIO) -> Iterator[Line]:
    """Every line, cleaned. A progress bar's carriage returns give several lines of one number."""
    for block, number in _blocks(stream):
        for offset, row in enumerate(block.split(b"\n")):
            for part in row.split(b"\r"):
                if part:
                    yield Line(number + offset, _decode(part[: BEFORE + AFTER]))


def interesting(stream: BinaryIO, words: Words) -> Iterator[Line]:
    """Only the lines that hold one of the words, cleaned. `words` may change between two lines."""
    for block, number in _blocks(stream):
        at = counted = 0
        while words.pattern and (hit := words.pattern.search(block, at)):
            start, end = _bounds(block, hit.start(), at)
            number += block.count(b"\n", counted, start)
            counted, at = start, max(end, hit.end())
            yield Line(number, _decode(block[start:end]))


def _bounds(block: bytes, at: int, floor: int) -> tuple[int, int]:
    """Where the line around `at` starts and ends; a huge line is cut to a window."""
    floor = max(floor, at - BEFORE)
    start = max(floor, block.rfind(b"\n", floor, at) + 1, block.rfind(b"\r", floor, at) + 1)
    ceiling = at + AFTER
    ends = [e for e in (block.find(b"\n", at, ceiling), block.find(b"\r", at, ceiling)) if e >= 0]
    return start, min(ends, default=min(ceiling, len(block)))


def _blocks(stream: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """Blocks of whole lines without colours and junk, each with the number of its first line."""
    rest, number = b"", 1
    for raw in _utf8(stream):
        block = rest + raw
        cut = _cut(block)
        rest, block = block[cut:], block[:cut]
        if block:
            yield _strip(block), number
            number += block.count(b"\n")
    if rest:
        yield _strip(rest), number


def _cut(block: bytes) -> int:
    """Where to end a block: after its last line, or anywhere if one line fills it."""
    cut = max(block.rfind(b"\n"), block.rfind(b"\r", max(0, len(block) - BLOCK // 2), len(block) - 1)) + 1
    if cut or len(block) < BLOCK:
        return cut
    return len(block) - BEFORE


def _strip(block: bytes) -> bytes:
    if b"\x1b" in block or b"u001b[" in block or b"x1b[" in block or b"^[[" in block or b"033[" in block:
        block = _ANSI.sub(b"", block)
    return block.translate(None, _JUNK)


def _utf8(stream: BinaryIO) -> Iterator[bytes]:
    """The stream in blocks; UTF-16 and UTF-32 come out as UTF-8, all else as it is."""
    head = stream.read(BLOCK)
    encoding = _wide(head)
    decoder = codecs.getincrementaldecoder(encoding)("replace") if encoding else None
    while head:
        yield decoder.decode(head).encode("utf-8", "replace") if decoder else head
        head = stream.read(BLOCK)


def _wide(head: bytes) -> str:
    """The encoding whose characters take two or four bytes, if the log begins like one."""
    for mark, name in (
        (codecs.BOM_UTF32_LE, "utf-32"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if head.startswith(mark):
            return name
    sample = head[:4096]
    odd, even = sample[1::2].count(0), sample[::2].count(0)
    if odd > len(sample) // 4 and even < odd // 8:
        return "utf-16-le"
    return "utf-16-be" if even > len(sample) // 4 and odd < even // 8 else ""


def _decode(raw: bytes) -> str:
    for encoding in ("utf-8", "gb18030"):
        try:
            return _CONTROL.sub("", raw.decode(encoding)).rstrip()
        except UnicodeDecodeError:
            continue
    return _CONTROL.sub("", raw.decode("utf-8", "replace")).rstrip()
