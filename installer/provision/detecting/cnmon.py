"""Cambricon: `cnmon`. Two lines a card; version 4 has no bus address and tells the driver in each row."""

from __future__ import annotations

import re
from collections.abc import Iterator

from provision.detecting import tables
from provision.detecting.told import Told, address, mebibytes
from provision.model.machine import Device

_SOURCE = "cnmon"


def parse(text: str) -> Told:
    """Cards and driver version."""
    driver = tables.version(text, r"Driver\s+v(\d[\w.]*)") or tables.version(text, r"\|\s*On\s+v(\d[\w.]*)")
    return Told(source=_SOURCE, driver=driver, devices=tuple(_cards(text)))


def _cards(text: str) -> Iterator[Device]:
    for first, second in tables.pairs(text):
        if head := re.match(r"(\d+)\s+\S+\s+(MLU\S+)\s+v\S+$", first[0]):
            yield Device(
                vendor="cambricon",
                name=head[2],
                pci=address(tables.bus_address(first)),
                # The first pair of the second line is the memory; version 4 has the virtual one after it.
                memory=mebibytes(tables.size_total(second[1:2])),
                facts={"index": head[1]},
                source=_SOURCE,
            )
