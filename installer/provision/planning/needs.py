"""One check a kind of need. A need that the machine meets gives None; one that cannot be told gives a note."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from provision.knowledge.rows import RuntimeRow
from provision.model.finding import Finding
from provision.model.machine import Machine, Software
from provision.model.stack import Need
from provision.planning.held import Held, detected, held, not_checked, where

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
    seen = ", ".join(f"{d.vendor} {d.name or d.capability}".strip() for d in machine.devices) or "none"
    return held(
        "no-device",
        "error",
        f"The profile is for {need.value} hardware; this machine shows none.",
        detail=f"Accelerators seen: {seen}.",
        evidence=[(where(machine, "devices"), seen)],
        remedies=[
            (
                "Prove the software half alone on the CPU (the receipt will say so).",
                "provision apply PROFILE --device cpu",
            ),
            (
                "If it is meant for another machine: save that machine's facts there, and build for it here.",
                "provision apply PROFILE --for-machine machine.yaml",
            ),
            ("See what was detected and where it was read.", "provision detect"),
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
        return not_checked(f"the {vendor} driver", need.value)
    cards = ", ".join(device.name or device.pci for device in machine.vendor_devices(vendor))
    return held(
        "driver-missing",
        "error",
        f"{cards}: there is no {vendor} driver here; {need.because or 'the stack'} needs {need.value}.",
        evidence=[(where(machine, "devices"), cards)],
        remedies=[f"Install the {vendor} driver ({need.value}).", ("What was found:", "provision detect")],
    )


def _driver_version(need: Need, machine: Machine, vendor: str, found: str) -> Held | None:
    holds = _holds(need.value, found)
    if holds is None:
        return not_checked(f"whether {vendor} driver {found} is old enough", need.value)
    if holds:
        return None
    side = "on the Windows side, not inside WSL" if "wsl2" in machine.traits else "on this machine"
    return held(
        "driver-too-old",
        "error",
        f"The {vendor} driver must be {need.value}; here it is {found}.",
        detail=f"Asked for by {need.because}." if need.because else "",
        evidence=[(where(machine, need.what.replace("driver.", "drivers.")), found), *_row(need)],
        remedies=[f"Update the driver to {need.value.lstrip('>=')} or newer ({side})."],
        general=False,
    )


def _glibc(need: Need, machine: Machine) -> Held | None:
    kind, _, found = machine.libc.partition(" ")
    if not machine.libc:
        return not_checked("the C library", f"glibc {need.value}")
    if kind != "glibc":
        return held(
            "glibc-too-old",
            "error",
            f"{need.because} is built for glibc ({need.value}); this system has {machine.libc}.",
            evidence=[(where(machine, "libc"), machine.libc), *_row(need)],
            remedies=[
                f"Use a system or container with glibc {need.value.lstrip('>=')} or newer (Debian, Ubuntu)."
            ],
        )
    if _holds(need.value, found) is not False:
        return None
    return held(
        "glibc-too-old",
        "error",
        f"glibc must be {need.value}; here it is {found}.",
        detail=f"Asked for by {need.because}." if need.because else "",
        evidence=[(where(machine, "libc"), found), *_row(need)],
        remedies=[
            f"Use a newer system or a container with glibc {need.value.lstrip('>=')}; never replace glibc in place.",
            "Or state the system's libc in the profile (hardware: {libc: ...}) and lock again.",
        ],
    )


def _flags(need: Need, machine: Machine) -> Held | None:
    missing = sorted({f for f in need.value.replace(",", " ").split() if f} - set(machine.cpu_flags))
    if not machine.cpu_flags:
        return not_checked("what this CPU can do", f"{need.value} for {need.because}")
    if not missing:
        return None
    return held(
        f"no-{missing[0]}",
        "error",
        f"This CPU lacks {', '.join(missing)}, which {need.because} needs: it would stop with an illegal instruction.",
        evidence=[(where(machine, "cpu_flags", "cpu"), machine.cpu or "flags of the CPU"), *_row(need)],
        remedies=["Use a machine whose CPU has it, or a build made from source for this CPU."],
    )


def _os(need: Need, machine: Machine) -> Held | None:
    found = re.search(r"\d[\d.]*", machine.os_version or machine.kernel)
    holds = _holds(need.value, found[0]) if found else None
    if holds is None:
        return not_checked("the build of the operating system", need.value)
    if holds:
        return None
    return held(
        "os-too-old",
        "error",
        f"{need.because} needs {machine.os} {need.value}; here it is {machine.os_version or machine.kernel}.",
        evidence=[(where(machine, "os_version", "kernel"), machine.os_version), *_row(need)],
        remedies=[f"Update {machine.os} to {need.value.lstrip('>=')} or newer."],
    )


def _on_linux(need: Need, machine: Machine) -> Held | None:
    """`wsl`: on Linux it works inside WSL 2 only, where the graphics card of Windows is lent."""
    if machine.os != "linux" or "wsl2" in machine.traits:
        return None
    if not detected(machine):
        return not_checked("whether this is WSL 2", need.because)
    return held(
        "not-wsl",
        "error",
        f"{need.because} works on Linux inside WSL 2 only; this is {machine.os_version or 'another Linux'}.",
        evidence=[(where(machine, "kernel"), machine.kernel), *_row(need)],
        remedies=[
            "Use Windows, or WSL 2 on it.",
            "On Linux proper, take a profile for the card's own vendor.",
        ],
    )


def _msvc(need: Need, machine: Machine) -> Held | None:
    if machine.os != "windows" or any(copy.name == "msvc" for copy in machine.software):
        return None
    if not detected(machine):
        return not_checked("the Visual C++ runtime", need.value)
    return held(
        "msvc-missing",
        "error",
        f"The Visual C++ runtime is not installed; {need.because} loads {need.value} from it.",
        evidence=[("detection", "no Visual C++ runtime was found"), *_row(need)],
        remedies=["Install the Visual C++ Redistributable for Visual Studio 2015-2022 from Microsoft."],
    )


def _capability(need: Need, machine: Machine) -> Held | None:
    """The profile's own word about the cards: below its floor blocks; another card may still be served."""
    lowest = machine.lowest_capability("nvidia")
    if not machine.vendor_devices("nvidia") or lowest is None:
        return not_checked("the compute capability", need.value) if machine.vendor_devices("nvidia") else None
    cards = [(d.source or "detection", f"{d.name}: {d.capability}") for d in machine.vendor_devices("nvidia")]
    if _holds(need.value, lowest):
        return None
    return held(
        "other-capability",
        "warning",
        f"The profile is for compute capability {need.value}; the lowest here is {lowest}.",
        detail="What counts is whether the wheels hold code for it.",
        evidence=cards,
        remedies=["State the capability of these cards in the profile and lock again."],
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
        return not_checked(f"the version of {name}", need.value)
    if holds:
        return None
    return held(
        "sdk-too-old",
        "error",
        f"{name} must be {need.value}; the active one is {copy.version}.",
        detail=f"Asked for by {need.because}." if need.because else "",
        evidence=[(copy.path, copy.version), *_row(need)],
        remedies=[f"Install {name} {need.value.lstrip('>=')}, or lock a stack for {name} {copy.version}."],
    )


def _sdk_missing(need: Need, machine: Machine, name: str) -> Held:
    wanted = f"{name} {need.value}".strip()
    if not detected(machine):
        return not_checked(name, need.value or "its version")
    return held(
        "sdk-missing",
        "error",
        f"{need.because} needs {wanted}; no {name} was found on this machine.",
        evidence=[("detection", f"no {name} in its usual folders or variables"), *_row(need)],
        remedies=[f"Install {wanted} from its maker, and source its script before apply."],
    )


def _sdk_not_sourced(need: Need, copy: Software) -> Held:
    script = copy.facts.get("script", "")
    return held(
        "sdk-not-sourced",
        "error",
        f"{copy.name} {copy.version} is installed and not active in this shell.",
        detail=f"{need.because} loads its libraries by name.",
        evidence=[(copy.path, f"{copy.version}, not sourced"), *_row(need)],
        remedies=[("Source it, then run the same command.", f"source {script}" if script else "")],
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
        yield f"knowledge {need.rule}", f"{need.what} {need.value}"
