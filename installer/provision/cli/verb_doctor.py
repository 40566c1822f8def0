"""provision doctor"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from provision.cli.common import json_option, quiet_option
from provision.cli.helping import verb
from provision.cli.language import language
from provision.shells import quoted

if TYPE_CHECKING:
    from provision.diagnosing.doctor import Layer
    from provision.pipeline.doctor import Answer, Question
    from provision.pipeline.environments import Prepared
    from provision.pipeline.mending import Mended
    from provision.pipeline.session import Session

_COLOURS = {"ok": "green", "warning": "yellow", "broken": "red"}
_SHOWN = 3


@verb("doctor")
@click.argument("subject", required=False, metavar="[PROFILE|ENVIRONMENT|PYTHON]")
@click.option("--train", is_flag=True)
@click.option("--files", is_flag=True)
@click.option("--fix", is_flag=True)
@click.option("-y", "--yes", is_flag=True)
@click.option("--installed", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE")
@click.option(
    "--machine", "machine_file", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE"
)
@json_option
@quiet_option
def command(
    subject: str | None, train: bool, files: bool, fix: bool, yes: bool, machine_file: Path | None, as_json: bool,
    quiet: bool, installed: Path | None,
) -> int:  # fmt: skip
    from provision.cli.common import make_session
    from provision.pipeline.doctor import Question, run_doctor

    session = make_session(quiet=quiet, as_json=as_json, machine_file=machine_file)
    question = Question(
        reference=subject,
        installed=installed,
        train=train,
        files=files,
        lang="zh" if language() == "zh" and not as_json else "en",
    )
    answer = run_doctor(session, question)
    screen = not as_json and not quiet
    if fix and answer.case.interrupted:
        answer = _made_whole(session, question, answer)
    if fix and screen:
        _show(answer, quiet)
    fixes = _mend(session, answer, yes, screen) if fix else None
    if fixes and fixes.mended:
        answer = run_doctor(session, question)
    if as_json:
        from provision.cli.rendering import print_json

        print_json({**_document(answer), **({"fixes": fixes.to_json()} if fixes else {})})
    else:
        if fixes is None or fixes.mended or quiet:
            _show(answer, quiet)
        if fixes and not fixes.mended:
            _show_fixes(fixes, answer, quiet)
        elif fixes is None and not quiet:
            _hint(answer)
    return 0 if answer.examination.sound else 1


def _made_whole(session: Session, question: Question, answer: Answer) -> Answer:
    """What an interrupted run left is taken back or finished first; then it is looked at again."""
    from provision.pipeline.doctor import run_doctor
    from provision.pipeline.places import make_whole

    make_whole(session, answer.subject.prefix)
    return run_doctor(session, question)


def _mend(session: Session, answer: Answer, yes: bool, screen: bool) -> Mended:
    from provision.pipeline.mending import mend

    def show(prepared: Prepared) -> None:
        if screen and prepared.plan.steps:
            _show_change(prepared, answer)

    try:
        return mend(session, answer, yes, show)
    finally:
        session.reporter.close()  # type: ignore[attr-defined]


def _show_change(prepared: Prepared, answer: Answer) -> None:
    from provision.cli.rendering import finding_lines, say
    from provision.cli.showing import change_lines, plan_lines

    say()
    say(f"{answer.case.speaker.word('fix-plan' if prepared.in_place else 'fix-again')}:")
    for line in (
        change_lines(prepared.plan) if prepared.in_place else plan_lines(prepared.plan, prepared.lock)
    ):
        say(line)
    for note in prepared.plan.notes:
        for line in finding_lines(note, sys.stdout):
            say(line)


def _hint(answer: Answer) -> None:
    """That there is something which mends it."""
    from provision.cli.rendering import say
    from provision.diagnosing.fixing import fixes

    if any(fix.kind in ("change", "rebuild") for fix in fixes(answer.case, answer.examination)):
        say()
        say(answer.case.speaker.word("fix-hint", subject=quoted(answer.subject.shown)))


def _show_fixes(mended: Mended, answer: Answer, quiet: bool) -> None:
    from provision.cli.rendering import paint, say

    word = answer.case.speaker.word
    _show_why_not(mended, answer)
    done = ("change", "rebuild") if mended.plan else ("change",)
    left = [one for one in mended.fixes if one.kind not in done]
    if not left and (mended.fixes or mended.findings or quiet):
        return
    say()
    say(f"{word('fix-title')}:")
    if not left:
        say(f"  {word('fix-nothing')}")
    for one in left:
        say(f"  {word(f'fix-{one.kind}')}  {paint(f'[{one.code}]', dim=True)}")
        for line in one.lines:
            say(f"    {line}")


def _show_why_not(mended: Mended, answer: Answer) -> None:
    """Why what was planned is not done."""
    from provision.cli.rendering import finding_lines, say

    plan = mended.plan
    planned = plan is not None and bool(plan.steps) and not plan.blockers
    if not planned and not mended.findings:
        return
    said = "fix-cannot" if not planned else "fix-taken-back" if mended.findings else "fix-ask"
    say()
    say(answer.case.speaker.word(said, subject=quoted(answer.subject.shown)))
    for finding in mended.findings:
        for line in finding_lines(finding, sys.stdout, elsewhere=True):
            say(line)


def _document(answer: Answer) -> dict[str, Any]:
    found, case = answer.examination, answer.case
    return {
        "subject": answer.subject.shown,
        "environment": case.environment.prefix if case.environment else "",
        "kind": case.environment.kind if case.environment else "",
        "cause": found.cause.code if found.cause else None,
        "layers": [layer.to_json() for layer in found.layers],
        "findings": [f.to_json() for f in found.findings],
    }


def _show(answer: Answer, quiet: bool) -> None:
    from provision.cli.rendering import finding_lines, say

    found, speaker = answer.examination, answer.case.speaker
    if not quiet:
        for line in _layers(found.layers, speaker.word):
            say(line)
    errors = [f for f in found.findings if f.severity == "error"]
    others = [f for f in found.findings if f.severity != "error"]
    for title, group in (("cause", errors), ("also", others)):
        if group and not (quiet and title == "also"):
            say()
            say(f"{speaker.word(title)}:")
            for finding in group:
                for line in finding_lines(finding, sys.stdout, elsewhere=True):
                    say(line)
    if not quiet and not errors:
        say()
        say(speaker.word("sound" if found.sound else "sound-but"))


def _layers(layers: tuple[Layer, ...], word: Any) -> list[str]:
    """A line a layer: verdict, name, what was read; where it was read stands behind it."""
    from provision.cli.rendering import paint, width

    verdicts = max(width(word(layer.verdict)) for layer in layers)
    names = max(width(word(layer.name)) for layer in layers)
    lines = []
    for layer in layers:
        said, name = word(layer.verdict), word(layer.name)
        verdict = paint(said, fg=_COLOURS.get(layer.verdict)) + " " * (verdicts - width(said))
        head = f"  {verdict}   {name}{' ' * (names - width(name))}   "
        read = [f"{e.text}  {paint(f'({e.source})', dim=True)}" if e.source else e.text for e in layer.read]
        read = [r for r in read if r][:_SHOWN] or [""]
        blank = " " * (2 + verdicts + 3 + names + 3)
        lines += [(head + read[0]).rstrip(), *(blank + more for more in read[1:])]
    return lines
