"""NVIDIA: the management library, nvidia-smi and the kernel driver are asked and compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from provision.detecting import nvidia_proc, nvidia_smi, nvml
from provision.detecting.rows import table
from provision.detecting.sighting import Sighting, found, saw
from provision.detecting.told import Told, each_code_once, united
from provision.detecting.tools import path_of
from provision.messages import message
from provision.model.finding import Finding
from provision.model.machine import Device
from provision.ports import Host, Reader


class _Sources(NamedTuple):
    """The answers; None where a source is not there. `kernel`: version that /proc tells."""

    nvml: Told | None
    smi: Told | None
    kernel: str

    def drivers(self) -> dict[str, str]:
        told = {source.source: source.driver for source in (self.nvml, self.smi) if source is not None}
        versions = {nvidia_proc.VERSION: self.kernel, **told}
        return {source: version for source, version in versions.items() if version}

    def told(self) -> tuple[Told, ...]:
        return tuple(source for source in (self.nvml, self.smi) if source is not None)


def probe(reader: Reader, host: Host, cards: tuple[Device, ...]) -> Sighting:
    """What is known of NVIDIA's devices; `cards` are those that the PCI bus shows."""
    row = next(row for row in table("tools") if row["vendor"] == "nvidia")
    library = nvml.probe(reader, row["libraries"])
    tool = path_of(reader, row)
    sources = _Sources(
        nvml=library, smi=_smi(reader, tool, library) if tool else None, kernel=nvidia_proc.version(reader)
    )
    devices = _devices(reader, sources, cards)
    findings = [finding for source in sources.told() for finding in source.findings]
    findings += _checks(sources)
    if not sources.drivers() and not findings:
        findings += _no_driver(reader, host, cards)
    findings += [finding for device in devices for finding in _of_device(device)]
    facts = saw(_best(sources), drivers=_drivers(sources, cards), devices=devices)
    return replace(facts, findings=each_code_once(findings))


def _smi(reader: Reader, tool: str, library: Told | None) -> Told | None:
    if library is None or not library.devices:
        # A library that hangs makes the tool, which loads it, hang too.
        hangs = library is not None and any(finding.code == "tool-timeout" for finding in library.findings)
        return None if hangs else nvidia_smi.probe(reader, tool)
    return nvidia_smi.check(reader, tool)


def _devices(reader: Reader, sources: _Sources, cards: tuple[Device, ...]) -> tuple[Device, ...]:
    devices: tuple[Device, ...] = ()
    for source in sources.told():
        devices = united(devices, source.devices)
    return united(united(devices, nvidia_proc.cards(reader)), cards)


def _best(sources: _Sources) -> str:
    return next(iter(sources.drivers()), "PCI")


def _drivers(sources: _Sources, cards: tuple[Device, ...]) -> Mapping[str, str]:
    # What the library says is what programs get; the kernel's number is the fallback, Windows' the last.
    versions = [
        *(source.driver for source in sources.told()),
        sources.kernel,
        *(card.driver for card in cards),
    ]
    told = {"nvidia": versions, "cuda": [source.cuda for source in sources.told()]}
    return {name: version for name, found in told.items() if (version := next(filter(None, found), ""))}


def _checks(sources: _Sources) -> Iterator[Finding]:
    drivers = sources.drivers()
    if len(set(drivers.values())) > 1:
        yield found(
            "sources-disagree",
            "warning",
            message(
                "detecting.checks.parts-nvidia-driver-are-different", drivers=sorted(set(drivers.values()))
            ),
            evidence=drivers.items(),
            remedies=[message("detecting.checks.restart-computer-if-it-stays")],
        )
    if sources.nvml and sources.smi and sources.nvml.devices and sources.smi.devices:
        yield from _compared(sources.nvml, sources.smi)


def _compared(first: Told, second: Told) -> Iterator[Finding]:
    if len(first.devices) != len(second.devices):
        yield _differ(
            message("detecting.compared.number-cards"),
            str(len(first.devices)),
            str(len(second.devices)),
            second.source,
        )
    others = {device.pci: device for device in second.devices if device.pci}
    for device in first.devices:
        other = others.get(device.pci)
        if other and device.capability and other.capability and device.capability != other.capability:
            yield _differ(
                message("detecting.compared.capability", pci=device.pci),
                device.capability,
                other.capability,
                second.source,
            )


def _differ(what: str, one: str, other: str, source: str) -> Finding:
    summary = message("detecting.differ.nvml-and-nvidia-smi-tell", what=what, one=one, other=other)
    return found("sources-disagree", "warning", summary, evidence=[("NVML", one), (source, other)])


def _no_driver(reader: Reader, host: Host, cards: tuple[Device, ...]) -> Iterator[Finding]:
    if not cards or any(card.driver for card in cards):
        return
    names = ", ".join(card.name or card.facts.get("chip", "") or card.facts["pci-id"] for card in cards)
    seen = [(card.source, card.facts["pci-id"]) for card in cards]
    holders = {card.facts.get("kernel-driver", "") for card in cards}
    if holders == {"vfio-pci"}:
        summary = message("detecting.no-driver.nvidia-card-is-handed-to", names=names)
        yield found(
            "device-passed-through",
            "warning",
            summary,
            evidence=seen,
            remedies=[message("detecting.no-driver.use-it-in-that-machine")],
        )
    elif reader.exists("/.dockerenv") or reader.exists("/run/.containerenv"):
        yield found(
            "container-without-driver",
            "error",
            message("detecting.no-driver.this-container-sees-nvidia-card", names=names),
            evidence=seen,
            remedies=[
                (message("detecting.no-driver.start-container-with-access-to"), "docker run --gpus all ..."),
                message("detecting.no-driver.on-host-nvidia-container-toolkit"),
            ],
        )
    else:
        yield found(
            "driver-missing",
            "error",
            message("detecting.no-driver.nouveau", names=names)
            if "nouveau" in holders
            else message("detecting.no-driver.there-is-nvidia-card-and", names=names),
            evidence=seen,
            remedies=[message("detecting.no-driver.install-nvidias-driver-from-packages")],
        )


def _of_device(device: Device) -> Iterator[Finding]:
    if device.facts.get("mig") == "Enabled" and not device.facts.get("mig-instances"):
        yield found(
            "mig-no-instances",
            "error",
            message("detecting.of-device.is-in-mig-mode-and", card=device.name or device.pci),
            evidence=[(device.source, message("detecting.of-device.mig-enabled-no-gpu-instance"))],
            remedies=[
                (message("detecting.of-device.create-instances"), "sudo nvidia-smi mig -cgi 19 -C"),
                (message("detecting.of-device.or-leave-mig-mode"), "sudo nvidia-smi -mig 0"),
            ],
        )
    if not device.capability:
        yield found(
            "capability-unknown",
            "warning",
            message("detecting.of-device.compute-capability-is-not-known", card=device.name or device.pci)
            if device.name or device.pci
            else message("detecting.of-device.capability-of-card-unknown"),
            detail=message("detecting.of-device.this-nvidia-smi-is-too"),
            evidence=[(device.source, device.facts.get("pci-id", ""))],
            remedies=[message("detecting.of-device.state-it-capability-nvidia-8")],
        )
