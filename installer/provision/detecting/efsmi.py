"""Enflame: `efsmi`. Two lines a card, the memory without a used part, addresses without a domain."""

from __future__ import annotations

import re
from collections.abc import Iterator

from provision.detecting import tables
from provision.detecting.told import Told, address, mebibytes
from provision.model.machine import Device

_SOURCE = "efsmi"


def parse(text: str) -> Told:
    """Cards and driver version."""
    driver = tables.version(text, r"Driver Ver:\s*(\d[\w.]*)")
    return Told(source=_SOURCE, driver=driver, devices=tuple(_cards(text)))


def _cards(text: str) -> Iterator[Device]:
    for first, second in tables.pairs(text):
        head = re.match(r"(\d+)\s+(\S.*)$", first[0])
        bus = address(tables.bus_address(first[1:]))
        if head and bus:
            size = re.search(r"(\d+)\s*MiB", " ".join(second[1:]))
            yield Device(
                vendor="enflame",
                name=head[2],
                pci=bus,
                memory=mebibytes(size[1]) if size else None,
                facts={"index": head[1]},
                source=_SOURCE,
            )
