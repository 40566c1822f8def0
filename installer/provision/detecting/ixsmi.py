"""Iluvatar: `ixsmi`. The layout follows nvidia-smi; the CUDA version is that of the compatibility layer."""

from __future__ import annotations

import re
from collections.abc import Iterator

from provision.detecting import tables
from provision.detecting.told import Told, address, mebibytes
from provision.model.machine import Device

_SOURCE = "ixsmi"


def parse(text: str) -> Told:
    """Cards, driver version and the version of the management library."""
    return Told(
        source=_SOURCE,
        driver=tables.version(text, r"Driver Version:\s*(\d\S*)"),
        runtime=tables.version(text, r"IX-ML:\s*(\d\S*)"),
        devices=tuple(_cards(text)),
    )


def _cards(text: str) -> Iterator[Device]:
    for first, second in tables.pairs(text):
        if head := re.match(r"(\d+)\s+(Iluvatar\s+.+)$", first[0]):
            yield Device(
                vendor="iluvatar",
                name=head[2].strip(),
                pci=address(tables.bus_address(first)),
                memory=mebibytes(tables.size_total(second[1:])),
                facts={"index": head[1]},
                source=_SOURCE,
            )
