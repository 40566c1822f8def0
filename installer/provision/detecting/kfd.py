"""AMD's compute driver on Linux (kfd): one node a processor, with its gfx target. Hygon's has the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from provision.detecting.sighting import found
from provision.detecting.told import Told
from provision.messages import message
from provision.model.finding import Finding
from provision.model.machine import Device
from provision.ports import Reader

_NODES = "/sys/class/kfd/kfd/topology/nodes"
_NODE = "/dev/kfd"
_VENDORS = {0x1002: "amd", 0x1D94: "hygon"}


def probe(reader: Reader, vendor: str) -> Told:
    """The GPUs of a vendor that the compute driver has taken."""
    devices = []
    for name in reader.listdir(_NODES):
        path = f"{_NODES}/{name}/properties"
        device = parse_node(reader.read_text(path) or "", path)
        if device is not None and device.vendor == vendor:
            devices.append(_by_sysfs(reader, device))
    return Told(source=_NODES, devices=tuple(devices), findings=tuple(_rights(reader, devices)))


def parse_node(text: str, path: str) -> Device | None:
    """A GPU from the properties of a node; None for a processor's node or a foreign vendor's."""
    pairs = dict(re.findall(r"^(\w+) (\d+)$", text, re.MULTILINE))
    vendor = _VENDORS.get(int(pairs.get("vendor_id", 0)))
    target = gfx_target(int(pairs.get("gfx_target_version", 0)))
    if vendor is None or not target:
        return None
    place, domain = int(pairs.get("location_id", 0)), int(pairs.get("domain", 0))
    facts = {
        "pci-id": f"{int(pairs['vendor_id']):04x}:{int(pairs.get('device_id', 0)):04x}",
        "integrated": "yes" if int(pairs.get("cpu_cores_count", 0)) else "",
    }
    return Device(
        vendor=vendor,
        pci=f"{domain:04x}:{place >> 8 & 0xFF:02x}:{place >> 3 & 0x1F:02x}.{place & 7}",
        capability=target,
        facts={name: value for name, value in facts.items() if value},
        source=path,
    )


def gfx_target(number: int) -> str:
    """100306 -> `gfx1036`, 90010 -> `gfx90a`: two decimal digits each, minor and step then written in hex."""
    major, minor, step = number // 10000, number // 100 % 100, number % 100
    return f"gfx{major}{minor:x}{step:x}" if major else ""


def _by_sysfs(reader: Reader, device: Device) -> Device:
    """With the memory and the name that the display driver tells."""
    folder = f"/sys/bus/pci/devices/{device.pci}"
    size = (reader.read_text(f"{folder}/mem_info_vram_total") or "").strip()
    name = (reader.read_text(f"{folder}/product_name") or "").strip()
    return replace(device, name=name, memory=int(size) if re.fullmatch(r"[0-9]{1,20}", size) else None)


def _rights(reader: Reader, devices: list[Device]) -> Iterator[Finding]:
    if devices and reader.exists(_NODE) and not reader.usable(_NODE):
        yield found(
            "permission",
            "error",
            message("detecting.rights.this-user-may-not-open", node=_NODE),
            evidence=[(_NODE, message("detecting.rights.no-right-to-read-and"))],
            remedies=[
                (message("detecting.rights.join-groups-that-own-it"), 'sudo usermod -aG render,video "$USER"')
            ],
        )
