"""Biren: `brsmi gpu --query-gpu=index,memory.used,name --format=csv,noheader,nounits`."""

from __future__ import annotations

from collections.abc import Iterator

from provision.detecting.told import Told
from provision.model.machine import Device

_SOURCE = "brsmi"


def parse(text: str) -> Told:
    """One device a line."""
    return Told(source=_SOURCE, devices=tuple(_cards(text)))


def _cards(text: str) -> Iterator[Device]:
    for line in text.splitlines():
        parts = [part.strip() for part in line.split(",")]
        if len(parts) == 3 and parts[0].isdigit() and parts[2]:
            yield Device(vendor="biren", name=parts[2], facts={"index": parts[0]}, source=_SOURCE)
