"""provision receipt show|list|compare"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from provision.cli.common import F, environment_option, json_option
from provision.cli.helping import verb_group
from provision.cli.language import language, local, lock_said, word

if TYPE_CHECKING:
    from provision.model.receipt import Receipt


@verb_group("receipt")
def command() -> None:
    pass


def profile_option(function: F) -> F:
    return click.option("--profile", metavar="PROFILE")(function)


@command.command("show", key="receipt.show")
@click.argument("name", required=False)
@click.option("--html", "html", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE")
@profile_option
@environment_option
@json_option
def show(
    name: str | None, html: Path | None, profile: str | None, environment: str | None, as_json: bool
) -> int:
    from provision.cli.rendering import print_json, say
    from provision.documents import to_json
    from provision.pipeline.receipts import lock_of, one
    from provision.pipeline.session import Session
    from provision.verifying.receipts import remembered

    session = Session()
    kept = one(session, name, profile, environment)
    receipt = remembered(kept.receipt)
    if html is not None:
        from provision.verifying.page import page

        made = lock_of(session, kept.receipt, profile, environment)
        text = page(receipt, made and lock_said(made), language())
        session.files.write(str(html.absolute()), text)
    if as_json:
        print_json(to_json(kept.receipt))
    elif html is not None:
        say(word("cli.receipt.wrote", path=html, size=f"{len(text.encode()) / 1e3:.0f}"))
    else:
        _show(receipt)
    return 0


def _show(receipt: Receipt) -> None:
    from provision.cli.rendering import finding_lines, paint, row, say
    from provision.cli.showing import job_line

    colour = "green" if receipt.verdict == "passed" else "red"
    head = paint(word(f"cli.receipt.{receipt.verdict}"), fg=colour, bold=True)
    level = word("cli.receipt.level", level=receipt.level)
    say(f"{head}   {receipt.profile}   {receipt.date}   {level}")
    say(local(receipt.proves))
    say()
    for job in receipt.jobs:
        say(row(word(f"cli.stage.{job.verdict}"), job_line(job)))
        for finding in job.findings:
            for line in finding_lines(finding, sys.stdout):
                say(f"  {line}")
    say(row(word("cli.label.machine"), _machine(receipt)))
    say(row(word("cli.label.lock"), receipt.lock))


def _machine(receipt: Receipt) -> str:
    drivers = ", ".join(f"{k} {v}" for k, v in dict(receipt.machine.get("drivers") or {}).items())
    devices = "; ".join(str(d.get("name") or d.get("vendor")) for d in receipt.machine.get("devices") or ())
    return " · ".join(text for text in (str(receipt.machine.get("cpu", "")), devices, drivers) if text)


@command.command("list", key="receipt.list")
@profile_option
@environment_option
@json_option
def list_(profile: str | None, environment: str | None, as_json: bool) -> int:
    from provision.cli.rendering import print_json, say, table
    from provision.documents import to_json
    from provision.pipeline.receipts import receipts
    from provision.pipeline.session import Session

    found = receipts(Session(), profile, environment)
    if as_json:
        print_json({"receipts": [{"name": kept.name, **to_json(kept.receipt)} for kept in found]})
        return 0
    rows = [
        (
            k.name,
            word(f"cli.receipt.{k.receipt.verdict}"),
            k.receipt.date,
            k.receipt.level,
            k.receipt.device_used,
            f"{k.receipt.seconds:.1f}s",
            k.receipt.profile,
        )
        for k in found
    ]
    for line in table(rows) or [word("cli.receipt.none")]:
        say(line)
    return 0


@command.command("compare", key="receipt.compare")
@click.argument("first")
@click.argument("second")
@profile_option
@environment_option
@json_option
def compare(first: str, second: str, profile: str | None, environment: str | None, as_json: bool) -> int:
    from provision.cli.rendering import print_json, say, table
    from provision.documents import to_json
    from provision.pipeline.receipts import one
    from provision.pipeline.session import Session
    from provision.verifying.comparing import compare as side_by_side

    session = Session()
    kept = [one(session, name, profile, environment) for name in (first, second)]
    found = side_by_side(kept[0].receipt, kept[1].receipt)
    if as_json:
        print_json(
            {"first": kept[0].name, "second": kept[1].name, "differences": [to_json(d) for d in found]}
        )
        return 0
    rows = [
        (local(d.what), local(d.first), local(d.second), f"x {d.change:g}" if d.change is not None else "")
        for d in found
    ]
    for line in table([("", kept[0].name, kept[1].name, ""), *rows]):
        say(line)
    return 0
