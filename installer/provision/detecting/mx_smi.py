"""MetaX: `mx-smi`. Two lines a card."""

from __future__ import annotations

import re
from collections.abc import Iterator

from provision.detecting import tables
from provision.detecting.told import Told, address, mebibytes
from provision.model.machine import Device

_SOURCE = "mx-smi"


def parse(text: str) -> Told:
    """Cards, kernel driver and MACA version (`unknown` in a container without the SDK counts as not told)."""
    return Told(
        source=_SOURCE,
        driver=tables.version(text, r"Kernel Mode Driver Version:\s*(\d\S*)"),
        runtime=tables.version(text, r"MACA Version:\s*(\d\S*)"),
        devices=tuple(_cards(text)),
    )


def _cards(text: str) -> Iterator[Device]:
    for first, second in tables.pairs(text):
        if head := re.match(r"(\d+)\s+(MetaX\s+\S+)", first[0]):
            yield Device(
                vendor="metax",
                name=" ".join(head[2].split()),
                pci=address(tables.bus_address(first)),
                memory=mebibytes(tables.size_total(second[1:])),
                facts={"index": head[1]},
                source=_SOURCE,
            )
