"""The screen of `detect`: one line a fact with where it was read, one line a card, one line a copy of a library."""

from __future__ import annotations

from collections.abc import Iterator

from provision.cli.language import local, word
from provision.cli.rendering import paint, say, size, table
from provision.model.machine import Device, Machine, Software

#: Flags of a CPU that decide whether a build runs; a CPU has a hundred others.
_FLAGS = ("sse4_2", "avx", "avx2", "fma", "avx512f", "asimd", "sve")
#: A card's own facts, in this order.
_CARD_FACTS = ("chip", "driver-model", "mig", "health", "hidden")

Row = tuple[str, str, str]


def show_machine(machine: Machine) -> None:
    """Facts that nothing tells are left out."""
    for title, rows in (
        ("", list(_system(machine))),
        (word("cli.title.accelerators"), list(_cards(machine))),
        (word("cli.title.software"), list(_software(machine))),
        (word("cli.title.pythons"), list(_pythons(machine))),
        (word("cli.title.variables"), [(name, value, "") for name, value in machine.environment.items()]),
    ):
        if title and rows:
            say()
            say(paint(title, bold=True))
        for line in table([row for row in rows if any(row[:2])]):
            say(line)


def _system(machine: Machine) -> Iterator[Row]:
    facts = [
        (word("cli.label.system"), f"{machine.os_version or machine.os} ({machine.target})", "os_version"),
        (word("cli.label.kernel"), machine.kernel, "kernel"),
        (word("cli.label.libc"), machine.libc, "libc"),
        (word("cli.label.cpu"), machine.cpu, "cpu"),
        (word("cli.label.cpu-flags"), " ".join(f for f in _FLAGS if f in machine.cpu_flags), "cpu_flags"),
        (word("cli.label.memory"), size(machine.memory) if machine.memory else "", "memory"),
        (word("cli.label.traits"), " ".join(machine.traits), "traits"),
    ]
    yield from ((label, text, local(machine.evidence.get(key, ""))) for label, text, key in facts if text)
    for free in dict.fromkeys(machine.disks.values()):
        folders = [folder for folder, there in machine.disks.items() if there == free]
        yield word("cli.label.disk"), word("cli.free", size=size(free)), " ".join(folders)
    for name, version in machine.drivers.items():
        yield word("cli.driver", driver=name), version, local(machine.evidence.get(f"drivers.{name}", ""))


def _cards(machine: Machine) -> Iterator[Row]:
    """Each card with its own facts; of several cards also what all of them reach."""
    if not machine.devices:
        yield word("cli.machine.none-seen"), "", ""
    for device in machine.devices:
        yield _name(device), _card(device), local(device.source)
    for vendor in dict.fromkeys(device.vendor for device in machine.devices):
        lowest = machine.lowest_capability(vendor)
        mine = {device.capability for device in machine.vendor_devices(vendor)}
        if lowest and len(mine) > 1:
            level = word("cli.machine.capability", capability=lowest)
            yield word("cli.machine.all", vendor=vendor), level, word("cli.machine.lowest")


def _name(device: Device) -> str:
    number = device.facts.get("index", "")
    return f"{device.vendor}{f' {number}' if number else ''}  {device.name or device.facts.get('chip', '')}".rstrip()


def _card(device: Device) -> str:
    parts = [
        device.capability or word("cli.machine.no-capability"),
        size(device.memory) if device.memory else "",
        word("cli.driver", driver=device.driver) if device.driver else "",
        *(word(f"cli.card.{key}", value=device.facts[key]) for key in _CARD_FACTS if device.facts.get(key)),
        device.pci,
    ]
    return "  ".join(dict.fromkeys(part for part in parts if part))


def _software(machine: Machine) -> Iterator[Row]:
    """Every copy, those of one library together, the one that wins first."""
    for copy in sorted(machine.software, key=lambda copy: (copy.name, copy.active is not True)):
        yield f"{copy.name} {copy.version}".rstrip(), _state(copy, machine), copy.path


def _state(copy: Software, machine: Machine) -> str:
    several = sum(other.name == copy.name for other in machine.software) > 1
    state = "wins" if several and copy.active else "active" if copy.active else "unused"
    said = word(f"cli.copy.{state}") if copy.active is not None else ""
    return f"{said} ({local(copy.place)})" if said and copy.place else said or local(copy.place)


def _pythons(machine: Machine) -> Iterator[Row]:
    for python in machine.pythons:
        other = python.arch if python.arch not in ("", machine.arch) else ""
        how = f"{python.implementation} {other}".rstrip()
        yield f"{python.version} {how if how != 'cpython' else ''}".rstrip(), python.path, python.source
