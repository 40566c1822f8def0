"""lock and lock --check: for each target and Python, resolve -> close -> write, or say why not."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from provision.documents import dump_yaml, read_lock
from provision.knowledge import Knowledge
from provision.loading import profile_digest
from provision.locking.pypi import lock as close_stack
from provision.model.finding import Finding, LockError, ProvisionError, Remedy, UnsatisfiableError
from provision.model.lock import Digests, Lock
from provision.model.profile import Profile
from provision.model.stack import Rejected, Stack
from provision.pipeline.profiles import Source, find_lock, lock_place
from provision.pipeline.session import Session
from provision.ports import Catalog
from provision.resolving import further_patches, identity, python_choices, pythons, resolve

#: How often a stack whose closure cannot be locked is replaced by the next one.
_TRIES = 6
#: How often patches that only the closure shows are added and the closure asked again.
_ROUNDS = 4
#: Faults that no other stack mends.
_FINAL = ("index-unreachable", "no-such-package", "no-hash")

Status = Literal["written", "unchanged", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Locked:
    """What became of one lock. `before` is the former lock that was replaced."""

    profile: str
    target: str
    python: str
    status: Status
    path: Path
    lock: Lock | None = None
    before: Lock | None = None
    findings: tuple[Finding, ...] = ()


def text_digest(text: str) -> str:
    """SHA-256 of a document's text, whatever line ends a version control system gave it."""
    return hashlib.sha256(text.replace("\r\n", "\n").encode()).hexdigest()


def read_lock_file(path: Path) -> tuple[Lock, str]:
    """A lock and the digest of its text."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LockError(Finding("unreadable-lock", "error", f"{path}: {error}")) from None
    return read_lock(text, str(path)), text_digest(text)


def targets_of(profile: Profile, session: Session) -> tuple[str, ...]:
    return tuple(profile.targets) or (session.host_target(),)


def combinations(
    profile: Profile, session: Session, targets: Sequence[str] = ()
) -> tuple[tuple[str, str], ...]:
    """Every (target, Python) that a profile is to be locked for. Raises UnsatisfiableError if a target has none."""
    pairs: list[tuple[str, str]] = []
    for target in targets or targets_of(profile, session):
        found = pythons(profile, target, session.knowledge)
        if not found:
            # Ask for the likeliest Python, so that the refusal says what is wrong with it.
            choices = python_choices(profile) or ("3.10",)
            resolve(profile, target, choices[0], session.knowledge)
        pairs += [(target, python) for python in found]
    return tuple(pairs)


def lock_profile(
    source: Source, session: Session, pairs: Iterable[tuple[str, str]], upgrade: bool = False
) -> tuple[Locked, ...]:
    """Lock every pair; one that cannot be locked does not keep the others from it."""
    return tuple(lock_pair(source, session, target, python, upgrade) for target, python in pairs)


def lock_pair(source: Source, session: Session, target: str, python: str, upgrade: bool = False) -> Locked:
    path = lock_place(source, session.folder, target, python)
    before = _former(source, session, target, python)
    try:
        made = make_lock(source.profile, target, python, session, None if upgrade else before)
    except ProvisionError as error:
        return Locked(
            profile=source.profile.name,
            target=target,
            python=python,
            status="failed",
            path=path,
            findings=error.findings,
        )
    text = dump_yaml(made)
    old = path.read_text(encoding="utf-8") if path.is_file() else None
    if old == text:
        status: Status = "unchanged"
    else:
        status = "written"
        write_text(path, text)
    return Locked(
        profile=source.profile.name,
        target=target,
        python=python,
        status=status,
        path=path,
        lock=made,
        before=before,
    )


def write_text(path: Path, text: str) -> None:
    """Whole or not at all, with the same line ends everywhere."""
    from provision.world.files import HostFiles

    path.parent.mkdir(parents=True, exist_ok=True)
    HostFiles().write(str(path), text)


def _former(source: Source, session: Session, target: str, python: str) -> Lock | None:
    path = find_lock(source, session.folder, target, python)
    if path is None:
        return None
    try:
        return read_lock_file(path)[0]
    except ProvisionError:
        return None


def make_lock(profile: Profile, target: str, python: str, session: Session, keep: Lock | None = None) -> Lock:
    """The lock of the best stack whose closure exists."""
    if profile.environment.manager == "conda":
        from provision.pipeline.conda import make_conda_lock

        return make_conda_lock(profile, target, python, session, keep)
    refused: list[Rejected] = []
    first: UnsatisfiableError | None = None
    for _ in range(_TRIES):
        try:
            stack = resolve(profile, target, python, session.knowledge, refused)
        except UnsatisfiableError:
            if first is not None:
                raise first from None
            raise
        try:
            return _lock_stack(stack, profile, session.catalog, session.knowledge, keep)
        except UnsatisfiableError as error:
            first = first or error
            if any(f.code in _FINAL for f in error.findings):
                raise first from None
            refused.append(_refused(stack, error))
    assert first is not None
    raise first


def _refused(stack: Stack, error: UnsatisfiableError) -> Rejected:
    because = error.findings[0].summary if error.findings else "its packages cannot be locked"
    return Rejected(axis="closure", value=identity(stack), because=because, rule="closure")


def _lock_stack(
    stack: Stack, profile: Profile, catalog: Catalog, knowledge: Knowledge, keep: Lock | None
) -> Lock:
    """Close the stack; patches that the closed packages ask for are added, then it is closed again."""
    if keep is not None:
        stack = _patched(stack, [(a.name, a.version) for a in keep.packages], knowledge)
    digests = Digests(profile=profile_digest(profile), knowledge="")
    for _ in range(_ROUNDS):
        made = close_stack(stack, profile, catalog, digests, keep, look_alikes(knowledge))
        patched = _patched(stack, [(a.name, a.version) for a in made.packages], knowledge)
        if patched == stack:
            break
        stack = patched
    return _without_idle_patches(made, knowledge)


def _patched(stack: Stack, packages: Sequence[tuple[str, str]], knowledge: Knowledge) -> Stack:
    more = further_patches(stack, packages, knowledge)
    merged = tuple(sorted((*stack.patches, *more), key=lambda p: (p.requirement, p.rule)))
    return replace(stack, patches=merged) if more else stack


def _without_idle_patches(made: Lock, knowledge: Knowledge) -> Lock:
    """Patches about packages that the closure does not hold say nothing about this lock."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    held = {a.name for a in made.packages}
    used = tuple(p for p in made.patches if canonicalize_name(Requirement(p.requirement).name) in held)
    kept = replace(made, patches=used)
    return replace(kept, digests=replace(made.digests, knowledge=knowledge.digest(_rows(kept))))


