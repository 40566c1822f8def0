"""Generations on disk: their notes, the pointer, taking one away. Nothing here leaves the environment's own places."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal

from provision.messages import message
from provision.model.finding import BlockedError, Evidence, Finding, Remedy
from provision.model.state import Layout, Record
from provision.prefix import is_number
from provision.shells import quoted

if TYPE_CHECKING:
    from provision.ports import Files

Outcome = Literal["built", "proven", "unproven", "failed"]


def guard(files: Files, layout: Layout) -> None:
    """Refuse (BlockedError) where one of provision's own folders is a link: it would be written through."""
    places = (
        layout.shared,
        layout.state,
        layout.generations,
        f"{layout.state}/records",
        f"{layout.state}/receipts",
        layout.trash,
        layout.discarded,
        layout.journal,
        layout.mutex,
        f"{layout.shared}/.gitignore",
    )
    for place in places:
        found = files.stat(place)
        if found is not None and found.link is not None:
            raise BlockedError(_planted(place, found.link))


def open_places(files: Files, layout: Layout) -> None:
    """Make the folders of an environment's state."""
    guard(files, layout)
    for folder in (layout.generations, f"{layout.state}/records", f"{layout.state}/receipts"):
        files.make_folder(folder)
    if files.stat(f"{layout.shared}/.gitignore") is None:
        # By way of the environment's own folder: what is half written in the shared one may be another run's.
        files.write(f"{layout.state}/gitignore.tmp", "*\n")
        files.rename(f"{layout.state}/gitignore.tmp", f"{layout.shared}/.gitignore")


def restore_pointer(files: Files, layout: Layout, former: int | None) -> None:
    """Make the environment's path show what it showed before. Something else that stands there is left alone."""
    here = files.pointed(layout.environment)
    wanted = layout.generation(former) if former is not None else None
    if here == wanted:
        return
    if here is None and files.stat(layout.environment) is not None:
        return
    if here is not None and PurePath(here).parent != PurePath(layout.generations):
        return
    if wanted is None:
        files.remove(layout.environment)
    elif files.stat(wanted) is not None:
        files.point(layout.environment, wanted)


def discard(files: Files, layout: Layout, generation: int) -> None:
    """Remove a generation and what was noted of it. Never the one that the environment points at."""
    assert files.pointed(layout.environment) != layout.generation(generation)
    files.remove(layout.generation(generation))
    remove_notes(files, layout, generation)


def remove_notes(files: Files, layout: Layout, generation: int) -> None:
    """The record, and every receipt: `3.json`, `3-2.json`, ..."""
    files.remove(layout.record(generation))
    folder = PurePath(layout.receipt(generation)).parent
    for name in files.listdir(str(folder)):
        if name.removesuffix(".json").split("-")[0] == str(generation):
            files.remove(str(folder / name))


def number_of(layout: Layout, pointer: str | None) -> int | None:
    """The generation that a pointer shows to; None for none, or for something else."""
    if pointer is None or PurePath(pointer).parent != PurePath(layout.generations):
        return None
    name = PurePath(pointer).name
    return int(name) if is_number(name) else None


def write_record(files: Files, layout: Layout, record: Record) -> None:
    files.write(layout.record(record.generation), record_text(record))


def record_text(record: Record) -> str:
    return json.dumps(asdict(record), indent=1) + "\n"


def mark(files: Files, layout: Layout, record: Record, outcome: Outcome) -> None:
    """Note another outcome of a generation; a failure to do so changes nothing that matters."""
    with suppress(OSError):
        write_record(files, layout, replace(record, outcome=outcome))


def _planted(place: str, link: str) -> Finding:
    return Finding(
        "planted-link",
        "error",
        message("applying.planted-link.summary", place=place),
        evidence=(Evidence(place, f"-> {link}"),),
        remedies=(Remedy(message("applying.planted-link.way"), f"rm {quoted(place)}"),),
    )
