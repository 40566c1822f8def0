"""NVIDIA's cards as nvidia-smi tells them: by query where it can, by its table where it is old."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from provision.detecting import tools
from provision.detecting.told import Told, address, mebibytes, united
from provision.model.machine import Device
from provision.ports import Reader

#: Asked in this order; a release that does not know one of them is asked again without it.
FIELDS = (
    *("index", "name", "pci.bus_id", "pci.device_id", "uuid", "driver_version", "memory.total"),
    *("compute_cap", "mig.mode.current", "driver_model.current"),
)
_FACTS = {"index": "index", "uuid": "uuid", "mig.mode.current": "mig", "driver_model.current": "driver-model"}
_NOT_TOLD = ("", "N/A", "[N/A]", "[Not Supported]", "[Unknown Error]", "[GPU requires reset]", "Disabled")


def check(reader: Reader, tool: str) -> Told:
    """One question to hold against what another source has told. Each start of the tool may take seconds."""
    answer = _query(reader, tool)
    devices = parse_query(answer.text) if answer.finding is None else ()
    if not devices:
        return probe(reader, tool)
    return Told(source=tool, driver=devices[0].driver, devices=devices)


def probe(reader: Reader, tool: str) -> Told:
    """All that the nvidia-smi at a path tells: its table first, since that needs the least of it."""
    plain = tools.ask(reader, [tool])
    if plain.finding is not None and plain.finding.code != "tool-failed":
        return Told(source=tool, findings=(plain.finding,))
    table = parse(plain.text)
    answer = _query(reader, tool)
    devices = united(parse_query(answer.text) if answer.finding is None else (), table.devices)
    if not devices:
        complaints = tuple(one.finding for one in (plain, answer) if one.finding is not None)
        return table._replace(source=tool, findings=complaints[:1])
    driver = table.driver or next((device.driver for device in devices if device.driver), "")
    return table._replace(source=tool, driver=driver, devices=_with_instances(reader, tool, devices))


def _query(reader: Reader, tool: str) -> tools.Answer:
    fields = list(FIELDS)
    answer = tools.ABSENT
    for _ in FIELDS:
        answer = tools.ask(reader, [tool, f"--query-gpu={','.join(fields)}", "--format=csv,nounits"])
        unknown = refused_field(answer.said)
        if unknown not in fields:
            break
        fields.remove(unknown)
    return answer


def refused_field(text: str) -> str:
    """The field that an older nvidia-smi does not know."""
    refused = re.search(r'Field "([^"]+)" is not a valid field', text)
    return refused[1] if refused else ""


def _with_instances(reader: Reader, tool: str, devices: tuple[Device, ...]) -> tuple[Device, ...]:
    if not any(device.facts.get("mig") == "Enabled" for device in devices):
        return devices
    instances = parse_list(tools.ask(reader, [tool, "-L"]).text)
    return tuple(
        replace(device, facts={**device.facts, "mig-instances": ", ".join(names)})
        if (names := instances.get(device.facts.get("uuid", "")))
        else device
        for device in devices
    )


def parse_list(text: str) -> dict[str, list[str]]:
    """UUID of each card -> names of its MIG instances, from `nvidia-smi -L`."""
    found: dict[str, list[str]] = {}
    card = ""
    for line in text.splitlines():
        if head := re.match(r"GPU \d+:.*\(UUID: (GPU-[^)]+)\)", line):
            card = head[1]
            found[card] = []
        elif card and (instance := re.match(r"\s*MIG\s+(\S+)\s+Device", line)):
            found[card].append(f"MIG {instance[1]}")
    return found


def parse_query(text: str) -> tuple[Device, ...]:
    """Devices of `--format=csv` with its header line, with or without units."""
    rows = [[cell.strip() for cell in line.split(",")] for line in text.splitlines() if line.strip()]
    start = next((number for number, row in enumerate(rows) if "name" in row), None)
    if start is None:
        return ()
    header = [re.sub(r"\s*\[\w+\]$", "", cell) for cell in rows[start]]
    cards = (row for row in rows[start + 1 :] if len(row) == len(header))
    return tuple(_device(dict(zip(header, row, strict=True))) for row in cards)


def _device(row: dict[str, str]) -> Device:
    told = {key: value for key, value in row.items() if value not in _NOT_TOLD}
    facts = {name: told[key] for key, name in _FACTS.items() if key in told}
    return Device(
        vendor="nvidia",
        name=told.get("name", ""),
        pci=address(told.get("pci.bus_id", "")),
        capability=told.get("compute_cap", ""),
        memory=mebibytes(told.get("memory.total", "")),
        driver=told.get("driver_version", ""),
        facts={**facts, **_pci_id(told.get("pci.device_id", ""))},
        source="nvidia-smi",
    )


def _pci_id(text: str) -> dict[str, str]:
    """nvidia-smi writes device and vendor in one number: 0x268410DE."""
    number = re.fullmatch(r"0x([0-9A-Fa-f]{4})([0-9A-Fa-f]{4})", text)
    return {"pci-id": f"{number[2]}:{number[1]}".lower()} if number else {}


def parse(text: str) -> Told:
    """The plain table of any release: driver and CUDA version of the head, two lines a card."""
    driver = re.search(r"Driver Version:\s*(\d[\d.]*)", text)
    cuda = re.search(r"CUDA Version:\s*(\d[\d.]*)", text)
    return Told(
        source="nvidia-smi",
        driver=driver[1] if driver else "",
        cuda=cuda[1] if cuda else "",
        devices=tuple(_table_devices(text)),
    )


_CARD = re.compile(r"^\|\s*(\d+)\s+(.*?)\s*\|\s*([0-9A-Fa-f:]+\.[0-7])\s")
_USAGE = re.compile(r"\|\s*\d+MiB\s*/\s*(\d+)MiB\s*\|")
_DRIVER_MODELS = ("WDDM", "TCC", "MCDM")
_MODES = (*_DRIVER_MODELS, "On", "Off", "N/A", "ERR!")


def _table_devices(text: str) -> Iterator[Device]:
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if card := _CARD.match(line):
            usage = _USAGE.search(lines[number + 1]) if number + 1 < len(lines) else None
            name, mode = _name_and_mode(card[2])
            yield Device(
                vendor="nvidia",
                # The table cuts long names with dots: half a name is worse than none.
                name="" if name.endswith("...") else name,
                pci=address(card[3]),
                memory=mebibytes(usage[1]) if usage else None,
                facts={"index": card[1]} | ({"driver-model": mode} if mode in _DRIVER_MODELS else {}),
                source="nvidia-smi",
            )


def _name_and_mode(text: str) -> tuple[str, str]:
    name, _, last = text.rpartition(" ")
    return (name.strip(), last) if last in _MODES else (text, "")
