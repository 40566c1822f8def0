"""The screens of plan, apply, verify and status. One line says one thing; the fact comes first."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from provision.cli.rendering import finding_lines, paint, row, say, seconds, size, sparkline
from provision.model.state import EnvState, Layout

if TYPE_CHECKING:
    from provision.applying.engine import Outcome
    from provision.model.lock import Lock
    from provision.model.plan import Plan
    from provision.model.receipt import JobResult
    from provision.pipeline.environments import Prepared

FRAMEWORKS = ("torch", "tensorflow")
_AXES = ("torch", "tensorflow", "cuda", "cudnn", "rocm", "directml", "cann", "xpu")


def shown(path: str | Path) -> str:
    """A path as short as it can be said from here."""
    try:
        return os.path.relpath(path) if Path(path).is_relative_to(Path.cwd()) else str(path)
    except ValueError:
        return str(path)


def show_plan(prepared: Prepared) -> None:
    plan, lock = prepared.plan, prepared.lock
    lock_text = f"lock {plan.lock[:6]} ({shown(prepared.lock_path)})"
    say(f"{paint(plan.profile, bold=True)} · {plan.target} · Python {plan.python}    {lock_text}")
    say()
    _show_stack(lock)
    if plan.steps:
        say()
        for line in _step_lines(plan):
            say(line)
    _show_held(lock)
    say()
    _show_notes(plan)
    if plan.blockers:
        for finding in plan.blockers:
            for line in finding_lines(finding, sys.stdout):
                say(line)
        say()
        say("Blocked: nothing would be done.")
    elif plan.steps:
        say(f"Nothing has been changed. Apply with: provision apply {shown(prepared.source.path)}")
    else:
        say(_nothing_to_do(prepared))


def _nothing_to_do(prepared: Prepared) -> str:
    plan = prepared.plan
    if prepared.in_place:
        return f"Nothing to do: {shown(plan.environment)} holds what the lock says."
    return f"Nothing to do: {shown(plan.environment)} is generation {plan.generation} of {plan.profile}, as proven."


def _show_notes(plan: Plan) -> None:
    """What the gate says without blocking, and what would block and is overridden."""
    for finding in (*plan.overridden, *plan.notes):
        for line in finding_lines(finding, sys.stdout):
            say(line)
        say()
    if plan.overridden:
        say(f"Overridden: {plan.force}")


def _show_stack(lock: Lock) -> None:
    chosen = [c for axis in _AXES for c in lock.stack if c.axis == axis]
    if chosen:
        say(row("stack", "   ".join(_choice(c.axis, c.value) for c in chosen)))
        levels = [
            f"{c.axis}: {CONFIDENCE[c.confidence]} ({c.because})" for c in chosen if c.axis in lock.frameworks
        ]
        say(row("confidence", " · ".join(levels)))
    needs = [f"{n.what} {n.value}" for n in lock.needs]
    if needs:
        say(row("needs", "   ".join(needs)))


CONFIDENCE = {
    "tested": "tested by its maker",
    "compatible": "compatible",
    "reported": "reported to work",
    "metadata": "by metadata only",
}


def _choice(axis: str, value: str) -> str:
    return value.replace("==", " ") if axis in FRAMEWORKS else f"{axis} {value}".strip()


def _step_lines(plan: Plan) -> list[str]:
    lines = []
    by = {
        a: [s for s in plan.steps if s.action == a]
        for a in ("create", "fetch", "build", "install", "place", "prove", "switch")
    }
    for step in (s for s in plan.steps if s.action == "remove"):
        lines.append(f"  {paint('-', fg='red')} {'remove':<9} {step.subject}   ({step.reason})")
    for step in by["create"]:
        lines.append(
            _step("+", "create", f"{shown(plan.environment)}  {step.subject}, Python {step.args['version']}")
        )
    for step in (s for s in by["fetch"] if s.kind == "interpreter"):
        lines.append(_step("+", "fetch", step.subject))
    if by["build"]:
        lines.append(_step("+", "build", ", ".join(s.subject for s in by["build"]) + " from source"))
    if by["install"]:
        lines.append(_step("+", "install", f"{len(by['install'])} packages    {_sizes(plan)}"))
    if by["place"]:
        lines.append(
            _step("+", "place", ", ".join(s.subject for s in by["place"]) + "   inside the environment")
        )
    if by["prove"]:
        jobs = ", ".join(s.subject for s in by["prove"])
        lines.append(
            _step(
                ">",
                "prove",
                f"{jobs}: {by['prove'][0].reason.removeprefix('level ')} on {by['prove'][0].args['device']}",
            )
        )
    for step in by["switch"]:
        lines.append(_step(">", "switch", f"{shown(plan.environment)} -> {step.subject}   ({step.reason})"))
    return lines


def _step(sign: str, action: str, text: str) -> str:
    return f"  {paint(sign, fg='green')} {action:<9} {text}"


def _sizes(plan: Plan) -> str:
    sizes = plan.sizes
    fetch = f"{size(sizes.fetch)} to fetch" if sizes.fetch else "nothing to fetch"
    parts = [fetch + (f" and {sizes.unknown} files of unknown size" if sizes.unknown else "")]
    if sizes.cached:
        parts.append(f"{size(sizes.cached)} in the cache")
    if sizes.write:
        free = f" ({size(sizes.free)} free)" if sizes.free is not None else ""
        parts.append(f"about {size(sizes.write)} on disk{free}")
    return ", ".join(parts)


def _show_held(lock: Lock) -> None:
    if lock.patches:
        say()
    for patch in lock.patches:
        say(f"  {patch.requirement}: {patch.because}    why: knowledge {patch.rule}")


def job_line(job: JobResult) -> str:
    name = f"{job.framework} {job.version}".strip()
    if job.verdict == "failed":
        return f"{name}: {job.findings[0].summary if job.findings else 'failed'}"
    if not job.losses:
        return f"{name}  {seconds(job.seconds)}"
    curve = sparkline(job.losses)
    on = f"{job.device} ({job.device_name})" if job.device_name else job.device
    fell = f"loss {job.losses[0]:.2f} -> {job.losses[-1]:.2f} in {len(job.losses)} steps"
    return f"{name}  {fell} on {on}  {curve}  {seconds(job.seconds)}"


def show_outcome(prepared: Prepared, outcome: Outcome, quiet: bool) -> None:
    if outcome.outcome == "failed":
        _show_failed(prepared, outcome)
        return
    if quiet:
        return
    plan = prepared.plan
    if outcome.outcome == "unchanged":
        say(_nothing_to_do(prepared))
        return
    assert outcome.generation is not None
    if outcome.receipt:
        say()
        say(
            f"{paint('Verdict: ' + outcome.receipt.verdict, fg='green', bold=True)}. {outcome.receipt.proves}"
        )
    receipt = _newest(Layout(plan.environment).receipt(outcome.generation))
    say(f"Ready: provision run {shown_reference(prepared)}-- python train.py")
    activate = f"activate: {activation(plan.environment)}     " if prepared.lock.manager == "venv" else ""
    say(f"       {activate}receipt: {shown(receipt)}")


def _newest(receipt: str) -> str:
    """An environment that is changed in place again has `0-2.json` beside `0.json`."""
    first = Path(receipt)
    later = [p for p in first.parent.glob(f"{first.stem}-*.json") if p.stem.rpartition("-")[2].isdecimal()]
    return str(max(later, key=lambda p: int(p.stem.rpartition("-")[2]), default=first))


def shown_reference(prepared: Prepared) -> str:
    return "" if prepared.lock.path == ".venv" else f"{shown(prepared.source.path)} "


def activation(environment: str) -> str:
    where = shown(environment)
    return f"{where}\\Scripts\\activate" if os.name == "nt" else f"source {where}/bin/activate"


def _show_failed(prepared: Prepared, outcome: Outcome) -> None:
    for finding in outcome.findings:
        for line in finding_lines(finding, sys.stderr):
            say(line, err=True)
    if prepared.in_place:
        say(f"{shown(prepared.plan.environment)} is what it was before: all was taken back.", err=True)
        return
    state = prepared.state
    where = shown(prepared.plan.environment)
    still = f"{where} is still generation {state.generation}" if state.generation else f"{where} was not made"
    say(
        f"{still}: nothing was switched. The new one is kept as generation {outcome.generation} for a look.",
        err=True,
    )


def show_status(state: EnvState) -> None:
    where = shown(state.environment)
    if state.kind == "absent":
        say(f"{where}   there is no environment")
    elif state.kind == "broken":
        say(f"{where}   points at generation {state.generation}, which is not there")
    elif state.kind == "adopted":
        say(f"{where}   changed in place   {_proven(state)}   {_drift(state)}")
    else:
        say(
            f"{where}   generation {state.generation} of {max(state.generations)}   {_proven(state)}   {_drift(state)}"
        )


def _proven(state: EnvState) -> str:
    if state.record is None or not state.record.proven:
        return "not proven"
    proven = state.record.proven
    return f"as proven on {str(proven['date'])[:10]} ({', '.join(proven['jobs'])} on {proven['device']})"


def _drift(state: EnvState) -> str:
    return paint("changed since", fg="red") if state.drifted else "nothing changed since"