def look_alikes(knowledge: Knowledge) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Wrong names -> what is so and what to use instead, for the messages of a failed closure."""
    from provision.knowledge import NameRow

    return {row.name: (row.what_is_so, row.instead) for row in knowledge.rows(NameRow) if not row.versions}


def _rows(made: Lock) -> list[str]:
    """The knowledge rows that a lock rests on."""
    rules = [c.rule for c in made.stack] + [p.rule for p in made.patches] + [n.rule for n in made.needs]
    return [rule for rule in rules if rule]


def check_profile(source: Source, session: Session) -> tuple[Finding, ...]:
    """Whether every lock that the profile asks for is there and matches it: findings for those that do not."""
    findings: list[Finding] = []
    for target, python in combinations(source.profile, session):
        path = find_lock(source, session.folder, target, python)
        if path is None:
            findings.append(_missing(source, target, python))
            continue
        made, _ = read_lock_file(path)
        if (stale := stale_because(made, source.profile, session.knowledge)) is not None:
            findings.append(_stale(source, path, stale))
    return tuple(findings)


def stale_because(made: Lock, profile: Profile, knowledge: Knowledge) -> str | None:
    """Why a lock does not match its profile any more, or None."""
    if made.digests.profile != profile_digest(profile):
        return "the profile has changed since it was made"
    if made.digests.knowledge != knowledge.digest(_rows(made)):
        return "the knowledge rows that it rests on have changed since it was made"
    return None


def _missing(source: Source, target: str, python: str) -> Finding:
    return Finding(
        "lock-missing",
        "error",
        f"{source.profile.name} has no lock for {target} with Python {python}.",
        remedies=(Remedy("Make it and commit it.", f"provision lock {source.path}"),),
    )


def _stale(source: Source, path: Path, because: str) -> Finding:
    return Finding(
        "lock-stale",
        "error",
        f"{path}: {because}.",
        remedies=(Remedy("Lock again and commit the result.", f"provision lock {source.path}"),),
    )
