"""provision export"""

from __future__ import annotations

from pathlib import Path

import click

from provision.cli.common import profile_argument


@click.command("export", short_help="Write the locks of a conda profile as other tools read them.")
@profile_argument()
@click.option(
    "--format", "form", type=click.Choice(["conda-lock", "environment", "explicit"]), default="conda-lock",
    show_default=True, help="conda-lock.yml (all targets), environment.yml or the explicit file (one target).",
)  # fmt: skip
@click.option("--target", help="Only this target (linux-x86_64, windows-x86_64, ...).")
@click.option("--python", help="Only the lock of this Python (3.10).")
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write here, not to stdout."
)
def command(profile: str, form: str, target: str | None, python: str | None, output: Path | None) -> int:
    """Write what PROFILE has locked for conda, mamba, micromamba or conda-lock.

    \b
        provision export profiles/team.yaml -o conda-lock.yml
        provision export profiles/team.yaml --format environment --target linux-x86_64
    """
    from provision.pipeline.exchange import run_export
    from provision.pipeline.locks import write_text
    from provision.pipeline.session import Session

    session = Session()
    text = run_export(profile, form, target, python, session)
    if output is None:
        click.echo(text, nl=False)
    else:
        write_text(session.folder / output, text)
    return 0
