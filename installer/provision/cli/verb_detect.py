"""provision detect"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from provision.cli.common import json_option

if TYPE_CHECKING:
    from provision.model.machine import Machine


@click.command(
    "detect", short_help="Show this machine: hardware, drivers, Pythons, each with where it was read."
)
@click.option(
    "--save",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the facts to a file for --machine.",
)
@json_option
def command(as_json: bool, save: Path | None) -> int:
    """Show what provision knows of this computer and where each fact was read."""
    from provision.cli.rendering import print_findings, print_json
    from provision.documents import dump_yaml, to_json
    from provision.pipeline.session import Session

    machine, findings = Session().detected
    if save is not None:
        save.write_text(dump_yaml(machine), encoding="utf-8", newline="\n")
    if as_json:
        print_json(
            {**to_json(machine), "target": machine.target, "findings": [f.to_json() for f in findings]}
        )
        return 0
    _show(machine)
    print_findings(findings)
    return 0


def _show(machine: Machine) -> None:
    from provision.cli.rendering import say, size, table

    rows = [
        (
            "system",
            f"{machine.os_version or machine.os} ({machine.target})",
            machine.evidence.get("os_version", ""),
        ),
        ("libc", machine.libc, machine.evidence.get("libc", "")),
        ("cpu", machine.cpu, machine.evidence.get("cpu", "")),
        (
            "cpu flags",
            ", ".join(f for f in ("avx", "avx2", "avx512f", "fma") if f in machine.cpu_flags),
            machine.evidence.get("cpu_flags", ""),
        ),
        ("memory", size(machine.memory), machine.evidence.get("memory", "")),
        *(
            (f"driver {vendor}", version, machine.evidence.get(f"drivers.{vendor}", ""))
            for vendor, version in machine.drivers.items()
        ),
        *(("accelerator", f"{d.vendor} {d.name} {d.capability}".strip(), d.source) for d in machine.devices),
        *(("python", f"{p.version}  {p.path}", p.source) for p in machine.pythons),
    ]
    if not machine.devices:
        rows.append(("accelerator", "none seen", ""))
    for line in table([r for r in rows if r[1]]):
        say(line)
