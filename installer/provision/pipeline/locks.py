"""lock and lock --check: for each target and Python, resolve -> close -> write, or say why not."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from provision.documents import dump_yaml, read_lock
from provision.knowledge import Knowledge
from provision.loading import profile_digest
from provision.loading.lines import index_line
from provision.locking.diffing import named
from provision.locking.pypi import Ground, again, ground_of
from provision.locking.pypi import lock as close_stack
from provision.messages import message
from provision.model.finding import Finding, LockError, ProvisionError, Remedy, UnsatisfiableError, UsageError
from provision.model.lock import Digests, Lock
from provision.model.profile import Profile
from provision.model.stack import Rejected, Stack
from provision.pipeline import vendor
from provision.pipeline.profiles import Source, find_lock, lock_place
from provision.pipeline.session import Session
from provision.ports import Catalog
from provision.resolving import clashes, further_patches, identity, python_choices, pythons, resolve, solve
from provision.shells import quoted

#: How often a stack whose closure cannot be locked is replaced by the next one.
_TRIES = 6
#: How often patches that only the closure shows are added and the closure asked again.
_ROUNDS = 4
#: How many stacks are looked at for the one that the former lock was made of.
_LOOKED_AT = 500
#: Faults that no other stack mends.
_FINAL = (
    "index-unreachable", "no-such-package", "no-hash", "offline-missing", "bad-catalogue", vendor.MISSING, "hash-mismatch",
)  # fmt: skip

Status = Literal["written", "unchanged", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Locked:
    """What became of one lock. `before` is the former lock that was replaced."""

    profile: str
    variant: str | None = None
    target: str
    python: str
    status: Status
    path: Path
    lock: Lock | None = None
    before: Lock | None = None
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Upgrade:
    """Which versions of a former lock are let go: none, all, or those of some packages (canonical names)."""

    everything: bool = False
    names: frozenset[str] = frozenset()
    settled: bool = False
    """A lock that its profile and the knowledge would make again of the files it has stays, and no index is asked."""

    def kept(self, former: Lock | None) -> Lock | None:
        """The former lock as far as its versions are to stay."""
        if former is None or self.everything:
            return None
        packages = tuple(a for a in former.packages if a.name not in self.names)
        conda = tuple(a for a in former.conda if a.name not in self.names)
        stack = tuple(
            c for c in former.stack if named(c.value) not in self.names and c.axis not in self.names
        )
        return replace(former, packages=packages, conda=conda, stack=stack)


KEEP = Upgrade()


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


def lock_pair(source: Source, session: Session, target: str, python: str, upgrade: Upgrade = KEEP) -> Locked:
    """Make one lock and write it if it differs from the one that is there. What cannot be locked is a finding."""
    session = session.serving(source)
    path = lock_place(source, session.folder, target, python)
    before = _former(source, session, target, python)
    named_so: dict[str, Any] = {
        "profile": source.profile.name,
        "variant": source.variant,
        "target": target,
        "python": python,
    }
    try:
        if upgrade.settled and before is not None and _stands(before, source, session):
            return Locked(**named_so, status="unchanged", path=path, lock=before, before=before)
        made = make_lock(source.profile, target, python, session, upgrade.kept(before))
    except ProvisionError as error:
        return Locked(
            **named_so,
            status="failed",
            path=path,
            before=before,
            findings=(*_known_wrong(source, session, error), *(_placed(f, source) for f in error.findings)),
        )
    made = replace(made, variant=source.variant)
    status = _write_if_new(path, dump_yaml(made))
    advice = _linted(source, session) if status == "written" else ()
    return Locked(**named_so, status=status, path=path, lock=made, before=before, findings=advice)


#: Refusals that say themselves what is wrong with a line of the profile.
_SAID = ("no-such-package", "index-unreachable", "offline-missing", "family-conflict")


def _known_wrong(source: Source, session: Session, error: ProvisionError) -> tuple[Finding, ...]:
    """What the knowledge says against lines of a profile that cannot be locked: the cause, before the resolver's words."""
    if error.findings[0].code in _SAID:
        return ()
    said = {f.code for f in error.findings}
    return tuple(f for f in _linted(source, session) if f.severity == "error" and f.code not in said)


