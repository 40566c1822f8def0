"""The plan: the ordered steps that take one environment from its actual state to the lock."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from provision.model.finding import Finding

Action = Literal["create", "remove", "fetch", "build", "install", "place", "prove", "switch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step. `kind` is the thing acted on (environment, package, library, job, pointer)."""

    action: Action
    kind: str
    subject: str
    reason: str
    #: What the handler needs, as plain data (no behaviour): versions, file names, bytes.
    args: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Bytes. None where a size is not stated by any source."""

    fetch: int | None = None
    cached: int = 0
    unknown: int = 0
    #: What the new environment takes on its disk, about.
    write: int | None = None
    free: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Steps, or what blocks them. `state` is the digest of the actual state that the plan was made for.

    `overridden` are findings that would block, and the person overrode them; `force` is the reason given.
    """

    schema_: Literal[1] = 1
    profile: str
    target: str
    python: str
    environment: str
    generation: int
    lock: str
    state: str
    steps: tuple[Step, ...] = ()
    blockers: tuple[Finding, ...] = ()
    notes: tuple[Finding, ...] = ()
    force: str = ""
    overridden: tuple[Finding, ...] = ()
    sizes: Sizes = field(default_factory=Sizes)

    @property
    def override(self) -> dict[str, Any]:
        """What a person overrode and why, as the journal and the receipt keep it. Empty if nothing."""
        found = [{"code": finding.code, "summary": finding.summary} for finding in self.overridden]
        return {"reason": self.force, "findings": found} if self.force else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedPlan:
    """A plan kept in a file, with all that carrying it out exactly needs: `inputs` are the files that it was made from
    (profile, its bases, lock) with their SHA-256."""

    schema_: Literal[1] = 1
    plan: Plan
    profile: str
    lock: str
    device: str | None = None
    inputs: dict[str, str] = field(default_factory=dict)
