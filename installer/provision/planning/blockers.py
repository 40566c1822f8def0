"""What blocks any plan, whatever the machine can do: nothing here can be overridden, but for the room on the disk."""

from __future__ import annotations

from collections.abc import Iterator

from provision.messages import message
from provision.model.finding import Evidence, Finding, Remedy
from provision.model.lock import Lock
from provision.model.machine import Machine
from provision.model.state import EnvState
from provision.planning.interpreters import interpreter_for, of_version, other_arch, release
from provision.planning.request import Request
from provision.planning.steps import written
from provision.shells import quoted


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
        message(
            "planning.wrong-target.summary", profile=lock.profile, target=lock.target, target2=machine.target
        ),
        detail=next((c.because for c in lock.stack if c.axis == "directml"), ""),
        evidence=(
            Evidence(message("planning.lock-of", profile=lock.profile), lock.target),
            Evidence(message("planning.this-machine"), machine.target),
        ),
        remedies=(
            Remedy(message("planning.wrong-target.way", target=lock.target)),
            Remedy(message("planning.wrong-target.way-2", target=machine.target)),
        ),
    )


def _other_host(machine: Machine, request: Request) -> Finding:
    return Finding(
        "wrong-target",
        "error",
        message("planning.wrong-target.summary-2", target=machine.target, host=request.host),
        evidence=(
            Evidence("--for-machine", machine.target),
            Evidence(message("planning.this-machine"), request.host),
        ),
        remedies=(
            Remedy(message("planning.wrong-target.way-3", target=machine.target)),
            Remedy(message("planning.wrong-target.way-4"), "provision plan PROFILE --machine FILE"),
        ),
    )


def _not_ours(state: EnvState) -> Finding:
    if state.kind == "broken":
        return Finding(
            "environment-broken",
            "error",
            message(
                "planning.environment-broken.summary",
                environment=state.environment,
                generation=state.generation,
            ),
            remedies=(Remedy(message("planning.environment-broken.way"), f"rm {quoted(state.environment)}"),),
        )
    in_place = Remedy(
        message("planning.not-ours.way"),
        "provision apply PROFILE --in-place",
    )
    other = Remedy(message("planning.not-ours.way-2"), "provision apply PROFILE --environment .venv-gpu")
    away = Remedy(
        message("planning.not-ours.way-3"),
        f"mv {quoted(state.environment)} {quoted(state.environment + '.old')}",
    )
    adopted = state.kind == "adopted"
    told = "adopted" if adopted else "foreign"
    return Finding(
        "environment-foreign",
        "error",
        message(f"planning.environment-foreign.{told}", environment=state.environment),
        remedies=(in_place, other, away) if adopted else (other, in_place, away),
    )


def _no_interpreter(lock: Lock, machine: Machine, request: Request) -> Finding:
    found = ", ".join(sorted({p.version for p in machine.pythons}, key=release)) or message("planning.none")
    alien = [
        message("planning.no-interpreter.alien", path=p.path, arch=p.arch)
        for p in of_version(lock, machine)
        if other_arch(p, machine)
    ]
    if request.interpreter:
        summary = message(
            "planning.no-interpreter.named", interpreter=request.interpreter, python=lock.python
        )
    else:
        summary = message("planning.no-interpreter.none", python=lock.python)
    return Finding(
        "no-interpreter",
        "error",
        summary,
        detail=message("planning.no-interpreter.detail-1", found=found)
        + (message("planning.no-interpreter.detail-2-if", arch=machine.arch, alien=alien) if alien else ""),
        remedies=(
            Remedy(
                message("planning.no-interpreter.way", python=lock.python),
                f"uv python install {lock.python}",
            ),
            Remedy(message("planning.no-interpreter.way-2"), f"pyenv install {lock.python}"),
        ),
    )


def room(lock: Lock, request: Request) -> Iterator[Finding]:
    """Whether what is written has room, each on its disk; environment and cache often share one."""
    environment, cache = written(lock, request)
    one = request.one_disk
    if one or (one is None and request.cache_free in (None, request.free)):
        disks = [("environment-and-cache", environment + cache, request.free)]
    else:
        disks = [("environment", environment, request.free), ("cache", cache, request.cache_free)]
    for what, wanted, free in disks:
        if free is not None and wanted > free:
            yield _disk_full(what, wanted, free)


def _disk_full(what: str, wanted: int, free: int) -> Finding:
    """`what` is the key of what the disk holds."""
    remedies = [Remedy(message("planning.disk-full.way"), "provision gc --keep 1")]
    if "cache" in what:
        remedies.append(Remedy(message("planning.disk-full.way-2"), "export PROVISION_CACHE=/path"))
    if "environment" in what:
        remedies.append(
            Remedy(message("planning.disk-full.way-3"), "provision apply PROFILE --environment /path")
        )
    return Finding(
        "disk-full",
        "error",
        message(
            "planning.disk-full.summary",
            bytes=_bytes(wanted),
            what=message(f"planning.disk.{what}"),
            bytes2=_bytes(free),
        ),
        evidence=(Evidence(message("planning.file-system"), message("planning.free", bytes=_bytes(free))),),
        remedies=tuple(remedies),
    )


def _bytes(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{count / 1e6:.1f} MB"
