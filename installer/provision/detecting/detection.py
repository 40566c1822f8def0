"""The probes in their order, and the machine that they add up to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from provision.detecting import cpu, disks, libc, memory, nvidia_proc, nvidia_smi, os
from provision.detecting.overriding import overridden
from provision.detecting.sighting import Sighting, applied, joined, saw
from provision.model.finding import Finding
from provision.model.machine import Machine
from provision.ports import Host, Interpreters, Reader

_SYSTEM: tuple[Callable[[Reader, Host], Sighting], ...] = (
    os.probe,
    libc.probe,
    cpu.probe,
    memory.probe,
    disks.probe,
)


def detect(
    reader: Reader, overrides: Mapping[str, str] | None = None, interpreters: Interpreters | None = None
) -> tuple[Machine, tuple[Finding, ...]]:
    """The machine that a reader shows, and what is wrong with it (or worth knowing).

    `overrides` replaces facts by name (`libc`, `drivers.nvidia`, `capability.nvidia`); UsageError for a name
    that is none. Pythons are looked for only where `interpreters` is given. Nothing that a tool does or says
    raises.
    """
    host = reader.host()
    seen = joined(_sightings(reader, host))
    machine = applied(Machine(os=host.os, arch=host.arch), seen)
    if interpreters is not None:
        machine = replace(machine, pythons=interpreters.find())
    return overridden(machine, overrides or {}), seen.findings


def _sightings(reader: Reader, host: Host) -> Iterator[Sighting]:
    for probe in _SYSTEM:
        yield probe(reader, host)
    yield nvidia_proc.probe(reader)
    tool = reader.which("nvidia-smi")
    if tool:
        told = nvidia_smi.probe(reader, tool)
        yield saw(tool, drivers={"nvidia": told.driver} if told.driver else {}, devices=told.devices)
        yield Sighting(findings=told.findings)
