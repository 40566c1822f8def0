"""Huawei Ascend: `npu-smi info`. Two lines a chip; A3 cards have two chips each; 310P has no HBM."""

from __future__ import annotations

import re
from collections.abc import Iterator

from provision.detecting import tables
from provision.detecting.sighting import found
from provision.detecting.told import Told, address, mebibytes
from provision.messages import message
from provision.model.finding import Finding
from provision.model.machine import Device

_SOURCE = "npu-smi info"


def parse(text: str) -> Told:
    """Chips, driver version and health. Process tables and anything unknown are passed over."""
    chips = [(device, health) for device, health in _chips(text)]
    return Told(
        source=_SOURCE,
        driver=tables.version(text, r"npu-smi\s+\S+\s+Version:\s*(\S+)"),
        devices=tuple(device for device, _ in chips),
        findings=tuple(_unwell(device, health) for device, health in chips if health not in ("OK", "")),
    )


def _chips(text: str) -> Iterator[tuple[Device, str]]:
    for first, second in tables.pairs(text):
        bus = address(tables.bus_address(second))
        if bus and len(first) >= 2 and (head := re.match(r"(\d+)\s+(\S+)$", first[0])):
            chip = re.match(r"(\d+)(?:\s+(\d+))?$", second[0])
            facts = {
                "index": head[1],
                "chip-number": chip[1] if chip else "",
                "physical-id": chip[2] if chip else "",
            }
            device = Device(
                vendor="ascend",
                name=head[2],
                pci=bus,
                memory=mebibytes(_memory(second)),
                facts={name: value for name, value in facts.items() if value},
                source=_SOURCE,
            )
            yield device, first[1]


def _memory(row: tables.Cells) -> str:
    # The last pair is the HBM; where the chip has none (0 / 0, or no third pair) it is the memory before it.
    totals = re.findall(r"[0-9]+\s*/\s*([0-9]+)", row[-1])
    return next((total for total in reversed(totals) if total != "0"), "")


def _unwell(device: Device, health: str) -> Finding:
    return found(
        "device-unhealthy",
        "error" if health in ("Critical", "Alarm") else "warning",
        message("detecting.unwell.ascend-chip-reports-its-health", pci=device.pci, health=health),
        evidence=[(_SOURCE, f"{device.name} {device.pci} {health}")],
        remedies=[
            (
                message("detecting.unwell.ask-tool-what-is-wrong"),
                f"npu-smi info -t health -i {device.facts.get('index', '0')}",
            )
        ],
    )
