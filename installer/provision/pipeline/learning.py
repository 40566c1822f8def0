"""inspect and `knowledge learn`: what the wheels of a requirement say of themselves, held against the rows."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

from provision.artifacts.covers import covers
from provision.artifacts.draft import draft_rows
from provision.artifacts.library import EVERYTHING, GLANCE
from provision.artifacts.reading import ptx_isa
from provision.artifacts.truth import tag_findings
from provision.messages import message
from provision.model.artifact import ArtifactFacts, Coverage
from provision.model.finding import Finding, ProvisionError, UsageError
from provision.model.machine import Device
from provision.model.profile import Index, Target
from provision.pipeline.artifacts import (
    Listing,
    facts_of_file,
    facts_of_located,
    listing,
    locate,
    named_index,
)
from provision.pipeline.gate import against_row, build_of, driver_cuda, row_that_brings
from provision.pipeline.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspected:
    """A wheel that was read. `seconds` is what reading took, 0 from the cache; `row` the knowledge row about it."""

    facts: ArtifactFacts
    index: str = ""
    row: str = ""
    seconds: float = 0.0
    cards: tuple[tuple[Device, Coverage], ...] = ()
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Which:
    """Which wheel of a requirement: the newest Python and this system where nothing is said."""

    python: str = ""
    target: str = ""
    index: str = ""
    whole: bool = False


def inspect_any(what: str, which: Which, session: Session) -> Inspected:
    """A path or a requirement -> what that wheel says of itself. Raises ProvisionError leaves."""
    path = session.folder / what
    if path.is_file() or what.endswith(".whl"):
        began = time.monotonic()
        return _judged(facts_of_file(path, session), "", began, session)
    _check(what)
    indexes = named_index(which.index, what, session)
    target = which.target or session.host_target()
    listed = listing(what, session, indexes)
    python = which.python or next(iter(listed.pythons(target)), "3.12")
    began = time.monotonic()
    found = locate(listed.requirement, python, target, session, indexes)
    facts = facts_of_located(found[0], session, EVERYTHING if which.whole else GLANCE)
    return _judged(facts, found[0].index, began, session)


def learn(requirement: str, which: Which, targets: Sequence[str], session: Session) -> Learned:
    """Draft the rows of a release from one wheel a target, each read in part. Raises ProvisionError leaves."""
    _check(requirement)
    indexes = named_index(which.index, requirement, session)
    listed = listing(requirement, session, indexes)
    read: dict[str, Inspected] = {}
    failed: list[Finding] = []
    for target in targets or get_args(Target):
        try:
            read |= {one.facts.file: one for one in _of_target(listed, target, which, indexes, session)}
        except ProvisionError as error:
            failed += [replace(finding, severity="warning") for finding in error.findings]
    if not read:
        raise UsageError(failed or _no_wheel(listed))
    text = draft_rows(listed.files, [one.facts for one in read.values()], verified_on=session.now()[:10])
    return Learned(listed, tuple(read.values()), text, tuple(failed))


def _of_target(
    listed: Listing, target: str, which: Which, indexes: tuple[Index, ...], session: Session
) -> Iterator[Inspected]:
    """The wheel of a release for one target and its newest Python, read; none where there is none."""
    for python in listed.pythons(target)[:1]:
        began = time.monotonic()
        for found in locate(listed.requirement, python, target, session, indexes)[:1]:
            facts = facts_of_located(found, session, EVERYTHING if which.whole else GLANCE)
            yield _judged(facts, found.index, began, session)


def _no_wheel(listed: Listing) -> Finding:
    return Finding(
        "no-such-wheel", "error", message("pipeline.no-such-wheel.summary-2", requirement=listed.requirement)
    )


@dataclass(frozen=True, slots=True)
class Learned:
    """The rows of a release as YAML, and the wheels that they were read from."""

    listed: Listing
    wheels: tuple[Inspected, ...]
    text: str
    #: Targets whose wheel could not be found or read.
    findings: tuple[Finding, ...] = ()

    @property
    def known(self) -> tuple[str, ...]:
        """Rows that speak of this release already."""
        return tuple(dict.fromkeys(one.row for one in self.wheels if one.row))


def _judged(facts: ArtifactFacts, index: str, began: float, session: Session) -> Inspected:
    build = build_of(facts, session.knowledge)
    return Inspected(
        facts=facts,
        index=index,
        row=build.row if build else row_that_brings(facts, session.knowledge),
        seconds=time.monotonic() - began if facts.requests else 0.0,
        cards=tuple(_cards(facts, session)),
        findings=(*tag_findings(facts), *(against_row(facts, build) if build else ())),
    )


def _cards(facts: ArtifactFacts, session: Session) -> Iterator[tuple[Device, Coverage]]:
    """Whether the cards of this machine are covered, where the wheel holds GPU code at all."""
    if not (facts.machine or facts.ptx or facts.gfx):
        return
    machine = session.machine
    isa = ptx_isa(driver_cuda(machine, session.knowledge))
    wanted = "amd" if facts.gfx else "nvidia"
    for card in machine.vendor_devices(wanted):
        if card.capability:
            yield card, covers(facts, card.capability, isa)


def _check(requirement: str) -> None:
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        Requirement(requirement)
    except InvalidRequirement as error:
        words = message(
            "pipeline.bad-requirement.summary", text=repr(requirement), error=str(error).splitlines()[0]
        )
        raise UsageError(Finding("bad-requirement", "error", words)) from None


def save(text: str, path: Path) -> None:
    """Rows are written whole or not at all."""
    from provision.world.files import HostFiles

    HostFiles().write(str(path.absolute()), text)
