"""The actual state of one environment, and where its parts stand beside it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Literal

#: absent: nothing there. ours: a pointer to a generation. adopted: of another maker, changed in place and proven.
#: foreign: something that provision did not make. broken: a pointer whose generation is gone.
Kind = Literal["absent", "ours", "adopted", "foreign", "broken"]
#: What stands for a generation's number where an environment was changed in place: it has none.
ADOPTED = 0


@dataclass(frozen=True, slots=True)
class Stat:
    """Size in bytes and modification time in nanoseconds; `link` is a symbolic link's own target."""

    size: int
    mtime_ns: int
    is_dir: bool = False
    link: str | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """Where things are. `environment` is the path that people use; all else stands in `.provision/` beside it."""

    environment: str

    @property
    def shared(self) -> str:
        return str(PurePath(self.environment).parent / ".provision")

    @property
    def state(self) -> str:
        return str(PurePath(self.shared) / PurePath(self.environment).name)

    @property
    def generations(self) -> str:
        return str(PurePath(self.state) / "generations")

    def generation(self, number: int) -> str:
        return str(PurePath(self.generations) / str(number))

    @property
    def journal(self) -> str:
        return str(PurePath(self.state) / "journal.jsonl")

    @property
    def mutex(self) -> str:
        return str(PurePath(self.state) / "mutex")

    @property
    def trash(self) -> str:
        """What is removed lies here until commit."""
        return str(PurePath(self.state) / "trash")

    @property
    def discarded(self) -> str:
        """The trash after commit: only to be deleted."""
        return str(PurePath(self.state) / "discarded")

    def record(self, number: int) -> str:
        return str(PurePath(self.state) / "records" / f"{number}.json")

    @property
    def coming_record(self) -> str:
        """The record of a change in place until its commit."""
        return str(PurePath(self.state) / "records" / "coming.json")

    def receipt(self, number: int) -> str:
        return str(PurePath(self.state) / "receipts" / f"{number}.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What is known of one generation. `outcome`: built (not switched to yet), current, former, failed.

    `inputs` are the files that the apply read (profile, bases, lock) with their SHA-256;
    `snapshot` is the quick digest of the environment right after it was proven.
    """

    generation: int
    profile: str
    lock: str
    python: str
    created: str
    outcome: Literal["built", "proven", "unproven", "failed"] = "built"
    inputs: dict[str, str] = field(default_factory=dict)
    #: Environment variables that `run` sets, and the device that the proof ran on.
    variables: dict[str, str] = field(default_factory=dict)
    device: str = ""
    snapshot: str = ""
    proven: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """One generation as `history` shows it. unfinished: there is no note of it, a run never came to its proof."""

    number: int
    outcome: Literal["built", "proven", "unproven", "failed", "unfinished"]
    current: bool = False
    profile: str = ""
    python: str = ""
    created: str = ""
    lock: str = ""
    proven: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvState:
    """What is there now. `digest` covers everything that a plan relies on."""

    kind: Kind
    environment: str
    generation: int | None = None
    generations: tuple[int, ...] = ()
    record: Record | None = None
    snapshot: str = ""
    digest: str = ""

    @property
    def drifted(self) -> bool:
        """True if packages were added, removed or replaced since the environment was proven."""
        return self.record is not None and self.record.snapshot not in ("", self.snapshot)

    @property
    def folder(self) -> str:
        """Where the environment really stands: the generation, or the environment itself."""
        numbered = self.kind == "ours" and self.generation is not None
        return Layout(self.environment).generation(self.generation or 0) if numbered else self.environment

    @property
    def next_generation(self) -> int:
        return max(self.generations, default=0) + 1
