"""What blocks any plan, whatever the machine can do: nothing here can be overridden, but for the room on the disk."""

from __future__ import annotations

from collections.abc import Iterator

from provision.model.finding import Evidence, Finding, Remedy
from provision.model.lock import Lock
from provision.model.machine import Machine
from provision.model.state import EnvState
from provision.planning.interpreters import interpreter_for, of_version, other_arch, release
from provision.planning.request import Request
from provision.planning.steps import written


def wrong_place(lock: Lock, machine: Machine, request: Request) -> Iterator[Finding]:
    """A lock for another system, or another system than the one that would build."""
    if machine.target != lock.target:
        yield _wrong_target(lock, machine)
    elif request.elsewhere and request.host not in ("", machine.target):
        yield _other_host(machine, request)


def blockers(lock: Lock, state: EnvState, machine: Machine, request: Request) -> Iterator[Finding]:
    if state.kind in ("foreign", "adopted", "broken"):
        yield _not_ours(state)
    no_python = lock.manager == "venv" and interpreter_for(lock, machine, request) is None
    if no_python and not request.fetchable_python:
        yield _no_interpreter(lock, machine, request)


def _wrong_target(lock: Lock, machine: Machine) -> Finding:
    return Finding(
        "wrong-target",
        "error",
        f"{lock.profile} is locked for {lock.target}; this machine is {machine.target}.",
        detail=next((c.because for c in lock.stack if c.axis == "directml"), ""),
        evidence=(Evidence(f"lock of {lock.profile}", lock.target), Evidence("this machine", machine.target)),
        remedies=(
            Remedy(f"Apply it on a {lock.target} machine; the lock is ready for it."),
            Remedy(
                f"Or add {machine.target} to the profile's targets, if its frameworks exist there, and lock again."
            ),
        ),
    )


def _other_host(machine: Machine, request: Request) -> Finding:
    return Finding(
        "wrong-target",
        "error",
        f"That machine is {machine.target}, this one is {request.host}: an environment is built on a like system.",
        evidence=(Evidence("--for-machine", machine.target), Evidence("this machine", request.host)),
        remedies=(
            Remedy(f"Build it on a {machine.target} machine."),
            Remedy("Lock and plan for it here.", "provision plan PROFILE --machine FILE"),
        ),
    )


def _not_ours(state: EnvState) -> Finding:
    if state.kind == "broken":
        return Finding(
            "environment-broken",
            "error",
            f"{state.environment} points at generation {state.generation}, which is not there.",
            remedies=(Remedy("Remove the pointer and apply again.", f"rm {state.environment}"),),
        )
    in_place = Remedy(
        "Change it where it stands; what is removed is kept until all is proven.",
        "provision apply PROFILE --in-place",
    )
    other = Remedy("Choose another path.", "provision apply PROFILE --environment .venv-gpu")
    away = Remedy("Or move it away first.", f"mv {state.environment} {state.environment}.old")
    adopted = state.kind == "adopted"
    was = (
        "was changed in place before: no generation takes its path"
        if adopted
        else "was not made by provision"
    )
    return Finding(
        "environment-foreign",
        "error",
        f"{state.environment} exists and {was}; it is left alone.",
        remedies=(in_place, other, away) if adopted else (other, in_place, away),
    )


def _no_interpreter(lock: Lock, machine: Machine, request: Request) -> Finding:
    found = ", ".join(sorted({p.version for p in machine.pythons}, key=release)) or "none"
    alien = [f"{p.path} is {p.arch}" for p in of_version(lock, machine) if other_arch(p, machine)]
    if request.interpreter:
        summary = f"{request.interpreter} is not a CPython {lock.python} that can be used here."
    else:
        summary = f"No Python {lock.python} was found on this machine."
    return Finding(
        "no-interpreter",
        "error",
        summary,
        detail=f"Found: {found}." + (f" Not for {machine.arch}: {', '.join(alien)}." if alien else ""),
        remedies=(
            Remedy(
                f"Install CPython {lock.python} (64 bit), then apply again.",
                f"uv python install {lock.python}",
            ),
            Remedy("Or, with pyenv:", f"pyenv install {lock.python}"),
        ),
    )


def room(lock: Lock, request: Request) -> Iterator[Finding]:
    """Whether what is written has room, each on its disk; environment and cache often share one."""
    environment, cache = written(lock, request)
    one = request.one_disk
    if one or (one is None and request.cache_free in (None, request.free)):
        disks = [("the environment and the cache", environment + cache, request.free)]
    else:
        disks = [("the environment", environment, request.free), ("the cache", cache, request.cache_free)]
    for what, wanted, free in disks:
        if free is not None and wanted > free:
            yield _disk_full(what, wanted, free)


def _disk_full(what: str, wanted: int, free: int) -> Finding:
    remedies = [Remedy("Free some space; old generations may go.", "provision gc --keep 1")]
    if "cache" in what:
        remedies.append(Remedy("Or put the cache on another disk.", "export PROVISION_CACHE=/path"))
    if "environment" in what:
        remedies.append(Remedy("Or the environment.", "provision apply PROFILE --environment /path"))
    return Finding(
        "disk-full",
        "error",
        f"About {_bytes(wanted)} are needed on the disk of {what}; {_bytes(free)} are free.",
        evidence=(Evidence("file system", f"{_bytes(free)} free"),),
        remedies=tuple(remedies),
    )


def _bytes(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{count / 1e6:.1f} MB"
