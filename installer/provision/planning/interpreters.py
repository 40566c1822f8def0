"""Which Python of the machine builds the environment."""

from __future__ import annotations

from packaging.version import InvalidVersion, Version

from provision.model.lock import Lock
from provision.model.machine import Interpreter, Machine
from provision.planning.request import Request


def interpreter_for(lock: Lock, machine: Machine, request: Request) -> Interpreter | None:
    """The interpreter to build with: the one asked for, else the newest CPython of the lock's minor version."""
    if request.interpreter:
        return next((p for p in machine.pythons if p.path == request.interpreter), None)
    fitting = [p for p in of_version(lock, machine) if not other_arch(p, machine)]
    return max(fitting, key=lambda p: release(p.version), default=None)


def of_version(lock: Lock, machine: Machine) -> list[Interpreter]:
    """The CPythons of the lock's minor version, whatever machine they were built for."""
    return [
        p
        for p in machine.pythons
        if p.version.startswith(f"{lock.python}.") and p.implementation == "cpython"
    ]


def other_arch(python: Interpreter, machine: Machine) -> bool:
    """A 32-bit Python, or one that runs through an emulator: the lock's wheels are not for it."""
    return python.arch not in ("", "universal2", machine.arch)


def release(version: str) -> Version:
    try:
        return Version(version)
    except InvalidVersion:
        return Version("0")