def _linted(source: Source, session: Session) -> tuple[Finding, ...]:
    """What lint says of a profile's own file, but for mere notes."""
    from provision.pipeline.checks import check_files, documents

    read = documents([str(source.path)], session.folder)
    return tuple(f for f in check_files(read, session) if f.severity != "note")


def _stands(former: Lock, source: Source, session: Session) -> bool:
    """Whether the stack, its patches, needs and all else of a lock would be the same today, so that its closure is.

    Files of a vendor lie on the machine and may be others now; conda's solver is asked with its channels.
    """
    profile = source.profile
    asks = former.manager == "conda" or former.wheels or session.record is not None
    if asks or stale_because(former, profile) is not None:
        return False
    stack = _next_stack(profile, former.target, former.python, session.knowledge, (), former)
    stack = _patched(stack, [(a.name, a.version) for a in former.packages], session.knowledge)
    made = again(stack, profile, Digests(profile=profile_digest(profile), knowledge=""), former)
    if made is None:
        return False
    return replace(_without_idle_patches(made, session.knowledge), variant=source.variant) == former


def _write_if_new(path: Path, text: str) -> Status:
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return "unchanged"
    write_text(path, text)
    return "written"


def _placed(finding: Finding, source: Source) -> Finding:
    """A finding about a named index, with the line of the profile that names it."""
    if finding.code != "index-unreachable":
        return finding
    named = [index.name for index in source.profile.indexes if f"{index.name!r}" in finding.summary]
    text, read = source.path.read_bytes(), lambda path: Path(path).read_bytes()
    places = [place for name in named if (place := index_line(text, str(source.path), read, name))]
    return replace(finding, evidence=(*places, *finding.evidence))


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


def make_lock(
    profile: Profile,
    target: str,
    python: str,
    session: Session,
    keep: Lock | None = None,
    partial: bool = False,
) -> Lock:
    """The lock of the best stack whose closure exists; the stack of `keep` comes first where it still fits.

    `partial`: without the files of a vendor that are not there, to show the rest. Such a lock is never written.
    """
    if profile.environment.manager == "conda":
        from provision.pipeline.conda import adopt_conda_lock, make_conda_lock

        if session.taken is not None:
            return adopt_conda_lock(profile, target, python, session.taken, session)
        return make_conda_lock(profile, target, python, session, keep)
    if session.taken is not None:
        raise UsageError(_only_conda(session.taken))
    folder = session.beside / profile.wheels.folder
    refused: list[Rejected] = []
    first: UnsatisfiableError | None = None
    for _ in range(_TRIES):
        try:
            stack = _next_stack(profile, target, python, session.knowledge, refused, keep)
        except UnsatisfiableError:
            if first is not None:
                raise first from None
            raise
        try:
            stack = vendor.without(stack) if partial else vendor.located(stack, folder)
            if keep is not None:
                kept = [(a.name, a.version) for a in keep.packages]
                stack = _patched(stack, kept, session.knowledge)
            made = lock_stack(stack, profile, session.catalog, session.knowledge, ground_of(keep))
            vendor.check_hashes(made, stack)
            return made
        except UnsatisfiableError as error:
            first = first or error
            if any(f.code in _FINAL for f in error.findings):
                raise first from None
            refused.append(_refused(stack, error))
    assert first is not None
    raise first


def _only_conda(taken: Path) -> Finding:
    return Finding(
        "not-conda", "error", message("pipeline.not-conda.summary", taken=taken),
        remedies=(Remedy(message("pipeline.not-conda.way")),),
    )  # fmt: skip


def _next_stack(
    profile: Profile,
    target: str,
    python: str,
    knowledge: Knowledge,
    refused: Sequence[Rejected],
    keep: Lock | None,
) -> Stack:
    held = {c.axis: c.value for c in keep.stack if c.axis in profile.frameworks} if keep else {}
    if held and not refused:
        for stack in islice(solve(profile, target, python, knowledge), _LOOKED_AT):
            if held.items() <= {c.axis: c.value for c in stack.choices}.items():
                return stack
    return resolve(profile, target, python, knowledge, refused)


