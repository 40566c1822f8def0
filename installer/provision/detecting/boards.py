"""NVIDIA Jetson: no card on the PCI bus; the device tree says which chip the board has."""

from __future__ import annotations

from provision.detecting.rows import table
from provision.detecting.sighting import NOTHING, Sighting, saw
from provision.model.machine import Device
from provision.ports import Reader

_COMPATIBLE = "/proc/device-tree/compatible"
_MODEL = "/proc/device-tree/model"


def probe(reader: Reader) -> Sighting:
    """The board's GPU; nothing on other machines. It shares the memory of the processor."""
    chips = (reader.read_text(_COMPATIBLE) or "").split("\0")
    for row in table("boards"):
        if row["compatible"] in chips:
            model = (reader.read_text(_MODEL) or "").strip("\0\n ")
            device = Device(
                vendor=row["vendor"],
                name=model,
                capability=row["capability"],
                facts={"chip": row["compatible"], "integrated": "yes"},
                source=_COMPATIBLE,
            )
            return saw(_COMPATIBLE, devices=(device,), traits=("jetson",))
    return NOTHING
