"""The receipt: what verification proved, on what hardware."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from provision.model.finding import Finding

Verdict = Literal["passed", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResult:
    """One smoke job, judged. `losses` is the training loss by step, `device` what the framework reported."""

    job: str
    framework: str
    version: str = ""
    verdict: Verdict
    device: str = ""
    device_name: str = ""
    losses: tuple[float, ...] = ()
    seconds: float = 0.0
    #: Largest relative difference to the same steps on the CPU; None where the device is the CPU.
    cpu_difference: float | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What was proven. `proves` says in words how far it reaches (all of it, or only the software half)."""

    schema_: Literal[1] = 1
    verdict: Verdict
    profile: str
    lock: str
    generation: int | None
    level: str
    device_demanded: str
    device_used: str
    proves: str
    date: str
    seconds: float
    machine: dict[str, Any] = field(default_factory=dict)
    #: What the machine lacked and a person overrode: `reason`, and the `findings` (code, summary).
    override: dict[str, Any] = field(default_factory=dict)
    #: The machine that it was built for, where that is not the one it was proven on.
    built_for: dict[str, Any] = field(default_factory=dict)
    jobs: tuple[JobResult, ...] = ()
