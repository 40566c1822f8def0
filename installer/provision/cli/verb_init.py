"""provision init"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from provision.cli.common import json_option, quiet_option
from provision.cli.helping import verb
from provision.cli.language import word, written
from provision.messages import message
from provision.model.finding import BlockedError, Finding, Remedy, UsageError
from provision.model.profile import Target, Vendor
from provision.shells import quoted

if TYPE_CHECKING:
    from provision.pipeline.beginning import Begun
    from provision.pipeline.session import Session


@verb("init")
@click.argument("name", required=False, default="")
@click.option("-f", "--framework", "frameworks", multiple=True, metavar="NAME[==VERSION]")
@click.option("-p", "--package", "packages", multiple=True, metavar="REQUIREMENT")
@click.option("--vendor", type=click.Choice(get_args(Vendor)), metavar="VENDOR")
@click.option("--compute-capability", "capability", default="", metavar="8.6")
@click.option("--architecture", default="", metavar="NAME")
@click.option("--target", "targets", multiple=True, type=click.Choice(get_args(Target)), metavar="TARGET")
@click.option("--python", default="", metavar="VERSION")
@click.option(
    "--machine", "machine_file", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE"
)
@click.option("-o", "--output", metavar="FILE")
@click.option("-y", "--yes", is_flag=True)
@json_option
@quiet_option
def command(output: str | None, yes: bool, as_json: bool, quiet: bool, **chosen: Any) -> int:
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
    if path.exists() and not yes and not session.confirm(message("cli.init.overwrite", path=shown(path))):
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
    from provision.cli.showing import chosen, shown

    say(f"{paint(shown(path), sys.stdout, bold=True)}   {written(begun.profile.description, 'pipeline')}")
    for target, stack in begun.stacks.items():
        say(f"  {target} · Python {stack.python}")
        for choice in stack.choices:
            if choice.rule:
                say(row("", chosen(choice)))
    say(word("cli.init.next", path=quoted(shown(path))))
