"""provision recover"""

from __future__ import annotations

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


@verb("recover")
@reference_argument
@environment_option
@json_option
@quiet_option
def command(reference: str | None, environment: str | None, as_json: bool, quiet: bool) -> int:
    from provision.cli.rendering import print_json, say
    from provision.pipeline.places import find_environment, recovered_text
    from provision.pipeline.returning import run_recover

    session = quick_session(quiet=True)
    path = find_environment(session, reference, environment)
    done = run_recover(session, path)
    if as_json:
        print_json(
            {
                "outcome": done.what if done else "unchanged",
                "environment": path,
                "recovered": recovered_json(done),
                "findings": [],
            }
        )
    elif not quiet:
        say(word("cli.recovered", what=recovered_text(done)) if done else word("cli.recovered.nothing"))
    return 0