def _refused(stack: Stack, error: UnsatisfiableError) -> Rejected:
    because = error.findings[0].summary if error.findings else message("pipeline.refused")
    return Rejected(axis="closure", value=identity(stack), because=because, rule="closure")


def lock_stack(
    stack: Stack, profile: Profile, catalog: Catalog, knowledge: Knowledge, ground: Ground
) -> Lock:
    """Close the stack; patches that the closed packages ask for are added, then it is closed again."""
    digests = Digests(profile=profile_digest(profile), knowledge="")
    for _ in range(_ROUNDS):
        made = close_stack(stack, profile, catalog, digests, ground, look_alikes(knowledge))
        patched = _patched(stack, [(a.name, a.version) for a in made.packages], knowledge)
        if patched == stack:
            break
        stack = patched
    if found := clashes([a.name for a in made.packages], knowledge, ground.provided):
        raise UnsatisfiableError(found)
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
    rules += [one.id for one in made.libraries]
    return [rule for rule in rules if rule]


def check_profile(source: Source, session: Session) -> tuple[Finding, ...]:
    """Whether every lock that the profile asks for is there and matches it: findings for those that do not."""
    session = session.serving(source)
    findings: list[Finding] = []
    for target, python in combinations(source.profile, session):
        path = find_lock(source, session.folder, target, python)
        if path is None:
            findings.append(_missing(source, target, python, session))
            continue
        made, _ = read_lock_file(path)
        if (stale := stale_because(made, source.profile)) is not None:
            findings.append(stale_lock(source, path, stale))
        elif outdated(made, session.knowledge):
            findings.append(_outdated(source, path))
    return tuple(findings)


def stale_because(made: Lock, profile: Profile) -> str | None:
    """Why a lock does not match its profile any more, or None."""
    return None if made.digests.profile == profile_digest(profile) else message("pipeline.lock.changed")


def outdated(made: Lock, knowledge: Knowledge) -> bool:
    """Whether the knowledge rows that a lock rests on say something else today.

    Such a lock is still what the team committed, and is applied as it stands: a newer provision must not change what
    is installed. `lock --check` says so, and `lock` takes the new facts in.
    """
    return made.digests.knowledge != knowledge.digest(_rows(made))


def _missing(source: Source, target: str, python: str, session: Session) -> Finding:
    """A lock that is to be made; a warning where the profile says why it is not there, or where it needs files that
    only people can fetch."""
    if target in source.profile.unlocked:
        return _not_committed(source, target, python)
    try:
        stack = resolve(source.profile, target, python, session.knowledge)
        vendor.located(stack, session.beside / source.profile.wheels.folder)
    except UnsatisfiableError as error:
        if error.findings[0].code == vendor.MISSING:
            return replace(error.findings[0], severity="warning")
    return Finding(
        "lock-missing",
        "error",
        message("pipeline.lock-missing.summary-3", name=source.profile.name, target=target, python=python),
        remedies=(
            Remedy(message("pipeline.lock-missing.way-3"), f"provision lock {quoted(source.path)}"),
            Remedy(message("pipeline.lock-missing.way-4", target=target)),
        ),
    )


def _not_committed(source: Source, target: str, python: str) -> Finding:
    reason = source.profile.unlocked[target].rstrip(".")  # type: ignore[index]
    return Finding(
        "lock-not-committed",
        "warning",
        message(
            "pipeline.lock-not-committed.summary",
            name=source.profile.name,
            target=target,
            python=python,
            reason=reason,
        ),
        remedies=(
            Remedy(
                message("pipeline.lock-not-committed.way"),
                f"provision lock {quoted(source.path)} --target {target}",
            ),
        ),
    )


def _outdated(source: Source, path: Path) -> Finding:
    return Finding(
        "lock-outdated",
        "warning",
        message("pipeline.lock-outdated.summary", path=path),
        remedies=(Remedy(message("pipeline.lock-outdated.way"), f"provision lock {quoted(source.path)}"),),
    )


def stale_lock(source: Source, path: Path, because: str) -> Finding:
    """A lock that does not match its profile any more."""
    return Finding(
        "lock-stale",
        "error",
        message("pipeline.lock-stale.summary", path=path, because=because),
        remedies=(Remedy(message("pipeline.lock-stale.way"), f"provision lock {quoted(source.path)}"),),
    )
