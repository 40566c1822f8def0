"""provision bundle"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from provision.cli.common import complete_profiles, json_option, quiet_option, target_option, variant_option
from provision.cli.helping import verb
from provision.cli.language import word
from provision.shells import quoted

if TYPE_CHECKING:
    from provision.pipeline.bundling import Packed


@verb("bundle")
@click.argument("profiles", nargs=-1, required=True, shell_complete=complete_profiles)
@click.option(
    "-o", "--output", type=click.Path(file_okay=False, path_type=Path), required=True, metavar="DIR"
)
@target_option("targets", multiple=True)
@click.option("--python", "pythons", multiple=True, metavar="VERSION")
@variant_option
@click.option("--accept-licence", is_flag=True)
@click.option("--dry-run", is_flag=True)
@json_option
@quiet_option
def command(
    profiles: tuple[str, ...], output: Path, targets: tuple[str, ...], pythons: tuple[str, ...], variant: str | None,
    accept_licence: bool, dry_run: bool, as_json: bool, quiet: bool,
) -> int:  # fmt: skip
    from provision.cli.common import make_session
    from provision.pipeline.bundling import Choice, run_bundle

    session = make_session(quiet=quiet, as_json=as_json)
    choice = Choice(targets=targets, pythons=pythons, variant=variant, accept_licence=accept_licence)
    folder = output.expanduser().absolute()
    try:
        packed = run_bundle(profiles, folder, session, choice, dry_run)
    finally:
        session.reporter.close()  # type: ignore[attr-defined]
    if as_json:
        from provision.cli.rendering import print_json

        locks = [one.to_json() for one in packed]
        print_json({"folder": str(folder), "written": not dry_run, "locks": locks, "findings": []})
    elif not quiet:
        _show(quoted(profiles[0]) if len(profiles) == 1 else "PROFILE", output, packed, dry_run)
    return 0


def _show(profile: str, output: Path, packed: tuple[Packed, ...], dry_run: bool) -> None:
    from provision.cli.rendering import say, size, table

    heads = [word(f"cli.bundle.{name}") for name in ("lock", "target", "python", "files", "size")]
    rows = [
        [one.lock.profile, one.lock.target, one.lock.python, str(one.files), size(one.size)] for one in packed
    ]
    for line in table([heads, *rows]):
        say(line)
    say()
    say(word("cli.bundle.would" if dry_run else "cli.bundle.done", folder=output))
    say(word("cli.bundle.use", command=f"provision apply {profile} --bundle {quoted(output)}"))
