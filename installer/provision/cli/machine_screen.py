"""The screen of `detect`: one line a fact with where it was read, one line a card, one line a copy of a library."""

from __future__ import annotations

from collections.abc import Iterator

from provision.cli.rendering import paint, say, size, table
from provision.model.machine import Device, Machine, Software

#: Flags of a CPU that decide whether a build runs; a CPU has a hundred others.
_FLAGS = ("sse4_2", "avx", "avx2", "fma", "avx512f", "asimd", "sve")
#: What a card's own facts are called for people, in this order.
_CARD_FACTS = {"chip": "chip", "driver-model": "", "mig": "MIG", "health": "health", "hidden": "hidden by"}

Row = tuple[str, str, str]


def show_machine(machine: Machine) -> None:
    """Facts that nothing tells are left out."""
    for title, rows in (
        ("", list(_system(machine))),
        ("accelerators", list(_cards(machine))),
        ("software", list(_software(machine))),
        ("pythons", list(_pythons(machine))),
        ("variables", [(name, value, "") for name, value in machine.environment.items()]),
    ):
        if title and rows:
            say()
            say(paint(title, bold=True))
        for line in table([row for row in rows if any(row[:2])]):
            say(line)


def _system(machine: Machine) -> Iterator[Row]:
    facts = [
        ("system", f"{machine.os_version or machine.os} ({machine.target})", "os_version"),
        ("kernel", machine.kernel, "kernel"),
        ("libc", machine.libc, "libc"),
        ("cpu", machine.cpu, "cpu"),
        ("cpu flags", " ".join(f for f in _FLAGS if f in machine.cpu_flags), "cpu_flags"),
        ("memory", size(machine.memory) if machine.memory else "", "memory"),
        ("traits", " ".join(machine.traits), "traits"),
    ]
    yield from ((label, text, machine.evidence.get(key, "")) for label, text, key in facts if text)
    for free in dict.fromkeys(machine.disks.values()):
        folders = [folder for folder, there in machine.disks.items() if there == free]
        yield "disk", f"{size(free)} free", " ".join(folders)
    for name, version in machine.drivers.items():
        yield f"driver {name}", version, machine.evidence.get(f"drivers.{name}", "")


def _cards(machine: Machine) -> Iterator[Row]:
    """Each card with its own facts; of several cards also what all of them reach."""
    if not machine.devices:
        yield "none seen", "", ""
    for device in machine.devices:
        yield _name(device), _card(device), device.source
    for vendor in dict.fromkeys(device.vendor for device in machine.devices):
        lowest = machine.lowest_capability(vendor)
        mine = {device.capability for device in machine.vendor_devices(vendor)}
        if lowest and len(mine) > 1:
            yield f"all {vendor}", f"capability {lowest}", "the lowest of them decides what runs on all"


def _name(device: Device) -> str:
    number = device.facts.get("index", "")
    return f"{device.vendor}{f' {number}' if number else ''}  {device.name or device.facts.get('chip', '')}".rstrip()


def _card(device: Device) -> str:
    parts = [
        device.capability or "capability unknown",
        size(device.memory) if device.memory else "",
        f"driver {device.driver}" if device.driver else "",
        *(
            f"{word} {device.facts[key]}".strip()
            for key, word in _CARD_FACTS.items()
            if device.facts.get(key)
        ),
        device.pci,
    ]
    return "  ".join(dict.fromkeys(part for part in parts if part))


def _software(machine: Machine) -> Iterator[Row]:
    """Every copy, those of one library together, the one that wins first."""
    for copy in sorted(machine.software, key=lambda copy: (copy.name, copy.active is not True)):
        yield f"{copy.name} {copy.version}".rstrip(), _state(copy, machine), copy.path


def _state(copy: Software, machine: Machine) -> str:
    several = sum(other.name == copy.name for other in machine.software) > 1
    word = {True: "wins" if several else "active", False: "not used", None: ""}[copy.active]
    return f"{word} ({copy.place})" if word and copy.place else word or copy.place


def _pythons(machine: Machine) -> Iterator[Row]:
    for python in machine.pythons:
        other = python.arch if python.arch not in ("", machine.arch) else ""
        how = f"{python.implementation} {other}".rstrip()
        yield f"{python.version} {how if how != 'cpython' else ''}".rstrip(), python.path, python.source
