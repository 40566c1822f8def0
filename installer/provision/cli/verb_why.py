"""provision why"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from provision.cli.common import json_option, machine_option, profile_argument, variant_option
from provision.cli.helping import verb
from provision.cli.language import local, lock_line, word
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
    more = "" if found.lock else message("cli.no-such-axis.more")
    return Finding(
        "no-such-axis",
        "error",
        message("cli.no-such-axis.summary", axis=axis, axes=axes, more=more),
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
    say(f"  {word('cli.why.not-taken')}")
    for line in _counts(groups):
        say(line)
    say()
    axes = dict.fromkeys(g.axis for g in groups)
    say(word("cli.why.one-axis", profile=reference, axes="|".join(axes)))


def _head(found: Why) -> None:
    from provision.cli.rendering import paint, say
    from provision.cli.showing import shown

    stack = found.explanation.stack
    where = word("cli.why.lock", path=shown(found.path)) if found.path else word("cli.why.not-locked")
    variant = f" · {found.variant}" if found.variant else ""
    say(f"{paint(stack.profile, bold=True)}{variant} · {stack.target} · Python {stack.python}    {where}")
    if found.lock and not found.explanation.settled:
        say(f"  {word('cli.why.other-stack')}")
    say()


def _show_choice(choice: Choice) -> None:
    from provision.cli.rendering import row, say
    from provision.cli.showing import chosen

    value = choice.value or word("cli.any")
    known = choice.rule and choice.axis != "python"
    say(
        row(
            choice.axis,
            chosen(choice, value) if known else f"{value}   {lock_line(choice.because, choice.rule)}",
        )
    )
    if choice.rule:
        say(row("", _knowledge(choice.rule, choice.source)))


def _knowledge(rule: str, source: str) -> str:
    return word("cli.why.knowledge", rule=rule, source=source)


def _show_more(stack: Stack | Lock, patches: tuple[Patch, ...]) -> None:
    from provision.cli.rendering import row, say

    held = [
        (
            p.requirement,
            word("cli.why.held", because=lock_line(p.because, p.rule), rule=p.rule, source=p.source),
        )
        for p in patches
    ]
    needs = [(f"{n.what} {n.value}".strip(), lock_line(n.because, n.rule)) for n in stack.needs]
    notes = [
        (
            word(f"cli.{n.severity}"),
            word("cli.why.held", because=lock_line(n.because, n.rule), rule=n.rule, source=n.source),
        )
        for n in stack.notes
    ]
    sets = [(f"{key}={value}", "") for key, value in stack.variables.items()]
    for key, rows in (("held", held), ("needs", needs), ("notes", notes), ("sets", sets)):
        title = word(f"cli.label.{key}")
        for number, (what, because) in enumerate(rows):
            say(row("" if number else title, f"{what}   {because}".rstrip()))
    if stack.absent:
        say(row(word("cli.label.absent"), ", ".join(stack.absent)))


def _counts(groups: tuple[Group, ...]) -> list[str]:
    """One line a reason: axis, how many, by which rule, why."""
    from provision.cli.rendering import table

    rows = []
    axis = ""
    for group in groups:
        rows.append(
            (
                group.axis if group.axis != axis else "",
                str(len(group.values)),
                group.rule,
                local(group.because),
            )
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
            say(
                row(
                    axis,
                    word("cli.why.package", version=package.version, index=package.index, file=package.file),
                )
            )
    for patch in _patches(found):
        if _name(patch.requirement) == axis:
            say(row(word("cli.label.held"), f"{patch.requirement}   {lock_line(patch.because, patch.rule)}"))
            say(row("", _knowledge(patch.rule, patch.source)))
    for group in groups:
        _show_group(group)


def _show_group(group: Group) -> None:
    from provision.cli.rendering import paint, row, say
    from provision.resolving import spans

    say()
    count = len(group.values)
    text = word("cli.why.group", count=count, values=_short(spans(group.values)))
    say(f"  {paint(group.rule, sys.stdout, bold=True)}   {text}")
    say(row("", local(group.because)))
    if group.source:
        say(row("", word("cli.why.source", source=group.source)))
    if group.instead:
        say(row("", word("cli.why.instead", ways=word("cli.lint.or").join(map(local, group.instead)))))


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
