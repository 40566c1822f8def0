"""Apple silicon: the GPU is part of the processor, and there is one kind of it in a machine."""

from __future__ import annotations

from provision.detecting.sighting import NOTHING, Sighting, saw
from provision.model.machine import Device
from provision.ports import Host, Reader

_KEY = "machdep.cpu.brand_string"


def probe(reader: Reader, host: Host) -> Sighting:
    """The GPU of an Arm Mac; nothing elsewhere."""
    if (host.os, host.arch) != ("macos", "arm64"):
        return NOTHING
    output = reader.run(["sysctl", "-n", _KEY], timeout=5.0)
    name = output.stdout.strip() if output else ""
    device = Device(vendor="apple", name=name, facts={"integrated": "yes"}, source=f"sysctl {_KEY}")
    return saw(device.source, devices=(device,))
