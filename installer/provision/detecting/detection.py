"""The probes in their order, and the machine that they add up to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from provision.detecting import apple, cpu, disks, libc, memory, os, pci, signs, windows
from provision.detecting.overriding import overridden
from provision.detecting.sighting import Sighting, applied, joined
from provision.model.finding import Finding
from provision.model.machine import Machine
from provision.ports import Host, Interpreters, Reader

_SYSTEM: tuple[Callable[[Reader, Host], Sighting], ...] = (
    *(os.probe, libc.probe, cpu.probe, memory.probe, disks.probe),
    *(windows.probe, apple.probe),
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
    functions = pci.functions(reader, host)
    if host.os != "macos" and signs.any_sign(reader, host, functions):
        from provision.detecting import accelerators, libraries, loader

        cache = loader.cache(reader, host)
        yield accelerators.probe(reader, host, functions, cache)
        yield libraries.probe(reader, host, cache)
