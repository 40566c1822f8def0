"""Removed things stay until commit: moved aside by rename, moved back on undo, deleted last.

The trash mirrors where things were: `<state>/trash/generations/2` was `<state>/generations/2`.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from provision.model.state import Layout
from provision.prefix import is_number

if TYPE_CHECKING:
    from provision.ports import Files


def put_generation(files: Files, layout: Layout, number: int) -> None:
    """Move a generation into the trash; it is whole there, or still where it was."""
    files.make_folder(str(PurePath(layout.trash) / "generations"))
    files.rename(layout.generation(number), str(PurePath(layout.trash) / "generations" / str(number)))


def give_back(files: Files, layout: Layout) -> None:
    """Move back what lies in the trash, and remove the trash."""
    folder = PurePath(layout.trash) / "generations"
    for name in files.listdir(str(folder)):
        if is_number(name) and files.stat(layout.generation(int(name))) is None:
            files.rename(str(folder / name), layout.generation(int(name)))
    files.remove(layout.trash)


def seal(files: Files, layout: Layout) -> None:
    """Commit: from here on the trash is only emptied. By rename, so that it holds even without the journal."""
    if files.stat(layout.trash) is not None:
        files.remove(layout.discarded)
        files.rename(layout.trash, layout.discarded)


def empty(files: Files, layout: Layout) -> None:
    """Delete what was removed. Called after the commit only."""
    seal(files, layout)
    files.remove(layout.discarded)
