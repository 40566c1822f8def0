"""The lock of a conda environment: what the knowledge says about names and drivers, then the channels, then wheels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packaging.version import InvalidVersion, Version

from provision.knowledge import CondaNameRow, CondaSpecRow, Knowledge, RuntimeRow
from provision.loading import profile_digest
from provision.locking.conda import SUBDIRS, adopt
from provision.locking.conda import lock as close_conda
from provision.locking.conda_lock_files import read_conda_lock
from provision.model.lock import Digests, Lock
from provision.model.profile import Profile
from provision.model.stack import Need
from provision.resolving import DEFAULT_CHANNELS, conda_stack

if TYPE_CHECKING:
    from provision.pipeline.session import Session


def make_conda_lock(
    profile: Profile, target: str, python: str, session: Session, keep: Lock | None = None
) -> Lock:
    """Raises UnsatisfiableError with the reasons."""
    from provision.pipeline.locks import look_alikes

    knowledge = session.knowledge
    made = close_conda(
        conda_stack(profile, target, python, knowledge),
        profile,
        session.channels,
        session.catalog,
        Digests(profile=profile_digest(profile), knowledge=""),
        keep,
        look_alikes(knowledge),
        **_known(profile, target, knowledge),
    )
    return _finished(made, knowledge)


def adopt_conda_lock(profile: Profile, target: str, python: str, file: Path, session: Session) -> Lock:
    """The lock of what a conda-lock.yml pins for a platform. Raises UsageError, or UnsatisfiableError where the file
    pins another environment than the profile asks for."""
    knowledge = session.knowledge
    conda, wheels = read_conda_lock(file.read_text(encoding="utf-8"), file.name, SUBDIRS[target])
    stack = conda_stack(profile, target, python, knowledge)
    left = session.conda.unanswered(stack.requirements, conda)
    made = adopt(
        stack,
        profile,
        Digests(profile=profile_digest(profile), knowledge=""),
        conda,
        wheels,
        left,
        **_known(profile, target, knowledge),
    )
    return _finished(made, knowledge)


def _known(profile: Profile, target: str, knowledge: Knowledge) -> dict[str, Any]:
    """What the knowledge says that a conda lock needs."""
    rows = knowledge.rows(CondaSpecRow)
    return {
        "default_channels": DEFAULT_CHANNELS,
        "cuda": driver_cuda(profile, target, knowledge),
        "distributions": distributions(knowledge),
        "axes": {row.package: row.axis for row in rows if row.axis in ("cuda", "cudnn")},
    }


def _finished(made: Lock, knowledge: Knowledge) -> Lock:
    made = replace(made, needs=(*made.needs, *_driver_need(made, knowledge)))
    rules = [c.rule for c in made.stack] + [n.rule for n in made.needs]
    return replace(made, digests=replace(made.digests, knowledge=knowledge.digest([r for r in rules if r])))


def distributions(knowledge: Knowledge) -> dict[str, str]:
    return {row.package: row.distribution for row in knowledge.rows(CondaNameRow)}


def driver_cuda(profile: Profile, target: str, knowledge: Knowledge) -> str:
    """The newest CUDA that the driver of the profile's machine runs (`__cuda`); empty for no NVIDIA card.

    A wanted CUDA version says it; else the driver floor does; else the newest CUDA on record.
    """
    if profile.hardware.vendor != "nvidia":
        return ""
    rows = sorted(knowledge.runtimes("cuda"), key=lambda row: Version(row.version))
    wanted = profile.accelerator.get("cuda", "")
    if number := wanted.strip().lstrip("=<>!~ ").split(",")[0].removesuffix(".*"):
        return ".".join(number.split(".")[:2])
    if profile.hardware.driver:
        rows = [row for row in rows if _runs(row, target, profile.hardware.driver)] or rows[:1]
    return rows[-1].version if rows else ""


def _runs(row: RuntimeRow, target: str, driver: str) -> bool:
    """Whether a driver names this CUDA as its own, as `__cuda` on that machine would; what minor-version compatibility
    adds is not counted."""
    floor = row.driver.get(target.split("-")[0])
    try:
        return floor is not None and Version(floor) <= Version(driver.lstrip("=<>!~ ").split(",")[0])
    except InvalidVersion:
        return False


def _driver_need(made: Lock, knowledge: Knowledge) -> Iterator[Need]:
    """The driver that the CUDA of the lock asks for."""
    held = next((choice.value for choice in made.stack if choice.axis == "cuda"), "")
    if made.hardware != "nvidia" or not held:
        return
    version = ".".join(held.split(".")[:2])
    row = knowledge.runtime("cuda", version)
    floor = row.driver_floor.get(made.target.split("-")[0]) if row else None
    if row and floor:
        yield Need(what="driver.nvidia", value=f">={floor}", because=f"cuda {version}", rule=row.id)
