"""Verify: run the smoke jobs of a lock inside its environment, judge them, write the receipt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from provision.model.lock import Lock
from provision.model.receipt import JobResult, Receipt
from provision.ports import Clock, SmokeRunner
from provision.verifying.judge import judge
from provision.verifying.receipts import receipt
from provision.verifying.requests import Demand, demand, jobs, requests

__all__ = ["Demand", "demand", "jobs", "judge", "receipt", "requests", "verify"]


def verify(
    lock: Lock, python: Path, wanted: Demand, smoke: SmokeRunner, clock: Clock, *, digest: str,
    generation: int | None = None, machine: Mapping[str, Any] | None = None,
    heard: Callable[[JobResult], None] = lambda result: None,
) -> Receipt:  # fmt: skip
    """Prove the environment whose interpreter is `python`; `heard` is told of each job as it is judged.

    All jobs run, also after one failed: what else fails belongs to the diagnosis.
    """
    results = []
    for request in requests(lock, python, wanted):
        results.append(judge(request, smoke.run(request), wanted))
        heard(results[-1])
    return receipt(lock, wanted, results, digest=digest, generation=generation, date=clock(), machine=machine)
