"""One check a kind of need. A need that the machine meets gives None; one that cannot be told gives a note."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from provision.knowledge.rows import RuntimeRow
from provision.messages import message
from provision.model.finding import Finding
from provision.model.machine import Machine, Software
from provision.model.stack import Need
from provision.planning.held import Held, detected, held, not_checked, where
from provision.shells import quoted

#: Needs that a run on the CPU alone does not have (`--device cpu` proves the software half).
DEVICE_NEEDS = ("device", "driver", "compute-capability", "sdk", "oneapi", "on-linux")

Check = Callable[[Need, Machine], Held | None]


def unmet(need: Need, machine: Machine) -> Finding | None:
    """The finding for a need that this machine does not meet; None if it does or if nothing is known."""
    found = check(need, machine)
    return found.finding if found is not None and found.finding.severity == "error" else None


def check(need: Need, machine: Machine) -> Held | None:
    """One need held against the machine."""
    function = _CHECKS.get(need.what.partition(".")[0])
    return function(need, machine) if function else not_checked(need.what, need.value)


def for_wsl(need: Need, machine: Machine, runtimes: Mapping[str, RuntimeRow]) -> Need:
    """Inside WSL the driver is the Windows one, with the numbers of Windows: its floor counts."""
    row = runtimes.get(need.rule)
    floor = row.driver_floor.get("windows") if row and "wsl2" in machine.traits else None
    return replace(need, value=f">={floor}") if floor and need.what.startswith("driver.") else need


def _device(need: Need, machine: Machine) -> Held | None:
    if machine.vendor_devices(need.value):
        return None
    seen = ", ".join(f"{d.vendor} {d.name or d.capability}".strip() for d in machine.devices) or message(
        "planning.none"
    )
    return held(
        "no-device",
        "error",
        message("planning.no-device.summary", vendor=need.value),
        detail=message("planning.no-device.detail", seen=seen),
        evidence=[(where(machine, "devices"), seen)],
        remedies=[
            (
                message("planning.no-device.way"),
                "provision apply PROFILE --device cpu",
            ),
            (
                message("planning.no-device.way-2"),
                "provision apply PROFILE --for-machine machine.yaml",
            ),
            (message("planning.no-device.way-3"), "provision detect"),
        ],
    )


def _driver(need: Need, machine: Machine) -> Held | None:
    vendor = need.what.partition(".")[2]
    found = machine.drivers.get(vendor)
    if found:
        return _driver_version(need, machine, vendor, found)
    if not machine.vendor_devices(vendor):
        return None  # the need for a device speaks
    if not detected(machine):
        return not_checked(message("planning.what.driver", vendor=vendor), need.value)
    cards = ", ".join(device.name or device.pci for device in machine.vendor_devices(vendor))
    return held(
        "driver-missing",
        "error",
        message(
            "planning.driver-missing.summary",
            cards=cards,
            vendor=vendor,
            because=need.because or message("planning.the-stack"),
            value=need.value,
        ),
        evidence=[(where(machine, "devices"), cards)],
        remedies=[
            message("planning.driver-missing.way", vendor=vendor, value=need.value),
            (message("planning.driver-missing.way-2"), "provision detect"),
        ],
    )


def _driver_version(need: Need, machine: Machine, vendor: str, found: str) -> Held | None:
    holds = _holds(need.value, found)
    if holds is None:
        return not_checked(message("planning.what.driver-age", vendor=vendor, found=found), need.value)
    if holds:
        return None
    side = "wsl" if "wsl2" in machine.traits else "here"
    return held(
        "driver-too-old",
        "error",
        message("planning.driver-too-old.summary", vendor=vendor, value=need.value, found=found),
        detail=message("planning.asked-by", because=need.because) if need.because else "",
        evidence=[(where(machine, need.what.replace("driver.", "drivers.")), found), *_row(need)],
        remedies=[message(f"planning.driver-too-old.way-{side}", version=need.value.lstrip(">="))],
        general=False,
    )


def _glibc(need: Need, machine: Machine) -> Held | None:
    kind, _, found = machine.libc.partition(" ")
    if not machine.libc:
        return not_checked(message("planning.what.libc"), message("planning.what.glibc", value=need.value))
    if kind != "glibc":
        return held(
            "glibc-too-old",
            "error",
            message(
                "planning.glibc-too-old.summary", because=need.because, value=need.value, libc=machine.libc
            ),
            evidence=[(where(machine, "libc"), machine.libc), *_row(need)],
            remedies=[message("planning.glibc-too-old.way", version=need.value.lstrip(">="))],
        )
    if _holds(need.value, found) is not False:
        return None
    return held(
        "glibc-too-old",
        "error",
        message("planning.glibc-too-old.summary-2", value=need.value, found=found),
        detail=message("planning.asked-by", because=need.because) if need.because else "",
        evidence=[(where(machine, "libc"), found), *_row(need)],
        remedies=[
            message("planning.glibc-too-old.way-2", version=need.value.lstrip(">=")),
            message("planning.glibc-too-old.way-3"),
        ],
    )


def _flags(need: Need, machine: Machine) -> Held | None:
    missing = sorted({f for f in need.value.replace(",", " ").split() if f} - set(machine.cpu_flags))
    if not machine.cpu_flags:
        return not_checked(
            message("planning.what.cpu"),
            message("planning.what.flags", value=need.value, because=need.because),
        )
    if not missing:
        return None
    return held(
        f"no-{missing[0]}",
        "error",
        message("planning.no-flag.summary", missing=missing, because=need.because),
        evidence=[
            (where(machine, "cpu_flags", "cpu"), machine.cpu or message("planning.cpu-flags")),
            *_row(need),
        ],
        remedies=[message("planning.no-flag.way")],
    )


def _os(need: Need, machine: Machine) -> Held | None:
    found = re.search(r"\d[\d.]*", machine.os_version or machine.kernel)
    holds = _holds(need.value, found[0]) if found else None
    if holds is None:
        return not_checked(message("planning.what.os"), need.value)
    if holds:
        return None
    return held(
        "os-too-old",
        "error",
        message(
            "planning.os-too-old.summary",
            because=need.because,
            os=machine.os,
            value=need.value,
            found=machine.os_version or machine.kernel,
        ),
        evidence=[(where(machine, "os_version", "kernel"), machine.os_version), *_row(need)],
        remedies=[message("planning.os-too-old.way", os=machine.os, version=need.value.lstrip(">="))],
    )


def _on_linux(need: Need, machine: Machine) -> Held | None:
    """`wsl`: on Linux it works inside WSL 2 only, where the graphics card of Windows is lent."""
    if machine.os != "linux" or "wsl2" in machine.traits:
        return None
    if not detected(machine):
        return not_checked(message("planning.what.wsl"), need.because)
    return held(
        "not-wsl",
        "error",
        message(
            "planning.not-wsl.summary",
            because=need.because,
            found=machine.os_version or message("planning.another-linux"),
        ),
        evidence=[(where(machine, "kernel"), machine.kernel), *_row(need)],
        remedies=[
            message("planning.not-wsl.way"),
            message("planning.not-wsl.way-2"),
        ],
    )


def _msvc(need: Need, machine: Machine) -> Held | None:
    if machine.os != "windows" or any(copy.name == "msvc" for copy in machine.software):
        return None
    if not detected(machine):
        return not_checked(message("planning.what.msvc"), need.value)
    return held(
        "msvc-missing",
        "error",
        message("planning.msvc-missing.summary", because=need.because, value=need.value),
        evidence=[(message("planning.detection"), message("planning.msvc-missing.evidence")), *_row(need)],
        remedies=[message("planning.msvc-missing.way")],
    )


def _capability(need: Need, machine: Machine) -> Held | None:
    """The profile's own word about the cards: below its floor blocks; another card may still be served."""
    lowest = machine.lowest_capability("nvidia")
    if not machine.vendor_devices("nvidia") or lowest is None:
        return (
            not_checked(message("planning.what.capability"), need.value)
            if machine.vendor_devices("nvidia")
            else None
        )
    cards = [
        (d.source or message("planning.detection"), f"{d.name}: {d.capability}")
        for d in machine.vendor_devices("nvidia")
    ]
    if _holds(need.value, lowest):
        return None
    return held(
        "other-capability",
        "warning",
        message("planning.other-capability.summary", value=need.value, lowest=lowest),
        detail=message("planning.other-capability.detail"),
        evidence=cards,
        remedies=[message("planning.other-capability.way")],
    )


