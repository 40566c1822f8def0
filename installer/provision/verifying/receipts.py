"""Judged jobs -> the receipt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from provision.messages import joined, message
from provision.messages.recognising import recognised
from provision.model.finding import Evidence, Finding, Remedy
from provision.model.lock import Lock
from provision.model.receipt import JobResult, Receipt
from provision.verifying.requests import Demand

#: Characters; no message is longer.
_LONG = 1000


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
        device_used=", ".join(used) or message("verifying.none"),
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
        return (
            message("verifying.proves.failed", jobs=failed) if failed else message("verifying.proves.nothing")
        )
    if all(job.job in ("imports", "libraries") for job in jobs):
        return message("verifying.proves.imports")
    what = _without(message(f"verifying.level.{wanted.level}"), jobs)
    if wanted.half:
        return message("verifying.proves.half", what=what, demanded=wanted.demanded)
    names = sorted({job.device_name for job in jobs} - {"", "CPU"})
    if names:
        return message("verifying.proves.on-named", device=wanted.device, name=names[0], what=what)
    return message("verifying.proves.on", device=wanted.device, what=what)


def _without(what: str, jobs: Sequence[JobResult]) -> str:
    """And the parts of the full level that a framework does not have for this device."""
    missing = sorted(
        f"{name} ({job.framework})"
        for job in jobs
        for name, part in dict(job.facts.get("full") or {}).items()
        if part.get("supported") is False
    )
    return message("verifying.proves.except", what=what, missing=missing) if missing else what


def remembered(kept: Receipt) -> Receipt:
    """A receipt that was read from its file, with its texts as messages again."""
    tails = []
    if kept.built_for:
        tails.append(message("verifying.proves.elsewhere", target=kept.built_for.get("target")))
    if kept.override:
        tails.append(message("verifying.proves.forced", reason=kept.override.get("reason")))
    first = kept.proves
    for tail in reversed(tails):
        first = first.removesuffix(f" {tail}")
    proven = joined((_recalled(first), *tails), " ") if tails else _recalled(first)
    jobs = tuple(replace(job, findings=tuple(map(_finding, job.findings))) for job in kept.jobs)
    return replace(kept, proves=proven if proven == kept.proves else kept.proves, jobs=jobs)


def _finding(kept: Finding) -> Finding:
    return replace(
        kept,
        summary=_recalled(kept.summary),
        detail=_recalled(kept.detail),
        evidence=tuple(Evidence(_recalled(e.source), _recalled(e.text)) for e in kept.evidence),
        remedies=tuple(Remedy(_recalled(r.text), r.command) for r in kept.remedies),
    )


def _recalled(text: str) -> str:
    """A log of many lines is none of our messages."""
    return recognised(text, "verifying") if len(text) < _LONG else text
