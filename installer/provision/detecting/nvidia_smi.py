"""NVIDIA's cards as nvidia-smi tells them: by query where it can, by its table where it is old."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from provision.detecting import tools
from provision.model.finding import Finding
from provision.model.machine import Device
from provision.ports import Reader

#: Asked in this order; a release that does not know one of them is asked again without it.
_FIELDS = (
    *("index", "name", "pci.bus_id", "pci.device_id", "uuid", "driver_version", "memory.total"),
    *("compute_cap", "mig.mode.current", "driver_model.current"),
)
_MIB = 1024 * 1024
_NOT_TOLD = ("", "N/A", "[N/A]", "[Not Supported]", "[Unknown Error]", "[GPU requires reset]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """All that one source tells of NVIDIA's devices. `cuda` is the newest CUDA that the driver serves."""

    source: str
    driver: str = ""
    cuda: str = ""
    devices: tuple[Device, ...] = ()
    findings: tuple[Finding, ...] = ()


def probe(reader: Reader, tool: str) -> Told:
    """Ask the nvidia-smi at a path."""
    table = tools.ask(reader, [tool])
    if table.finding is not None and table.finding.code != "tool-failed":
        return Told(source=tool, findings=(table.finding,))
    header = parse_table(table.text)
    answer = _query(reader, tool)
    devices = parse_query(answer.text) if not answer.failed else ()
    findings = tuple(one.finding for one in (table, answer) if one.finding is not None)
    return Told(
        source=tool,
        driver=header.driver or next((device.driver for device in devices if device.driver), ""),
        cuda=header.cuda,
        devices=devices or header.devices,
        findings=() if devices or header.devices else findings,
    )


def _query(reader: Reader, tool: str) -> tools.Answer:
    fields = list(_FIELDS)
    answer = tools.ABSENT
    for _ in _FIELDS:
        answer = tools.ask(reader, [tool, f"--query-gpu={','.join(fields)}", "--format=csv,nounits"])
        unknown = refused_field(f"{answer.text} {_words(answer)}")
        if unknown not in fields:
            break
        fields.remove(unknown)
    return answer


def _words(answer: tools.Answer) -> str:
    return " ".join(evidence.text for evidence in answer.finding.evidence) if answer.finding else ""


def refused_field(text: str) -> str:
    """The field that an older nvidia-smi does not know."""
    refused = re.search(r'Field "([^"]+)" is not a valid field to query', text)
    return refused[1] if refused else ""


def parse_query(text: str) -> tuple[Device, ...]:
    """Devices of `--format=csv` with its header line, with or without units."""
    rows = [[cell.strip() for cell in row] for row in csv.reader(text.splitlines()) if row]
    start = next((number for number, row in enumerate(rows) if "name" in row), None)
    if start is None:
        return ()
    header = [re.sub(r"\s*\[\w+\]$", "", cell) for cell in rows[start]]
    return tuple(
        _device(dict(zip(header, row, strict=False))) for row in rows[start + 1 :] if len(row) == len(header)
    )


def _device(row: dict[str, str]) -> Device:
    told = {key: value for key, value in row.items() if value not in _NOT_TOLD}
    facts = {name: told[key] for key, name in _FACTS.items() if key in told}
    return Device(
        vendor="nvidia",
        name=told.get("name", ""),
        pci=address(told.get("pci.bus_id", "")),
        capability=told.get("compute_cap", ""),
        memory=_mebibytes(told.get("memory.total", "")),
        driver=told.get("driver_version", ""),
        facts={**facts, **_pci_id(told.get("pci.device_id", ""))},
        source="nvidia-smi",
    )


_FACTS = {"index": "index", "uuid": "uuid", "mig.mode.current": "mig", "driver_model.current": "driver-model"}


def _pci_id(text: str) -> dict[str, str]:
    """nvidia-smi writes device and vendor in one number: 0x268410DE."""
    number = re.fullmatch(r"0x([0-9A-Fa-f]{4})([0-9A-Fa-f]{4})", text)
    return {"pci-id": f"{number[2]}:{number[1]}".lower()} if number else {}


def address(text: str) -> str:
    """A PCI address as Linux writes it: `00000000:01:00.0` -> `0000:01:00.0`, in lower case."""
    parts = re.fullmatch(
        r"(?:([0-9A-Fa-f]{4,8}):)?([0-9A-Fa-f]{1,2}):([0-9A-Fa-f]{1,2})\.([0-7])", text.strip()
    )
    if not parts:
        return ""
    return f"{(parts[1] or '0')[-4:].zfill(4)}:{parts[2].zfill(2)}:{parts[3].zfill(2)}.{parts[4]}".lower()


def _mebibytes(text: str) -> int | None:
    number = re.match(r"(\d+)(?:\s*MiB)?$", text)
    return int(number[1]) * _MIB if number else None


@dataclass(slots=True)
class Table:
    """What the plain output of nvidia-smi tells."""

    driver: str = ""
    cuda: str = ""
    devices: tuple[Device, ...] = field(default_factory=tuple)


def parse_table(text: str) -> Table:
    """The plain table of any release: driver and CUDA version of the head, two lines a card."""
    driver = re.search(r"Driver Version:\s*(\d[\d.]*)", text)
    cuda = re.search(r"CUDA Version:\s*(\d[\d.]*)", text)
    return Table(driver[1] if driver else "", cuda[1] if cuda else "", tuple(_table_devices(text)))


_CARD = re.compile(r"^\|\s*(\d+)\s+(.*?)\s*\|\s*([0-9A-Fa-f:]+\.[0-7])\s")
_USAGE = re.compile(r"\|\s*\d+MiB\s*/\s*(\d+)MiB\s*\|")
_MODES = ("WDDM", "TCC", "MCDM", "On", "Off", "N/A", "ERR!")


def _table_devices(text: str) -> Iterator[Device]:
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if card := _CARD.match(line):
            usage = _USAGE.search(lines[number + 1]) if number + 1 < len(lines) else None
            name, mode = _name_and_mode(card[2])
            facts = {"index": card[1]} | ({"driver-model": mode} if mode in _MODES[:3] else {})
            yield Device(
                vendor="nvidia",
                # The table cuts long names with dots: half a name is worse than none.
                name="" if name.endswith("...") else name,
                pci=address(card[3]),
                memory=_mebibytes(usage[1]) if usage else None,
                facts=facts,
                source="nvidia-smi",
            )


def _name_and_mode(text: str) -> tuple[str, str]:
    name, _, last = text.rpartition(" ")
    return (name.strip(), last) if last in _MODES else (text, "")
