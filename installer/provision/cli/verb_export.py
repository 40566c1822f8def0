"""provision export"""

from __future__ import annotations

import click

from provision.cli.common import json_option, profile_argument, variant_option

_FORMATS = ("requirements", "pylock", "environment", "dockerfile")
#: What a lock of a conda environment can be written as.
_CONDA_FORMATS = ("conda-lock", "explicit", "environment")


@click.command(
    "export", short_help="Write a lock as requirements.txt, pylock.toml, environment.yml or Dockerfile."
)
@profile_argument()
@click.option(
    "--format", "form", type=click.Choice([*_FORMATS, "conda-lock", "explicit"]), required=True, help="What to write."
)
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
        provision export profiles/team-conda.yaml --format conda-lock -o conda-lock.yml
    """
    from provision.cli.common import make_session
    from provision.cli.rendering import print_json, say
    from provision.pipeline.exchange import is_conda, run_export
    from provision.pipeline.exports import exported
    from provision.pipeline.locks import write_text

    session = make_session(quiet=True, as_json=as_json, offline=offline)
    if form in _CONDA_FORMATS and is_conda(profile, session):
        text, told = run_export(profile, form, target or None, python or None, session), {"profile": profile}
    else:
        text, lock = exported(profile, form, session, target, python, variant)
        told = {"profile": lock.profile, "target": lock.target, "python": lock.python}
    if output and output != "-":
        write_text(session.folder / output, text)
    if as_json:
        print_json(
            {"format": form, **told, "path": output or None, "text": text, "findings": []}
        )
    elif not output or output == "-":
        say(text.rstrip("\n"))
    return 0
