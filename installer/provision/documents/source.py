"""A text with a name: offsets become `file:line:column`, problems become findings with a snippet."""

from __future__ import annotations

import codecs
import itertools
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable
from functools import cached_property

from provision.messages import changed, message
from provision.model.finding import Evidence, Finding, ProvisionError, Remedy, Severity

#: What YAML calls not printable, minus the line breaks and tabs that may stand in any text.
UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufeff\ufffe\uffff]")
#: Byte order marks and the encodings they announce, longest first (UTF-32 begins like UTF-16).
BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
WIDTH = 100


class Source:
    """The text of one document and where it came from. Offsets count code points from 0."""

    def __init__(self, text: str, origin: str) -> None:
        self.text = text
        self.origin = origin

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(m.end() for m in re.finditer(r"\r\n|\r|\n", self.text))]

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both counted from 1."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def offset(self, line: int, column: int) -> int:
        """The offset of a line and column, both counted from 1; what lies outside the text is its end."""
        if not 1 <= line <= len(self._starts):
            return len(self.text)
        return min(self._starts[line - 1] + column - 1, len(self.text))

    def where(self, offset: int) -> str:
        line, column = self.position(offset)
        return f"{self.origin}:{line}:{column}"

    def line(self, number: int) -> str:
        """The line with this number (from 1) without its line break."""
        ends = [*self._starts[1:], len(self.text)]
        return self.text[self._starts[number - 1] : ends[number - 1]].rstrip("\r\n")

    def snippet(self, start: int, end: int, hint: str = "") -> str:
        """The line at `start`, and under it carets up to `end` (never past that line) with the hint."""
        number, column = self.position(start)
        line = self.line(number)
        length = max(1, min(end, start - column + 1 + len(line)) - start)
        first = max(0, column - 1 - WIDTH // 2) if len(line) > WIDTH else 0
        shown = line[first : first + WIDTH]
        head = ("…" if first else "") + line[first : column - 1]
        marked = line[column - 1 : min(column - 1 + length, first + WIDTH)]
        body = ("…" if first else "") + shown + ("…" if first + WIDTH < len(line) else "")
        carets = " " * columns(head) + "^" * max(1, columns(marked))
        margin = f"{number:>5} | "
        shown = f"{margin}{visible(body)}\n{' ' * (len(margin) - 2)}| {carets}"
        return f"{shown} " + hint if hint else shown

    def finding(
        self, code: str, summary: str, start: int, end: int | None = None, hint: str = "",
        detail: str = "", severity: Severity = "error",
    ) -> Finding:  # fmt: skip
        """A finding about the text from `start` to `end`; the hint says how to mend it."""
        where = self.where(start)
        shown = self.snippet(start, start + 1 if end is None else end, visible(hint))
        return Finding(
            code=code,
            severity=severity,
            summary=f"{where}: " + visible(summary),
            detail=detail,
            evidence=(Evidence(where, shown),),
            remedies=(Remedy(visible(hint)),) if hint else (),
        )

    def plain_finding(self, code: str, summary: str, hint: str = "") -> Finding:
        """A finding about the document as a whole: it has no line to show."""
        remedies = (Remedy(hint),) if hint else ()
        return Finding(code, "error", f"{self.origin}: " + summary, "", (Evidence(self.origin),), remedies)


def visible(text: str) -> str:
    """The text on one line, without what a terminal would act on, and with the credentials in URLs hidden.

    Every character stays one character: carets point at what they pointed at.
    """
    return changed(text, _visible)


def _visible(text: str) -> str:
    safe = UNPRINTABLE.sub("\ufffd", re.sub(r"[\t\n\r\x85\u2028\u2029]", " ", text))
    return re.sub(r"(?<=://)[^/\s'\"]+(?=@)", lambda match: "*" * len(match[0]), safe)


def columns(text: str) -> int:
    """How many terminal columns the text takes: Chinese and emoji take two, combining marks none."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )  # fmt: skip


def decode(data: str | bytes, origin: str, limit: int, error: type[ProvisionError]) -> Source:
    """Bytes -> text. UTF-8 with or without a byte order mark; UTF-16 and UTF-32 only with one.

    `limit` is the largest accepted size in bytes (in characters for text). Raises `error`.
    """
    if len(data) > limit:
        source = Source("", origin)
        raise error(
            source.plain_finding(
                "too-large",
                message("documents.decode.bytes-at-most-are-read", data=f"{len(data):,}", limit=f"{limit:,}"),
            )
        )
    text = data if isinstance(data, str) else _text(data, origin, error)
    return Source(text.removeprefix("\ufeff"), origin)


def unprintable(source: Source) -> list[Finding]:
    """The first few characters that no YAML may hold."""
    found = itertools.islice(UNPRINTABLE.finditer(source.text), 5)
    return [
        source.finding(
            "control-character",
            message("documents.unprintable.character-is-not-allowed", code=f"{ord(m[0]):04X}"),
            m.start(),
            hint=message("documents.common.remove-it"),
        )
        for m in found
    ]


def _text(data: bytes, origin: str, error: type[ProvisionError]) -> str:
    encoding = next((name for mark, name in BOMS if data.startswith(mark)), "utf-8")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as problem:
        good = data[: problem.start].decode(encoding)
        source = Source(good + data[problem.start :].decode(encoding, "replace"), origin)
        byte = message(
            "documents.text.byte-0x-is-not", data=f"{data[problem.start]:02x}", upper=encoding.upper()
        )
        raise error(source.finding("not-utf8", byte, len(good), hint=_guess(data))) from None


def _guess(data: bytes) -> str:
    """Chinese Windows saves as GBK by default: worth naming, because the cure is one menu away."""
    try:
        data.decode("gb18030")
    except UnicodeDecodeError:
        return message("documents.guess.save-file-as-utf-8")
    return message("documents.guess.it-may-be-gbk-save")


def several(findings: Iterable[Finding], origin: str, limit: int = 50) -> tuple[Finding, ...]:
    """At most `limit` findings, each once: those in `origin` first, in each file from top to bottom."""
    once = list(dict.fromkeys(findings))
    files = list(dict.fromkeys([origin, *(placed(f)[0] for f in once)]))
    return tuple(sorted(once, key=lambda f: (files.index(placed(f)[0]), placed(f)[1:])))[:limit]


def placed(finding: Finding) -> tuple[str, int, int]:
    """The file, line and column that a finding is about; 0 and 0 for the file as a whole."""
    origin, _, rest = finding.evidence[0].source.rpartition(":") if finding.evidence else ("", "", "")
    origin, _, line = origin.rpartition(":")
    return (origin, int(line), int(rest)) if line.isdigit() and rest.isdigit() else (origin, 0, 0)
