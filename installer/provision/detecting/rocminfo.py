"""AMD: `rocminfo`, asked where the kernel's topology cannot be read (WSL)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from provision.detecting.told import Told
from provision.model.machine import Device

_SOURCE = "rocminfo"


def parse(text: str) -> Told:
    """The agents that are GPUs: gfx target and marketing name."""
    return Told(source=_SOURCE, devices=tuple(_agents(text)))


def _agents(text: str) -> Iterator[Device]:
    for agent in re.split(r"^Agent \d+", text, flags=re.MULTILINE)[1:]:
        target = re.search(r"^\s+Name:\s+(gfx[0-9a-f]+)\s*$", agent, re.MULTILINE)
        name = re.search(r"^\s+Marketing Name:\s+(\S.*?)\s*$", agent, re.MULTILINE)
        if target:
            yield Device(vendor="amd", name=name[1] if name else "", capability=target[1], source=_SOURCE)
