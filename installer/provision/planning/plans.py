"""The plan put together: what is to be done, or what blocks it. Pure."""

from __future__ import annotations

from provision.model.finding import Finding
from provision.model.lock import Lock
from provision.model.machine import Machine
from provision.model.plan import Plan
from provision.model.state import EnvState
from provision.planning.blockers import blockers, room, wrong_place
from provision.planning.gate import judge
from provision.planning.known import NOTHING, Known
from provision.planning.request import Request
from provision.planning.steps import sizes, steps


def plan(
    lock: Lock, digest: str, state: EnvState, machine: Machine, request: Request, known: Known = NOTHING
) -> Plan:
    """`digest` is the lock file's. An environment that already is what the lock says gets a plan without steps.

    What the machine lacks blocks, unless `request.force` gives a reason: then it stands under `overridden`.
    """
    generation = state.next_generation
    done = is_current(state, digest) and not request.reinstall
    firm, soft, notes = ((), (), ()) if done else _judged(lock, state, machine, request, known)
    return Plan(
        profile=lock.profile,
        target=lock.target,
        python=lock.python,
        environment=state.environment,
        generation=(state.generation or generation) if done else generation,
        lock=digest,
        state=state.digest,
        steps=() if done else tuple(steps(lock, state, machine, request, generation)),
        blockers=firm if request.force else (*firm, *soft),
        force=request.force if soft else "",
        overridden=soft if request.force else (),
        notes=notes,
        sizes=sizes(lock, request),
    )


_Findings = tuple[Finding, ...]


def _judged(
    lock: Lock, state: EnvState, machine: Machine, request: Request, known: Known
) -> tuple[_Findings, _Findings, _Findings]:
    """What blocks in any case, what blocks unless overridden, what is only said."""
    if wrong := tuple(wrong_place(lock, machine, request)):
        return wrong, (), ()
    held = judge(lock, machine, request, known)
    soft = tuple(finding for finding in held if finding.severity == "error")
    notes = tuple(finding for finding in held if finding.severity != "error")
    return tuple(blockers(lock, state, machine, request)), (*soft, *room(lock, request)), notes


def is_current(state: EnvState, digest: str) -> bool:
    """True if the environment is proven, made from this lock, and nothing changed since."""
    record = state.record
    return (
        state.kind == "ours" and record is not None and record.lock == digest and record.outcome == "proven"
    ) and not state.drifted
