"""The lock of the least change that mends an environment of somebody else."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from provision.diagnosing.mends import Mend, mend_of, only, unchanged, widened, without
from provision.messages import message
from provision.model.finding import Finding, Remedy, Severity, UnsatisfiableError
from provision.model.lock import Digests, Lock
from provision.model.profile import Profile, Smoke
from provision.model.stack import Stack
from provision.ports import CatalogFailure, ClosureRequest

if TYPE_CHECKING:
    from provision.pipeline.doctor import Answer
    from provision.pipeline.session import Session

#: How often more distributions are let go where the change that is wanted cannot be had.
_ROUNDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Amendment:
    """The lock of a change, why each name is in it, and what could not be had with it."""

    profile: Profile
    lock: Lock
    mend: Mend
    left: tuple[Finding, ...] = ()


def least_change(session: Session, answer: Answer) -> Amendment:
    """What comes, pinned; more is let go, step by step, where the rest forbids it.

    What still cannot be had does not keep the damaged from being mended. Raises UnsatisfiableError where nothing can.
    """
    from provision.pipeline.strangers import stock_of

    case, profile = answer.case, _profile(answer)
    codes = {f.code for f in answer.examination.findings if f.severity != "note"}
    mend = mend_of(case, stock_of(session, answer.subject.prefix), codes)
    mend = without(case, mend, _not_listed(session, answer, mend, ()))
    try:
        made, whole = _widely(session, answer, profile, mend)
        return Amendment(profile=profile, lock=made, mend=whole)
    except UnsatisfiableError as error:
        sure = {name for name, one in mend.wanted.items() if one.again and not one.free}
        if sure == mend.wanted.keys() or not (sure or mend.absent or mend.remains):
            raise
        rest = only(case, mend, sure)
        left = tuple(replace(f, severity="warning") for f in error.findings)
        return Amendment(profile=profile, lock=_closed(session, answer, profile, rest), mend=rest, left=left)


def _widely(session: Session, answer: Answer, profile: Profile, mend: Mend) -> tuple[Lock, Mend]:
    first: UnsatisfiableError | None = None
    for _ in range(_ROUNDS):
        try:
            return _closed(session, answer, profile, mend), mend
        except UnsatisfiableError as error:
            first = first or error
            wider = widened(answer.case, mend, " ".join(f"{f.summary} {f.detail}" for f in error.findings))
            wider = without(answer.case, wider, _not_listed(session, answer, wider, mend.wanted))
            if wider.wanted.keys() == mend.wanted.keys():
                break
            mend = wider
    assert first is not None
    raise first


def _profile(answer: Answer) -> Profile:
    name = re.sub(r"[^A-Za-z0-9]+", "-", Path(answer.subject.prefix).name).strip("-")[:40]
    return Profile(name=f"mend-{name}".rstrip("-"), smoke=Smoke(jobs=("imports",), level="quick"))


def _python(answer: Answer) -> str:
    env = answer.case.environment
    return ".".join((env.version if env else "").split(".")[:2])


def _not_listed(session: Session, answer: Answer, mend: Mend, known: Container[str]) -> list[str]:
    """Names that no index has in the version that is there: whoever has the name there may be somebody else."""
    asked = {name: f"{name}=={version}" for name, version in mend.former.items() if name not in known}
    if not asked or _answers(session, answer, mend, tuple(asked.values())):
        return []
    return [name for name, text in asked.items() if not _answers(session, answer, mend, (text,))]


def _answers(session: Session, answer: Answer, mend: Mend, requirements: tuple[str, ...]) -> bool:
    request = ClosureRequest(
        requirements=requirements, python=_python(answer), target=answer.case.target, indexes=mend.indexes,
        dependencies=False,
    )  # fmt: skip
    found = session.catalog.close(request)
    if isinstance(found, CatalogFailure) and found.unreachable:
        from provision.locking.failures import closure_findings

        raise UnsatisfiableError(closure_findings(found, request, session.catalog, {}))
    return not isinstance(found, CatalogFailure)


def _closed(session: Session, answer: Answer, profile: Profile, mend: Mend) -> Lock:
    from provision.locking.pypi import Ground
    from provision.pipeline.locks import lock_stack

    case = answer.case
    made = Lock(
        profile=profile.name, target=case.target, python=_python(answer), smoke=profile.smoke,
        digests=Digests(profile="", knowledge=""), absent=tuple(sorted(mend.absent)),
    )  # fmt: skip
    if mend.wanted:
        stack = Stack(
            profile=profile.name, target=made.target, python=made.python, absent=made.absent,
            requirements=tuple(one.requirement(name) for name, one in mend.wanted.items()),
            indexes=mend.indexes, patches=mend.ground,
        )  # fmt: skip
        ground = Ground(former=mend.former, provided=mend.stays)
        made = lock_stack(stack, profile, session.catalog, session.knowledge, ground)
    if strangers := [a.name for a in made.packages if a.name in mend.direct]:
        raise UnsatisfiableError(not_from_an_index(strangers, "error"))
    idle = unchanged([(a.name, a.version) for a in made.packages], mend)
    packages = tuple(a for a in made.packages if a.name not in idle)
    works = {one.distribution for one in case.carried if case.imports_well(one)} - mend.absent.keys()
    return replace(made, packages=packages, imports=tuple(sorted({a.name for a in packages} | works)))


def not_from_an_index(names: Sequence[str], severity: Severity = "warning") -> Finding:
    """What is left alone, and why."""
    return Finding(
        "not-from-an-index", severity, message("pipeline.not-from-an-index.summary", names=names),
        remedies=(Remedy(message("pipeline.not-from-an-index.way")),),
    )  # fmt: skip
