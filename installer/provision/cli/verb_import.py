"""provision import"""

from __future__ import annotations

import click

from provision.cli.common import json_option, quiet_option
from provision.cli.helping import verb
from provision.cli.language import word
from provision.shells import quoted


@verb("import")
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("-o", "--output", metavar="FILE")
@click.option("--force", is_flag=True)
@json_option
@quiet_option
def command(file: str, output: str | None, force: bool, as_json: bool, quiet: bool) -> int:
    from provision.cli.rendering import print_findings, print_json, say
    from provision.cli.showing import shown
    from provision.pipeline.exchange import run_import
    from provision.pipeline.session import Session

    done = run_import(file, output, force, Session())
    if as_json:
        findings = [finding.to_json() for finding in done.findings]
        print_json({"profile": done.profile.name, "path": str(done.path), "findings": findings})
        return 0
    print_findings(done.findings, err=True)
    if not quiet:
        say(word("cli.import.done", path=quoted(shown(done.path)), file=file))
    return 0
