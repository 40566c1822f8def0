"""provision why-not"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from provision.cli.common import json_option, machine_option, profile_argument, variant_option
from provision.cli.helping import verb
from provision.cli.language import local, lock_line, word
from provision.model.finding import Finding, UnsatisfiableError

if TYPE_CHECKING:
    from provision.pipeline.reasons import Fit


@verb("why-not")
@profile_argument()
@click.argument("requirement")
@click.option("--target", "targets", multiple=True, metavar="TARGET")
@variant_option
@machine_option
@click.option("--offline", is_flag=True)
@json_option
def command(
    profile: str,
    requirement: str,
    targets: tuple[str, ...],
    variant: str | None,
    machine_file: Path | None,
    offline: bool,
    as_json: bool,
) -> int:
    from provision.cli.common import make_session
    from provision.pipeline.profiles import read, variants_of
    from provision.pipeline.reasons import why_not

    session = make_session(quiet=True, as_json=as_json, offline=offline, machine_file=machine_file)
    sources = variants_of(read(profile, session.folder), variant)
    fits = tuple(fit for source in sources for fit in why_not(source, session, requirement, targets))
    if as_json:
        from provision.cli.rendering import print_json

        print_json(_document(profile, requirement, fits))
    else:
        for fit in fits:
            _show(profile, requirement, fit)
    return 0 if any(fit.fits for fit in fits) else UnsatisfiableError.exit_code


def _show(profile: str, requirement: str, fit: Fit) -> None:
    from provision.cli.rendering import paint, say

    where = word(
        "cli.why-not.where-python" if fit.answer.python else "cli.why-not.where",
        profile=f"{profile} ({fit.variant})" if fit.variant else profile,
        target=fit.answer.target,
        python=fit.answer.python,
    )
    key = "misfit" if not fit.fits else "fits" if fit.lock is not None else "fits-by-knowledge"
    say(word(f"cli.why-not.{key}", requirement=paint(requirement, bold=True), where=where))
    if fit.fits:
        _show_fit(fit)
        return
    for finding in fit.findings:
        say()
        for line in _refusal(finding):
            say(line)
    say()


def _refusal(finding: Finding) -> list[str]:
    """Fact, evidence, ways out."""
    from provision.cli.rendering import block, paint, row, way_lines

    facts = [*local(finding.summary).splitlines(), *local(finding.detail).splitlines()]
    lines = [row(word("cli.label.fact") if n == 0 else "", fact) for n, fact in enumerate(facts)]
    lines[0] += f"  {paint(f'[{finding.code}]', dim=True)}"
    for number, one in enumerate(finding.evidence[:3]):
        text = f"{local(one.source)}{word('cli.colon')}{local(one.text)}" if one.text else local(one.source)
        lines += block("" if number else word("cli.evidence"), text)
    return [*lines, *way_lines(finding.remedies, sys.stdout)]


def _show_fit(fit: Fit) -> None:
    from provision.cli.rendering import row, say
    from provision.cli.showing import FRAMEWORKS, chosen

    stack = fit.answer.stack
    assert stack is not None
    for choice in fit.lock.stack if fit.lock else stack.choices:
        if choice.axis in FRAMEWORKS:
            say(row(choice.axis, chosen(choice)))
    for patch in fit.lock.patches if fit.lock else stack.patches:
        say(row(word("cli.label.held"), f"{patch.requirement}   {lock_line(patch.because, patch.rule)}"))
    if fit.lock is None:
        say(row(word("cli.label.packages"), word("cli.why-not.not-asked")))
    else:
        say(row(word("cli.label.packages"), word("cli.why-not.lockable", count=len(fit.lock.packages))))


def _document(profile: str, requirement: str, fits: tuple[Fit, ...]) -> dict[str, Any]:
    return {
        "profile": profile,
        "requirement": requirement,
        "fits": any(fit.fits for fit in fits),
        "answers": [_answer(fit) for fit in fits],
        "findings": [f.to_json() for fit in fits for f in fit.findings],
    }


def _answer(fit: Fit) -> dict[str, Any]:
    from provision.documents import to_json

    stack = fit.answer.stack
    return {
        "variant": fit.variant,
        "target": fit.answer.target,
        "python": fit.answer.python,
        "fits": fit.fits,
        "choices": [to_json(c) for c in stack.choices] if stack and fit.fits else [],
        "packages": {p.name: p.version for p in fit.lock.packages} if fit.lock else None,
        "findings": [f.to_json() for f in fit.findings],
    }
