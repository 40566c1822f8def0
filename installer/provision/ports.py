"""What the stages ask of the outside world. Real ones live in `world/`, fakes in the tests.

Reader < World: a stage that takes a Reader cannot write. Nothing here does anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from provision.model.finding import Finding
from provision.model.lock import Artifact
from provision.model.profile import Index


@dataclass(frozen=True, slots=True)
class Output:
    """The end of a process. `code` is negative for a signal; None when the time limit ended it."""

    code: int | None
    stdout: str
    stderr: str
    seconds: float = 0.0


class Reader(Protocol):
    """Reads the machine: files, environment variables, the output of tools. Never writes."""

    def read_text(self, path: str, limit: int = 1 << 20) -> str | None:
        """Text of a file (UTF-8, bad bytes replaced), or None if it is absent or unreadable."""

    def exists(self, path: str) -> bool: ...

    def listdir(self, path: str) -> tuple[str, ...]:
        """Sorted names in a folder; empty if it is absent or unreadable."""

    def glob(self, pattern: str) -> tuple[str, ...]:
        """Sorted absolute paths that match an absolute glob pattern."""

    def realpath(self, path: str) -> str: ...

    def environ(self) -> Mapping[str, str]: ...

    def which(self, name: str) -> str | None: ...

    def run(self, command: Sequence[str], timeout: float = 10.0, env: Mapping[str, str] | None = None) -> Output | None:
        """Run a tool without a shell; None if it cannot be started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosureRequest:
    """Ask for the full set of files for one Python and target. Requirements are PEP 508 strings."""

    requirements: tuple[str, ...]
    constraints: tuple[str, ...] = ()
    overrides: tuple[str, ...] = ()
    python: str
    target: str
    indexes: tuple[Index, ...] = ()
    as_of: str | None = None
    #: name -> version to keep where it still fits (a former lock).
    preferences: Mapping[str, str] = field(default_factory=dict)
    offline: bool = False


@dataclass(frozen=True, slots=True)
class CatalogFailure:
    """The engine's own words for why a closure does not exist; `locking` turns them into findings."""

    text: str
    code: int = 1


@dataclass(frozen=True, slots=True)
class Release:
    """A file that an index lists for a project."""

    version: str
    file: str
    yanked: str | None = None
    requires_python: str | None = None
    uploaded: str | None = None


class Catalog(Protocol):
    """Package indexes as data."""

    def close(self, request: ClosureRequest) -> tuple[Artifact, ...] | CatalogFailure: ...

    def releases(self, project: str, index: Index | None = None) -> tuple[Release, ...] | None:
        """All files of a project, or None when the index does not know the name."""


class Reporter(Protocol):
    """Progress for people or programs; events are facts, the reporter decides how they look."""

    def stage(self, title: str, text: str) -> None:
        """A finished stage in one line: `Installed`, `61 wheels in 1.4s`."""

    def start(self, title: str, total: int | None = None) -> None:
        """A stage begins; `total` is in bytes where it is known."""

    def advance(self, done: int) -> None:
        """Bytes done so far in the current stage."""

    def note(self, finding: Finding) -> None: ...


@dataclass(frozen=True, slots=True)
class JobRequest:
    """A smoke job to run inside an environment: the script, its arguments, the interpreter, the limit in seconds."""

    job: str
    python: Path
    arguments: tuple[str, ...]
    variables: Mapping[str, str]
    time_limit: float


@dataclass(frozen=True, slots=True)
class JobOutput:
    """What a smoke job left: its JSON report lines, the log, and how it ended (`code` as in Output)."""

    code: int | None
    report: tuple[dict[str, Any], ...]
    log: str
    seconds: float


class SmokeRunner(Protocol):
    def run(self, request: JobRequest) -> JobOutput: ...


class ByteSource(Protocol):
    """The bytes of one file, local or remote, read where they are wanted."""

    @property
    def name(self) -> str:
        """The file's name, without folder or address."""

    def size(self) -> int:
        """Bytes in all. Raises ArtifactError when the file cannot be reached."""

    def read(self, offset: int, length: int) -> bytes:
        """`length` bytes from `offset`, fewer only where the file ends. Raises ArtifactError."""


class FactStore(Protocol):
    """Keeps small texts under keys between runs: a cache, free to forget."""

    def get(self, key: str) -> str | None: ...

    def put(self, key: str, text: str) -> None: ...


Clock = Callable[[], str]
