"""provision gc"""

from __future__ import annotations

import click

from provision.cli.common import (
    environment_option,
    json_option,
    quick_session,
    quiet_option,
    recovered_json,
    reference_argument,
)
from provision.cli.helping import verb
from provision.cli.language import word


@verb("gc")
@reference_argument
@click.option("--keep", type=click.IntRange(min=1), default=2, show_default=True, metavar="N")
@click.option("--dry-run", is_flag=True)
@environment_option
@json_option
@quiet_option
def command(
    reference: str | None, keep: int, dry_run: bool, environment: str | None, as_json: bool, quiet: bool
) -> int:
    from provision.cli.rendering import print_json, say
    from provision.pipeline.places import find_environment
    from provision.pipeline.returning import run_gc

    session = quick_session(as_json or quiet)
    path = find_environment(session, reference, environment)
    done = run_gc(session, path, keep, dry_run)
    numbers = [g.number for g in done.removed]
    if as_json:
        print_json(
            {
                "outcome": "changed" if done.changed and not dry_run else "unchanged",
                "environment": path,
                "generation": done.generation,
                "removed": numbers,
                "dry_run": dry_run,
                "recovered": recovered_json(done.recovered),
                "findings": [],
            }
        )
    elif not quiet:
        removed = [
            word("cli.generation.outcome", number=g.number, outcome=word(f"cli.outcome.{g.outcome}"))
            for g in done.removed
        ]
        key = "would-remove" if dry_run else "removed"
        say(word(f"cli.gc.{key}", what=removed or word("cli.nothing")))
    return 0
