"""PCI functions as Windows' registry keeps them (Plug and Play), with the driver of each.

The registry keeps cards that were taken out, too: a function counts only if its driver's service lists it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from provision.detecting.pci import Function
from provision.ports import Reader

_CONTROL = r"HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet"
_BUS = _CONTROL + r"\Enum\PCI"
_NVIDIA = "10de"


def functions(reader: Reader) -> tuple[Function, ...] | None:
    """All present functions, or None if the registry cannot be read."""
    bus = reader.registry(_BUS)
    if bus is None:
        return None
    return tuple(_functions(reader, bus.subkeys))


def _functions(reader: Reader, names: tuple[str, ...]) -> Iterator[Function]:
    for name in names:
        ids = re.match(r"VEN_([0-9A-F]{4})&DEV_([0-9A-F]{4})(?:&SUBSYS_([0-9A-F]{8}))?", name, re.IGNORECASE)
        key = reader.registry(f"{_BUS}\\{name}") if ids else None
        for instance in key.subkeys if key else ():
            values = _values(reader, f"{_BUS}\\{name}\\{instance}")
            if ids and _is_present(reader, values.get("Service", ""), f"PCI\\{name}\\{instance}"):
                yield _function(reader, (ids[1], ids[2], ids[3] or ""), values, f"{_BUS}\\{name}\\{instance}")


def _values(reader: Reader, name: str) -> Mapping[str, str]:
    key = reader.registry(name)
    return key.values if key else {}


def _is_present(reader: Reader, service: str, instance: str) -> bool:
    key = reader.registry(f"{_CONTROL}\\Services\\{service}\\Enum") if service else None
    return key is None or any(value.lower() == instance.lower() for value in key.values.values())


def _function(reader: Reader, ids: tuple[str, str, str], values: Mapping[str, str], source: str) -> Function:
    vendor, device, subsystem = (part.lower() for part in ids)
    driver = _values(reader, f"{_CONTROL}\\Control\\Class\\{values['Driver']}") if "Driver" in values else {}
    kind = re.search(r"CC_([0-9A-F]{4,6})", f"{values.get('HardwareID')} {values.get('CompatibleIDs')}")
    # Microsoft's basic display driver shows a picture and computes nothing.
    basic = driver.get("ProviderName") == "Microsoft"
    version = "" if basic else driver.get("DriverVersion", "")
    return Function(
        address=location(values.get("LocationInformation", "")),
        vendor=vendor,
        device=device,
        kind=kind[1].lower().ljust(6, "0") if kind else "",
        subsystem=f"{subsystem[4:]}:{subsystem[:4]}" if subsystem else "",
        driver=values.get("Service", ""),
        name="" if basic else driver.get("DriverDesc", "") or values.get("DeviceDesc", "").rpartition(";")[2],
        version=nvidia_version(version)
        if vendor == _NVIDIA and driver.get("ProviderName") == "NVIDIA"
        else version,
        memory=_memory(driver.get("HardwareInformation.qwMemorySize", "")),
        source=source,
    )


def location(text: str) -> str:
    """`...;PCI bus 1, device 0, function 0` or `...;(1,0,0)` in any language -> `0000:01:00.0`."""
    numbers = re.search(r"\((\d+),\s*(\d+),\s*(\d+)\)\s*$", text) or re.search(
        r"(\d+)\D+(\d+)\D+(\d+)\D*$", text.rpartition(";")[2]
    )
    if numbers is None:
        return ""
    bus, slot, function = (int(number) for number in numbers.groups())
    return f"0000:{bus:02x}:{slot:02x}.{function}" if bus < 256 and slot < 32 and function < 8 else ""


def nvidia_version(text: str) -> str:
    """NVIDIA's own number of a Windows driver: its last five digits (`31.0.15.5123` -> `551.23`)."""
    digits = re.sub(r"\D", "", text)
    return f"{digits[-5:-2]}.{digits[-2:]}" if len(digits) >= 5 else text


def _memory(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[0-9]{1,20}", text) and int(text) > 0 else None
