"""The screens of plan, apply, verify and status. One line says one thing; the fact comes first."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from provision.cli.language import local, lock_line, word
from provision.cli.rendering import finding_lines, pad, paint, row, say, seconds, size, sparkline, width
from provision.model.plan import Action
from provision.model.state import EnvState, Layout
from provision.shells import quoted

if TYPE_CHECKING:
    from provision.applying.engine import Outcome
    from provision.model.lock import Lock
    from provision.model.plan import Plan, Step
    from provision.model.receipt import JobResult
    from provision.model.stack import Choice
    from provision.pipeline.environments import Prepared

FRAMEWORKS = ("torch", "tensorflow")
_AXES = ("torch", "tensorflow", "cuda", "cudnn", "rocm", "directml", "cann", "xpu")


def shown(path: str | Path) -> str:
    """A path as short as it can be said from here."""
    try:
        return os.path.relpath(path) if Path(path).is_relative_to(Path.cwd()) else str(path)
    except ValueError:
        return str(path)


def show_plan(prepared: Prepared, command: str) -> None:
    """The plan, or what blocks it. `command` is what carries it out."""
    plan, lock = prepared.plan, prepared.lock
    lock_text = word("cli.plan.lock", digest=plan.lock[:6], path=shown(prepared.lock_path))
    say(f"{paint(plan.profile, bold=True)} · {plan.target} · Python {plan.python}    {lock_text}")
    say()
    _show_stack(lock)
    if plan.steps:
        say()
        for line in plan_lines(plan, lock):
            say(line)
    _show_held(lock)
    say()
    _show_notes(plan)
    if plan.blockers:
        for finding in plan.blockers:
            for line in finding_lines(finding, sys.stdout):
                say(line)
        say()
        say(word("cli.plan.blocked"))
    elif plan.steps:
        say(word("cli.plan.unchanged", command=command))
    else:
        say(_nothing_to_do(prepared))


def _nothing_to_do(prepared: Prepared) -> str:
    plan = prepared.plan
    if prepared.in_place:
        return word("cli.nothing-to-do.in-place", environment=shown(plan.environment))
    return word(
        "cli.nothing-to-do.generation",
        environment=shown(plan.environment),
        generation=plan.generation,
        profile=plan.profile,
    )


def _show_notes(plan: Plan) -> None:
    """What the gate says without blocking, and what would block and is overridden."""
    for finding in (*plan.overridden, *plan.notes):
        for line in finding_lines(finding, sys.stdout):
            say(line)
        say()
    if plan.overridden:
        say(word("cli.plan.overridden", reason=plan.force))


def _show_stack(lock: Lock) -> None:
    chosen = [c for axis in _AXES for c in lock.stack if c.axis == axis]
    if chosen:
        say(row(word("cli.label.stack"), "   ".join(_choice(c.axis, c.value) for c in chosen)))
        levels = [
            word(
                "cli.plan.level",
                axis=c.axis,
                level=confidence(c.confidence),
                because=lock_line(c.because, c.rule),
            )
            for c in chosen
            if c.axis in lock.frameworks
        ]
        say(row(word("cli.label.confidence"), " · ".join(levels)))
    needs = [f"{n.what} {n.value}" for n in lock.needs]
    if needs:
        say(row(word("cli.label.needs"), "   ".join(needs)))


def confidence(level: str) -> str:
    """How well a choice is supported, in words."""
    return word(f"cli.confidence.{level}")


def chosen(choice: Choice, value: str = "") -> str:
    """A choice: its value, how well it is supported, and why."""
    return word(
        "cli.choice",
        value=value or choice.value,
        level=confidence(choice.confidence),
        because=lock_line(choice.because, choice.rule),
    )


def _choice(axis: str, value: str) -> str:
    return value.replace("==", " ") if axis in FRAMEWORKS else f"{axis} {value}".strip()


def change_lines(plan: Plan) -> list[str]:
    """Each distribution of a change in place, and why it goes, comes, or is replaced."""
    installs = {s.subject.partition(" ")[0]: s for s in plan.steps if s.action == "install"}
    removals = [s for s in plan.steps if s.action == "remove"]
    there = {s.subject.partition(" ")[0]: s for s in removals}
    replaced = [there[name] for name in installs if name in there]
    lines = [step_line("-", "remove", because(s.subject, s.reason)) for s in removals if s not in replaced]
    lines += [_come_line(s, there.get(name)) for name, s in installs.items()]
    if builds := ", ".join(s.subject for s in plan.steps if s.action == "build"):
        lines.append(step_line("+", "build", word("cli.plan.build", names=builds)))
    if installs:
        lines.append(step_line("+", "fetch", sizes_of(plan)))
    if proofs := [s for s in plan.steps if s.action == "prove"]:
        names, device = ", ".join(s.subject for s in proofs), proofs[0].args["device"]
        text = word("cli.plan.prove", jobs=names, level="quick", device=device)
        lines.append(step_line(">", "prove", text))
    return lines


def _come_line(install: Step, removal: Step | None) -> str:
    """A new one, or the version that was there and the one that comes."""
    if removal is None or removal.subject == install.subject:
        return step_line("+", "install", because(install.subject, install.reason))
    text = f"{removal.subject} -> {install.subject.partition(' ')[2]}"
    return step_line("+", "replace", because(text, install.reason))


def plan_lines(plan: Plan, lock: Lock) -> list[str]:
    """The steps to a new generation, a line a kind."""
    by = {action: [s for s in plan.steps if s.action == action] for action in get_args(Action)}
    names = {action: ", ".join(s.subject for s in found) for action, found in by.items()}
    lines = [step_line("-", "remove", because(s.subject, s.reason)) for s in by["remove"]]
    where = shown(plan.environment)
    lines += [
        step_line(
            "+",
            "create",
            word("cli.plan.create", environment=where, what=s.subject, python=s.args["version"]),
        )
        for s in by["create"]
    ]
    lines += [step_line("+", "fetch", s.subject) for s in by["fetch"] if s.kind == "interpreter"]
    if by["build"]:
        lines.append(step_line("+", "build", word("cli.plan.build", names=names["build"])))
    if by["install"]:
        text = word("cli.plan.install", count=len(by["install"]), sizes=sizes_of(plan))
        lines.append(step_line("+", "install", text))
    if by["place"]:
        lines.append(step_line("+", "place", word("cli.plan.place", names=names["place"])))
    if by["prove"]:
        device = by["prove"][0].args["device"]
        text = word("cli.plan.prove", jobs=names["prove"], level=lock.smoke.level, device=device)
        lines.append(step_line(">", "prove", text))
    return lines + [
        step_line(">", "switch", f"{where} -> {because(s.subject, s.reason)}") for s in by["switch"]
    ]


def because(what: str, why: str) -> str:
    """What a step is about, and why it is taken."""
    return word("cli.plan.because", what=what, why=why)


def step_line(sign: str, action: str, text: str) -> str:
    """`  + install   numpy 1.26.4`."""
    colour = "red" if sign == "-" else "green"
    return f"  {paint(sign, fg=colour)} {pad(word(f'cli.step.{action}'), 10)}{text}"


def sizes_of(plan: Plan) -> str:
    sizes = plan.sizes
    fetch = word("cli.sizes.fetch", size=size(sizes.fetch)) if sizes.fetch else word("cli.sizes.nothing")
    parts = [word("cli.sizes.and-unknown", fetch=fetch, count=sizes.unknown) if sizes.unknown else fetch]
    if sizes.cached:
        parts.append(word("cli.sizes.cached", size=size(sizes.cached)))
    if sizes.write and sizes.free is not None:
        parts.append(word("cli.sizes.written-of", size=size(sizes.write), free=size(sizes.free)))
    elif sizes.write:
        parts.append(word("cli.sizes.written", size=size(sizes.write)))
    return word("cli.comma").join(parts)


def _show_held(lock: Lock) -> None:
    if lock.patches:
        say()
    for patch in lock.patches:
        text = word(
            "cli.plan.held",
            requirement=patch.requirement,
            because=lock_line(patch.because, patch.rule),
            rule=patch.rule,
        )
        say(f"  {text}")


def job_line(job: JobResult) -> str:
    name = f"{job.framework} {job.version}".strip()
    if job.verdict == "failed":
        said = local(job.findings[0].summary) if job.findings else word("cli.job.failed")
        return f"{name}{word('cli.colon')}{said}"
    if not job.losses:
        return f"{name}  {seconds(job.seconds)}"
    on = f"{job.device} ({job.device_name})" if job.device_name else job.device
    first, last = (f"{loss:.2f}" for loss in (job.losses[0], job.losses[-1]))
    fell = word("cli.job.fell", first=first, last=last, steps=len(job.losses), device=on)
    return f"{name}  {fell}  {sparkline(job.losses)}  {seconds(job.seconds)}"


def verdict(verdict: str, text: str, **style: Any) -> str:
    """A verdict and how far it reaches."""
    return f"{paint(word(f'cli.verdict.{verdict}'), **style)}{word('cli.stop')}{local(text)}"


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
        say(verdict(outcome.receipt.verdict, outcome.receipt.proves, fg="green", bold=True))
    receipt = _newest(Layout(plan.environment).receipt(outcome.generation))
    ready, blank = word("cli.ready"), " " * width(word("cli.ready"))
    say(f"{ready}provision run {shown_reference(prepared)}-- python train.py")
    activate = word("cli.ready.activate", command=activation(plan.environment)) + " " * 5
    say(
        f"{blank}{activate if prepared.lock.manager == 'venv' else ''}{word('cli.ready.receipt', path=shown(receipt))}"
    )


def _newest(receipt: str) -> str:
    """An environment that is changed in place again has `0-2.json` beside `0.json`."""
    first = Path(receipt)
    later = [p for p in first.parent.glob(f"{first.stem}-*.json") if p.stem.rpartition("-")[2].isdecimal()]
    return str(max(later, key=lambda p: int(p.stem.rpartition("-")[2]), default=first))


def shown_reference(prepared: Prepared) -> str:
    """What `run` needs to be told: nothing of the usual environment of this folder."""
    where = shown(prepared.plan.environment)
    return "" if where == ".venv" else f"{quoted(where)} "


def activation(environment: str) -> str:
    where = shown(environment)
    if os.name != "nt":
        return f"source {quoted(f'{where}/bin/activate')}"
    script = quoted(f"{where}\\Scripts\\activate")
    return f"& {script}" if script.startswith('"') else script


def _show_failed(prepared: Prepared, outcome: Outcome) -> None:
    for finding in outcome.findings:
        for line in finding_lines(finding, sys.stderr):
            say(line, err=True)
    where = shown(prepared.plan.environment)
    if prepared.in_place:
        say(word("cli.failed.taken-back", environment=where), err=True)
        return
    key = "still" if prepared.state.generation else "not-made"
    text = word(
        f"cli.failed.{key}",
        environment=where,
        generation=prepared.state.generation,
        kept=outcome.generation,
    )
    say(text, err=True)


def show_status(state: EnvState) -> None:
    where = shown(state.environment)
    if state.kind == "ours":
        text = word("cli.status.ours", generation=state.generation, last=max(state.generations))
    else:
        text = word(f"cli.status.{state.kind}", generation=state.generation)
    proven = f"   {_proven(state)}   {_drift(state)}" if state.kind in ("ours", "adopted") else ""
    say(f"{where}   {text}{proven}")


def _proven(state: EnvState) -> str:
    if state.record is None or not state.record.proven:
        return word("cli.status.not-proven")
    proven = state.record.proven
    day, jobs = str(proven["date"])[:10], tuple(proven["jobs"])
    return word("cli.status.proven", day=day, jobs=jobs, device=proven["device"])


def _drift(state: EnvState) -> str:
    return paint(word("cli.status.changed"), fg="red") if state.drifted else word("cli.status.unchanged")
