"""Kunlunxin: `xpu-smi` and the older `xpu_smi`. Intel's tool of the same name is another one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from provision.detecting import tables
from provision.detecting.told import Told, address, mebibytes
from provision.model.machine import Device

_SOURCE = "xpu-smi"


def parse(text: str) -> Told:
    """Cards, driver and runtime version."""
    return Told(
        source=_SOURCE,
        driver=tables.version(text, r"Driver Version:\s*(\d[\w.]*)"),
        runtime=tables.version(text, r"(?:XPU-RT|Runtime) Version:\s*(\d[\w.]*)"),
        devices=(*_cards(text), *_listed(text)),
    )


def _cards(text: str) -> Iterator[Device]:
    """The table after nvidia-smi's model (P800)."""
    for first, second in tables.pairs(text):
        head = re.match(r"(\d+)\s+(\S.*?)(?:\s+(?:N/A|On|Off))?$", first[0])
        memory = mebibytes(tables.size_total(second[1:2]))
        if head and len(first) == 3 and tables.bus_address(first[1:2]) and memory:
            yield _device(head[1], head[2], tables.bus_address(first), memory)


def _listed(text: str) -> Iterator[Device]:
    """One line a card (first and second generation): `| DevID | PCI Addr | Model | ... | Memory |`."""
    header: tables.Cells = ()
    for row, _ in tables.pairs(text):
        if "DevID" in row and "Model" in row:
            header = row
        elif header and len(row) == len(header) and row[header.index("DevID")].isdigit():
            told = dict(zip(header, row, strict=True))
            memory = mebibytes(tables.size_total((told.get("Memory", ""),)))
            yield _device(told["DevID"], told["Model"], told.get("PCI Addr", ""), memory)


def _device(index: str, name: str, bus: str, memory: int | None) -> Device:
    return Device(
        vendor="kunlunxin", name=name, pci=address(bus), memory=memory, facts={"index": index}, source=_SOURCE
    )
