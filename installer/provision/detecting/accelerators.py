"""Accelerators of every vendor: the PCI bus says whose they are, the vendor's own sources say the rest."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from typing import NamedTuple

from provision.detecting import boards, pci, sdks, tools, visible, wsl
from provision.detecting.rows import Row, table
from provision.detecting.sighting import Sighting, found, joined, saw
from provision.detecting.told import Told, each_code_once, united
from provision.messages import message
from provision.model.finding import Finding
from provision.model.machine import Device
from provision.ports import Host, Reader

_KFD_VENDORS = ("amd", "hygon")


class _View(NamedTuple):
    """What is known before a vendor is asked. `seen`: the PCI bus could be read."""

    reader: Reader
    host: Host
    cards: Mapping[str, tuple[Device, ...]]
    seen: bool
    in_wsl: bool


def probe(
    reader: Reader,
    host: Host,
    functions: tuple[pci.Function, ...] | None,
    cache: Mapping[str, tuple[str, ...]],
) -> Sighting:
    """All devices, their drivers and SDKs. `functions`: the PCI bus, None if it cannot be seen; `cache`: the
    loader's, by library name."""
    view = _view(reader, host, functions)
    parts = [boards.probe(reader), wsl.probe(reader, cache)]
    parts += [_vendor(view, vendor) for vendor in _vendors(view)]
    seen = joined([*parts, *_versions(reader)])
    devices: tuple[Device, ...] = seen.facts.get("devices", ())
    software = sdks.probe(reader, host, {device.vendor for device in devices})
    unlike = Sighting(findings=tuple(_unlike(devices)))
    marked = visible.marked(reader, devices)
    seen = replace(seen, facts={**seen.facts, "devices": marked}) if devices else seen
    return joined([seen, software, visible.probe(reader, devices), unlike])


def _view(reader: Reader, host: Host, functions: tuple[pci.Function, ...] | None) -> _View:
    cards: dict[str, tuple[Device, ...]] = {}
    for _, device in pci.accelerators(functions or ()):
        cards[device.vendor] = (*cards.get(device.vendor, ()), device)
    return _View(
        reader=reader, host=host, cards=cards, seen=functions is not None, in_wsl=reader.exists(wsl.LIBRARIES)
    )


def _vendors(view: _View) -> list[str]:
    """Whom to ask: every vendor on the bus, and those whose driver shows itself in another way."""
    vendors = dict.fromkeys(view.cards)
    for row in table("tools"):
        if row["vendor"] not in vendors and _shows_itself(view, row):
            vendors[row["vendor"]] = None
    if view.in_wsl and view.reader.which("rocminfo"):
        vendors["amd"] = None
    return list(vendors)


def _shows_itself(view: _View, row: Row) -> bool:
    if any(view.reader.exists(node) for node in row["nodes"]):
        return True
    if row["vendor"] == "nvidia" and view.in_wsl:
        return wsl.has_cuda(view.reader)
    # A tool without its card is a left-over, unless the bus cannot be seen; a name of two vendors tells none.
    ambiguous = row.get("ambiguous", False)
    return (
        not view.seen
        and view.host.os == "linux"
        and not ambiguous
        and view.reader.which(row["tool"]) is not None
    )


def _vendor(view: _View, vendor: str) -> Sighting:
    cards = view.cards.get(vendor, ())
    if vendor == "nvidia":
        from provision.detecting import nvidia

        return nvidia.probe(view.reader, view.host, cards)
    answers = list(_answers(view, vendor))
    devices: tuple[Device, ...] = ()
    for told in answers:
        devices = united(devices, told.devices)
    devices = tuple(_with_capability(device) for device in united(devices, cards))
    findings = each_code_once(finding for told in answers for finding in told.findings)
    source = next((told.source for told in answers if told.driver), "PCI")
    driver = next((told.driver for told in answers if told.driver), "") or _windows_driver(cards)
    seen = saw(source, drivers={vendor: driver} if driver else {}, devices=devices)
    return replace(seen, findings=(*findings, *_silent(view, vendor, cards, answers)))


def _answers(view: _View, vendor: str) -> Iterator[Told]:
    if vendor in _KFD_VENDORS and view.host.os == "linux":
        from provision.detecting import kfd

        told = kfd.probe(view.reader, vendor)
        if told.devices or not (path := view.reader.which("rocminfo")) or vendor != "amd":
            yield told
        else:
            yield _asked(view.reader, [path], "rocminfo")
    for row in table("tools"):
        if row["vendor"] == vendor and (path := tools.path_of(view.reader, row)):
            yield _asked(view.reader, [path, *row["arguments"]], row["parser"])
            return


def _asked(reader: Reader, command: list[str], parser: str) -> Told:
    answer = tools.ask(reader, command)
    told: Told = import_module(f"provision.detecting.{parser}").parse(answer.text)
    if answer.finding is None:
        return told
    return told._replace(findings=(answer.finding, *told.findings))


def _with_capability(device: Device) -> Device:
    """Where the bus is hidden, an Ascend chip's own name (910B4) tells its architecture (910B)."""
    if device.capability or device.vendor != "ascend":
        return device
    kinds = [
        kind
        for row in table("pci_devices")
        if row["vendor"] == "ascend"
        for kind in row["capability"].values()
    ]
    name = device.name.removeprefix("Ascend")
    best = max((kind for kind in kinds if name.startswith(kind)), key=len, default="")
    return replace(device, capability=best)


def _windows_driver(cards: tuple[Device, ...]) -> str:
    return next((card.driver for card in cards if card.driver), "")


def _silent(view: _View, vendor: str, cards: tuple[Device, ...], answers: list[Told]) -> Iterator[Finding]:
    """Cards on the bus of which no driver or tool tells anything."""
    told = any(answer.devices or answer.findings for answer in answers)
    if told or not cards or any(card.driver or card.facts.get("kernel-driver") for card in cards):
        return
    names = ", ".join(card.name or card.facts["pci-id"] for card in cards)
    yield found(
        "driver-missing",
        "warning",
        message("detecting.silent.there-is-card-and-no", vendor=vendor, names=names),
        evidence=[(card.source, card.facts["pci-id"]) for card in cards],
        remedies=[message("detecting.silent.install-vendors-driver-and-restart")],
    )


def _versions(reader: Reader) -> Iterator[Sighting]:
    """Versions that drivers write into text files."""
    for row in table("drivers"):
        text = reader.read_text(row["file"])
        if text and (version := re.search(row["pattern"], text, re.MULTILINE)):
            yield saw(row["file"], drivers={row["name"]: ".".join(version.groups())})


def _unlike(devices: tuple[Device, ...]) -> Iterator[Finding]:
    """Several cards of one vendor that are not alike: what must run on all of them has to fit the lowest."""
    for vendor in dict.fromkeys(device.vendor for device in devices):
        mine = [device for device in devices if device.vendor == vendor and device.capability]
        kinds = dict.fromkeys(device.capability for device in mine)
        if len(kinds) > 1:
            yield found(
                "unlike-cards",
                "note",
                message("detecting.unlike.devices-are-not-alike", vendor=vendor, kinds=tuple(kinds)),
                detail=message("detecting.unlike.build-that-is-to-run"),
                evidence=[
                    (device.pci or device.source, f"{device.name} {device.capability}") for device in mine
                ],
            )
