"""provision rollback"""

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
from provision.shells import quoted


@verb("rollback")
@reference_argument
@click.option("--to", type=click.IntRange(min=1), metavar="N")
@click.option("-y", "--yes", is_flag=True)
@environment_option
@json_option
@quiet_option
def command(
    reference: str | None, to: int | None, yes: bool, environment: str | None, as_json: bool, quiet: bool
) -> int:
    from provision.cli.rendering import print_json, say
    from provision.pipeline.places import find_environment
    from provision.pipeline.returning import run_rollback

    session = quick_session(as_json or quiet)
    path = find_environment(session, reference, environment)
    done = run_rollback(session, path, to, yes)
    if as_json:
        print_json(
            {
                "outcome": "changed" if done.changed else "unchanged",
                "environment": path,
                "generation": done.generation,
                "former": done.former,
                "recovered": recovered_json(done.recovered),
                "findings": [],
            }
        )
    elif not quiet:
        key = "back" if done.changed and done.former else "done" if done.changed else "already"
        command = f"provision rollback {quoted(path)} --to {done.former}"
        text = word(
            f"cli.rollback.{key}",
            environment=path,
            generation=done.generation,
            former=done.former,
            command=command,
        )
        say(text)
    return 0
