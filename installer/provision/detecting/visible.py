"""Variables that hide devices or choose among them (CUDA_VISIBLE_DEVICES and its relatives)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from provision.detecting.rows import Row, table
from provision.detecting.sighting import Sighting, found
from provision.messages import message
from provision.model.finding import Finding
from provision.model.machine import Device
from provision.ports import Reader

#: Steer the search for libraries, so that whoever explains a failure needs them.
_SEARCH = ("LD_LIBRARY_PATH", "LD_PRELOAD", "CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX", "VIRTUAL_ENV")
_NONE = ("", "-1", "none", "void", "NoDevFiles")


def probe(reader: Reader, devices: tuple[Device, ...]) -> Sighting:
    """The variables that are set, and a finding for each that hides devices."""
    variables = reader.environ()
    named = {name for row in table("visible") for name in row["variables"]} | set(_SEARCH)
    kept = {name: variables[name] for name in sorted(named) if name in variables}
    findings = [finding for row in table("visible") for finding in _hidden(row, kept, devices)]
    return Sighting(
        facts={"environment": kept} if kept else {},
        evidence={f"environment.{name}": f"${name}" for name in kept},
        findings=tuple(findings),
    )


def _hidden(row: Row, variables: Mapping[str, str], devices: tuple[Device, ...]) -> Iterator[Finding]:
    mine = [device for device in devices if device.vendor == row["vendor"]]
    # Only the first variable of a row is what the framework itself reads.
    name = row["variables"][0]
    if not mine or name not in variables:
        return
    seen = visible_count(variables[name], mine)
    if seen is None or seen >= len(mine):
        return
    yield found(
        "devices-hidden",
        "warning" if seen == 0 else "note",
        message(
            "detecting.hidden.hides-devices",
            name=name,
            hidden=len(mine) - seen,
            mine=len(mine),
            vendor=row["vendor"],
        )
        if seen
        else message("detecting.hidden.hides-all", name=name, mine=len(mine), vendor=row["vendor"]),
        evidence=[(f"${name}", variables[name])],
        remedies=[(message("detecting.hidden.unset-it-to-see-all"), f"unset {name}")],
    )


def marked(reader: Reader, devices: tuple[Device, ...]) -> tuple[Device, ...]:
    """The devices; those that a variable hides from every program say by which one (fact `hidden`).

    Numbers count from the fastest card on, unless CUDA_DEVICE_ORDER says otherwise: of unlike cards they tell
    nothing without it.
    """
    variables = reader.environ()
    for row in table("visible"):
        name = row["variables"][0]
        mine = [device for device in devices if device.vendor == row["vendor"]]
        by_number = variables.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID" or len({d.name for d in mine}) == 1
        seen = visible(variables[name], mine, by_number) if mine and name in variables else None
        if seen is not None:
            hidden = [device for device in mine if device not in seen]
            devices = tuple(_hidden_by(device, name) if device in hidden else device for device in devices)
    return devices


def _hidden_by(device: Device, variable: str) -> Device:
    return replace(device, facts={**device.facts, "hidden": variable})


def visible_count(value: str, devices: list[Device]) -> int | None:
    """How many devices a list of numbers or UUIDs leaves. None if it cannot be told."""
    seen = visible(value, devices, by_number=True)
    return None if seen is None else len(seen)


def visible(value: str, devices: list[Device], by_number: bool) -> list[Device] | None:
    """The devices that a list of numbers or UUIDs leaves; it ends at the first that does not exist.

    None if it cannot be told (`all`, a notation that is not a list, numbers where they mean nothing).
    """
    if value.strip() in _NONE:
        return []
    if value.strip().lower() == "all":
        return None
    seen: list[Device] = []
    for part in (part.strip() for part in value.split(",")):
        found = _one(part, devices, by_number)
        if found is None:
            return None
        if not found:
            break
        seen += found
    return seen


def _one(part: str, devices: list[Device], by_number: bool) -> list[Device] | None:
    """The device that one word of a list names; none if there is no such, None if it cannot be told."""
    if part.isascii() and part.isdigit():
        return devices[int(part) : int(part) + 1] if by_number else None
    uuids = [device.facts.get("uuid", "") for device in devices]
    if not part.startswith(("GPU-", "MIG-")) or not any(uuids):
        return None
    if part.startswith("MIG-"):
        return devices[:1]
    return [device for device, uuid in zip(devices, uuids, strict=True) if uuid.startswith(part)][:1]
