"""why, why-not: the solver's own reasons, then the linter's, then those of the closure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

from provision.documents import dump_yaml
from provision.linting import Document, lint
from provision.messages import message, unplaced
from provision.model.finding import Finding, ProvisionError, Remedy, UnsatisfiableError, UsageError
from provision.model.lock import Lock
from provision.model.profile import Framework, Profile
from provision.model.stack import Stack
from provision.pipeline.locks import (
    combinations,
    make_lock,
    outdated,
    read_lock_file,
    stale_because,
    targets_of,
)
from provision.pipeline.profiles import Source, find_lock
from provision.pipeline.session import Session
from provision.resolving import Answer, Explanation, against, answer, explain, framework_of, overlaid


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """An explanation, and the lock that it is of, where there is one that matches the profile."""

    explanation: Explanation
    variant: str | None = None
    lock: Lock | None = None
    path: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Whether a wish fits on one target. `lock` is what would be locked (not written), None if no index was asked."""

    answer: Answer
    variant: str | None = None
    findings: tuple[Finding, ...] = ()
    lock: Lock | None = None

    @property
    def fits(self) -> bool:
        return not self.findings


def why(source: Source, session: Session, target: str, python: str) -> Why:
    """Raises UnsatisfiableError when there is no stack."""
    session = session.serving(source)
    target = target or _here(source.profile, session)
    python = python or _newest(source, session, target)
    path = find_lock(source, session.folder, target, python)
    made = _fresh(path, source.profile, session)
    taken = made.stack if made else ()
    explanation = explain(source.profile, target, python, session.knowledge, taken)
    return Why(explanation=explanation, variant=source.variant, lock=made, path=path if made else None)


def _here(profile: Profile, session: Session) -> str:
    """This machine's target, if the profile has it; else its first."""
    targets = targets_of(profile, session)
    host = session.host_target()
    return host if host in targets else targets[0]


def _newest(source: Source, session: Session, target: str) -> str:
    """The newest Python that is locked, else the newest that has a stack. Raises UnsatisfiableError for none."""
    pairs = combinations(source.profile, session, [target])
    locked = [p for _, p in pairs if find_lock(source, session.folder, target, p)]
    return locked[0] if locked else pairs[0][1]


def _fresh(path: Path | None, profile: Profile, session: Session) -> Lock | None:
    if path is None:
        return None
    try:
        made, _ = read_lock_file(path)
    except ProvisionError:
        return None
    return None if stale_because(made, profile) or outdated(made, session.knowledge) else made


def why_not(source: Source, session: Session, text: str, targets: Sequence[str] = ()) -> tuple[Fit, ...]:
    """For each target whether a requirement would fit, all that speaks against it included. Writes nothing."""
    session = session.serving(source)
    asked = requirement_of(text)
    profile = overlaid(source.profile, asked, session.knowledge)
    chosen = targets or targets_of(source.profile, session)
    fits = (_fit(source, profile, asked, target, session) for target in chosen)
    return tuple(replace(fit, variant=source.variant) for fit in fits)


def requirement_of(text: str) -> Requirement:
    try:
        return Requirement(text)
    except InvalidRequirement:
        raise UsageError(
            Finding(
                "usage", "error", message("pipeline.usage.summary-2", text=f'{text!r}'),
                remedies=(Remedy(message("pipeline.usage.way"), 'provision why-not PROFILE "tensorflow==2.11"'),),
            )
        ) from None  # fmt: skip


def _fit(source: Source, profile: Profile, asked: Requirement, target: str, session: Session) -> Fit:
    found = answer(profile, target, session.knowledge)
    said = tuple(_linted(source.profile, profile, found, session))
    if found.stack is None:
        return Fit(answer=found, findings=(*said, *found.findings))
    if framework_of(asked.name, session.knowledge) is None:
        codes = {f.code for f in said}
        held = against(asked, found.stack, session.knowledge)
        said = (*said, *(f for f in held if f.code not in codes))
    closed = _closed(source, profile, found, session)
    return _in_spite(said, closed) if said else closed


def _in_spite(said: tuple[Finding, ...], closed: Fit) -> Fit:
    """What is known against a wish counts; that another stack could be locked with it is one more way out."""
    if closed.lock is None:
        return replace(closed, findings=said)
    stack = ", ".join(c.value for c in closed.lock.stack if c.axis in closed.lock.frameworks)
    way = Remedy(message("pipeline.in-spite.way", stack=stack))
    last = replace(said[-1], remedies=(*said[-1].remedies, way))
    return replace(closed, findings=(*said[:-1], last))


def _linted(before: Profile, after: Profile, found: Answer, session: Session) -> Iterator[Finding]:
    """Errors that the linter sees in the profile with the wish and not in the one without."""
    known = {_plain(f).summary for f in _lint(before, found, session)}
    for finding in _lint(after, found, session):
        plain = _plain(finding)
        if finding.severity == "error" and plain.summary not in known:
            yield plain


def _lint(profile: Profile, found: Answer, session: Session) -> tuple[Finding, ...]:
    pinned = replace(profile, targets=(found.target,), frameworks=_pinned(profile, found.stack))  # type: ignore[arg-type]
    return lint([Document("profile.yaml", dump_yaml(pinned))], session.knowledge)


def _pinned(profile: Profile, stack: Stack | None) -> dict[str, Framework]:
    """The frameworks at the versions of the stack, so that what belongs to one version can be held against it."""
    chosen = {c.axis: c.value.partition("==")[2].partition("+")[0] for c in stack.choices} if stack else {}
    return {
        str(name): replace(framework, version=f"=={chosen[name]}") if chosen.get(name) else framework
        for name, framework in profile.frameworks.items()
    }


def _plain(finding: Finding) -> Finding:
    """Without its place: the document was never written."""
    where = finding.evidence[0].source if finding.evidence else ""
    return replace(finding, summary=unplaced(finding.summary, where), evidence=finding.evidence[1:])


def _closed(source: Source, profile: Profile, found: Answer, session: Session) -> Fit:
    """Whether the packages can be locked, kept as near to the present lock as can be."""
    if session.offline:
        return Fit(answer=found)
    path = find_lock(source, session.folder, found.target, found.python)
    keep = _fresh(path, source.profile, session)
    try:
        made = make_lock(profile, found.target, found.python, session, keep)
    except UnsatisfiableError as error:
        return Fit(answer=found, findings=error.findings)
    return Fit(answer=found, lock=made)
