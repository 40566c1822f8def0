"""provision export"""

from __future__ import annotations

import click

from provision.cli.common import json_option, profile_argument, variant_option

_FORMATS = ("requirements", "pylock", "environment", "dockerfile")


@click.command(
    "export", short_help="Write a lock as requirements.txt, pylock.toml, environment.yml or Dockerfile."
)
@profile_argument()
@click.option("--format", "form", type=click.Choice(_FORMATS), required=True, help="What to write.")
@click.option(
    "--target", default="", metavar="TARGET", help="The lock of this target. By default of this machine's."
)
@click.option(
    "--python", default="", metavar="VERSION", help="The lock of this Python. By default the newest."
)
@variant_option
@click.option("-o", "--output", metavar="FILE", help="Where to write it. By default it is printed.")
@click.option("--offline", is_flag=True, help="Do not ask an index where files are.")
@json_option
def command(
    profile: str,
    form: str,
    target: str,
    python: str,
    variant: str | None,
    output: str | None,
    offline: bool,
    as_json: bool,
) -> int:
    """Write the lock of PROFILE (or a lock file) in the form of another tool: every package with its hash.

    \b
        provision export profiles/team.yaml --format requirements -o requirements.txt
        provision export profiles/locks/team/linux-x86_64-py310.lock.yaml --format pylock
        provision export cpu-tensorflow --format dockerfile | docker build -
    """
    from provision.cli.common import make_session
    from provision.cli.rendering import print_json, say
    from provision.pipeline.exports import exported
    from provision.pipeline.locks import write_text

    session = make_session(quiet=True, as_json=as_json, offline=offline)
    text, lock = exported(profile, form, session, target, python, variant)
    if output and output != "-":
        write_text(session.folder / output, text)
    if as_json:
        print_json(
            {"format": form, "profile": lock.profile, "target": lock.target, "python": lock.python,
             "path": output or None, "text": text, "findings": []}
        )  # fmt: skip
    elif not output or output == "-":
        say(text.rstrip("\n"))
    return 0
