"""Judged jobs -> the receipt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from provision.model.lock import Lock
from provision.model.receipt import JobResult, Receipt
from provision.verifying.requests import Demand

_LEVELS = {
    "quick": "imports, versions, the device and one matrix product with its gradient; it did not train",
    "train": "it trains",
    "full": "it trains, and does all else of the full level",
}


def receipt(
    lock: Lock, wanted: Demand, jobs: Sequence[JobResult], *, digest: str, generation: int | None, date: str,
    machine: Mapping[str, Any] | None = None,
) -> Receipt:  # fmt: skip
    """What the jobs proved together. `digest` is the lock's, `date` ISO 8601, `machine` plain facts."""
    passed = bool(jobs) and all(job.verdict == "passed" for job in jobs)
    used = sorted({job.device for job in jobs if job.device and job.job not in ("imports", "libraries")})
    return Receipt(
        verdict="passed" if passed else "failed",
        profile=lock.profile,
        lock=digest,
        generation=generation,
        level=wanted.level,
        device_demanded=wanted.demanded,
        device_used=", ".join(used) or "none",
        proves=proves(wanted, jobs),
        date=date,
        seconds=round(sum(job.seconds for job in jobs), 3),
        machine=dict(machine or {}),
        jobs=tuple(jobs),
    )


def proves(wanted: Demand, jobs: Sequence[JobResult]) -> str:
    """How far the proof reaches, in one sentence."""
    failed = [job.job for job in jobs if job.verdict == "failed"]
    if failed or not jobs:
        return f"Nothing: {', '.join(failed)} failed." if failed else "Nothing: no job ran."
    if all(job.job in ("imports", "libraries") for job in jobs):
        return "Every named package imports; there is no framework here that could train."
    what = _LEVELS[wanted.level] + _without(jobs)
    if wanted.half:
        return (
            f"The software half only: on the CPU {what}. "
            f"The profile demands {wanted.demanded}, and no {wanted.demanded} device was tried."
        )
    names = sorted({job.device_name for job in jobs} - {"", "CPU"})
    return f"On {wanted.device}{f' ({names[0]})' if names else ''}: {what}."


def _without(jobs: Sequence[JobResult]) -> str:
    """The parts of the full level that a framework does not have for this device."""
    missing = sorted(
        f"{name} ({job.framework})"
        for job in jobs
        for name, part in dict(job.facts.get("full") or {}).items()
        if part.get("supported") is False
    )
    return f" except what is not to be had here: {', '.join(missing)}" if missing else ""
