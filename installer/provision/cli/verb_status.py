"""provision status"""

from __future__ import annotations

import click

from provision.cli.common import environment_option, json_option, profile_argument, quiet_option


@click.command("status", short_help="Say whether the environment still is what was proven.")
@profile_argument(required=False)
@environment_option
@json_option
@quiet_option
def command(profile: str | None, environment: str | None, as_json: bool, quiet: bool) -> int:
    """Say which generation the environment of PROFILE (or the only one of this folder) is, and whether it is still
    what was proven. Exit 1 if it is not. Looks at names, sizes and times only.

    \b
        provision status
    """
    from dataclasses import asdict

    from provision.cli.rendering import print_json
    from provision.pipeline.environments import current_state
    from provision.pipeline.session import Session

    state = current_state(Session(), profile, environment)
    if as_json:
        print_json({**asdict(state), "drifted": state.drifted, "findings": []})
    elif not quiet:
        from provision.cli.showing import show_status

        show_status(state)
    return 0 if state.kind == "ours" and not state.drifted else 1
