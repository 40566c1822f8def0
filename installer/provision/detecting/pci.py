"""Functions on the PCI bus, and which of them are accelerators: the vendor is what the bus says, whatever the
name of a tool."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from provision.detecting.rows import table
from provision.model.machine import Device
from provision.ports import Host, Reader

_BUS = "/sys/bus/pci/devices"


class Function(NamedTuple):
    """One PCI function; ids and class in lower-case hexadecimal (`10de`, `2684`, `030000`). `driver` is the
    kernel driver that holds it; the rest is what Windows knows beside."""

    address: str
    vendor: str
    device: str
    kind: str
    subsystem: str = ""
    driver: str = ""
    name: str = ""
    version: str = ""
    memory: int | None = None
    source: str = ""


def functions(reader: Reader, host: Host) -> tuple[Function, ...] | None:
    """All functions; None where the bus cannot be seen (a container without sysfs, macOS)."""
    if host.os == "windows":
        from provision.detecting import pnp

        return pnp.functions(reader)
    names = reader.listdir(_BUS)
    if not names:
        return None
    found = (_linux_function(reader, name) for name in names)
    return tuple(function for function in found if function is not None)


def _linux_function(reader: Reader, name: str) -> Function | None:
    text = reader.read_text(f"{_BUS}/{name}/uevent")
    if text and (function := parse_uevent(text, name)):
        return function
    words = [
        (reader.read_text(f"{_BUS}/{name}/{file}") or "").strip() for file in ("vendor", "device", "class")
    ]
    vendor, device, kind = (word.removeprefix("0x").lower() for word in words)
    if not vendor or not device:
        return None
    return Function(
        address=name, vendor=vendor, device=device, kind=kind.zfill(6), source=f"{_BUS}/{name}/vendor"
    )


def parse_uevent(text: str, name: str) -> Function | None:
    """A function from its uevent file (`PCI_CLASS=30000`, `PCI_ID=10DE:2684`, `DRIVER=nvidia`)."""
    pairs = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    ids = re.fullmatch(r"([0-9A-F]{1,4}):([0-9A-F]{1,4})", pairs.get("PCI_ID", ""))
    if ids is None:
        return None
    return Function(
        address=name,
        vendor=ids[1].lower().zfill(4),
        device=ids[2].lower().zfill(4),
        kind=pairs.get("PCI_CLASS", "").lower().zfill(6),
        subsystem=pairs.get("PCI_SUBSYS_ID", "").lower(),
        driver=pairs.get("DRIVER", ""),
        source=f"{_BUS}/{name}/uevent",
    )


def accelerators(found: tuple[Function, ...]) -> Iterator[tuple[Function, Device]]:
    """Those functions that are accelerators of a known vendor, with what the bus alone tells of them."""
    for function in found:
        vendor = vendor_of(function)
        if vendor:
            yield function, _device(function, vendor)


def vendor_of(function: Function) -> str:
    """`nvidia`, `ascend`, ...; empty for anything that is no accelerator of a known vendor."""
    for row in table("pci_vendors"):
        if row["pci"] == function.vendor:
            of_class = any(function.kind.startswith(kind) for kind in row["classes"])
            # A display or accelerator class of a shared vendor id, or an id that is on record as a card's.
            return row["vendor"] if of_class or _listed(row["vendor"], function.device) else ""
    return ""


def _listed(vendor: str, device: str) -> bool:
    return any(row["vendor"] == vendor and device in row["names"] for row in table("pci_devices"))


def _device(function: Function, vendor: str) -> Device:
    name, capability, chip = known(vendor, function.device)
    facts = {
        "pci-id": f"{function.vendor}:{function.device}",
        "subsystem": function.subsystem,
        "chip": chip,
        "kernel-driver": function.driver,
    }
    return Device(
        vendor=vendor,
        name=function.name or name,
        pci=function.address,
        capability=capability,
        memory=function.memory,
        driver=function.version,
        facts={key: value for key, value in facts.items() if value},
        source=function.source,
    )


def known(vendor: str, device: str) -> tuple[str, str, str]:
    """(name, capability, chip) that the knowledge has for a device id; each empty if it is not on record."""
    name = capability = chip = ""
    for row in table("pci_devices"):
        if row["vendor"] == vendor:
            name = name or row["names"].get(device, "")
            capability = capability or row["capability"].get(device, "")
    for row in table("pci_ranges"):
        if row["vendor"] == vendor and any(first <= device <= last for first, last in row["ranges"]):
            return name, capability or row["capability"], row["chip"]
    return name, capability, chip
