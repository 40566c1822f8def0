"""Lock x inventory of somebody else's environment -> the plan that changes it in place, or what forbids that. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from provision.knowledge.rows import FamilyRow
from provision.messages import message
from provision.model.finding import Evidence, Finding, Remedy
from provision.model.inventory import Installed, Inventory
from provision.model.lock import Artifact, Lock
from provision.model.plan import Plan, Sizes, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What the person asked for: smoke jobs, their device, and what the machine has already."""

    jobs: tuple[str, ...] = ()
    proof_device: str = "cpu"
    present: frozenset[str] = frozenset()
    #: People and programs that use the environment now, one line each.
    users: tuple[str, ...] = ()
    #: Install all that the lock has again, whatever is there.
    reinstall: bool = False


def repair(
    lock: Lock, digest: str, state: str, inventory: Inventory, families: Sequence[FamilyRow], wish: Wish
) -> Plan:
    """The steps that make the environment hold what the lock says and leave the rest of it alone."""
    blockers = tuple(_blockers(lock, inventory))
    removals = {} if blockers else _removals(lock, inventory, families, wish.reinstall)
    coming = [a for a in lock.packages if not blockers and _must_come(a, inventory, removals)]
    blockers += tuple(_conda_blockers(removals, coming, inventory))
    remains = (*inventory.litter, *_left(lock, inventory, families))
    steps = tuple(_steps(lock, remains, removals, coming, wish)) if not blockers else ()
    missing = [a for a in coming if a.sha256 not in wish.present]
    return Plan(
        profile=lock.profile,
        target=lock.target,
        python=lock.python,
        environment=inventory.environment,
        generation=0,
        lock=digest,
        state=state,
        steps=steps,
        blockers=blockers,
        notes=tuple(_notes(lock, inventory, wish, bool(steps))),
        sizes=Sizes(fetch=sum(a.size or 0 for a in missing), unknown=sum(a.size is None for a in missing)),
    )


def _blockers(lock: Lock, inventory: Inventory) -> Iterator[Finding]:
    where = inventory.environment
    ways = (
        Remedy(
            message("repairing.common.make-environment-its-own-instead"),
            "provision apply PROFILE --environment .venv-gpu",
        ),
    )
    if lock.manager == "conda" or lock.libraries:
        yield _generations_only(lock, where)
    if inventory.externally_managed:
        yield Finding(
            "externally-managed", "error",
            message("repairing.externally-managed.summary", where=where),
            evidence=(Evidence(inventory.externally_managed, "PEP 668"),), remedies=ways,
        )  # fmt: skip
    elif inventory.protected:
        yield Finding(
            "conda-base", "error", message("repairing.conda-base.summary", where=where),
            evidence=(Evidence(inventory.protected),), remedies=ways,
        )  # fmt: skip
    elif inventory.maker == "none" or not inventory.packages:
        yield Finding(
            "no-environment", "error", message("repairing.no-environment.summary", where=where), remedies=ways
        )
    elif not inventory.writable:
        yield Finding(
            "read-only", "error", message("repairing.read-only.summary", where=where), remedies=ways
        )
    elif not inventory.usable:
        yield Finding(
            "interpreter-gone",
            "error",
            message("repairing.interpreter-gone.summary", where=where),
            remedies=ways,
        )
    elif inventory.python != lock.python:
        yield Finding(
            "wrong-python",
            "error",
            message(
                "repairing.wrong-python.summary", where=where, python=inventory.python, python2=lock.python
            ),
            remedies=(
                *ways,
                Remedy(
                    message("repairing.wrong-python.way"),
                    f"provision lock PROFILE --python {inventory.python}",
                ),
            ),
        )


def _left(lock: Lock, inventory: Inventory, families: Sequence[FamilyRow]) -> Iterator[str]:
    """Folders without an owner, of the families that the lock brings or forbids; others are not this lock's."""
    ours = {canonicalize_name(name) for name in (*(a.name for a in lock.packages), *lock.absent)}
    folders = {f.folder for f in families if any(canonicalize_name(m) in ours for m in f.members)}
    yield from (path for path in inventory.unowned if path.rpartition("/")[2] in folders)


def _generations_only(lock: Lock, where: str) -> Finding:
    what = (
        message("repairing.not-in-place.conda")
        if lock.manager == "conda"
        else ", ".join(one.library for one in lock.libraries)
    )
    return Finding(
        "not-in-place", "error",
        message("repairing.not-in-place.summary", profile=lock.profile, what=what, where=where),
        remedies=(Remedy(message("repairing.not-in-place.way"), "provision apply PROFILE --environment .venv-gpu"),),
    )  # fmt: skip


def _removals(
    lock: Lock, inventory: Inventory, families: Sequence[FamilyRow], all_again: bool
) -> dict[str, tuple[Installed, str]]:
    """info folder -> (distribution, why it goes)."""
    locked: dict[str, Artifact] = {canonicalize_name(a.name): a for a in lock.packages}
    gone: dict[str, tuple[Installed, str]] = {}
    for one in inventory.distributions:
        again = (
            message("repairing.removals.asked-to-install-again") if all_again and one.name in locked else ""
        )
        if because := _why_it_goes(one, locked, lock, families) or again:
            gone[one.info] = (one, because)
    # Taking one of two that share files breaks the other: those of the lock are put back whole.
    taken = {path for one, _ in gone.values() for path in one.files}
    for one in inventory.distributions:
        if one.info not in gone and one.name in locked and (shared := taken & set(one.files)):
            gone[one.info] = (
                one,
                message("repairing.removals.shares-files-with-what-is", shared=len(shared)),
            )
    return gone


