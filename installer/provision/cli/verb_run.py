"""provision run"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import click

from provision.cli.common import environment_option, json_option
from provision.cli.helping import verb
from provision.messages import message
from provision.model.finding import Finding, Remedy, UsageError


@verb("run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@environment_option
@json_option
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[PROFILE] -- COMMAND [ARGUMENTS]...")
def command(words: tuple[str, ...], environment: str | None, as_json: bool) -> int:
    from provision.pipeline.places import current_state
    from provision.pipeline.running import command_environment
    from provision.pipeline.session import Session

    profile, arguments = _split(words)
    session = Session()
    state = current_state(session, profile, environment)
    variables = command_environment(state, session, dict(os.environ))
    program = shutil.which(arguments[0], path=variables["PATH"])
    if program is None:
        raise UsageError(
            Finding(
                "no-such-command",
                "error",
                message("cli.no-such-command.summary", arguments=arguments[0], environment=state.environment),
            )
        )
    if as_json:
        return _reported([program, *arguments[1:]], variables, state.environment)
    if os.name != "nt":
        os.execve(program, list(arguments), variables)  # noqa: S606
    return subprocess.run([program, *arguments[1:]], env=variables, check=False).returncode


def _reported(words: list[str], variables: dict[str, str], environment: str) -> int:
    from provision.cli.rendering import print_json

    code = subprocess.run(words, env=variables, check=False, stdout=sys.stderr).returncode
    print_json({"command": words, "environment": environment, "exit_code": code, "findings": []})
    return code


def _split(words: tuple[str, ...]) -> tuple[str | None, list[str]]:
    """`[PROFILE] -- CMD ...`; click has eaten the `--` if nothing stood before it."""
    raw = sys.argv[1:]
    arguments = raw[raw.index("--") + 1 :] if "--" in raw else []
    if not arguments:
        raise UsageError(
            Finding(
                "usage", "error", message("cli.usage.summary-3"),
                remedies=(Remedy(message("cli.usage.way-2"), "provision run -- python train.py"),),
            )
        )  # fmt: skip
    before = words[: len(words) - len(arguments)]
    before = tuple(word for word in before if word != "--")
    return (before[0] if before else None), arguments
