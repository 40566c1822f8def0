"""The journal's lines. A torn last line (power loss) is no line: what it announced did not happen.

One file holds one transaction, the last: the next one replaces it with its first line, at once.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from provision.model.journal import Entry, Phase

if TYPE_CHECKING:
    from provision.ports import Files

_LIMIT = 1 << 26
_ENDS = ("committed", "undone")


@dataclass(frozen=True, slots=True)
class Log:
    """What a journal says. `damaged`: its first line cannot be read, so what was begun is not known."""

    entries: tuple[Entry, ...] = ()
    damaged: bool = False

    @property
    def open(self) -> bool:
        """True if the transaction neither committed nor was undone."""
        return self.damaged or (bool(self.entries) and self.entries[-1].phase not in _ENDS)

    @property
    def committing(self) -> bool:
        return any(entry.phase == "committing" for entry in self.entries)

    @property
    def removed(self) -> tuple[int, ...]:
        """Generations that go with the commit."""
        numbers = self.entries[0].facts.get("removed", ()) if self.entries else ()
        return tuple(n for n in numbers if isinstance(n, int)) if isinstance(numbers, list) else ()

    @property
    def verb(self) -> str:
        return str(self.entries[0].facts.get("verb", "apply")) if self.entries else ""


def read(files: Files, path: str) -> Log:
    """The last transaction. Lines that cannot be read are left out."""
    lines = [line for line in (files.read_text(path, limit=_LIMIT) or "").split("\n") if line]
    entries = tuple(entry for line in lines if (entry := _entry(line)) is not None)
    if entries and entries[-1].phase in _ENDS:
        return Log(entries)
    damaged = bool(lines) and not (entries and entries[0].phase == "started")
    return Log(entries, damaged)


def _entry(line: str) -> Entry | None:
    try:
        found = Entry(**json.loads(line))
    except (ValueError, TypeError):
        return None
    return found if isinstance(found.undo, dict) and isinstance(found.facts, dict) else None


@dataclass(slots=True)
class Writer:
    """Writes entries; each is on disk before the call returns. `listen` sees them too: progress is this stream."""

    files: Files
    path: str
    now: Callable[[], str]
    listen: Callable[[Entry], None] = lambda entry: None
    number: int = 0

    def write(
        self,
        phase: Phase,
        step: str = "",
        undo: dict[str, Any] | None = None,
        facts: dict[str, Any] | None = None,
    ) -> None:
        self.write_together(Entry(phase=phase, step=step, undo=undo or {}, facts=facts or {}))

    def write_together(self, *entries: Entry) -> None:
        """Several entries with no effect between them: one wait for the disk. Numbers and times are set here."""
        numbered = [replace(e, number=self.number + i, time=self.now()) for i, e in enumerate(entries)]
        # ASCII only: a path's odd bytes and line separators cannot break a line.
        text = "\n".join(json.dumps(asdict(entry)) for entry in numbered)
        if entries[0].phase == "started":
            self.files.write(self.path, text + "\n")
        else:
            self.files.append(self.path, text)
        self.number += len(numbered)
        for entry in numbered:
            self.listen(entry)
