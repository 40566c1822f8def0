"""doctor --fix: for environments that provision made an ordinary apply; those of others are changed in place, by a plan
like any other."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from provision.diagnosing.fixing import Fix, fixes
from provision.documents import dump_yaml
from provision.inspecting import inspect
from provision.messages import message
from provision.model.finding import BlockedError, Finding, Remedy, UnsatisfiableError
from provision.model.plan import Plan, Step
from provision.model.state import Layout
from provision.shells import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from provision.diagnosing.mends import Mend
    from provision.pipeline.amending import Amendment
    from provision.pipeline.doctor import Answer
    from provision.pipeline.environments import Options, Prepared
    from provision.pipeline.session import Session

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
    another's in place. Either once `show` has shown the plan and it was agreed to. Raises what `apply` raises."""
    profile = _profile_of(session, answer)
    found = fixes(answer.case, answer.examination, profile or "PROFILE")
    if answer.case.ours:
        rebuilt = profile and any(f.kind == "rebuild" for f in found)
        return _rebuild(session, answer, profile, yes, show, found) if rebuilt else Mended(found)
    if any(f.kind == "change" for f in found):
        return _change(session, answer, profile, yes, show, found)
    return Mended(found)


def _rebuild(
    session: Session, answer: Answer, profile: str, yes: bool, show: Show, found: tuple[Fix, ...]
) -> Mended:
    """A new generation beside the damaged one, from the lock that this one was made from."""
    from provision.pipeline.environments import Options, carry_out, licensed, prepare, question

    options = Options(environment=answer.subject.prefix, yes=yes, reinstall=True)
    prepared = licensed(prepare(profile, session, options), session)
    record = prepared.state.record
    if record is not None and record.lock != prepared.plan.lock:
        return Mended(found, findings=(_another_lock(prepared, profile),))
    show(prepared)
    if prepared.plan.blockers:
        raise BlockedError(prepared.plan.blockers)
    if not yes and not session.confirm(question(prepared)):
        return Mended(found, plan=prepared.plan)
    outcome = carry_out(prepared, session, options)
    return Mended(found, outcome.outcome != "failed", prepared.plan, outcome.findings)


def _another_lock(prepared: Prepared, profile: str) -> Finding:
    """After a rollback, or a change of the lock: to build it again would make something else of it."""
    environment, generation = prepared.state.environment, prepared.state.generation
    return Finding(
        "made-from-another-lock", "warning",
        message("pipeline.made-from-another-lock.summary", environment=environment, generation=generation),
        remedies=(
            Remedy(
                message("pipeline.made-from-another-lock.way"),
                f"provision apply {quoted(profile)} --environment {quoted(environment)}",
            ),
        ),
    )  # fmt: skip


def _profile_of(session: Session, answer: Answer) -> str:
    """The profile that provision made or changed an environment by, if its file is still there."""
    if not answer.subject.prefix:
        return ""
    record = inspect(session.files, answer.subject.prefix).record
    paths = [p for p in record.inputs if not p.endswith(".lock.yaml")] if record else []
    return next((p for p in paths if Path(p).is_file()), "")


def _change(
    session: Session, answer: Answer, profile: str, yes: bool, show: Show, found: tuple[Fix, ...]
) -> Mended:
    """By the profile that an environment was changed by before, or else by the least change."""
    from provision.pipeline.environments import carry_out, question

    try:
        prepared, options = _again(session, answer, profile) if profile else _least(session, answer)
    except UnsatisfiableError as error:
        return Mended(_by_hand(found, error.findings), findings=error.findings)
    plan = prepared.plan
    show(prepared)
    if plan.blockers or not plan.steps:
        return Mended(_by_hand(found), plan=plan, findings=plan.blockers or plan.notes)
    if not yes and not session.confirm(question(prepared)):
        return Mended(found, plan=plan)
    told = replace(prepared, plan=replace(plan, notes=()))  # Its notes were shown with it.
    if profile:
        outcome = carry_out(told, session, options)
    else:
        with _kept(session, told) as kept:
            outcome = carry_out(kept, session, options)
            _sweep(session, prepared, outcome.outcome == "changed")
    mended = outcome.outcome == "changed"
    return Mended(found if mended else _by_hand(found), mended, plan, outcome.findings)


