"""Metadata patches: those of the chosen builds, and those that only show once the closure of packages is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations

from provision.knowledge import FamilyRow, Knowledge, PatchRow
from provision.messages import message
from provision.model.finding import Evidence, Finding, Remedy
from provision.model.stack import Patch, Stack


def patches_of(
    pins: Iterable[tuple[str, str]], python: str, target: str, knowledge: Knowledge
) -> tuple[Patch, ...]:
    """Patches for (distribution, version) pairs, each once, in a stable order."""
    found = {p.requirement: p for row in _rows(pins, python, target, knowledge) for p in _patches(row)}
    return tuple(found[key] for key in sorted(found))


def variables_of(
    pins: Iterable[tuple[str, str]], python: str, target: str, knowledge: Knowledge
) -> dict[str, str]:
    return {k: v for row in _rows(pins, python, target, knowledge) for k, v in row.environment.items()}


def further_patches(
    stack: Stack, packages: Iterable[tuple[str, str]], knowledge: Knowledge
) -> tuple[Patch, ...]:
    """Patches that the packages of a closure ask for and the stack does not have yet."""
    present = {p.requirement for p in stack.patches}
    found = patches_of(packages, stack.python, stack.target, knowledge)
    return tuple(p for p in found if p.requirement not in present)


def clashes(names: Iterable[str], knowledge: Knowledge, beside: Iterable[str] = ()) -> tuple[Finding, ...]:
    """Distributions of a closure that write the same folder: the one that is unpacked last would win, file by file.

    `beside` are distributions that are there already; what they do to one another is not this closure's fault.
    """
    coming = frozenset(names)
    present = coming | frozenset(beside)
    return tuple(
        family_conflict(
            row,
            message("resolving.clash.summary", name=first, other=second, folder=row.folder),
            (message("resolving.clash.way"), message("resolving.clash.way-2")),
        )
        for row in knowledge.rows(FamilyRow)
        for first, second in combinations(sorted(present & set(row.members)), 2)
        if row.clash(first, second) and coming & {first, second}
    )


def family_conflict(family: FamilyRow, summary: str, ways: Iterable[str]) -> Finding:
    """Two members of a family where one may be."""
    because = Evidence(message("resolving.common.knowledge", rule=family.id), family.source)
    remedies = tuple(Remedy(way) for way in ways)
    return Finding("family-conflict", "error", summary, family.why, (because,), remedies)


def _rows(
    pins: Iterable[tuple[str, str]], python: str, target: str, knowledge: Knowledge
) -> Iterator[PatchRow]:
    for name, version in pins:
        yield from knowledge.patches(name, version, python, target)


def _patches(row: PatchRow) -> Iterator[Patch]:
    kinds = (("constraint", row.constraints), ("override", row.overrides), ("add", row.add_requirements))
    for kind, requirements in kinds:
        for requirement in requirements:
            yield Patch(requirement=requirement, kind=kind, because=row.why, rule=row.id, source=row.source)  # type: ignore[arg-type]
