"""provision verify"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from provision.cli.common import (
    device_option,
    environment_option,
    json_option,
    profile_argument,
    quiet_option,
)
from provision.cli.helping import verb
from provision.cli.language import word


@verb("verify")
@profile_argument(required=False)
@environment_option
@device_option
@click.option("--level", type=click.Choice(["quick", "train", "full"]))
@click.option("--files", "only_files", is_flag=True)
@json_option
@quiet_option
def command(
    profile: str | None,
    as_json: bool,
    quiet: bool,
    only_files: bool,
    machine_file: Path | None = None,
    **chosen: Any,
) -> int:
    if only_files:
        return _files(profile, chosen["environment"], as_json, quiet)
    from provision.cli.common import make_session
    from provision.cli.rendering import print_findings, print_json, say
    from provision.cli.showing import verdict
    from provision.pipeline.environments import Options, run_verify

    session = make_session(quiet=quiet, as_json=as_json)
    receipt = run_verify(profile, session, Options(**chosen))
    findings = [f for job in receipt.jobs for f in job.findings]
    if as_json:
        from provision.documents import to_json

        print_json({**to_json(receipt), "findings": [f.to_json() for f in findings]})
    else:
        print_findings(findings)
        if not quiet:
            say(verdict(receipt.verdict, receipt.proves))
    return 0 if receipt.verdict == "passed" else 1


def _files(profile: str | None, environment: str | None, as_json: bool, quiet: bool) -> int:
    from provision.cli.common import make_session
    from provision.cli.rendering import print_findings, print_json, say
    from provision.cli.showing import verdict
    from provision.pipeline.filechecks import run_file_check
    from provision.verifying.files import verdict as all_sound

    session = make_session(quiet=quiet, as_json=as_json)
    try:
        found = run_file_check(profile, session, environment)
    finally:
        session.reporter.close()  # type: ignore[attr-defined]
    sound = all_sound(found.findings)
    if as_json:
        print_json(
            {
                "verdict": "passed" if sound else "failed", "environment": found.environment,
                "generation": found.generation, "packages": found.packages, "files": found.files, "bytes": found.size,
                "findings": [f.to_json() for f in found.findings],
            }
        )  # fmt: skip
    else:
        print_findings(found.findings)
        if not quiet:
            text = word(
                "cli.verify.files",
                files=f"{found.files:,}",
                packages=found.packages,
                size=f"{found.size / 1e9:,.2f}",
            )
            say(verdict("passed" if sound else "failed", text))
    return 0 if sound else 1