def _why_it_goes(
    one: Installed, locked: dict[str, Artifact], lock: Lock, families: Sequence[FamilyRow]
) -> str:
    wanted = locked.get(one.name)
    if wanted is None:
        if one.name in {canonicalize_name(name) for name in lock.absent}:
            return message("repairing.why-it-goes.lock-says-that-it-must")
        for family in families:
            rival = _rival(one.name, family, locked)
            if rival:
                return message(
                    "repairing.why-it-goes.it-writes-same-folder-as", folder=family.folder, rival=rival
                )
        return ""
    if one.broken:
        return message("repairing.why-it-goes.its-metadata-is-broken", broken=one.broken)
    if not _same_version(one.version, wanted.version):
        return message("repairing.why-it-goes.lock-has", version=wanted.version)
    if one.missing:
        return message("repairing.why-it-goes.its-files-are-missing", len=len(one.missing))
    return ""


def _rival(name: str, family: FamilyRow, locked: dict[str, Artifact]) -> str:
    return next((one for one in sorted(locked) if family.clash(name, one)), "")


def _same_version(one: str, other: str) -> bool:
    try:
        return Version(one) == Version(other)
    except InvalidVersion:
        return one == other


def _must_come(artifact: Artifact, inventory: Inventory, removals: dict[str, tuple[Installed, str]]) -> bool:
    name = canonicalize_name(artifact.name)
    return not any(one.name == name and one.info not in removals for one in inventory.distributions)


def _conda_blockers(
    removals: dict[str, tuple[Installed, str]], coming: Sequence[Artifact], inventory: Inventory
) -> Iterator[Finding]:
    """What conda put there is conda's: replaced under its feet, its next transaction would break or undo it."""
    touched = {one.name for one, _ in removals.values()} | {canonicalize_name(a.name) for a in coming}
    names = sorted(
        touched & (inventory.conda | {o.name for o in inventory.distributions if o.installer == "conda"})
    )
    if names:
        yield Finding(
            "conda-managed", "error",
            message("repairing.conda-managed.summary", names=tuple(names), environment=inventory.environment),
            evidence=(Evidence(f"{inventory.environment}/conda-meta"),),
            remedies=(
                Remedy(
                    message("repairing.common.make-environment-its-own-instead"),
                    "provision apply PROFILE --environment .venv",
                ),
                Remedy(message("repairing.conda-managed.way-2"), f"conda remove {' '.join(names)}"),
            ),
        )  # fmt: skip


def _steps(
    lock: Lock,
    remains: Sequence[str],
    removals: dict[str, tuple[Installed, str]],
    coming: Sequence[Artifact],
    wish: Wish,
) -> Iterator[Step]:
    yield from _bringing([a for a in coming if a.sha256 not in wish.present], coming)
    yield from _removing(remains, removals)
    for artifact in coming:
        args = {
            "index": artifact.index,
            "file": artifact.file,
            "size": artifact.size,
            "sha256": artifact.sha256,
        }
        subject = f"{artifact.name} {artifact.version}"
        yield Step(
            action="install",
            kind="in-place",
            subject=subject,
            reason=message("repairing.steps.lock-has-it"),
            args=args,
        )
    if coming or removals or remains:
        for job in wish.jobs:
            args = {"device": wish.proof_device}
            yield Step(
                action="prove",
                kind="job",
                subject=job,
                reason=message("repairing.steps.level", level=lock.smoke.level),
                args=args,
            )


def _bringing(missing: Sequence[Artifact], coming: Sequence[Artifact]) -> Iterator[Step]:
    for artifact in missing:
        args = {"size": artifact.size, "sha256": artifact.sha256, "index": artifact.index}
        yield Step(
            action="fetch",
            kind="package",
            subject=artifact.file,
            reason=message("repairing.bringing.not-in-cache"),
            args=args,
        )
    for artifact in (a for a in coming if a.kind == "sdist"):
        subject = f"{artifact.name} {artifact.version}"
        args = {"sha256": artifact.sha256}
        yield Step(
            action="build",
            kind="package",
            subject=subject,
            reason=message("repairing.bringing.only-its-source"),
            args=args,
        )


def _removing(remains: Sequence[str], removals: dict[str, tuple[Installed, str]]) -> Iterator[Step]:
    for info, (one, because) in sorted(removals.items()):
        subject = f"{one.name} {one.version}"
        yield Step(action="remove", kind="package", subject=subject, reason=because, args={"info": info})
    for path in remains:
        interrupted = path.rpartition("/")[2].startswith("~")
        reason = message(
            "repairing.removing.what-interrupted-install-left"
            if interrupted
            else "repairing.removing.no-distribution-owns-it"
        )
        yield Step(action="remove", kind="litter", subject=path, reason=reason, args={"path": path})


def _notes(lock: Lock, inventory: Inventory, wish: Wish, changes: bool) -> Iterator[Finding]:
    locked = {canonicalize_name(a.name) for a in lock.packages}
    for name, folder in inventory.shadows:
        if name in locked:
            yield Finding(
                "shadowed", "warning", message("repairing.shadowed.summary", name=name, folder=folder),
                evidence=(Evidence(folder, name),),
                remedies=(Remedy(message("repairing.shadowed.way"), "PYTHONNOUSERSITE=1"),),
            )  # fmt: skip
    if changes and wish.users:
        yield Finding(
            "in-use", "warning", message("repairing.in-use.summary"),
            detail="\n".join(wish.users),
        )  # fmt: skip
