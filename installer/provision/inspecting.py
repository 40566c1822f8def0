"""Environment -> its actual state, by looking at names, sizes and times only: fast enough for every call."""

from __future__ import annotations

import json
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING

from provision.model.state import ADOPTED, EnvState, Generation, Layout, Record
from provision.prefix import generation_numbers, read_record, snapshot

if TYPE_CHECKING:
    from provision.ports import Files


def inspect(files: Files, environment: str, contents: bool = True) -> EnvState:
    """The state of the environment at an absolute path. Reads, never writes; never raises for what it finds.

    Without `contents` only the pointer and the notes are looked at: `snapshot` and `digest` stay empty.
    """
    look = partial(snapshot, files) if contents else lambda prefix: None
    layout = Layout(environment)
    numbers = generation_numbers(files, layout)
    target = files.pointed(environment)
    there = files.stat(environment)
    if there is None:
        return _state("absent", environment, None, numbers, None, "")
    if target is None and (record := read_record(files, layout, ADOPTED)) is not None:
        return _state("adopted", environment, ADOPTED, numbers, record, look(environment))
    if target is None or PurePath(target).parent != PurePath(layout.generations):
        return _state("foreign", environment, None, numbers, None, "")
    number = int(PurePath(target).name) if PurePath(target).name.isdigit() else None
    if number is None or number not in numbers:
        return _state("broken", environment, number, numbers, None, "")
    return _state("ours", environment, number, numbers, read_record(files, layout, number), look(target))


def history(files: Files, environment: str) -> tuple[Generation, ...]:
    """Every generation of an environment with what is noted of it, oldest first; a change in place is number 0."""
    layout = Layout(environment)
    target = files.pointed(environment)
    there = target is None and files.stat(environment) is not None
    first = (ADOPTED,) if there and read_record(files, layout, ADOPTED) is not None else ()
    return tuple(_generation(files, layout, n, target) for n in (*first, *generation_numbers(files, layout)))


def _generation(files: Files, layout: Layout, number: int, target: str | None) -> Generation:
    record = read_record(files, layout, number)
    current = target == layout.generation(number) or number == ADOPTED
    if record is None:
        return Generation(number=number, outcome="unfinished", current=current)
    return Generation(
        number=number,
        outcome=record.outcome,
        current=current,
        profile=record.profile,
        python=record.python,
        created=record.created,
        lock=record.lock,
        proven=record.proven,
    )


def _state(
    kind: str,
    environment: str,
    number: int | None,
    numbers: tuple[int, ...],
    record: Record | None,
    shot: str | None,
) -> EnvState:
    return EnvState(
        kind=kind,  # type: ignore[arg-type]
        environment=environment,
        generation=number,
        generations=numbers,
        record=record,
        snapshot=shot or "",
        digest="" if shot is None else _digest(kind, environment, number, record, shot),
    )


def _digest(kind: str, environment: str, number: int | None, record: Record | None, shot: str) -> str:
    import hashlib

    facts = json.dumps([kind, environment, number, record.lock if record else "", shot])
    return hashlib.sha256(facts.encode()).hexdigest()
