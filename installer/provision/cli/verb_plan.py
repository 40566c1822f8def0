"""provision plan"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from provision.cli.common import (
    device_option,
    environment_option,
    gate_options,
    json_option,
    profile_argument,
    quiet_option,
    set_option,
    world_options,
)


@click.command("plan", short_help="Show what apply would do. Changes nothing.")
@profile_argument()
@environment_option
@device_option
@click.option(
    "--python", metavar="VERSION|PATH", help="Take this Python (3.10, or the path of an interpreter)."
)
@click.option("--variant", metavar="NAME", help="Take this variant of the profile, not the first that fits.")
@click.option("--locked", is_flag=True, help="Do not make or change a lock; fail if it is missing or stale.")
@click.option(
    "--in-place",
    is_flag=True,
    help="Change an environment that somebody else made where it stands; what is removed is kept until all is proven.",
)
@click.option("--reinstall", is_flag=True, help="Plan a new generation even if nothing has changed.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Keep the plan: `provision apply FILE` carries out exactly this, or says that it is stale.",
)
@click.option("--exit-code", is_flag=True, help="Exit 2 if there is something to do.")
@gate_options
@set_option
@world_options
@json_option
@quiet_option
def command(
    profile: str, as_json: bool, quiet: bool, exit_code: bool, out: Path | None, **chosen: Any
) -> int:
    """Show what `apply` would do for PROFILE, or what blocks it (exit 5). The environment is not touched.

    A missing lock is made, as apply would.

    \b
        provision plan profiles/team.yaml
        provision plan nvidia-torch --machine server.yaml
    """
    from provision.cli.common import make_session
    from provision.cli.rendering import print_json
    from provision.pipeline.environments import Options, prepare

    session = make_session(
        quiet=quiet,
        as_json=as_json,
        offline=chosen.pop("offline"),
        machine_file=chosen.pop("machine_file"),
        overrides=chosen.pop("overrides", None),
    )
    options = Options(**chosen, partial=True)
    if out is not None and options.in_place:
        raise click.UsageError("--out keeps plans for generations only, not for --in-place.")
    prepared = prepare(profile, session, options)
    if out is not None and not prepared.plan.blockers:
        from provision.pipeline.saved import save

        save(prepared, options, out)
    if as_json:
        from provision.documents import to_json

        document = {**to_json(prepared.plan), "variant": prepared.source.variant}
        document["skipped"] = to_json(
            [{"variant": s.variant, "findings": s.because} for s in prepared.skipped]
        )
        print_json({**document, "findings": [f.to_json() for f in prepared.plan.blockers]})
    elif not quiet:
        from provision.cli.showing import show_plan

        show_plan(prepared)
    if prepared.plan.blockers:
        return 5
    return 2 if exit_code and prepared.plan.steps else 0
