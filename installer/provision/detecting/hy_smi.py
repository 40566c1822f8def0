"""Hygon: `hy-smi`, or the `rocm-smi` of an older DTK. It numbers the cards and names none of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from provision.detecting.told import Told
from provision.model.machine import Device

_SOURCE = "hy-smi"


def parse(text: str) -> Told:
    """One device a row: number, temperature, power, ..."""
    return Told(source=_SOURCE, devices=tuple(_cards(text)))


def _cards(text: str) -> Iterator[Device]:
    for line in text.splitlines():
        if row := re.match(r"\s*(\d+)\s+\d+(?:\.\d+)?c\s", line, re.IGNORECASE):
            yield Device(vendor="hygon", facts={"index": row[1]}, source=_SOURCE)
