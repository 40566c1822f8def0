"""provision why"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from provision.cli.common import json_option, machine_option, profile_argument, variant_option
from provision.cli.helping import verb
from provision.messages import message
from provision.model.finding import Finding, UsageError

if TYPE_CHECKING:
    from provision.model.lock import Lock
    from provision.model.stack import Choice, Patch, Stack
    from provision.pipeline.reasons import Why
    from provision.resolving import Group

#: Values that are listed for one reason, without --verbose.
_SHOWN = 160


@verb("why")
@profile_argument()
@click.argument("axis", required=False)
@click.option("--target", default="", metavar="TARGET")
@click.option("--python", default="", metavar="VERSION")
@variant_option
@machine_option
@json_option
def command(
    profile: str, axis: str | None, target: str, python: str, variant: str | None, machine_file: Path | None, as_json: bool
) -> int:  # fmt: skip
    from provision.cli.rendering import print_json
    from provision.pipeline.profiles import read, variants_of
    from provision.pipeline.reasons import why
    from provision.pipeline.session import Session
    from provision.resolving import grouped

    session = Session(machine_file=machine_file)
    found = why(variants_of(read(profile, session.folder), variant)[0], session, target, python)
    groups = grouped(found.explanation.rejected, axis or "")
    if axis and not groups and not _known(axis, found):
        raise UsageError(_no_axis(axis, found))
    if as_json:
        print_json(_document(found, groups))
    elif axis:
        _show_axis(axis, found, groups)
    else:
        _show(profile, found, groups)
    return 0


def _known(axis: str, found: Why) -> bool:
    stack = found.explanation.stack
    packages = {p.name for p in found.lock.packages} if found.lock else set()
    return axis in packages | {c.axis for c in stack.choices} | {
        _name(p.requirement) for p in _patches(found)
    }


def _no_axis(axis: str, found: Why) -> Finding:
    axes = [c.axis for c in found.explanation.stack.choices]
    more = "" if found.lock else " Packages can be named once the profile is locked."
    return Finding(
        "no-such-axis",
        "error",
        message("cli.no-such-axis.summary", axis=axis, axes=", ".join(axes), more=more),
    )


def _name(requirement: str) -> str:
    from packaging.requirements import Requirement

    return str(Requirement(requirement).name)


def _patches(found: Why) -> tuple[Patch, ...]:
    return found.lock.patches if found.lock else found.explanation.stack.patches


def _show(reference: str, found: Why, groups: tuple[Group, ...]) -> None:
    from provision.cli.rendering import say

    stack = found.explanation.stack
    _head(found)
    for choice in stack.choices:
        _show_choice(choice)
    _show_more(found.lock or stack, _patches(found))
    say()
    say("  not taken")
    for line in _counts(groups):
        say(line)
    say()
    axes = dict.fromkeys(g.axis for g in groups)
    say(f"All of one axis: provision why {reference} {'|'.join(axes)}")


def _head(found: Why) -> None:
    from provision.cli.rendering import paint, say
    from provision.cli.showing import shown

    stack = found.explanation.stack
    where = (
        f"lock {shown(found.path)}" if found.path else "not locked yet: packages of the closure are not known"
    )
    variant = f" · {found.variant}" if found.variant else ""
    say(f"{paint(stack.profile, bold=True)}{variant} · {stack.target} · Python {stack.python}    {where}")
    if found.lock and not found.explanation.settled:
        say("  The lock was made from another stack than knowledge gives now: provision lock makes it again.")
    say()


def _show_choice(choice: Choice) -> None:
    from provision.cli.rendering import row, say
    from provision.cli.showing import CONFIDENCE

    level = "" if choice.axis == "python" or not choice.rule else f"{CONFIDENCE[choice.confidence]}: "
    say(row(choice.axis, f"{choice.value or 'any'}   {level}{choice.because}"))
    if choice.rule:
        say(row("", f"knowledge {choice.rule}: {choice.source}"))


def _show_more(stack: Stack | Lock, patches: tuple[Patch, ...]) -> None:
    from provision.cli.rendering import row, say

    held = [(p.requirement, f"{p.because}   (knowledge {p.rule}: {p.source})") for p in patches]
    needs = [(f"{n.what} {n.value}".strip(), n.because) for n in stack.needs]
    notes = [(n.severity, f"{n.because}   (knowledge {n.rule}: {n.source})") for n in stack.notes]
    sets = [(f"{key}={value}", "") for key, value in stack.variables.items()]
    for title, rows in (("held", held), ("needs", needs), ("notes", notes), ("sets", sets)):
        for number, (what, because) in enumerate(rows):
            say(row("" if number else title, f"{what}   {because}".rstrip()))
    if stack.absent:
        say(row("must not be", ", ".join(stack.absent)))


def _counts(groups: tuple[Group, ...]) -> list[str]:
    """One line a reason: axis, how many, by which rule, why."""
    from provision.cli.rendering import table

    rows = []
    axis = ""
    for group in groups:
        rows.append(
            (group.axis if group.axis != axis else "", str(len(group.values)), group.rule, group.because)
        )
        axis = group.axis
    return table(rows, indent=4)


def _show_axis(axis: str, found: Why, groups: tuple[Group, ...]) -> None:
    from provision.cli.rendering import row, say

    _head(found)
    for choice in found.explanation.stack.choices:
        if choice.axis == axis:
            _show_choice(choice)
    for package in found.lock.packages if found.lock else ():
        if package.name == axis:
            say(row(axis, f"{package.version}   from {package.index}: {package.file}"))
    for patch in _patches(found):
        if _name(patch.requirement) == axis:
            say(row("held", f"{patch.requirement}   {patch.because}"))
            say(row("", f"knowledge {patch.rule}: {patch.source}"))
    for group in groups:
        _show_group(group)


def _show_group(group: Group) -> None:
    from provision.cli.rendering import paint, row, say
    from provision.resolving import spans

    say()
    count = len(group.values)
    say(f"  {paint(group.rule, sys.stdout, bold=True)}   {count} not taken: {_short(spans(group.values))}")
    say(row("", group.because))
    if group.source:
        say(row("", f"source: {group.source}"))
    if group.instead:
        say(row("", f"instead: {'; or '.join(group.instead)}"))


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]} ..."


def _document(found: Why, groups: tuple[Group, ...]) -> dict[str, Any]:
    from provision.documents import to_json

    stack = found.explanation.stack
    held = found.lock or stack
    return {
        "profile": stack.profile,
        "variant": found.variant,
        "target": stack.target,
        "python": stack.python,
        "lock": str(found.path) if found.path else None,
        "settled": found.explanation.settled,
        "choices": [to_json(c) for c in stack.choices],
        "requirements": list(stack.requirements),
        "patches": [to_json(p) for p in _patches(found)],
        "needs": [to_json(n) for n in held.needs],
        "notes": [to_json(n) for n in held.notes],
        "absent": list(held.absent),
        "variables": dict(held.variables),
        "rejected": [to_json(g) for g in groups],
        "findings": [],
    }
