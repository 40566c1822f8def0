"""How values look to people. Colour only on a terminal and without NO_COLOR; nothing here decides anything."""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any, TextIO

import click

from provision.cli.language import local, word
from provision.model.finding import Evidence, Finding, Remedy

COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}
LABEL = 13


def colour_wanted(stream: TextIO) -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (stream.isatty() and os.environ.get("TERM") != "dumb")


def paint(text: str, stream: TextIO | None = None, **style: Any) -> str:
    return click.style(text, **style) if colour_wanted(stream or sys.stdout) else text


def say(text: str = "", err: bool = False) -> None:
    stream = sys.stderr if err else sys.stdout
    click.echo(text, file=stream, color=colour_wanted(stream))


def print_json(document: Any) -> None:
    """One document on stdout."""
    click.echo(json.dumps(document, ensure_ascii=False, indent=2))


def print_findings(findings: Iterable[Finding], err: bool = True) -> None:
    for finding in findings:
        for line in finding_lines(finding, sys.stderr if err else sys.stdout):
            say(line, err=err)


def finding_lines(finding: Finding, stream: TextIO, elsewhere: bool = False) -> list[str]:
    """The fact first, then its evidence, then the ways out. `elsewhere`: it may be about another machine, and its
    commands are for that one's shell."""
    head = paint(word(f"cli.{finding.severity}"), stream, fg=COLOURS[finding.severity], bold=True)
    lines = [
        f"{head}{word('cli.colon')}{local(finding.summary)}  {paint(f'[{finding.code}]', stream, dim=True)}"
    ]
    snippet, evidence, remedies = _without_snippet(finding)
    lines += [f"  {line}" for line in local(snippet).splitlines()]
    lines += [f"    {line}" for line in local(finding.detail).splitlines()]
    for number, one in enumerate(evidence[:4]):
        text = f"{local(one.source)}{word('cli.colon')}{local(one.text)}" if one.text else local(one.source)
        lines += block(word("cli.evidence") if number == 0 else "", text)
    return [*lines, *way_lines(remedies, stream, elsewhere)]


def way_lines(remedies: Sequence[Remedy], stream: TextIO, elsewhere: bool = False) -> list[str]:
    """The ways out, numbered if there are several, each with its command below it."""
    lines: list[str] = []
    for number, remedy in enumerate(remedies):
        label = word("cli.try" if len(remedies) == 1 else "cli.ways-out") if number == 0 else ""
        count = "" if len(remedies) == 1 else f"{number + 1}  "
        lines.append(_labelled(label, f"{count}{local(remedy.text)}"))
        if remedy.command:
            command = remedy.command if elsewhere else _here(remedy.command)
            lines.append(_labelled("", f"{' ' * len(count)}{paint(command, stream, bold=True)}"))
    return lines


def _here(command: str) -> str:
    """A command for a shell of this machine."""
    if sys.platform != "win32":
        return command
    from provision.shells import powershell

    return powershell(command)


def _without_snippet(finding: Finding) -> tuple[str, tuple[Evidence, ...], tuple[Remedy, ...]]:
    """The lines of a file that a finding is about, and what else it says: a hint beside the carets is not repeated."""
    evidence, remedies = finding.evidence, finding.remedies
    if not evidence or not finding.summary.startswith(f"{evidence[0].source}:"):
        return "", evidence, remedies
    snippet = evidence[0].text
    return snippet, evidence[1:], tuple(r for r in remedies if r.command or r.text not in snippet)


def block(label: str, text: str) -> list[str]:
    """A labelled text of several lines, all of them under its first one."""
    first, *rest = text.splitlines() or [""]
    return [_labelled(label, first), *(_labelled("", line) for line in rest)]


def _labelled(label: str, text: str, indent: int = 2) -> str:
    return f"{' ' * indent}{pad(label, LABEL)}{text}"


def row(label: str, text: str) -> str:
    return _labelled(label, text)


def width(text: str) -> int:
    """Columns on a terminal: wide characters take two, combining ones none."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def clipped(text: str, columns: int) -> str:
    """A text in so many columns, with dots where it goes on."""
    if width(text) <= columns:
        return text
    taken = accumulate(map(_columns, text))
    end = next((place for place, at in enumerate(taken) if at > columns - 4), len(text))
    return f"{text[:end]} ..."


def pad(text: str, columns: int) -> str:
    return text + " " * max(1 if text else 0, columns - width(text))


def table(rows: Sequence[Sequence[str]], indent: int = 2) -> list[str]:
    """Rows aligned by column; the last column is not padded."""
    if not rows:
        return []
    widths = [max(width(r[i]) for r in rows) for i in range(len(rows[0]))]
    lines = []
    for cells in rows:
        padded = [c + " " * (w - width(c)) for c, w in zip(cells[:-1], widths, strict=False)]
        lines.append(" " * indent + "   ".join([*padded, cells[-1]]).rstrip())
    return lines


def size(count: float | None) -> str:
    """Bytes for people: 1.4 GB, 716 MB, 12 kB."""
    if count is None:
        return word("cli.unknown-size")
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= factor:
            value = count / factor
            return f"{value:.1f} {unit}" if value < 100 else f"{value:.0f} {unit}"
    return f"{count:.0f} B"


def seconds(value: float) -> str:
    return f"{value:.1f}s" if value < 60 else f"{int(value) // 60}m {int(value) % 60:02d}s"


_BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float], columns: int = 24) -> str:
    """A curve in one line of text, from its smallest to its largest value; plain numbers where the
    terminal's encoding has no blocks."""
    if not values:
        return ""
    try:
        _BARS.encode(sys.stdout.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return ""
    step = -(-len(values) // columns)
    points = [min(values[i : i + step]) for i in range(0, len(values), step)]
    low, high = min(points), max(points)
    span = (high - low) or 1.0
    return "".join(_BARS[round((p - low) / span * (len(_BARS) - 1))] for p in points)
