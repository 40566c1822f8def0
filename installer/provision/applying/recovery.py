"""What a killed run left -> a whole environment again; and the way back to an earlier generation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from provision.applying.engine import take_back
from provision.applying.journal import Writer, open_transaction, read
from provision.model.finding import Finding, Remedy, UsageError
from provision.model.journal import Entry
from provision.model.state import EnvState, Layout
from provision.ports import Files


@dataclass(frozen=True, slots=True)
class Recovered:
    """What recovery did: `undone` (the half-made generation is gone) or `finished` (its switch was complete)."""

    what: str
    generation: int


def recover(files: Files, environment: str, now: str) -> Recovered | None:
    """Make whole what an interrupted run left. The caller holds the mutex. None if there was nothing to do."""
    layout = Layout(environment)
    entries = read(files, layout.journal)
    if not open_transaction(entries):
        return None
    generation = int(entries[0].facts.get("generation", 0))
    writer = Writer(files, layout.journal, lambda: now, lambda entry: None, number=len(entries))
    if any(entry.phase == "committing" for entry in entries):
        writer.write("committed", facts={"recovered": True})
        return Recovered("finished", generation)
    take_back(files, layout, generation, _former(entries))
    _sweep(files, layout)
    writer.write("undone", facts={"recovered": True})
    return Recovered("undone", generation)


def _former(entries: tuple[Entry, ...]) -> int | None:
    """The generation that the pointer showed to when the transaction started."""
    pointer = entries[0].undo.get("pointer")
    name = PurePath(pointer).name if pointer else ""
    return int(name) if name.isdigit() else None


def _sweep(files: Files, layout: Layout) -> None:
    """Temporary files of the killed run: half-written notes, a pointer that was never renamed."""
    parent, name = str(PurePath(layout.environment).parent), PurePath(layout.environment).name
    for entry in files.listdir(parent):
        if entry.startswith(f"{name}.") and entry.endswith(".new"):
            files.remove(str(PurePath(parent) / entry))
    for folder in (layout.state, f"{layout.state}/records", f"{layout.state}/receipts"):
        for entry in files.listdir(folder):
            if entry.endswith(".tmp"):
                files.remove(str(PurePath(folder) / entry))


def rollback(files: Files, state: EnvState, to: int | None, now: str) -> int:
    """Point the environment at an earlier generation. Returns its number. The caller holds the mutex."""
    layout = Layout(state.environment)
    number = to if to is not None else _previous(state)
    if number is None or number not in state.generations:
        raise UsageError(_no_generation(state, number))
    writer = Writer(files, layout.journal, lambda: now, lambda entry: None)
    pointer = files.pointed(state.environment)
    facts = {"generation": number, "rollback": True}
    writer.write("started", undo={"pointer": pointer}, facts=facts)
    writer.write("committing")
    files.point(state.environment, layout.generation(number))
    writer.write("committed")
    return number


def _previous(state: EnvState) -> int | None:
    return max(
        (n for n in state.generations if state.generation is None or n < state.generation), default=None
    )


def _no_generation(state: EnvState, number: int | None) -> Finding:
    have = ", ".join(str(n) for n in state.generations) or "none"
    what = f"There is no generation {number}" if number is not None else "There is no earlier generation"
    return Finding(
        "no-generation", "error", f"{what} of {state.environment}.", detail=f"Generations: {have}.",
        remedies=(Remedy("See them all.", "provision history"),),
    )  # fmt: skip
