"""Ask NVIDIA's management library and print one JSON object. Runs alone in a child: it may crash or hang.

Arguments: names of the library, tried in order. Output: `library`, `driver`, `cuda` (12040), `devices`,
`errors` [{`call`, `code`}]; codes are nvmlReturn_t. Nothing is printed if no library can be loaded.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Callable
from typing import Any


class Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class Pci(ctypes.Structure):
    _fields_ = [
        ("old_bus_id", ctypes.c_char * 16),
        ("domain", ctypes.c_uint),
        ("bus", ctypes.c_uint),
        ("device", ctypes.c_uint),
        ("pci_id", ctypes.c_uint),
        ("subsystem_id", ctypes.c_uint),
        ("bus_id", ctypes.c_char * 32),
    ]


class Nvml:
    """The few calls that are needed; a failed call gives None and is written down."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library
        self.errors: list[dict[str, Any]] = []

    def call(self, name: str, *arguments: Any) -> bool:
        try:
            code = getattr(self.library, name)(*arguments)
        except AttributeError:
            return False
        if code != 0:
            self.errors.append({"call": name, "code": code})
        return bool(code == 0)

    def text(self, name: str, *arguments: Any) -> str | None:
        buffer = ctypes.create_string_buffer(96)
        if self.call(name, *arguments, buffer, ctypes.c_uint(96)):
            return buffer.value.decode("utf-8", "replace")
        return None

    def number(self, name: str, *arguments: Any) -> int | None:
        value = ctypes.c_int()
        return value.value if self.call(name, *arguments, ctypes.byref(value)) else None

    def quiet(self, ask: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
        """A question that many devices cannot answer: its failure is no error."""
        before = list(self.errors)
        answer = ask(*arguments)
        self.errors = before
        return answer


def device(nvml: Nvml, index: int) -> dict[str, Any]:
    handle = ctypes.c_void_p()
    if not nvml.call("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(handle)):
        return {"index": index}
    pci, memory = Pci(), Memory()
    major, minor = ctypes.c_int(), ctypes.c_int()
    told: dict[str, Any] = {"index": index}
    told["name"] = nvml.text("nvmlDeviceGetName", handle)
    told["uuid"] = nvml.text("nvmlDeviceGetUUID", handle)
    if nvml.call("nvmlDeviceGetPciInfo_v3", handle, ctypes.byref(pci)):
        told["pci"] = pci.bus_id.decode("ascii", "replace")
        told["pci_id"] = pci.pci_id
    if nvml.call("nvmlDeviceGetMemoryInfo", handle, ctypes.byref(memory)):
        told["memory"] = memory.total
    if nvml.call("nvmlDeviceGetCudaComputeCapability", handle, ctypes.byref(major), ctypes.byref(minor)):
        told["capability"] = [major.value, minor.value]
    told.update(nvml.quiet(modes, nvml, handle))
    return told


def modes(nvml: Nvml, handle: ctypes.c_void_p) -> dict[str, Any]:
    current, pending = ctypes.c_uint(), ctypes.c_uint()
    told: dict[str, Any] = {}
    if nvml.call("nvmlDeviceGetMigMode", handle, ctypes.byref(current), ctypes.byref(pending)):
        told["mig"] = current.value
        if current.value:
            told["instances"] = instances(nvml, handle)
    if nvml.call("nvmlDeviceGetDriverModel", handle, ctypes.byref(current), ctypes.byref(pending)):
        told["driver_model"] = current.value
    return told


def instances(nvml: Nvml, handle: ctypes.c_void_p) -> list[dict[str, Any]]:
    found = []
    for index in range(nvml.number("nvmlDeviceGetMaxMigDeviceCount", handle) or 0):
        instance, memory = ctypes.c_void_p(), Memory()
        arguments = (handle, ctypes.c_uint(index), ctypes.byref(instance))
        if nvml.call("nvmlDeviceGetMigDeviceHandleByIndex", *arguments):
            total = nvml.call("nvmlDeviceGetMemoryInfo", instance, ctypes.byref(memory))
            name = nvml.text("nvmlDeviceGetName", instance)
            found.append({"name": name, "memory": memory.total if total else None})
    return found


def load(names: list[str]) -> tuple[str, ctypes.CDLL | None]:
    for name in names:
        try:
            return name, ctypes.CDLL(name)
        except OSError:
            continue
    return "", None


def main(names: list[str]) -> None:
    name, library = load(names)
    if library is None:
        return
    nvml = Nvml(library)
    told: dict[str, Any] = {"library": name, "devices": []}
    if nvml.call("nvmlInit_v2"):
        told["driver"] = nvml.text("nvmlSystemGetDriverVersion")
        told["cuda"] = nvml.number("nvmlSystemGetCudaDriverVersion_v2")
        count = nvml.number("nvmlDeviceGetCount_v2") or 0
        told["devices"] = [device(nvml, index) for index in range(count)]
        nvml.call("nvmlShutdown")
    told["errors"] = nvml.errors
    print(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1:])
