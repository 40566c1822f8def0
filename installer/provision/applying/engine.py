"""The transaction: every step journalled before and after; the pointer moves last; any failure takes all of it back."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from provision.applying.journal import Writer
from provision.applying.steps import HANDLERS, Context, group
from provision.model.finding import ApplyError, BlockedError, Finding, ProvisionError, Remedy, RollbackError
from provision.model.journal import Entry
from provision.model.lock import Lock
from provision.model.plan import Plan, Step
from provision.model.receipt import Receipt
from provision.model.state import EnvState, Layout, Record
from provision.ports import CondaInstaller, Files, Installer, Reporter, Store
from provision.prefix import read_record, snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """Everything that an apply may touch. `prove` runs the smoke jobs in a generation and judges them."""

    files: Files
    store: Store
    installer: Installer
    reporter: Reporter
    now: Callable[[], str]
    prove: Callable[[str, int], Receipt]
    fetch_python: Callable[[str], str]
    #: The engine for conda environments; None where no lock asks for one.
    conda: CondaInstaller | None = None
    listen: Callable[[Entry], None] = lambda entry: None
    inputs: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How an apply ended. A failed proof is an outcome, not an exception: the receipt says what failed."""

    outcome: str
    generation: int | None
    receipt: Receipt | None = None
    findings: tuple[Finding, ...] = ()


def apply(plan: Plan, lock: Lock, state: EnvState, effects: Effects) -> Outcome:
    """Carry out a plan. The caller holds the environment's mutex and has recovered what a killed run left.

    `state` is a fresh look: if it is not the one the plan was made for, nothing is done (BlockedError).
    Raises ApplyError when a step failed and everything was taken back.
    """
    if plan.blockers:
        raise BlockedError(plan.blockers)
    if state.digest != plan.state:
        raise BlockedError(_stale(plan))
    if not plan.steps:
        return Outcome(outcome="unchanged", generation=plan.generation)
    return _Transaction(plan, lock, state, effects).run()


class _Transaction:
    """One run of one plan."""

    def __init__(self, plan: Plan, lock: Lock, state: EnvState, effects: Effects) -> None:
        self.plan, self.lock, self.state, self.effects = plan, lock, state, effects
        self.layout = Layout(plan.environment)
        self.folder = self.layout.generation(plan.generation)
        self.context = Context(plan=plan, lock=lock, layout=self.layout, folder=self.folder, effects=effects)

    def run(self) -> Outcome:
        self._open()
        try:
            for steps in group(self.plan.steps):
                self._do(steps)
            self._commit()
        except _ProofFailed as failed:
            return self._keep_failed(failed.receipt)
        except BaseException as error:
            self._undo(error)
            raise
        return Outcome(outcome="changed", generation=self.plan.generation, receipt=self.context.receipt)

    def _open(self) -> None:
        files = self.effects.files
        for folder in (
            self.layout.generations,
            f"{self.layout.state}/records",
            f"{self.layout.state}/receipts",
        ):
            files.make_folder(folder)
        if files.stat(f"{self.layout.shared}/.gitignore") is None:
            files.write(f"{self.layout.shared}/.gitignore", "*\n")
        self._remove_failed()
        self.journal = Writer(files, self.layout.journal, self.effects.now, self.effects.listen)
        undo = {"remove": self.folder, "pointer": files.pointed(self.plan.environment)}
        facts = {"generation": self.plan.generation, "lock": self.plan.lock, "profile": self.plan.profile}
        self.journal.write("started", undo=undo, facts=facts)

    def _remove_failed(self) -> None:
        """A generation whose proof failed was kept for a look until now."""
        for number in self.state.generations:
            record = read_record(self.effects.files, self.layout, number)
            if record is not None and record.outcome == "failed" and number != self.state.generation:
                discard(self.effects.files, self.layout, number)

    def _do(self, steps: Sequence[Step]) -> None:
        handler = HANDLERS[steps[0].action, steps[0].kind]
        name = f"{steps[0].action} {steps[0].kind}"
        if steps[0].action == "switch":
            self._record("proven")
        self.journal.write("begun", step=name, facts={"subjects": len(steps)})
        handler.do(self.context, steps)
        if not handler.holds(self.context, steps):
            raise ApplyError(_does_not_hold(steps[0]))
        self.journal.write("done", step=name)
        receipt = self.context.receipt
        if steps[0].action == "prove" and receipt is not None and receipt.verdict == "failed":
            raise _ProofFailed(receipt)

    def _commit(self) -> None:
        self.journal.write("committing")
        self.journal.write("committed")

    def _record(self, outcome: str) -> None:
        shot = snapshot(self.effects.files, self.folder)
        receipt = self.context.receipt
        record = Record(
            generation=self.plan.generation,
            profile=self.plan.profile,
            lock=self.plan.lock,
            python=self.plan.python,
            created=self.effects.now(),
            outcome=outcome,  # type: ignore[arg-type]
            inputs=dict(self.effects.inputs),
            variables=dict(self.lock.variables),
            device=receipt.device_used if receipt else "",
            snapshot=shot,
            proven=_proven(receipt) if receipt else {},
        )
        write_record(self.effects.files, self.layout, record)

    def _keep_failed(self, receipt: Receipt) -> Outcome:
        """The pointer never moved; the generation that failed is kept for a look."""
        self._record("failed")
        self.journal.write("undone", facts={"kept": self.plan.generation})
        findings = tuple(f for job in receipt.jobs for f in job.findings)
        return Outcome(outcome="failed", generation=self.plan.generation, receipt=receipt, findings=findings)

    def _undo(self, error: BaseException) -> None:
        try:
            take_back(self.effects.files, self.layout, self.plan.generation, self.state.generation)
            self.journal.write("undone", facts={"error": type(error).__name__})
        except Exception as second:
            findings = error.findings if isinstance(error, ProvisionError) else ()
            raise RollbackError((*findings, _not_undone(self.layout, second))) from error


