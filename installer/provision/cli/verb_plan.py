"""provision plan"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from provision.cli.common import (
    bundle_option,
    device_option,
    environment_option,
    gate_options,
    json_option,
    profile_argument,
    quiet_option,
    set_option,
    world_options,
)
from provision.cli.helping import verb
from provision.messages import message


@verb("plan")
@profile_argument()
@environment_option
@device_option
@click.option("--python", metavar="VERSION|PATH")
@click.option("--variant", metavar="NAME")
@click.option("--locked", is_flag=True)
@click.option("--in-place", is_flag=True)
@click.option("--reinstall", is_flag=True)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE")
@click.option("--exit-code", is_flag=True)
@gate_options
@set_option
@bundle_option
@world_options
@json_option
@quiet_option
def command(
    profile: str, as_json: bool, quiet: bool, exit_code: bool, out: Path | None, **chosen: Any
) -> int:
    from provision.cli.common import make_session
    from provision.cli.rendering import print_json
    from provision.pipeline.environments import Options, prepare

    session = make_session(
        quiet=quiet,
        as_json=as_json,
        offline=chosen.pop("offline"),
        machine_file=chosen.pop("machine_file"),
        overrides=chosen.pop("overrides", None),
        bundle=chosen.pop("bundle"),
    )
    options = Options(**chosen, partial=True)
    if out is not None and options.in_place:
        raise click.UsageError(message("usage.out-in-place"))
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
        from provision.cli.showing import show_plan, shown
        from provision.pipeline.environments import apply_command, options_of
        from provision.shells import quoted

        ways = {**options_of(options), "--bundle": session.bundle_folder and shown(session.bundle_folder)}
        command = apply_command(quoted(out)) if out else apply_command(quoted(profile), ways)
        show_plan(prepared, command)
    if prepared.plan.blockers:
        return 5
    return 2 if exit_code and prepared.plan.steps else 0
