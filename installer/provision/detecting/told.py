"""What one source tells of a vendor's devices, and how several sources become one list."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from provision.model.finding import Finding
from provision.model.machine import Device

MIB = 1024 * 1024


class Told(NamedTuple):
    """All that one source tells. `cuda` is the newest CUDA that an NVIDIA driver serves (`12.4`); `runtime`
    the vendor's own runtime where the tool names it."""

    source: str
    driver: str = ""
    cuda: str = ""
    runtime: str = ""
    devices: tuple[Device, ...] = ()
    findings: tuple[Finding, ...] = ()


def address(text: str) -> str:
    """A PCI address as Linux writes it: `00000000:C1:00.0` -> `0000:c1:00.0`; empty if it is none."""
    parts = re.fullmatch(
        r"(?:([0-9A-Fa-f]{1,8}):)?([0-9A-Fa-f]{1,2}):([0-9A-Fa-f]{1,2})\.([0-7])", text.strip()
    )
    if not parts:
        return ""
    return f"{(parts[1] or '0')[-4:].zfill(4)}:{parts[2].zfill(2)}:{parts[3].zfill(2)}.{parts[4]}".lower()


def mebibytes(text: str) -> int | None:
    """`24564`, `24564 MiB`, `24564MiB` in bytes; None for anything else."""
    number = re.fullmatch(r"\s*([0-9]{1,9})\s*(?:MiB|MB)?\s*", text)
    return int(number[1]) * MIB if number else None


def united(first: tuple[Device, ...], second: tuple[Device, ...]) -> tuple[Device, ...]:
    """One list of two sources of one vendor. What `first` tells wins; what only `second` has is added."""
    if not first or not second:
        return first or second
    if not all(device.pci for device in (*first, *second)):
        return _by_position(first, second)
    others = {device.pci: device for device in second}
    merged = [filled(device, others.pop(device.pci)) if device.pci in others else device for device in first]
    return (*merged, *others.values())


def _by_position(first: tuple[Device, ...], second: tuple[Device, ...]) -> tuple[Device, ...]:
    if len(first) == len(second):
        return tuple(filled(one, other) for one, other in zip(first, second, strict=True))
    # Without addresses nobody can say which is which: the source that knows the addresses is believed.
    return second if all(device.pci for device in second) else first


def filled(device: Device, other: Device) -> Device:
    """A device whose gaps are filled from another source."""
    sources = [source for source in (device.source, other.source) if source]
    return replace(
        device,
        name=device.name or other.name,
        pci=device.pci or other.pci,
        capability=device.capability or other.capability,
        memory=device.memory if device.memory is not None else other.memory,
        driver=device.driver or other.driver,
        facts={**other.facts, **device.facts},
        source=", ".join(dict.fromkeys(sources)),
    )


def each_code_once(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Several sources that complain of the same thing make one finding with all their evidence."""
    kept: dict[str, Finding] = {}
    for finding in findings:
        first = kept.get(finding.code)
        if first is None:
            kept[finding.code] = finding
        else:
            more = tuple(item for item in finding.evidence if item not in first.evidence)
            kept[finding.code] = replace(first, evidence=first.evidence + more)
    return tuple(kept.values())
