"""doctor --fix: for environments that provision made an ordinary apply; those of others are changed in place, by a plan
like any other."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from provision.diagnosing.fixing import Fix, fixes
from provision.diagnosing.mends import Mend, mend_of, unchanged, widened
from provision.documents import dump_yaml
from provision.inspecting import inspect
from provision.messages import message
from provision.model.finding import Finding, UnsatisfiableError
from provision.model.lock import Digests, Lock
from provision.model.plan import Plan
from provision.model.profile import Profile, Smoke
from provision.model.stack import Stack
from provision.model.state import Layout

if TYPE_CHECKING:
    from provision.pipeline.doctor import Answer
    from provision.pipeline.environments import Options, Prepared
    from provision.pipeline.session import Session

#: How often more distributions are let go where the change that is wanted cannot be had.
_ROUNDS = 3
Show = Callable[["Prepared"], None]


@dataclass(frozen=True, slots=True)
class Mended:
    """What would mend the subject; `mended`: it was changed and proven. `plan` is that of a change in place, `findings`
    say why there is none, or why it was taken back."""

    fixes: tuple[Fix, ...]
    mended: bool = False
    plan: Plan | None = None
    findings: tuple[Finding, ...] = ()

    def to_json(self) -> dict[str, Any]:
        from provision.documents import to_json

        return {
            "mended": self.mended,
            "fixes": [f.to_json() for f in self.fixes],
            "plan": to_json(self.plan) if self.plan else None,
            "findings": [f.to_json() for f in self.findings],
        }


def mend(session: Session, answer: Answer, yes: bool, show: Show) -> Mended:
    """Rebuild an environment of ours if that mends it: a new generation beside it, proven before the switch. Change
    another's in place, once `show` has shown the plan and it was agreed to.

    Raises what `apply` raises; a rebuild of ours that was not confirmed is BlockedError, as there.
    """
    profile = _profile_of(session, answer)
    found = fixes(answer.case, answer.examination, profile or "PROFILE")
    if profile and any(f.kind == "rebuild" for f in found):
        return _rebuild(session, answer, profile, yes, found)
    if not answer.case.ours and any(f.kind == "change" for f in found):
        return _change(session, answer, yes, show, found)
    return Mended(found)


def _rebuild(session: Session, answer: Answer, profile: str, yes: bool, found: tuple[Fix, ...]) -> Mended:
    from provision.pipeline.environments import Options, run_apply

    options = Options(environment=answer.subject.prefix, yes=yes, reinstall=True)
    _, outcome = run_apply(profile, session, options)
    return Mended(found, outcome.outcome != "failed", findings=outcome.findings)


def _profile_of(session: Session, answer: Answer) -> str:
    """The profile that an environment of ours was made from, if its file is still there."""
    if not answer.case.ours:
        return ""
    record = inspect(session.files, answer.subject.prefix).record
    paths = [p for p in record.inputs if not p.endswith(".lock.yaml")] if record else []
    return next((p for p in paths if Path(p).is_file()), "")


def _change(session: Session, answer: Answer, yes: bool, show: Show, found: tuple[Fix, ...]) -> Mended:
    from provision.pipeline.environments import carry_out

    try:
        prepared, options = _prepared(session, answer)
    except UnsatisfiableError as error:
        return Mended(_by_hand(found), findings=error.findings)
    plan = prepared.plan
    show(prepared)
    if plan.blockers or not plan.steps:
        return Mended(_by_hand(found), plan=plan, findings=plan.blockers)
    if not yes and not session.confirm(_question(plan)):
        return Mended(found, plan=plan)
    outcome = carry_out(_kept(session, prepared), session, options)
    mended = outcome.outcome == "changed"
    return Mended(found if mended else _by_hand(found), mended, plan, outcome.findings)


def _by_hand(found: tuple[Fix, ...]) -> tuple[Fix, ...]:
    """What a change was to mend, as commands for a person: it cannot be had."""
    return tuple(replace(f, kind="foreign") if f.kind == "change" else f for f in found)


def _question(plan: Plan) -> str:
    removed, installed = (sum(s.action == action for s in plan.steps) for action in ("remove", "install"))
    return message(
        "pipeline.in-place.question", environment=plan.environment, removed=removed, installed=installed
    )


def _prepared(session: Session, answer: Answer) -> tuple[Prepared, Options]:
    """The plan of the least change. Raises UnsatisfiableError where no such change can be had."""
    from provision.pipeline.environments import Options, Prepared
    from provision.pipeline.in_place import in_place
    from provision.pipeline.locks import text_digest
    from provision.pipeline.profiles import Source
    from provision.pipeline.strangers import stock_of
    from provision.planning import Known, Request

    prefix = answer.subject.prefix
    wanted = mend_of(answer.case, stock_of(session, prefix))
    profile = _profile(answer)
    made, wanted = _lock(session, answer, profile, wanted)
    digest = text_digest(dump_yaml(made))
    place = Path(Layout(prefix).state, f"mend-{digest[:12]}.lock.yaml")
    nothing = Plan(
        profile=made.profile, target=made.target, python=made.python, environment=prefix, generation=0,
        lock=digest, state="",
    )  # fmt: skip
    options = Options(environment=prefix, reinstall=True, yes=True)
    prepared = Prepared(
        source=Source(profile, place), lock=made, lock_path=place, plan=nothing,
        state=inspect(session.files, prefix), machine=session.machine, request=Request(), known=Known(),
    )  # fmt: skip
    prepared = in_place(prepared, session, options)
    return replace(prepared, plan=_with_reasons(prepared.plan, wanted)), options


def _profile(answer: Answer) -> Profile:
    name = re.sub(r"[^A-Za-z0-9]+", "-", Path(answer.subject.prefix).name).strip("-")[:40]
    return Profile(name=f"mend-{name}".rstrip("-"), smoke=Smoke(jobs=("imports",), level="quick"))


def _lock(session: Session, answer: Answer, profile: Profile, wanted: Mend) -> tuple[Lock, Mend]:
    """What comes, pinned; more is let go, step by step, where the rest forbids it."""
    first: UnsatisfiableError | None = None
    for _ in range(_ROUNDS):
        try:
            return _closed(session, answer, profile, wanted), wanted
        except UnsatisfiableError as error:
            first = first or error
            wider = widened(answer.case, wanted)
            if wider.wanted.keys() == wanted.wanted.keys():
                break
            wanted = wider
    assert first is not None
    raise first


def _closed(session: Session, answer: Answer, profile: Profile, wanted: Mend) -> Lock:
    from provision.locking.pypi import Ground
    from provision.pipeline.locks import lock_stack

    case = answer.case
    python = ".".join((case.environment.version if case.environment else "").split(".")[:2])
    made = Lock(
        profile=profile.name, target=case.target, python=python, digests=Digests(profile="", knowledge=""),
        absent=tuple(sorted(wanted.absent)), smoke=profile.smoke,
    )  # fmt: skip
    if wanted.wanted:
        stack = Stack(
            profile=profile.name, target=case.target, python=python, absent=made.absent,
            requirements=tuple(one.requirement for one in wanted.wanted.values()),
            indexes=wanted.indexes, patches=wanted.ground,
        )  # fmt: skip
        ground = Ground(former=wanted.former, provided=wanted.stays)
        made = lock_stack(stack, profile, session.catalog, session.knowledge, ground)
    idle = unchanged([(a.name, a.version) for a in made.packages], wanted)
    packages = tuple(a for a in made.packages if a.name not in idle)
    works = {one.distribution for one in case.carried if case.imports_well(one)} - wanted.absent.keys()
    return replace(
        made, packages=packages, imports=tuple(sorted({a.name for a in packages} | works))
    )  # fmt: skip


def _with_reasons(plan: Plan, wanted: Mend) -> Plan:
    """Why each distribution comes or goes, in the words of what is wrong."""
    comes = {name: one.because for name, one in wanted.wanted.items()}
    goes = {**comes, **wanted.absent}
    needed = message("diagnosing.mend.needed")
    steps = tuple(
        replace(step, reason=comes.get(step.subject.partition(" ")[0], needed)) if step.action == "install"
        else replace(step, reason=goes.get(step.subject.partition(" ")[0], step.reason)) if step.action == "remove"
        else step
        for step in plan.steps
    )  # fmt: skip
    return replace(plan, steps=steps)


def _kept(session: Session, prepared: Prepared) -> Prepared:
    """The lock of the change lies with the environment's records: `verify` and `status` ask for it."""
    from provision.pipeline.locks import write_text
    from provision.pipeline.quick import file_digest

    write_text(prepared.lock_path, dump_yaml(prepared.lock))
    return replace(prepared, inputs={str(prepared.lock_path): file_digest(prepared.lock_path)})
