"""Clean lines out of any log: huge, binary, coloured, in UTF-8, UTF-16 or GBK, with progress bars in it.

Bounded memory: one block of a megabyte at a time, whatever the size of the log or of a line.
"""

from __future__ import annotations

import codecs
import functools
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

BLOCK = 1 << 20
#: Bytes of one line that are kept: what stands before and after the place of interest.
BEFORE, AFTER = 2000, 6000
#: So many lines without any word are remembered, by their hashes.
_REMEMBERED = 100_000
#: After so many blocks of new lines, so many are searched as a whole.
_PATIENCE, _RESTING = 3, 32
_DIGITS = bytes.maketrans(b"123456789", b"000000000")
#: After so many lines that hold only a part of a word, the word is no longer looked for.
IN_VAIN = 5000

# Colours and cursor moves, as bytes and as JSON or caret notation spell them (notebooks, CI logs).
_ANSI = re.compile(
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]{0,512}(?:\x07|\x1b\\)|[@-Z\\-_])"
    rb"|\\u00[01][bB]\[[0-9;]*[A-Za-z]|\\x[01][bB]\[[0-9;]*[A-Za-z]|\\0(?:33|00)\[[0-9;]*[A-Za-z]|\^\[\[[0-9;]*m"
)
_MARKS = (b"\x1b", b"^[[", b"1b[", b"1B[", b"033[", b"0b[", b"0B[", b"000[")
_JUNK = bytes(set(range(32)) - {9, 10, 13, 27})  # control characters, NUL among them
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u200b\ufeff]")


@dataclass(frozen=True, slots=True)
class Line:
    """`number` counts line feeds from 1, as editors and `grep -n` do."""

    number: int
    text: str