class _ProofFailed(Exception):
    def __init__(self, receipt: Receipt) -> None:
        self.receipt = receipt
        super().__init__(receipt.proves)


def take_back(files: Files, layout: Layout, generation: int, former: int | None) -> None:
    """Put the pointer where it was, then remove the half-made generation with what was noted of it."""
    if files.pointed(layout.environment) == layout.generation(generation):
        if former is None:
            files.remove(layout.environment)
        else:
            files.point(layout.environment, layout.generation(former))
    discard(files, layout, generation)


def discard(files: Files, layout: Layout, generation: int) -> None:
    """Remove a generation and what was noted of it. Never the one that the environment points at."""
    for path in (layout.generation(generation), layout.record(generation), layout.receipt(generation)):
        files.remove(path)


def write_record(files: Files, layout: Layout, record: Record) -> None:
    files.write(
        layout.record(record.generation), json.dumps(asdict(record), ensure_ascii=False, indent=1) + "\n"
    )


def mark(files: Files, layout: Layout, record: Record, outcome: str) -> None:
    """Note another outcome of a generation; a failure to do so changes nothing that matters."""
    with suppress(OSError):
        write_record(files, layout, replace(record, outcome=outcome))  # type: ignore[arg-type]


def _proven(receipt: Receipt) -> dict[str, Any]:
    return {
        "verdict": receipt.verdict,
        "date": receipt.date,
        "proves": receipt.proves,
        "device": receipt.device_used,
        "jobs": [job.job for job in receipt.jobs],
    }


def _stale(plan: Plan) -> Finding:
    return Finding(
        "stale-plan",
        "error",
        f"{plan.environment} has changed since this plan was made; nothing was done.",
        remedies=(Remedy("Make the plan again and read it.", "provision plan PROFILE"),),
    )


def _does_not_hold(step: Step) -> Finding:
    return Finding(
        "step-does-not-hold",
        "error",
        f"{step.action} {step.subject} ran, but a second look does not find its result.",
    )


def _not_undone(layout: Layout, error: Exception) -> Finding:
    return Finding(
        "rollback-incomplete",
        "error",
        f"The failed apply could not be taken back completely: {error}",
        detail=f"The journal in {layout.journal} says what was done.",
        remedies=(Remedy("Run recovery once the cause is gone.", "provision recover"),),
    )
