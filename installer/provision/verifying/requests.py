"""Which smoke jobs a lock asks for, on which device."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from provision.model.lock import Lock
from provision.model.profile import JobName, Level
from provision.model.stack import Library
from provision.ports import JobRequest
from provision.verifying.rows import rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What must be proven. `device` is where the jobs run, `demanded` what the profile wants (both resolved:
    never `gpu`); they differ when only the software half is to be proven. `versions` maps a framework to the
    version locked."""

    level: Level
    device: str
    demanded: str
    versions: Mapping[str, str] = field(default_factory=dict)
    libraries: tuple[Library, ...] = ()

    @property
    def half(self) -> bool:
        """True where the jobs run on the CPU although the profile demands another device."""
        return self.device == "cpu" and self.demanded != "cpu"


def demand(
    lock: Lock, *, level: Level | None = None, device: str | None = None, vendor: str | None = None
) -> Demand:
    """The demand of a lock; `level` and `device` come from the command line and win over the profile.

    `vendor` is the maker of the card that the lock is for; where it is not given, the lock's own choice on
    the axis `vendor` speaks.
    """
    demanded = resolve(lock, lock.smoke.device, vendor)
    return Demand(
        level=level or lock.smoke.level,
        device=resolve(lock, device, vendor) if device else demanded,
        demanded=demanded,
        versions={name: found for name in lock.frameworks if (found := locked_version(lock, name))},
        libraries=lock.libraries,
    )


def resolve(lock: Lock, device: str | None, vendor: str | None = None) -> str:
    """A word that names one kind of device: `gpu` or nothing become what the vendor's card is called."""
    if device not in (None, "gpu"):
        return str(device)
    vendor = vendor or next((choice.value for choice in lock.stack if choice.axis == "vendor"), "")
    names = {canonical(package.name) for package in lock.packages}
    found = next((row["device"] for row in rows()["devices"] if _fits(row, vendor, names)), "cpu")
    return "cuda" if found == "cpu" and device == "gpu" else str(found)


def _fits(row: Mapping[str, Any], vendor: str, names: set[str]) -> bool:
    return row.get("vendor") == vendor or bool(names & set(row.get("packages", ())))


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def locked_version(lock: Lock, framework: str) -> str:
    """The version of the distribution that carries the framework; empty where no known one is locked."""
    versions = {canonical(package.name): package.version for package in lock.packages}
    chosen = next((c.value for c in lock.stack if lock.manager == "conda" and c.axis == framework), "")
    carried = (versions[name] for name in rows()["carriers"].get(framework, ()) if name in versions)
    return next(carried, chosen.partition("==")[2])


def jobs(lock: Lock) -> tuple[str, ...]:
    """`libraries` where some were placed; then the jobs that a lock names, or else one per framework, `dual` for two,
    and `imports` for none."""
    return (*(("libraries",) if lock.libraries else ()), *_named(lock))


def _named(lock: Lock) -> tuple[JobName, ...]:
    if lock.smoke.jobs:
        return lock.smoke.jobs
    has_torch, has_tensorflow = "torch" in lock.frameworks, "tensorflow" in lock.frameworks
    if has_torch and has_tensorflow:
        return ("torch", "tensorflow", "dual")
    return ("torch",) if has_torch else ("tensorflow",) if has_tensorflow else ("imports",)


def requests(lock: Lock, python: Path, wanted: Demand) -> tuple[JobRequest, ...]:
    """One request a job, for the interpreter at `python`."""
    return tuple(
        JobRequest(
            job=job,
            python=python,
            arguments=("--device", wanted.device, "--level", wanted.level, *_names(lock, job)),
            variables=dict(lock.variables),
            time_limit=float(lock.smoke.time_limit),
        )
        for job in jobs(lock)
    )


def _names(lock: Lock, job: str) -> tuple[str, ...]:
    """The distributions that the imports job imports: those that the profile names, or else all."""
    if job != "imports":
        return ()
    return ("--", *(lock.imports or tuple(package.name for package in lock.packages)))
