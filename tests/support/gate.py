"""A profile resolved without a package index, as the lock that the gate holds against a machine."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from provision.detecting import detect
from provision.documents import read_machine
from provision.knowledge import Knowledge, load_knowledge
from provision.loading import load
from provision.model.lock import Artifact, Digests, Lock
from provision.model.machine import Interpreter, Machine
from provision.model.plan import Plan
from provision.model.state import EnvState
from provision.pipeline.gate import gather
from provision.pipeline.session import Session
from provision.planning import Request, plan
from provision.resolving import resolve
from tests.support import machines


@cache
def knowledge() -> Knowledge:
    return load_knowledge()


def locked(text: str, target: str, python: str, packages: tuple[Artifact, ...] = ()) -> Lock:
    """The best stack of a profile as a lock; the closure is left out but for `packages`."""
    profile = load(text, "profile.yaml")
    stack = resolve(profile, target, python, knowledge())
    return Lock(
        profile=profile.name,
        target=target,
        python=python,
        digests=Digests(profile="p", knowledge="k"),
        stack=stack.choices,
        patches=stack.patches,
        needs=stack.needs,
        hardware=profile.hardware.vendor,
        frameworks=tuple(sorted(str(name) for name in profile.frameworks)),
        packages=packages,
    )


def machine(name: str, python: str = "") -> Machine:
    """A recorded machine, with a Python of the wanted version."""
    from dataclasses import replace

    found, _ = detect(machines.fake(machines.record(name)))
    pythons = (Interpreter(path="/python", version=f"{python}.1", arch=found.arch),) if python else ()
    return replace(found, pythons=pythons)


def written(text: str) -> Machine:
    return read_machine(text, "machine.yaml")


def planned(lock: Lock, here: Machine, folder: Path, **asked: Any) -> Plan:
    """The plan for an empty place."""
    session = Session(folder=folder, offline=True)
    session.__dict__.update(knowledge=knowledge(), cache=folder / "cache")
    request = Request(**asked)
    said = gather(lock, here, session, with_device=not request.without_device)
    state = EnvState(kind="absent", environment=str(folder / ".venv"))
    return plan(lock, "d", state, here, request, said)
