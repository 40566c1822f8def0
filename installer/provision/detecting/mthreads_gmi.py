"""Moore Threads: `mthreads-gmi`. No frame around the table; the total memory stands in brackets."""

from __future__ import annotations

import re
from collections.abc import Iterator

from provision.detecting import tables
from provision.detecting.told import Told, address, mebibytes
from provision.model.machine import Device

_SOURCE = "mthreads-gmi"
_CARD = re.compile(r"^(\d+)\s+(MTT\s+\S+)\s*\|\s*([0-9A-Fa-f:.]+)\s*\|[^|]*?(?:\d+MiB\((\d+)MiB\))?\s*\|?$")


def parse(text: str) -> Told:
    """Cards and driver version (`3.3.5-server`)."""
    driver = tables.version(text, r"Driver Version:\s*(\S+)")
    return Told(source=_SOURCE, driver=driver, devices=tuple(_cards(text)))


def _cards(text: str) -> Iterator[Device]:
    for line in text.splitlines():
        if card := _CARD.match(line.strip()):
            yield Device(
                vendor="moorethreads",
                name=card[2],
                pci=address(card[3]),
                memory=mebibytes(card[4] or ""),
                facts={"index": card[1]},
                source=_SOURCE,
            )
