"""The way back to an earlier generation, and taking old generations away. Both are transactions like an apply."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from provision.applying import trash
from provision.applying.generations import open_places
from provision.applying.journal import Writer, read
from provision.applying.recovery import finish, take_back
from provision.applying.troubles import not_undone, trouble
from provision.messages import message
from provision.model.finding import ApplyError, BlockedError, Finding, Remedy, RollbackError, UsageError
from provision.model.journal import Entry
from provision.model.state import EnvState, Generation, Layout
from provision.shells import quoted

if TYPE_CHECKING:
    from provision.ports import Files


@dataclass(frozen=True, slots=True)
class Choice:
    """A generation to go back to; `doubt` says why one should not go there without being asked."""

    generation: int
    doubt: Finding | None = None


def choose(state: EnvState, generations: Collection[Generation], to: int | None) -> Choice:
    """Where a rollback goes: to the generation named, else to the nearest earlier one that was proven.

    Raises UsageError where there is none. A generation that was never finished is none.
    """
    usable = {g.number: g for g in generations if g.outcome != "unfinished"}
    if to is None:
        current = state.generation
        proven = [n for n, g in usable.items() if g.outcome == "proven" and (current is None or n < current)]
        number = max(proven, default=None)
    else:
        number = to if to in usable else None
    if number is None:
        raise UsageError(_no_generation(state, to, usable))
    proven_or_now = usable[number].outcome == "proven" or number == state.generation
    return Choice(number, None if proven_or_now else _doubt(state, usable[number]))


def rollback(files: Files, state: EnvState, number: int, now: Callable[[], str]) -> None:
    """Point the environment at a generation that is there. The caller holds the mutex and has recovered."""
    layout = Layout(state.environment)
    facts = {"verb": "rollback", "generation": number, "from": state.generation}
    writer = _start(files, layout, now, facts)

    def move() -> None:
        writer.write("begun", step="switch pointer")
        files.point(state.environment, layout.generation(number))
        # A person waits for this: what has no effect in between is one write.
        writer.write_together(
            Entry(phase="done", step="switch pointer"), Entry(phase="committing"), Entry(phase="committed")
        )

    _carry_out(files, layout, writer, move)


def collect(files: Files, state: EnvState, numbers: Collection[int], now: Callable[[], str]) -> None:
    """Remove generations. The current one is never among them (BlockedError)."""
    if state.generation in numbers:
        raise BlockedError(
            Finding(
                "generation-in-use",
                "error",
                message("applying.generation-in-use.summary", generation=state.generation),
            )
        )
    if not numbers:
        return
    layout = Layout(state.environment)
    facts = {"verb": "gc", "generation": state.generation, "removed": sorted(numbers)}
    writer = _start(files, layout, now, facts)

    def move_all() -> None:
        for number in sorted(numbers):
            writer.write("begun", step="remove generation", facts={"generation": number})
            trash.put_generation(files, layout, number)
            writer.write("done", step="remove generation")
        writer.write("committing")
        finish(files, layout, numbers)
        writer.write("committed")

    _carry_out(files, layout, writer, move_all)


def superfluous(state: EnvState, generations: Collection[Generation], keep: int) -> tuple[int, ...]:
    """Generations that `gc` removes: all but the current one and the `keep` - 1 newest proven others.

    Failed and unfinished ones are superfluous whatever `keep` is.
    """
    proven = sorted((g.number for g in generations if g.outcome == "proven"), reverse=True)
    others = [n for n in proven if n != state.generation]
    kept = {state.generation, *others[: max(keep - 1, 0)]}
    return tuple(sorted(g.number for g in generations if g.number not in kept))


def _start(files: Files, layout: Layout, now: Callable[[], str], facts: dict[str, Any]) -> Writer:
    """Until the first line is written there is nothing to take back."""
    writer = Writer(files, layout.journal, now)
    try:
        open_places(files, layout)
        writer.write("started", undo={"pointer": files.pointed(layout.environment)}, facts=facts)
    except OSError as error:
        raise ApplyError(trouble(error, layout.state)) from error
    return writer


def _carry_out(files: Files, layout: Layout, writer: Writer, do: Callable[[], None]) -> None:
    """Do it, or take it back: also on Ctrl-C."""
    try:
        do()
    except BaseException as error:
        _take_back(files, layout, writer, error)
        if isinstance(error, OSError):
            raise ApplyError(trouble(error, layout.state)) from error
        raise


def _take_back(files: Files, layout: Layout, writer: Writer, error: BaseException) -> None:
    log = read(files, layout.journal)
    if log.committing:
        return
    try:
        take_back(files, layout, log)
        with suppress(OSError):
            writer.write("undone", facts={"error": type(error).__name__})
    except Exception as second:
        raise RollbackError(not_undone(layout, second)) from error


def _no_generation(state: EnvState, number: int | None, usable: Collection[int]) -> Finding:
    have = ", ".join(str(n) for n in sorted(usable)) or message("applying.none")
    key = "earlier" if number is None else "named"
    return Finding(
        "no-generation",
        "error",
        message(f"applying.no-generation.{key}", number=number, environment=state.environment),
        detail=message("applying.no-generation.detail", have=have),
        remedies=(
            Remedy(message("applying.no-generation.way"), f"provision history {quoted(state.environment)}"),
        ),
    )


def _doubt(state: EnvState, generation: Generation) -> Finding:
    return Finding(
        "generation-not-proven",
        "error",
        message(
            "applying.generation-not-proven.summary",
            number=generation.number,
            environment=state.environment,
            generation=state.generation,
        ),
        remedies=(
            Remedy(
                message("applying.generation-not-proven.way"),
                f"provision rollback {quoted(state.environment)} --to {generation.number} --yes",
            ),
        ),
    )
