"""What a killed run left -> a whole environment again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from provision.applying import in_place, trash
from provision.applying.generations import discard, guard, number_of, remove_notes, restore_pointer
from provision.applying.journal import Log, Writer, read
from provision.model.state import Layout
from provision.prefix import generation_numbers, read_record

if TYPE_CHECKING:
    from provision.ports import Files


@dataclass(frozen=True, slots=True)
class Recovered:
    """What recovery did with the interrupted `verb`: `undone` (all is as before it) or `finished` (its effect was
    complete)."""

    what: str
    generation: int
    verb: str = "apply"


def recover(files: Files, environment: str, now: str) -> Recovered | None:
    """Make whole what an interrupted run left. The caller holds the mutex. None if there was nothing to do."""
    layout = Layout(environment)
    guard(files, layout)
    log = read(files, layout.journal)
    if not log.open:
        in_place.drop_unbegun(files, layout)
        sweep(files, layout)
        return None
    if log.damaged:
        return _by_looking(files, layout, now)
    generation = int(log.entries[0].facts.get("generation") or 0)
    writer = Writer(files, layout.journal, lambda: now, number=len(log.entries))
    # The trash is emptied after `committing` only; that it has its other name says the same.
    if log.committing or files.stat(layout.discarded) is not None:
        finish(files, layout, log.removed)
        sweep(files, layout)
        writer.write("committed", facts={"recovered": True})
        return Recovered("finished", generation, log.verb)
    take_back(files, layout, log)
    sweep(files, layout)
    writer.write("undone", facts={"recovered": True})
    return Recovered("undone", generation, log.verb)


def finish(files: Files, layout: Layout, removed: Iterable[int]) -> None:
    """After the commit: what was removed is deleted, with what was noted of it."""
    if in_place.is_open(files, layout):
        in_place.finish(files, layout)
    trash.empty(files, layout)
    for number in removed:
        if files.stat(layout.generation(number)) is None:
            remove_notes(files, layout, number)


def take_back(files: Files, layout: Layout, log: Log) -> None:
    """Undo what an open transaction did: the pointer, then what was moved away, then what was being made.

    Paths are built from the layout and numbers: a journal that was tampered with cannot name another place.
    """
    if log.verb == "in-place":
        in_place.undo(files, layout)
        return
    begun = log.entries[0]
    trash.give_back(files, layout)
    restore_pointer(files, layout, number_of(layout, begun.undo.get("pointer")))
    if log.verb == "apply":
        discard(files, layout, int(begun.facts["generation"]))


def _by_looking(files: Files, layout: Layout, now: str) -> Recovered:
    """The journal cannot be read: what was never finished goes, and the pointer shows to what is whole."""
    if files.stat(layout.discarded) is not None:
        finish(files, layout, ())
    elif in_place.is_open(files, layout) and files.stat(layout.trash) is not None:
        in_place.undo(files, layout)
    trash.give_back(files, layout)
    current = number_of(layout, files.pointed(layout.environment))
    whole = [n for n in generation_numbers(files, layout) if _is_whole(files, layout, n)]
    if current is not None and current not in whole:
        restore_pointer(files, layout, max(whole, default=None))
        current = number_of(layout, files.pointed(layout.environment))
    for number in generation_numbers(files, layout):
        if number != current and read_record(files, layout, number) is None:
            discard(files, layout, number)
    sweep(files, layout)
    writer = Writer(files, layout.journal, lambda: now)
    writer.write("started", facts={"verb": "recover", "generation": current})
    writer.write("undone", facts={"recovered": True, "journal": "unreadable"})
    return Recovered("undone", current or 0, "unknown")


def _is_whole(files: Files, layout: Layout, number: int) -> bool:
    record = read_record(files, layout, number)
    return record is not None and record.outcome == "proven"


def sweep(files: Files, layout: Layout) -> None:
    """Temporary files of the killed run: half-written notes, a pointer that was never renamed."""
    parent, name = str(PurePath(layout.environment).parent), PurePath(layout.environment).name
    for entry in files.listdir(parent):
        middle = entry.removeprefix(f"{name}.").removesuffix(".new")
        if entry == f"{name}.{middle}.new" and middle.isdecimal():
            files.remove(str(PurePath(parent) / entry))
    # Not in the shared folder: another environment's run may be at work there.
    for folder in (layout.state, f"{layout.state}/records", f"{layout.state}/receipts"):
        for entry in files.listdir(folder):
            if entry.endswith(".tmp"):
                files.remove(str(PurePath(folder) / entry))