class Words:
    """The literals that make a line interesting; a line feed in front stands for a line's beginning.

    A word that has been seen often enough can be retired, so that a log that repeats one error a million
    times stays cheap. At the end of a log, where the error is that ended the program, they come back."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words = frozenset(w for w in words if w)
        self._retired: frozenset[str] = frozenset()
        self._finder = _finder(self._words)
        self._loose = _loose(self._words)
        self._in_vain: Counter[str] = Counter()
        self.revived = False
        #: Hashes of lines, digits made alike, that hold no part of any word, and of those that do.
        self._dull: set[int] = set()
        self._hot: set[int] = set()
        #: Blocks in a row whose lines were mostly new, and how many are to be searched as a whole.
        self._novel = self._rest = 0

    def retire(self, words: Iterable[str]) -> None:
        gone = self._words.intersection(words)
        if gone and not self.revived:
            self._words -= gone
            self._retired |= gone
            self._loose = _loose(self._words)
            self._hot.clear()

    def revive(self) -> bool:
        """Look for the retired words only; False if there are none."""
        self._words, self._retired, self.revived = self._retired, frozenset(), True
        self._finder = _finder(self._words)
        return bool(self._words)

    def next(self, block: bytes, at: int) -> int:
        """Where in the block, from `at` on, a part of some word begins; -1 if nowhere."""
        finder = _finder(self._words) if self._rest else self._finder
        hit = finder.raw.search(block, at)
        return hit.start() if hit else -1

    def hot(self, rows: list[bytes]) -> list[int]:
        """Which of many lines (digits made alike) hold a part of some word. Most lines of a log were seen before but
        for their numbers: of those only the hash is taken."""
        marks = list(map(hash, rows))
        fresh = {m: r for m, r in zip(marks, rows, strict=True) if m not in self._dull}
        self._novel = self._novel + 1 if len(fresh) > len(rows) // 2 else 0
        self._rest = _RESTING if self._novel > _PATIENCE else 0
        for mark, row in fresh.items():
            if mark not in self._hot:
                found = self._loose.search(b"\n" + _colours(row))
                (self._hot if found else self._dull).add(mark)
        held = [at for at, mark in enumerate(marks) if mark in self._hot]
        for seen in (self._dull, self._hot):
            if len(seen) > _REMEMBERED:
                seen.clear()
        return held

    def unlike(self) -> bool:
        """True where the last blocks had little in common: the next one is then searched as a whole."""
        self._rest -= self._rest > 0
        return self._rest > 0

    def within(self, text: str) -> list[str]:
        """The words that a line holds, sorted. Those whose part is met again and again without the rest of
        the word are retired."""
        text = "\n" + text
        found: set[str] = set()
        for part in self._parts(text):
            words = [w for w in self._finder.owners[part] if w in self._words and w in text]
            found.update(words)
            self._in_vain[part] += not words
            if self._in_vain[part] > IN_VAIN:
                self._in_vain[part] = 0
                self.retire(self._finder.owners[part])
                break
        return sorted(found)

    def _parts(self, text: str) -> set[str]:
        parts, hit = set(), self._finder.clean.search(text)
        while hit:
            parts.add(hit.group())
            hit = self._finder.clean.search(text, hit.start() + 1)
        return parts


@dataclass(frozen=True, slots=True)
class _Finder:
    """Expressions for the parts that are looked for, and the words that each part stands for."""

    raw: re.Pattern[bytes]
    clean: re.Pattern[str]
    owners: dict[str, list[str]]


@functools.lru_cache(maxsize=8)
def _loose(words: frozenset[str]) -> re.Pattern[bytes]:
    """An expression that is in every line with one of the words once the line's digits were made alike; now and then
    in others, too. Of a word it takes the longest piece without digits, if that is long enough."""
    pieces = set()
    for word in words:
        for name in ("utf-8",) if word.isascii() else ("utf-8", "gb18030"):
            text = word.encode(name).decode("latin-1")
            longest = max(re.split(r"\d+", text), key=len)
            pieces.add(_part(longest) if len(longest) >= _LEAST else text.translate(_ALIKE)[:_MOST])
    return re.compile((_alternation(_shortest(pieces)) or _NEVER).encode("latin-1"))


def _shortest(texts: set[str]) -> set[str]:
    """Those that begin with no other."""
    return {t for t in texts if not any(t[:n] in texts for n in range(1, len(t)))}


_NEVER = r"(?!)"
_ALIKE = str.maketrans("123456789", "000000000")


#: Characters from the rarest to the most common, counted in real logs of training.
_COMMON = "QZJ%~^\\+&!<Y#@*{}HKBq\";>MVO`XSGjLzkDWREFCUP',)(xIA[TN]987vw4gb5\ny6h-3fmp2/1_ud:0=.nlcisatroe "
#: Characters of which nearly every word has one, and with which together few places of a log begin.
_STARTS = "|\\KB`ECF'INT(8wv5gby-\nfmp"
#: A part of a word that is looked for has at least this many characters, if the word has.
_LEAST, _MOST = 6, 16


@functools.lru_cache(maxsize=8)
def _finder(words: frozenset[str]) -> _Finder:
    """One expression for all words. The engine is fast where few places of a log can begin a match, so
    the parts that are looked for begin with as few and as rare characters as possible."""
    parts = {word: _part(word) if word.isascii() else word for word in words}
    every = set(parts.values())
    shortest = _shortest(every)
    owners: dict[str, list[str]] = {s: [] for s in shortest}
    for word, part in parts.items():
        owners[next(part[:n] for n in range(1, len(part) + 1) if part[:n] in shortest)].append(word)
    raw = {s.encode(name) for s in shortest for name in (("utf-8",) if s.isascii() else ("utf-8", "gb18030"))}
    return _Finder(
        re.compile((_alternation(k.decode("latin-1") for k in raw) or _NEVER).encode("latin-1")),
        re.compile(_alternation(shortest) or _NEVER),
        owners,
    )


def _part(word: str) -> str:
    """The part of a word to look for: from a character on with which few places of a log begin, else from
    the rarest one; not too near to the word's end."""
    openings = word[: max(1, len(word) - _LEAST + 1)]

    def cost(at: int) -> tuple[bool, int, int]:
        return word[at] not in _STARTS, max(0, 10 - len(word) + at), _COMMON.find(word[at])

    at = min(range(len(openings)), key=cost)
    return word[at : at + _MOST]


def _alternation(words: Iterable[str]) -> str:
    """A regular expression for any of the words, as a trie: the engine then skips by first character."""
    trie: dict[str, Any] = {}
    for word in words:
        node = trie
        for char in word:
            node = node.setdefault(char, {})
    return _emit(trie)


def _emit(node: dict[str, Any]) -> str:
    parts = []
    for char, rest in sorted(node.items()):
        tail = _emit(rest)
        parts.append(re.escape(char) + (f"(?:{tail})" if len(rest) > 1 else tail))
    return "|".join(parts)