def _sdk(need: Need, machine: Machine) -> Held | None:
    name = need.what.partition(".")[2]
    copies = [copy for copy in machine.software if copy.name == name]
    if not copies:
        return _sdk_missing(need, machine, name)
    active = next((copy for copy in copies if copy.active), None)
    if active is None and all(copy.active is False for copy in copies):
        return _sdk_not_sourced(need, copies[0])
    copy = active or copies[0]
    holds = _holds(need.value, copy.version) if need.value else True
    if holds is None:
        return not_checked(message("planning.what.version", name=name), need.value)
    if holds:
        return None
    return held(
        "sdk-too-old",
        "error",
        message("planning.sdk-too-old.summary", name=name, value=need.value, found=copy.version),
        detail=message("planning.asked-by", because=need.because) if need.because else "",
        evidence=[(copy.path, copy.version), *_row(need)],
        remedies=[
            message(
                "planning.sdk-too-old.way", name=name, version=need.value.lstrip(">="), found=copy.version
            )
        ],
    )


def _sdk_missing(need: Need, machine: Machine, name: str) -> Held:
    wanted = f"{name} {need.value}".strip()
    if not detected(machine):
        return not_checked(name, need.value or message("planning.what.its-version"))
    return held(
        "sdk-missing",
        "error",
        message("planning.sdk-missing.summary", because=need.because, wanted=wanted, name=name),
        evidence=[
            (message("planning.detection"), message("planning.sdk-missing.evidence", name=name)),
            *_row(need),
        ],
        remedies=[message("planning.sdk-missing.way", wanted=wanted)],
    )


def _sdk_not_sourced(need: Need, copy: Software) -> Held:
    script = copy.facts.get("script", "")
    return held(
        "sdk-not-sourced",
        "error",
        message("planning.sdk-not-sourced.summary", name=copy.name, version=copy.version),
        detail=message("planning.sdk-not-sourced.detail", because=need.because),
        evidence=[
            (copy.path, message("planning.sdk-not-sourced.evidence", version=copy.version)),
            *_row(need),
        ],
        remedies=[(message("planning.sdk-not-sourced.way"), f"source {quoted(script)}" if script else "")],
    )


_CHECKS: Mapping[str, Check] = {
    "device": _device,
    "driver": _driver,
    "glibc": _glibc,
    "cpu-flags": _flags,
    "os": _os,
    "on-linux": _on_linux,
    "msvc": _msvc,
    "compute-capability": _capability,
    "sdk": _sdk,
}


def _holds(specifiers: str, version: str) -> bool | None:
    """None where the version, or what is asked of it, cannot be compared."""
    try:
        return SpecifierSet(specifiers).contains(Version(version), prereleases=True)
    except (InvalidSpecifier, InvalidVersion):
        return None


def _row(need: Need) -> Iterator[tuple[str, str]]:
    if need.rule:
        yield message("planning.knowledge", rule=need.rule), f"{need.what} {need.value}"
