"""provision lock diff"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from provision.cli.common import json_option
from provision.cli.helping import verb
from provision.cli.language import local, word

if TYPE_CHECKING:
    from provision.locking.diffing import Difference


@verb("lock.diff")
@click.argument("old")
@click.argument("new")
@click.option(
    "--format", "form", type=click.Choice(["text", "markdown", "json"]), default="text", show_default=True
)
@json_option
def command(old: str, new: str, form: str, as_json: bool) -> int:
    from provision.cli.rendering import print_json, say
    from provision.locking.diffing import markdown
    from provision.pipeline.comparing import compare
    from provision.pipeline.session import Session

    found = compare(old, new, Session())
    if as_json or form == "json":
        print_json({"locks": [as_document(one) for one in found], "findings": []})
    elif form == "markdown":
        say(local(markdown(found)).rstrip("\n"))
    else:
        show(found)
        if not found:
            say(word("cli.lock-diff.none"))
    return 0


def show(found: Sequence[Difference]) -> None:
    """Locks with the same changes share one list of them."""
    from provision.cli.rendering import paint, say
    from provision.locking.diffing import summary

    groups: dict[tuple[str, ...], list[Difference]] = {}
    for one in found:
        groups.setdefault((local(summary(one)), *lines(one)), []).append(one)
    for (told, *body), members in groups.items():
        for one in members:
            say(f"{paint(one.title, sys.stdout, bold=True)}   {told}")
        for line in body:
            say(line)


def lines(one: Difference) -> list[str]:
    """A line for each change, aligned; the part of the lock that it is in stands in front of its first one."""
    from provision.cli.rendering import paint, table
    from provision.locking.diffing import sections

    colours = {"up": "green", "added": "green", "down": "yellow", "removed": "red"}
    rows, painted = [], []
    for title, found in sections(one):
        for number, (what, name, values, why) in enumerate(found):
            said = local(what)
            rows.append(
                ("" if number else local(title), said, name, f"{local(values)}   {local(why)}".rstrip())
            )
            painted.append(paint(said, sys.stdout, fg=colours[what]) if what in colours else said)
    plain = table(rows)
    return [line.replace(row[1], colour, 1) for line, row, colour in zip(plain, rows, painted, strict=True)]


def as_document(one: Difference) -> dict[str, Any]:
    from provision.documents import to_json
    from provision.locking.diffing import summary

    lock = one.new or one.old
    assert lock is not None
    parts = ("stack", "packages", "patches", "needs", "build", "others")
    return {
        "profile": lock.profile,
        "variant": lock.variant,
        "target": lock.target,
        "python": lock.python,
        "change": "added" if one.old is None else "removed" if one.new is None else "changed",
        "summary": summary(one),
        **{name: [to_json(item) for item in getattr(one, name)] for name in parts},
    }
