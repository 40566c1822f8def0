"""provision history"""

from __future__ import annotations

from provision.cli.common import environment_option, json_option, reference_argument
from provision.cli.helping import verb
from provision.cli.language import word
from provision.model.state import Generation


@verb("history")
@reference_argument
@environment_option
@json_option
def command(reference: str | None, environment: str | None, as_json: bool) -> int:
    from dataclasses import asdict

    from provision.cli.rendering import print_json, say, table
    from provision.inspecting import history, inspect
    from provision.pipeline.places import find_environment
    from provision.pipeline.session import Session

    session = Session()
    path = find_environment(session, reference, environment)
    state, generations = inspect(session.files, path, contents=False), history(session.files, path)
    if as_json:
        rows = [asdict(g) for g in generations]
        facts = {"environment": path, "kind": state.kind, "generation": state.generation}
        print_json({**facts, "generations": rows, "findings": []})
        return 0
    if not generations:
        say(f"{path}   {word('cli.history.none')}")
    for line in table([_row(g) for g in reversed(generations)]):
        say(line)
    return 0


def _row(generation: Generation) -> list[str]:
    proven = generation.proven
    jobs = (
        word("cli.history.jobs", jobs=tuple(proven.get("jobs", ())), device=proven.get("device", ""))
        if proven
        else ""
    )
    return [
        str(generation.number) if generation.number else word("cli.history.in-place"),
        word(f"cli.outcome.{generation.outcome}"),
        generation.created[:16].replace("T", " "),
        generation.profile,
        f"Python {generation.python}" if generation.python else "",
        jobs,
        word("cli.history.current") if generation.current else "",
    ]
