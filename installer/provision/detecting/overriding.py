"""Facts that a person states instead of what was found (`libc=glibc 2.17`, CI for another machine)."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from provision.detecting.sighting import found
from provision.messages import message
from provision.model.finding import UsageError
from provision.model.machine import Device, Machine

SOURCE = "override"
_TEXTS = ("os", "arch", "os_version", "kernel", "libc", "cpu")
_LISTS = ("cpu_flags", "traits")
_MAPS = ("drivers", "runtimes", "environment")
_NUMBERS = ("memory",)


def overridden(machine: Machine, overrides: Mapping[str, str]) -> Machine:
    """The machine with stated facts in place of found ones; their evidence says so."""
    for name, value in overrides.items():
        changes = _change(machine, name, value)
        machine = replace(machine, **changes, evidence={**machine.evidence, name: SOURCE})
    return machine


def _change(machine: Machine, name: str, value: str) -> dict[str, Any]:
    if name in _TEXTS:
        return {name: value}
    if name in _LISTS:
        return {name: tuple(part.strip() for part in value.split(",") if part.strip())}
    if name in _NUMBERS:
        return {name: _bytes(name, value)}
    field, _, key = name.partition(".")
    if field in _MAPS and key:
        return {field: {**getattr(machine, field), key: value}}
    if field == "capability" and key:
        return {"devices": _with_capability(machine, key, value)}
    raise UsageError(_unknown(name))


def _bytes(name: str, value: str) -> int:
    if not value.isascii() or not value.isdigit():
        raise UsageError(
            found(
                "bad-override",
                "error",
                message("detecting.bytes.is-number-bytes-not", name=name, value=value),
            )
        )
    return int(value)


def _with_capability(machine: Machine, vendor: str, capability: str) -> tuple[Device, ...]:
    others = tuple(device for device in machine.devices if device.vendor != vendor)
    mine = machine.vendor_devices(vendor) or (Device(vendor=vendor),)
    return (*others, *(replace(device, capability=capability, source=SOURCE) for device in mine))


def _unknown(name: str) -> Any:
    known = [*_TEXTS, *_LISTS, *_NUMBERS, *(f"{field}.NAME" for field in _MAPS), "capability.VENDOR"]
    near = difflib.get_close_matches(name, known, n=1)
    remedy = (
        message("detecting.unknown.did-you-mean", near=near[0])
        if near
        else message("detecting.unknown.facts-that-can-be-stated", known=known)
    )
    return found(
        "bad-override",
        "error",
        message("detecting.unknown.is-no-fact-machine-that", name=name),
        remedies=[remedy],
    )
