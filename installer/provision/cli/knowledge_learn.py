"""provision knowledge learn"""

from __future__ import annotations

from pathlib import Path

import click

from provision.cli.common import json_option, target_option
from provision.cli.helping import verb
from provision.cli.language import word


@verb("knowledge.learn")
@click.argument("requirement")
@target_option("targets", multiple=True)
@click.option("--index", metavar="NAME|URL", default="")
@click.option("--whole", is_flag=True)
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE")
@json_option
def learn(
    requirement: str, targets: tuple[str, ...], index: str, whole: bool, output: Path | None, as_json: bool
) -> int:  # fmt: skip
    from provision.cli.rendering import print_findings, print_json, row, say
    from provision.cli.verb_inspect import read
    from provision.pipeline.learning import Which, save
    from provision.pipeline.learning import learn as drafted
    from provision.pipeline.session import Session

    made = drafted(requirement, Which(index=index, whole=whole), targets, Session())
    findings = [*made.findings, *(finding for one in made.wheels for finding in one.findings)]
    if output is not None:
        save(made.text, output)
    if as_json:
        wheels = [
            {"file": w.facts.file, "bytes": w.facts.bytes_read, "seconds": round(w.seconds, 3)}
            for w in made.wheels
        ]
        print_json(
            {
                "rows": made.text,
                "wheels": wheels,
                "known": made.known,
                "findings": [f.to_json() for f in findings],
            }
        )
        return 0
    for one in made.wheels:
        say(row(word("cli.label.read"), f"{one.facts.file}{word('cli.colon')}{read(one)}"), err=True)
    if made.known:
        say(row(word("cli.label.known"), word("cli.learn.known", rows=made.known)), err=True)
    print_findings(findings)
    say(
        word("cli.written", path=output) if output is not None else made.text.rstrip(), err=output is not None
    )
    return 0
