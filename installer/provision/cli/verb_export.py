"""provision export"""

from __future__ import annotations

import click

from provision.cli.common import json_option, profile_argument, variant_option
from provision.cli.helping import verb
from provision.messages import message

_FORMATS = ("requirements", "pylock", "environment", "dockerfile")
#: What a lock of a conda environment can be written as.
_CONDA_FORMATS = ("conda-lock", "explicit", "environment")


@verb("export")
@profile_argument()
@click.option("--format", "form", type=click.Choice([*_FORMATS, "conda-lock", "explicit"]), required=True)
@click.option("--target", default="", metavar="TARGET")
@click.option("--python", default="", metavar="VERSION")
@variant_option
@click.option("-o", "--output", metavar="FILE")
@click.option("--offline", is_flag=True)
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
    from provision.cli.common import make_session
    from provision.cli.rendering import print_json, say
    from provision.pipeline.exchange import is_conda, run_export
    from provision.pipeline.exports import exported
    from provision.pipeline.locks import write_text

    session = make_session(quiet=True, as_json=as_json, offline=offline)
    conda = form in _CONDA_FORMATS and is_conda(profile, session)
    if form in _CONDA_FORMATS and form not in _FORMATS and not conda and not profile.endswith(".lock.yaml"):
        raise click.UsageError(message("usage.only-conda", form=form, formats=", ".join(_FORMATS)))
    if conda:
        text, told = run_export(profile, form, target or None, python or None, session), {"profile": profile}
    else:
        text, lock = exported(profile, form, session, target, python, variant)
        told = {"profile": lock.profile, "target": lock.target, "python": lock.python}
    if output and output != "-":
        write_text(session.folder / output, text)
    if as_json:
        print_json({"format": form, **told, "path": output or None, "text": text, "findings": []})
    elif not output or output == "-":
        say(text.rstrip("\n"))
    return 0
