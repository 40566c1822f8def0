"""NVIDIA's kernel driver as Linux shows it in /proc/driver/nvidia."""

from __future__ import annotations

import re

from provision.detecting.told import address
from provision.model.machine import Device
from provision.ports import Reader

VERSION = "/proc/driver/nvidia/version"
_CARDS = "/proc/driver/nvidia/gpus"


def version(reader: Reader) -> str:
    """Version of the loaded module; empty if it is not loaded."""
    return parse_version(reader.read_text(VERSION) or "")


def parse_version(text: str) -> str:
    """`535.154.05` from the line `NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.154.05  Thu ...`."""
    line = re.search(r"^NVRM version:.*?\s(\d+\.\d+(?:\.\d+)?)\s", text, re.MULTILINE)
    return line[1] if line else ""


def cards(reader: Reader) -> tuple[Device, ...]:
    """The cards that the kernel driver holds, without capability and memory."""
    found = []
    for name in reader.listdir(_CARDS):
        path = f"{_CARDS}/{name}/information"
        if fields := parse_information(reader.read_text(path) or ""):
            model = fields.get("Model", "")
            pci = address(fields.get("Bus Location", name))
            found.append(
                Device(vendor="nvidia", name="" if model == "Unknown" else model, pci=pci, source=path)
            )
    return tuple(found)


def parse_information(text: str) -> dict[str, str]:
    """The `Key:   value` lines of a card's information file."""
    pairs = (line.partition(":") for line in text.splitlines() if ":" in line)
    return {key.strip(): value.strip() for key, _, value in pairs}
