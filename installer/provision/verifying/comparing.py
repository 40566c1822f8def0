"""Two receipts side by side: what is the same, what is not. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from provision.messages import joined, message
from provision.model.receipt import JobResult, Receipt


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One thing that two receipts say differently; `change` is the ratio of the second figure to the first."""

    what: str
    first: str
    second: str
    change: float | None = None


def compare(first: Receipt, second: Receipt) -> tuple[Difference, ...]:
    """In the order of a receipt; times and speeds always, all else only where it differs."""
    return tuple(_all(first, second))


def _all(first: Receipt, second: Receipt) -> Iterator[Difference]:
    for name in ("verdict", "profile", "lock", "level", "device_demanded", "device_used"):
        yield from _text(message(f"verifying.compare.{name}"), getattr(first, name), getattr(second, name))
    for name in sorted({*first.machine, *second.machine}):
        yield from _text(
            message("verifying.compare.machine", name=name), first.machine.get(name), second.machine.get(name)
        )
    before = {job.job: job for job in first.jobs}
    after = {job.job: job for job in second.jobs}
    for name in dict.fromkeys((*before, *after)):
        if name not in before or name not in after:
            yield Difference(what=name, first=_there(name in before), second=_there(name in after))
        else:
            yield from _jobs(before[name], after[name])
    yield from _figures(message("verifying.compare.time"), first.seconds, second.seconds, "s")


def _there(is_there: bool) -> str:
    return message("verifying.compare.ran") if is_there else message("verifying.compare.did-not-run")


def _jobs(first: JobResult, second: JobResult) -> Iterator[Difference]:
    name = first.job
    for key in ("verdict", "version", "device", "device_name"):
        yield from _text(_of(name, key), getattr(first, key), getattr(second, key))
    if first.losses and second.losses:
        yield from _figures(_of(name, "last_loss"), first.losses[-1], second.losses[-1], "")
    rate = "images_per_second"
    yield from _figures(_of(name, rate), first.facts.get(rate), second.facts.get(rate), "")
    yield from _figures(_of(name, "time"), first.seconds, second.seconds, "s")


def _of(job: str, key: str) -> str:
    return joined((job, ": ", message(f"verifying.compare.{key}")))


def _text(what: str, first: Any, second: Any) -> Iterator[Difference]:
    if first != second:
        yield Difference(what=what, first=_plain(first), second=_plain(second))


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k} {v}" for k, v in value.items()) or message("verifying.none")
    if isinstance(value, list | tuple):
        return "; ".join(_plain(one) for one in value) or message("verifying.none")
    return str(value) if value not in (None, "") else message("verifying.none")


def _figures(what: str, first: Any, second: Any, unit: str) -> Iterator[Difference]:
    if not all(isinstance(v, int | float) for v in (first, second)):
        return
    text = [f"{v:.4g}{f' {unit}' if unit else ''}" for v in (first, second)]
    yield Difference(
        what=what, first=text[0], second=text[1], change=round(second / first, 4) if first else None
    )
