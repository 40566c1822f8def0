"""provision knowledge"""

from __future__ import annotations

import dataclasses
import difflib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from provision.cli.common import json_option
from provision.cli.helping import verb_group
from provision.cli.knowledge_learn import learn
from provision.cli.language import local, word
from provision.messages import message
from provision.model.finding import Finding, Remedy, UsageError

if TYPE_CHECKING:
    from provision.knowledge import Knowledge, Row

_OF_EVERY_ROW = ("id", "source", "evidence", "verified_on", "origin", "note")
#: Kind -> the fields that say in one line what a row says; of a kind that is not here, all of its own.
_HEADS: dict[str, tuple[str, ...]] = {
    "patch": ("packages", "versions", "constraints", "overrides", "add_requirements"),
    "name": ("name", "versions", "what_is_so"),
    "family": ("folder", "members"),
    "build": ("distributions", "extras", "runtime", "wheels", "requires"),
    "metadata": ("packages", "versions", "extra", "declares"),
    "companion": ("leader", "package", "why"),
    "index": ("name", "url"),
    "runtime": ("kind", "version", "driver_floor", "driver_lines"),
    "architecture": ("vendor", "name", "cards"),
    "loader": ("library", "versions"),
    "cudnn": ("versions", "cuda"),
    "library": ("library", "version", "cuda"),
    "rule": ("then", "because"),
    "lint": ("severity", "because"),
    "fact": ("fact",),
}
#: How a value that may be a text is said: in English, or in the language of the process.
Say = Callable[[object], str]
#: Columns of a line in a list of rows.
_HEAD = 110


def _knowledge() -> Knowledge:
    from provision.pipeline.session import Session

    return Session().knowledge


@verb_group("knowledge")
def command() -> None:
    pass


@command.command("list", key="knowledge.list")
@click.argument("kind", required=False, default="")
@json_option
def list_rows(kind: str, as_json: bool) -> int:
    from provision.knowledge import kind_of

    rows = _knowledge().list()
    kinds = sorted({kind_of(row) for row in rows})
    if kind and kind not in kinds:
        raise UsageError(
            _unknown("no-such-kind", message("cli.knowledge.no-kind", kind=repr(kind)), kind, kinds)
        )
    _report([row for row in rows if not kind or kind_of(row) == kind], as_json)
    return 0


@command.command("show", key="knowledge.show")
@click.argument("row_id", metavar="ID")
@json_option
def show(row_id: str, as_json: bool) -> int:
    from provision.cli.rendering import print_json

    knowledge = _knowledge()
    row = knowledge.row(row_id)
    if row is None:
        ids = [r.id for r in knowledge.list()]
        raise UsageError(
            _unknown("no-such-row", message("cli.knowledge.no-row", row=repr(row_id)), row_id, ids)
        )
    if as_json:
        print_json({**_as_json(row), "findings": []})
    else:
        _show(row)
    return 0


@command.command("search", key="knowledge.search")
@click.argument("words", nargs=-1, required=True)
@json_option
def search(words: tuple[str, ...], as_json: bool) -> int:
    from provision.cli.rendering import say

    rows = _knowledge().search(" ".join(words))
    _report(rows, as_json)
    if not rows and not as_json:
        say(word("cli.knowledge.none", words=words), err=True)
    return 0


command.add_command(learn)


def _unknown(code: str, summary: str, asked: str, known: Iterable[str]) -> Finding:
    near = difflib.get_close_matches(asked, list(known), 3, 0.5)
    ways = tuple(Remedy(message("cli.unknown.way", name=name)) for name in near)
    return Finding(
        code,
        "error",
        summary,
        remedies=ways or (Remedy(message("cli.unknown.way-2"), "provision knowledge list"),),
    )


def _report(rows: Sequence[Row], as_json: bool) -> None:
    from provision.cli.rendering import print_json, say, table
    from provision.knowledge import kind_of

    if as_json:
        print_json({"rows": [_as_json(row) for row in rows], "findings": []})
        return
    for line in table([(kind_of(row), row.id, row.evidence, headline(row, local)) for row in rows], indent=0):
        say(line)


def _as_json(row: Row) -> dict[str, Any]:
    from provision.documents import to_json
    from provision.knowledge import kind_of

    return {"kind": kind_of(row), "says": headline(row), "row": to_json(row)}


def headline(row: Row, say: Say = str) -> str:
    """What a row says, in one line."""
    from provision.cli.rendering import clipped
    from provision.knowledge import kind_of

    own = tuple(f.name for f in dataclasses.fields(row) if f.name not in _OF_EVERY_ROW)
    values = [getattr(row, name) for name in _HEADS.get(kind_of(row), own)]
    return clipped("   ".join(filter(None, (told(value, say) for value in values))), _HEAD)


def told(value: Any, say: Say = str) -> str:
    """A value of a row in words."""
    if dataclasses.is_dataclass(value):
        # Of wheels it is the versions that tell one row from another.
        fields = (
            ("versions",) if hasattr(value, "pythons") else tuple(f.name for f in dataclasses.fields(value))
        )
        return " ".join(filter(None, (told(getattr(value, name), say) for name in fields)))
    if isinstance(value, dict):
        return ", ".join(f"{key} {told(item, say)}".strip() for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(told(item, say) for item in value)
    return "" if value is None or value is False else say(message("cli.yes")) if value is True else say(value)


def _show(row: Row) -> None:
    from provision.cli.rendering import pad, paint, say
    from provision.knowledge import kind_of

    say(
        f"{paint(row.id, sys.stdout, bold=True)}   {word('cli.knowledge.row-of', kind=kind_of(row), origin=row.origin)}"
    )
    say()
    last = ("source", "evidence", "verified_on")
    names = [f.name for f in dataclasses.fields(row) if f.name not in ("id", "origin", *last)]
    for name in (*names, *last):
        for number, line in enumerate(_lines(getattr(row, name))):
            say(f"  {pad('' if number else name.replace('_', '-'), 20)}{line}")


def _lines(value: Any) -> Iterator[str]:
    """A list of nouns or of sentences has a line for each, everything else one."""
    several = isinstance(value, tuple) and (
        any(dataclasses.is_dataclass(item) or " " in str(item) for item in value)
    )
    for item in value if several else (value,):
        if text := _fields(item) if dataclasses.is_dataclass(item) else told(item, local):
            yield text


def _fields(value: Any) -> str:
    """A noun inside a row, every field with its name."""
    pairs = (
        (f.name.replace("_", "-"), told(getattr(value, f.name), local)) for f in dataclasses.fields(value)
    )
    return "; ".join(f"{name} {text}" for name, text in pairs if text)