#: What a resolver was asked for in vain: a person who types the same gets the same.
_RESOLVED = ("requirement-missing", "requirement-conflict", "version-conflict")


def _by_hand(found: tuple[Fix, ...], refused: tuple[Finding, ...] = ()) -> tuple[Fix, ...]:
    """What a change was to mend, as commands for a person, but for those that what was refused has proven wrong."""
    vain = bool(refused) and all(f.code != "index-unreachable" for f in refused)
    kept = (f for f in found if not (vain and f.kind == "change" and f.code in _RESOLVED))
    return tuple(replace(f, kind="foreign") if f.kind == "change" else f for f in kept)


def _again(session: Session, answer: Answer, profile: str) -> tuple[Prepared, Options]:
    """The environment was changed by a profile's lock: it is made what that says, and nothing else."""
    from provision.pipeline.environments import Options, prepare

    altered = any(f.code == "files-changed" for f in answer.examination.findings)
    options = Options(environment=answer.subject.prefix, in_place=True, yes=True, reinstall=altered)
    return prepare(profile, session, options), options


def _least(session: Session, answer: Answer) -> tuple[Prepared, Options]:
    """The plan of the least change. Raises UnsatisfiableError where no such change can be had."""
    from provision.pipeline.amending import least_change
    from provision.pipeline.environments import Options, prepared_of
    from provision.pipeline.locks import text_digest
    from provision.pipeline.profiles import Source

    prefix = answer.subject.prefix
    amendment = least_change(session, answer)
    made = amendment.lock
    digest = text_digest(dump_yaml(made))
    place = Path(Layout(prefix).state, f"mend-{digest[:12]}.lock.yaml")
    options = Options(environment=prefix, reinstall=True, in_place=True, yes=True)
    prepared = prepared_of(Source(amendment.profile, place), made, digest, place, session, options)
    return replace(prepared, plan=_explained(prepared.plan, amendment)), options


def _explained(plan: Plan, amendment: Amendment) -> Plan:
    """Why each distribution comes or goes, in the words of what is wrong. Where nothing comes there is nothing to prove:
    the environment is then known, and not called proven."""
    from provision.pipeline.amending import not_from_an_index

    wanted, provable = amendment.mend, bool(amendment.lock.imports)
    steps = tuple(_reasoned(step, wanted) for step in plan.steps if provable or step.action != "prove")
    skipped = (not_from_an_index(wanted.skipped),) if wanted.skipped else ()
    return replace(plan, steps=steps, notes=(*plan.notes, *skipped, *amendment.left))


def _reasoned(step: Step, wanted: Mend) -> Step:
    name = step.subject.partition(" ")[0]
    comes = {one: wish.because for one, wish in wanted.wanted.items()}
    if step.action == "install":
        return replace(step, reason=comes.get(name, message("diagnosing.mend.needed")))
    if step.action == "remove":
        return replace(step, reason={**comes, **wanted.absent}.get(name, step.reason))
    return step


def _sweep(session: Session, prepared: Prepared, done: bool) -> None:
    """Only the lock of the last change that came to its end is of use."""
    folder = prepared.lock_path.parent
    for name in session.files.listdir(str(folder)):
        if name.startswith("mend-") and (name == prepared.lock_path.name) != done:
            session.files.remove(str(folder / name))


@contextmanager
def _kept(session: Session, prepared: Prepared) -> Iterator[Prepared]:
    """The lock of the change lies with the environment's records: `verify` and `status` ask for it. It goes where the
    change does not come to its end."""
    from provision.applying.troubles import trouble
    from provision.model.finding import ApplyError
    from provision.pipeline.quick import file_digest

    path = str(prepared.lock_path)
    try:
        session.files.make_folder(str(prepared.lock_path.parent))
        session.files.write(path, dump_yaml(prepared.lock))
        kept = replace(prepared, inputs={path: file_digest(prepared.lock_path)})
    except OSError as error:
        raise ApplyError(trouble(error, path)) from error
    try:
        yield kept
    except BaseException:
        session.files.remove(path)
        raise
