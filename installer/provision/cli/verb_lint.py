"""provision lint"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import groupby

import click

from provision.cli.common import json_option, quiet_option
from provision.cli.helping import verb
from provision.cli.language import local, word
from provision.messages import unplaced
from provision.model.finding import Finding


@verb("lint")
@click.argument("files", nargs=-1, required=True, type=click.Path(allow_dash=True), metavar="FILE...")
@click.option("--strict", is_flag=True)
@click.option("-v", "--verbose", is_flag=True)
@click.option("--stdin-name", default="requirements.txt", metavar="NAME", show_default=True)
@json_option
@quiet_option
def command(
    files: tuple[str, ...], strict: bool, verbose: bool, stdin_name: str, as_json: bool, quiet: bool
) -> int:
    from provision.cli.rendering import print_json
    from provision.pipeline.checks import check_files, documents, nothing_to_lint
    from provision.pipeline.session import Session

    session = Session()
    stdin = sys.stdin.buffer.read().decode("utf-8", "replace") if "-" in files else None
    found = documents(files, session.folder, stdin, stdin_name)
    if not found:
        raise nothing_to_lint(files)
    findings = check_files(found, session)
    if as_json:
        print_json({"files": [d.origin for d in found], "findings": [f.to_json() for f in findings]})
    else:
        _show(findings, len(found), verbose, quiet)
    bad = ("error", "warning") if strict else ("error",)
    return int(any(f.severity in bad for f in findings))


def _show(findings: Sequence[Finding], files: int, verbose: bool, quiet: bool) -> None:
    from provision.cli.rendering import print_findings, say

    if verbose:
        print_findings(findings, err=False)
    else:
        for line in lint_lines(findings):
            say(line)
    if not quiet:
        say(summary(findings, files))


def lint_lines(findings: Sequence[Finding]) -> list[str]:
    """Findings under their files: place, severity, what is so, and the ways out below it."""
    from provision.documents.source import placed

    lines: list[str] = []
    for origin, group in groupby(findings, lambda f: placed(f)[0]):
        rows = list(group)
        places = [_place(f) for f in rows]
        column = max(len(p) for p in places)
        lines.append(origin)
        for place, finding in zip(places, rows, strict=True):
            lines += _lines(place.ljust(column), finding)
    return lines


def _place(finding: Finding) -> str:
    from provision.documents.source import placed

    _, line, column = placed(finding)
    return f"{line}:{column}" if line else ""


def _lines(place: str, finding: Finding) -> list[str]:
    from provision.cli.rendering import COLOURS, pad, paint

    where = finding.evidence[0].source if finding.evidence else ""
    said = local(unplaced(finding.summary, where))
    severity = paint(pad(word(f"cli.{finding.severity}"), 8), fg=COLOURS[finding.severity])
    lines = [f"  {place}  {severity} {said}  {paint(f'[{finding.code}]', dim=True)}"]
    indent = " " * (len(place) + 13)
    ways = word("cli.lint.or").join(local(remedy.text) for remedy in finding.remedies)
    return [*lines, f"{indent}{ways}"] if ways else lines


def summary(findings: Sequence[Finding], files: int) -> str:
    counts = [(kind, sum(f.severity == kind for f in findings)) for kind in ("error", "warning", "note")]
    told = [word(f"cli.lint.{kind}", count=count) for kind, count in counts if count]
    return word("cli.comma").join(told) or word("cli.lint.nothing", count=files)
