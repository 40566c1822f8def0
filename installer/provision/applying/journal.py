"""The journal's lines. A torn last line (power loss) is no line: what it announced did not happen."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from provision.model.journal import Entry, Phase
from provision.ports import Files


def read(files: Files, path: str) -> tuple[Entry, ...]:
    """The entries of the last transaction; empty if there is none."""
    entries: list[Entry] = []
    for line in (files.read_text(path, limit=1 << 26) or "").splitlines():
        entry = _entry(line)
        if entry is None:
            break
        entries = [entry] if entry.phase == "started" else [*entries, entry]
    return tuple(entries)


def _entry(line: str) -> Entry | None:
    try:
        return Entry(**json.loads(line))
    except (ValueError, TypeError):
        return None


def open_transaction(entries: tuple[Entry, ...]) -> bool:
    """True if the last transaction neither committed nor was undone."""
    return bool(entries) and entries[-1].phase not in ("committed", "undone")


@dataclass(slots=True)
class Writer:
    """Appends entries; each is on disk before the call returns. `listen` sees them too: progress is this stream."""

    files: Files
    path: str
    now: Callable[[], str]
    listen: Callable[[Entry], None]
    number: int = 0

    def write(
        self,
        phase: Phase,
        step: str = "",
        undo: dict[str, Any] | None = None,
        facts: dict[str, Any] | None = None,
    ) -> None:
        entry = Entry(
            number=self.number, phase=phase, step=step, time=self.now(), undo=undo or {}, facts=facts or {}
        )
        self.files.append(self.path, json.dumps(asdict(entry), ensure_ascii=False))
        self.number += 1
        self.listen(entry)
