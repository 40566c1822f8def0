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


@click.command("verify", short_help="Prove an environment again: its smoke jobs train on the device.")
@profile_argument(required=False)
@environment_option
@device_option
@json_option
@quiet_option
def command(
    profile: str | None, as_json: bool, quiet: bool, machine_file: Path | None = None, **chosen: Any
) -> int:
    """Run the smoke jobs of the environment that PROFILE (or the only one of this folder) names; exit 1 if one fails."""
    from provision.cli.common import make_session
    from provision.cli.rendering import print_findings, print_json, say
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
            say(f"Verdict: {receipt.verdict}. {receipt.proves}")
    return 0 if receipt.verdict == "passed" else 1
