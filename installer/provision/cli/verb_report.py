"""provision report"""

from __future__ import annotations

from pathlib import Path

import click

from provision.cli.common import json_option
from provision.cli.helping import verb
from provision.cli.language import word
from provision.messages import message
from provision.model.finding import Finding, Remedy, UsageError


@verb("report")
@click.argument("subject", required=False, metavar="[PROFILE|ENVIRONMENT|PYTHON]")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("provision-report.zip"),
    metavar="FILE",
    show_default=True,
)
@click.option("--log", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE")
@json_option
def command(subject: str | None, output: Path, log: Path | None, as_json: bool) -> int:
    from provision.cli.rendering import print_json, say, size
    from provision.pipeline.reporting import make_bundle
    from provision.pipeline.session import Session

    session = Session()
    bundle = make_bundle(session, subject, log)
    try:
        (session.folder / output).write_bytes(bundle.data)
    except OSError as error:
        raise UsageError(
            Finding(
                "unwritable", "error", message("cli.unwritable.summary", path=output, error=error.strerror or error),
                remedies=(Remedy(message("cli.unwritable.way"), "provision report --output FILE"),),
            )
        ) from None  # fmt: skip
    if as_json:
        print_json(
            {"file": str(output), "size": len(bundle.data), "holds": list(bundle.names), "findings": []}
        )
    else:
        say(word("cli.report.written", path=output, size=size(len(bundle.data)), names=bundle.names))
        say(word("cli.report.replaced"))
    return 0
