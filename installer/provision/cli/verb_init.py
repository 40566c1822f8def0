"""provision init"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from provision.cli.common import json_option, quiet_option
from provision.messages import message
from provision.model.finding import BlockedError, Finding, Remedy, UsageError
from provision.model.profile import Target, Vendor

if TYPE_CHECKING:
    from provision.pipeline.beginning import Begun
    from provision.pipeline.session import Session


@click.command("init", short_help="Write a first profile for given frameworks and this (or named) hardware.")
@click.argument("name", required=False, default="")
@click.option(
    "-f", "--framework", "frameworks", multiple=True, metavar="NAME[==VERSION]", help="torch, tensorflow==2.10.1 ..."
)  # fmt: skip
@click.option("-p", "--package", "packages", multiple=True, metavar="REQUIREMENT", help="A further package.")
@click.option(
    "--vendor", type=click.Choice(get_args(Vendor)), metavar="VENDOR",
    help=f"Whose accelerator: {', '.join(get_args(Vendor))}. By default what is seen here.",
)  # fmt: skip
@click.option(
    "--compute-capability", "capability", default="", metavar="8.6", help="Of the NVIDIA cards it is for."
)
@click.option("--architecture", default="", metavar="NAME", help="Of other cards: gfx1030, 910B.")
@click.option(
    "--target", "targets", multiple=True, type=click.Choice(get_args(Target)), metavar="TARGET",
    help=f"A system to make locks for: {', '.join(get_args(Target))}. By default this one.",
)  # fmt: skip
@click.option(
    "--python", default="", metavar="VERSION", help="3.10, or a range. By default the newest that fits."
)
@click.option(
    "--machine", "machine_file", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
    help="Take the machine from a file made by `detect --save`.",
)  # fmt: skip
@click.option(
    "-o", "--output", metavar="FILE", help="Where to write it (`-`: print it). By default profiles/NAME.yaml."
)
@click.option("-y", "--yes", is_flag=True, help="Write over a file that is there.")
@json_option
@quiet_option
def command(output: str | None, yes: bool, as_json: bool, quiet: bool, **chosen: Any) -> int:
    """Write a first profile, commented, for the frameworks named and the hardware that is here (or named).

    It is solved before it is written, so that its versions fit the hardware, the targets and one another.

    \b
        provision init --framework torch
        provision init team -f torch -f tensorflow==2.10.1 --vendor nvidia --target windows-x86_64
        provision init --framework tensorflow --machine server.yaml --output -
    """
    from provision.cli.common import make_session
    from provision.cli.rendering import print_findings, say
    from provision.pipeline.beginning import Wish, begin

    if not chosen["frameworks"] and not chosen["packages"]:
        raise UsageError(_nothing_asked())
    session = make_session(quiet=quiet, as_json=as_json, machine_file=chosen.pop("machine_file"))
    begun = begin(Wish(**{**chosen, "vendor": chosen["vendor"] or ""}), session)
    if output == "-" and not as_json:
        print_findings(begun.findings)
        say(begun.text.rstrip("\n"))
        return 0
    path = None if output == "-" else _write(begun, session, output, yes)
    _report(begun, path, as_json, quiet)
    return 0


def _nothing_asked() -> Finding:
    return Finding(
        "usage", "error", message("cli.usage.summary"),
        remedies=(Remedy(message("cli.usage.way-2"), "provision init --framework torch"),),
    )  # fmt: skip


def _write(begun: Begun, session: Session, output: str | None, yes: bool) -> Path:
    from provision.cli.showing import shown
    from provision.pipeline.locks import write_text

    path = session.folder / (output or f"profiles/{begun.profile.name}.yaml")
    if path.exists() and not yes and not session.confirm(f"{shown(path)} is there. Write over it?"):
        raise BlockedError(
            Finding(
                "file-exists",
                "error",
                message("cli.file-exists.summary", path=shown(path)),
                remedies=(
                    Remedy(message("cli.file-exists.way"), "provision init ... --yes"),
                    Remedy(message("cli.file-exists.way-2")),
                ),
            )
        )
    write_text(path, begun.text)
    return path


def _report(begun: Begun, path: Path | None, as_json: bool, quiet: bool) -> None:
    from provision.cli.rendering import print_findings, print_json

    if as_json:
        print_json(
            {
                "profile": begun.profile.name,
                "path": str(path) if path else None,
                "text": begun.text,
                "stacks": {t: {c.axis: c.value for c in s.choices} for t, s in begun.stacks.items()},
                "findings": [f.to_json() for f in begun.findings],
            }
        )
        return
    print_findings(begun.findings)
    if not quiet and path is not None:
        _show(begun, path)


def _show(begun: Begun, path: Path) -> None:
    from provision.cli.rendering import paint, row, say
    from provision.cli.showing import CONFIDENCE, shown

    say(f"{paint(shown(path), sys.stdout, bold=True)}   {begun.profile.description}")
    for target, stack in begun.stacks.items():
        say(f"  {target} · Python {stack.python}")
        for choice in stack.choices:
            if choice.rule:
                say(row("", f"{choice.value}   {CONFIDENCE[choice.confidence]}: {choice.because}"))
    say(f"Next: provision plan {shown(path)}")
