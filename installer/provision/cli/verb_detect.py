"""provision detect"""

from __future__ import annotations

from pathlib import Path

import click

from provision.cli.common import json_option, set_option
from provision.cli.helping import verb


@verb("detect")
@click.option("--save", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE")
@click.option(
    "--machine", "machine_file", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE"
)
@set_option
@json_option
def command(as_json: bool, save: Path | None, machine_file: Path | None, overrides: dict[str, str]) -> int:
    from provision.pipeline.session import Session

    machine, findings = Session(machine_file=machine_file, overrides=overrides).detected
    if save is not None:
        from provision.documents import dump_yaml

        save.write_text(dump_yaml(machine), encoding="utf-8", newline="\n")
    if as_json:
        from provision.cli.rendering import print_json
        from provision.documents import to_json

        facts = to_json(machine)
        print_json({**facts, "target": machine.target, "findings": [f.to_json() for f in findings]})
        return 0
    from provision.cli.machine_screen import show_machine
    from provision.cli.rendering import print_findings

    show_machine(machine)
    print_findings(findings)
    return 0
