"""The transaction: every step journalled before and after; the pointer moves last; any failure takes all of it back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from provision.applying import in_place, trash
from provision.applying.generations import open_places, write_record
from provision.applying.in_place_steps import IN_PLACE
from provision.applying.journal import Writer, read
from provision.applying.names import check
from provision.applying.recovery import finish, sweep, take_back
from provision.applying.steps import HANDLERS, Context, check_contents, group
from provision.applying.troubles import not_undone, trouble
from provision.messages import message
from provision.model.finding import ApplyError, BlockedError, Finding, ProvisionError, Remedy, RollbackError
from provision.model.inventory import Inventory
from provision.model.journal import Entry
from provision.model.lock import Lock
from provision.model.plan import Plan, Step
from provision.model.receipt import Receipt
from provision.model.state import EnvState, Layout, Record
from provision.ports import CondaInstaller, Files, Installer, Placer, Reporter, Store
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
    placer: Placer | None = None
    #: File name, or library -> a path that the user gave for it.
    given: dict[str, str] = field(default_factory=dict)
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
    check(lock)
    if state.digest != plan.state:
        raise BlockedError(_stale(plan))
    if plan.steps and plan.generation != state.next_generation:
        raise BlockedError(_stale(plan))
    if not plan.steps:
        return Outcome(outcome="unchanged", generation=plan.generation)
    return _Transaction(plan, lock, state, effects).run()


def apply_in_place(plan: Plan, lock: Lock, inventory: Inventory, effects: Effects) -> Outcome:
    """Carry out a plan in an environment that somebody else made. `inventory` is a fresh look. Raises as `apply`."""
    if plan.blockers:
        raise BlockedError(plan.blockers)
    check(lock)
    if inventory.digest != plan.state:
        raise BlockedError(_stale(plan))
    if not plan.steps:
        return Outcome(outcome="unchanged", generation=None)
    return _InPlace(plan, lock, inventory, effects).run()


class _Transaction:
    """One run of one plan."""

    def __init__(self, plan: Plan, lock: Lock, state: EnvState, effects: Effects) -> None:
        self.plan, self.lock, self.state, self.effects = plan, lock, state, effects
        self.layout = Layout(plan.environment)
        self.folder = self.layout.generation(plan.generation)
        self.context = Context(plan=plan, lock=lock, layout=self.layout, folder=self.folder, effects=effects)

    def run(self) -> Outcome:
        try:
            self._open()
        except OSError as error:
            raise ApplyError(trouble(error, self.layout.state)) from error
        try:
            return self._all()
        except BaseException as error:
            self._undo(error)
            if isinstance(error, OSError):
                raise ApplyError(trouble(error, self.layout.state)) from error
            raise

    def _all(self) -> Outcome:
        try:
            self._put_away_failed()
            for steps in group(self.plan.steps):
                self._do(steps)
        except _ProofFailed as failed:
            return self._keep_failed(failed.receipt)
        self._commit()
        return Outcome(outcome="changed", generation=self.plan.generation, receipt=self.context.receipt)

    def _open(self) -> None:
        files = self.effects.files
        open_places(files, self.layout)
        self.failed = self._failed_before()
        self.journal = Writer(files, self.layout.journal, self.effects.now, self.effects.listen)
        undo = {"pointer": files.pointed(self.plan.environment)}
        facts = {
            "verb": "apply",
            "generation": self.plan.generation,
            "lock": self.plan.lock,
            "profile": self.plan.profile,
            "removed": self.failed,
        }
        if self.plan.override:
            facts["override"] = self.plan.override
        self.journal.write("started", undo=undo, facts=facts)

    def _failed_before(self) -> list[int]:
        """Generations whose proof failed were kept for a look until now; they go with the commit."""
        records = {n: read_record(self.effects.files, self.layout, n) for n in self.state.generations}
        return [
            n for n, record in records.items()
            if record is not None and record.outcome == "failed" and n != self.state.generation
        ]  # fmt: skip

    def _put_away_failed(self) -> None:
        for number in self.failed:
            self.journal.write("begun", step="remove generation", facts={"generation": number})
            trash.put_generation(self.effects.files, self.layout, number)
            self.journal.write("done", step="remove generation")

    def _do(self, steps: Sequence[Step]) -> None:
        handler = {**HANDLERS, **IN_PLACE}[steps[0].action, steps[0].kind]
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
        with suppress(OSError):  # It is done; the next run deletes the rest and writes the last line.
            finish(self.effects.files, self.layout, self.failed)
            self.journal.write("committed")

    def _record(self, outcome: str) -> None:
        write_record(self.effects.files, self.layout, self._noted(outcome))

    def _noted(self, outcome: str) -> Record:
        shot = snapshot(self.effects.files, self.folder)
        receipt = self.context.receipt
        return Record(
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

    def _keep_failed(self, receipt: Receipt) -> Outcome:
        """The pointer never moved; the generation that failed is kept for a look."""
        self._record("failed")
        finish(self.effects.files, self.layout, self.failed)
        self.journal.write("undone", facts={"kept": self.plan.generation})
        findings = tuple(f for job in receipt.jobs for f in job.findings)
        return Outcome(outcome="failed", generation=self.plan.generation, receipt=receipt, findings=findings)

    def _undo(self, error: BaseException) -> None:
        files = self.effects.files
        log = read(files, self.layout.journal)
        if log.committing:
            # The new generation is complete and shown to: the next run only writes the last line.
            return
        try:
            take_back(files, self.layout, log)
            sweep(files, self.layout)
            with suppress(OSError):
                self.journal.write("undone", facts={"error": type(error).__name__})
        except Exception as second:
            findings = error.findings if isinstance(error, ProvisionError) else ()
            raise RollbackError((*findings, not_undone(self.layout, second))) from error


class _InPlace(_Transaction):
    """A run in an environment that somebody else made. There is no generation and no pointer; a trash instead."""

    def __init__(self, plan: Plan, lock: Lock, inventory: Inventory, effects: Effects) -> None:
        state = EnvState(kind="foreign", environment=plan.environment)
        super().__init__(plan, lock, state, effects)
        self.folder = self.context.folder = plan.environment
        self.context.inventory = inventory

    def _open(self) -> None:
        files = self.effects.files
        open_places(files, self.layout)
        self.failed = []
        self.journal = Writer(files, self.layout.journal, self.effects.now, self.effects.listen)
        in_place.note_before(files, self.layout)
        facts = {"verb": "in-place", "lock": self.plan.lock, "profile": self.plan.profile}
        self.journal.write("started", facts=facts)

    def _commit(self) -> None:
        check_contents(self.context)
        noted = self._noted("proven" if self.context.receipt else "unproven")
        in_place.note_coming(self.effects.files, self.layout, noted)
        self.journal.write("committing")
        with suppress(OSError):
            in_place.finish(self.effects.files, self.layout)
            self.journal.write("committed")

    def _keep_failed(self, receipt: Receipt) -> Outcome:
        """Nothing of it stays: the environment is what it was."""
        in_place.undo(self.effects.files, self.layout)
        self.journal.write("undone", facts={"proof": "failed"})
        findings = tuple(f for job in receipt.jobs for f in job.findings)
        return Outcome(outcome="failed", generation=None, receipt=receipt, findings=findings)


class _ProofFailed(Exception):
    def __init__(self, receipt: Receipt) -> None:
        self.receipt = receipt
        super().__init__(receipt.proves)


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
        message("applying.stale-plan.summary", environment=plan.environment),
        remedies=(Remedy(message("applying.stale-plan.way"), "provision plan PROFILE"),),
    )


def _does_not_hold(step: Step) -> Finding:
    return Finding(
        "step-does-not-hold",
        "error",
        message("applying.step-does-not-hold.summary", action=step.action, subject=step.subject),
    )
