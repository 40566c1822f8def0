"""The write-ahead record of an apply: one entry before and one after each effect."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

#: begun: about to happen, `undo` says how to take it back. done: it holds.
#: committing: the pointer has moved, only rolling forward is right. committed / undone: the end.
Phase = Literal["started", "begun", "done", "committing", "committed", "undone"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the journal (JSON). `number` counts from 0 in one transaction; `time` is UTC, ISO 8601."""

    number: int = 0
    phase: Phase
    step: str = ""
    time: str = ""
    undo: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
