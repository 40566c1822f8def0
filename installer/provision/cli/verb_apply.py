"""provision apply"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from provision.cli.common import (
    bundle_option,
    device_option,
    environment_option,
    gate_options,
    json_option,
    library_options,
    profile_argument,
    quiet_option,
    world_options,
)
from provision.cli.helping import verb
from provision.cli.language import word
from provision.model.finding import BlockedError, ProvisionError

if TYPE_CHECKING:
    from provision.applying.engine import Outcome
    from provision.pipeline.environments import Options, Prepared


@verb("apply")
@profile_argument()
@environment_option
@device_option
@click.option("--python", metavar="VERSION|PATH")
@click.option("--variant", metavar="NAME")
@click.option("--locked", is_flag=True)
@click.option("--dry-run", is_flag=True)
@click.option("-y", "--yes", is_flag=True)
@click.option("--in-place", is_flag=True)
@click.option("--reinstall", is_flag=True)
@gate_options
@library_options
@bundle_option
@world_options
@json_option
@quiet_option
@click.pass_context
def command(
    ctx: click.Context, /, profile: str, as_json: bool, quiet: bool, dry_run: bool, **chosen: Any
) -> int:
    if dry_run:
        from provision.cli.verb_plan import command as plan_command

        kept = {k: v for k, v in chosen.items() if k not in ("yes", "libraries", "accept_licence")}
        result: int = ctx.invoke(
            plan_command, profile=profile, as_json=as_json, quiet=quiet, exit_code=False, out=None, **kept
        )
        return result
    if not any(chosen[name] for name in _LONG_WAY) and _quick(profile, chosen, as_json, quiet):
        return 0
    return _apply(profile, chosen, as_json, quiet)


#: With one of these the quick answer does not hold.
_LONG_WAY = ("in_place", "reinstall", "python", "variant", "machine_file", "for_machine")


def _quick(profile: str, chosen: dict[str, Any], as_json: bool, quiet: bool) -> bool:
    """Answer at once if nothing is to be done."""
    from provision.pipeline.profiles import locate
    from provision.pipeline.quick import unchanged
    from provision.pipeline.saved import is_saved_plan
    from provision.world.files import HostFiles

    folder = Path.cwd()
    path, _ = locate(profile, folder)
    if is_saved_plan(path):
        return False
    found = unchanged(HostFiles(), folder, path, chosen["environment"], chosen["device"])
    if found is None:
        return False
    from provision.cli.rendering import print_json, say

    if as_json:
        print_json(
            {
                "outcome": "unchanged",
                "profile": found.profile,
                "target": found.receipt.get("machine", {}).get("target", ""),
                "environment": found.state.environment,
                "generation": found.state.generation,
                "receipt": found.receipt,
            }
        )
    elif not quiet:
        day = str(found.receipt.get("date", ""))[:10]
        where = shown(found.state.environment)
        say(
            word(
                "cli.nothing-to-do.since",
                environment=where,
                generation=found.state.generation,
                profile=found.profile,
                day=day,
            )
        )
    return True


def _apply(profile: str, chosen: dict[str, Any], as_json: bool, quiet: bool) -> int:
    from provision.cli.common import make_session
    from provision.pipeline.environments import Options, run_apply

    session = make_session(
        quiet=quiet, as_json=as_json, offline=chosen["offline"], machine_file=chosen["machine_file"],
        libraries=chosen["libraries"], bundle=chosen["bundle"],
    )  # fmt: skip
    options = Options(
        environment=chosen["environment"], device=chosen["device"], python=chosen["python"],
        variant=chosen["variant"], locked=chosen["locked"], yes=chosen["yes"], reinstall=chosen["reinstall"],
        force=chosen["force"], for_machine=chosen["for_machine"], in_place=chosen["in_place"],
        accept_licence=chosen["accept_licence"],
    )  # fmt: skip
    try:
        prepared, outcome = run_apply(profile, session, options)
    except ProvisionError as error:
        error.document = {"outcome": "blocked" if isinstance(error, BlockedError) else "failed"}  # type: ignore[attr-defined]
        raise
    finally:
        session.reporter.close()  # type: ignore[attr-defined]
    if as_json:
        _print_json(prepared, outcome, options)
    else:
        from provision.cli.showing import show_outcome

        show_outcome(prepared, outcome, quiet)
    return 6 if outcome.outcome == "failed" else 0


def _print_json(prepared: Prepared, outcome: Outcome, options: Options) -> None:
    from provision.cli.rendering import print_json
    from provision.documents import to_json

    print_json(
        {
            "outcome": outcome.outcome,
            "profile": prepared.lock.profile,
            "variant": prepared.source.variant,
            "target": prepared.lock.target,
            "python": prepared.lock.python,
            "environment": prepared.plan.environment,
            "generation": outcome.generation,
            "lock": prepared.plan.lock,
            "receipt": to_json(outcome.receipt) if outcome.receipt else None,
            "findings": [f.to_json() for f in outcome.findings],
        }
    )


def shown(path: str) -> str:
    """A path as short as it can be said from here."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except ValueError:
        return path
