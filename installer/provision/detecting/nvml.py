"""NVIDIA's cards as its management library tells them; a script in a child process asks it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from provision.detecting import tools
from provision.detecting.rows import Row, table
from provision.detecting.sighting import found
from provision.detecting.told import Told, address
from provision.detecting.tools import finding_of
from provision.messages import message
from provision.model.finding import Finding
from provision.model.machine import Device
from provision.ports import Output, Reader

_SOURCE = "NVML"
_DRIVER_MODELS = {0: "WDDM", 1: "TCC", 2: "MCDM"}


def probe(reader: Reader, libraries: Sequence[str]) -> Told | None:
    """What NVML tells; None if no library is there."""
    output = reader.script("nvml", libraries, timeout=tools.TIME_LIMIT)
    if output is None or (output.code == 0 and not output.stdout.strip()):
        return None
    if output.code != 0:
        return Told(source=_SOURCE, findings=(_broken(output),))
    return parse(output.stdout)


def _broken(output: Output) -> Finding:
    if output.code is None:
        what = message("detecting.broken.nvml-did-not-answer-within", time_limit=f"{tools.TIME_LIMIT:g}")
        return found(
            "tool-timeout",
            "warning",
            what,
            remedies=[message("detecting.broken.restart-frees-wedged-device-or")],
        )
    ended = (
        message("detecting.broken.ended", code=output.code)
        if output.code > 0
        else message("detecting.broken.killed", signal=-output.code)
    )
    said = [(_SOURCE, output.stderr[-300:])]
    return found(
        "tool-failed",
        "warning",
        ended,
        evidence=said,
    )


def parse(text: str) -> Told:
    """The JSON object of the script, its last line (a library may print before it). Anything else is a source
    that tells nothing."""
    try:
        told = json.loads(text.strip().rpartition("\n")[2])
    except ValueError:
        told = None
    if not isinstance(told, dict):
        return Told(
            source=_SOURCE,
            findings=(
                found("tool-failed", "warning", message("detecting.parse.nvmls-answer-cannot-be-read")),
            ),
        )
    devices = (_device(item) for item in _objects(told.get("devices")))
    return Told(
        source=_SOURCE,
        driver=_text(told.get("driver")),
        cuda=cuda_version(told.get("cuda")),
        devices=tuple(device for device in devices if device.name or device.pci),
        findings=tuple(_troubles(told.get("errors"), _text(told.get("library")))),
    )


def cuda_version(number: object) -> str:
    """The driver API's number of a CUDA version: 11040 -> `11.4`."""
    if not isinstance(number, int) or number <= 0:
        return ""
    return f"{number // 1000}.{number % 1000 // 10}"


def _device(item: Mapping[str, Any]) -> Device:
    capability = item.get("capability")
    known = isinstance(capability, list) and len(capability) == 2
    memory = item.get("memory")
    return Device(
        vendor="nvidia",
        name=_text(item.get("name")),
        pci=address(_text(item.get("pci"))),
        capability=f"{capability[0]}.{capability[1]}" if known and capability is not None else "",
        memory=memory if isinstance(memory, int) and memory > 0 else None,
        facts=dict(_facts(item)),
        source=_SOURCE,
    )


def _facts(item: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "index", str(item.get("index", ""))
    if item.get("uuid"):
        yield "uuid", str(item["uuid"])
    if isinstance(item.get("pci_id"), int):
        yield "pci-id", f"{item['pci_id'] & 0xFFFF:04x}:{item['pci_id'] >> 16 & 0xFFFF:04x}"
    if item.get("mig"):
        yield "mig", "Enabled"
        yield "mig-instances", ", ".join(_text(one.get("name")) for one in _objects(item.get("instances")))
    model = item.get("driver_model")
    if isinstance(model, int) and model in _DRIVER_MODELS:
        yield "driver-model", _DRIVER_MODELS[model]


def _troubles(errors: object, library: str) -> Iterator[Finding]:
    for error in _objects(errors):
        code, call = error.get("code"), _text(error.get("call"))
        row = trouble(code)
        if row is not None:
            yield finding_of(row, library or _SOURCE, f"{call} returned {code}")


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def trouble(code: object) -> Row | None:
    """The row for a return code of NVML."""
    return next((row for row in table("troubles") if "nvml" in row and row["nvml"] == code), None)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