def lines(stream: BinaryIO) -> Iterator[Line]:
    """Every line, cleaned. A progress bar's carriage returns give several lines of one number."""
    for block, number in _blocks(stream):
        for offset, row in enumerate(_strip(block).split(b"\n")):
            for part in row.split(b"\r"):
                if part:
                    yield Line(number + offset, _decode(part[: BEFORE + AFTER]))


def interesting(stream: BinaryIO, words: Words) -> Iterator[Line]:
    """Only the lines that hold one of the words, cleaned. `words` may change between two lines."""
    tail: deque[tuple[bytes, int]] = deque(maxlen=2)
    for block, number in _blocks(stream):
        tail.append((block, number))
        yield from _filtered(block, number, words)
    if words.revive():
        for block, number in tail:
            yield from _scan(b"\n" + _strip(block), number - 1, words)


def _filtered(block: bytes, number: int, words: Words) -> Iterator[Line]:
    if words.unlike():
        yield from _scan(b"\n" + _strip(block), number - 1, words)
        return
    found = words.hot(block.translate(_DIGITS, _JUNK).split(b"\n"))
    rows = block.split(b"\n") if found else []
    for at in found:
        row = _strip(rows[at].removesuffix(b"\r"))
        if len(row) <= BEFORE and b"\r" not in row:
            if words.next(b"\n" + row, 0) >= 0:
                yield Line(number + at, _decode(row))
        else:
            yield from _scan(b"\n" + row, number + at - 1, words)


def tail(stream: BinaryIO, limit: int) -> str:
    """The end of a log as text, whatever its encoding, without colours and junk. `limit` is in bytes."""
    head = stream.read(4096)
    wide = {
        "utf-16": "utf-16-be" if head.startswith(codecs.BOM_UTF16_BE) else "utf-16-le",
        "utf-32": "utf-32-le",
    }
    encoding = _wide(head)
    stream.seek(max(0, stream.seek(0, 2) - limit) // 4 * 4)
    raw = stream.read(limit + 4)
    if encoding:
        raw = raw.decode(wide.get(encoding, encoding), "replace").encode("utf-8", "replace")
    return "\n".join(_decode(line) for line in _strip(raw).replace(b"\r\n", b"\n").split(b"\n"))


def _scan(block: bytes, number: int, words: Words) -> Iterator[Line]:
    at = counted = 0
    while (hit := words.next(block, at)) >= 0:
        start, end = _bounds(block, hit, at)
        number += block.count(b"\n", counted, start)
        counted, at = start, max(end, hit + 1)
        yield Line(number, _decode(block[start:end]))


def _bounds(block: bytes, at: int, floor: int) -> tuple[int, int]:
    """Where the line around `at` starts and ends; a huge line is cut to a window."""
    at += block[at : at + 1] == b"\n"
    floor = max(floor, at - BEFORE)
    start = max(floor, block.rfind(b"\n", floor, at) + 1, block.rfind(b"\r", floor, at) + 1)
    ceiling = at + AFTER
    ends = [e for e in (block.find(b"\n", at, ceiling), block.find(b"\r", at, ceiling)) if e >= 0]
    return start, min(ends, default=min(ceiling, len(block)))


def _blocks(stream: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """Blocks of whole lines, and the number of the first of them."""
    rest, number = b"", 1
    for raw in _utf8(stream):
        block = rest + raw
        cut = _cut(block)
        rest, block = block[cut:], block[:cut]
        if block:
            yield block, number
            number += block.count(b"\n")
    if rest:
        yield rest, number


def _cut(block: bytes) -> int:
    """Where to end a block: after its last line, or anywhere if one line fills it."""
    cut = max(block.rfind(b"\n"), block.rfind(b"\r", max(0, len(block) - BLOCK // 2), len(block) - 1)) + 1
    if cut or len(block) < BLOCK:
        return cut
    return len(block) - BEFORE


def _strip(block: bytes) -> bytes:
    """Without colours and control characters."""
    return _colours(block).translate(None, _JUNK)


def _colours(block: bytes) -> bytes:
    """Without colours; those in which digits were made alike are seen, too."""
    return _ANSI.sub(b"", block) if any(mark in block for mark in _MARKS) else block


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
