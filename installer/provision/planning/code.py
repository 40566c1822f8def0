"""GPU code for each card: machine code, PTX that the driver compiles, or none, and then which builds have it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import get_args

from packaging.version import Version

from provision.knowledge.builds import Build, gpu_code
from provision.knowledge.versions import holds, version_key
from provision.messages import joined, message
from provision.model.gpucode import GpuCode
from provision.model.lock import Lock
from provision.model.machine import Device, Machine
from provision.planning.held import Held, cards_of, held
from provision.planning.known import CardCode, Known

_RULE_WORDS: dict[str, GpuCode] = {
    "machine-code": "native",
    "ptx-jit": "ptx",
    "no": "none",
    "unknown": "unknown",
}
assert set(_RULE_WORDS.values()) == set(get_args(GpuCode))


def gpu_code_of(known: Known, framework: str, card: Device) -> GpuCode | None:
    """In the words of rules: what the locked build of a framework holds for a card. None if nobody looked."""
    found = next((c for c in known.codes if c.framework == framework and c.card == card), None)
    return _RULE_WORDS[found.coverage.how] if found else None


def codes(lock: Lock, machine: Machine, known: Known) -> Iterator[Held]:
    """Findings a framework: cards without code, cards that wait for a compiler, cards nobody can speak for."""
    for _, group in groupby(known.codes, key=lambda code: code.framework):
        of = list(group)
        by = {how: [c for c in of if c.coverage.how == how] for how in ("no", "ptx-jit", "unknown")}
        if by["no"]:
            yield _no_code(lock, machine, known, of, by["no"])
        if by["ptx-jit"]:
            yield _compiled(by["ptx-jit"])
        if by["unknown"]:
            yield _unknown(by["unknown"])


def _no_code(
    lock: Lock, machine: Machine, known: Known, of: Sequence[CardCode], missing: Sequence[CardCode]
) -> Held:
    """NVIDIA: what runs must run on every card. Elsewhere a processor's own graphics stands beside the real card."""
    first = missing[0]
    served = [c for c in of if c.coverage.how != "no"]
    lowest = machine.lowest_capability("nvidia") if lock.hardware == "nvidia" and len(of) > 1 else None
    common = ""
    if lowest:
        common = message("planning.no-gpu-code.lowest", lowest=lowest)
    return held(
        "no-gpu-code",
        "error" if lock.hardware == "nvidia" or not served else "warning",
        message("planning.no-gpu-code.summary", build=first.build, cards=_cards(missing)),
        detail=common,
        evidence=[*_evidence(of), (first.source, first.coverage.because)],
        remedies=[
            *_newer_driver(known, missing),
            *_ways(lock, machine, known, first.framework),
            *_hiding(missing, served),
            *_stating(missing),
        ],
        framework=first.framework,
        general=False,
    )


def _compiled(waiting: Sequence[CardCode]) -> Held:
    first = waiting[0]
    return held(
        "ptx-driver",
        "warning",
        message("planning.ptx-driver.summary", build=first.build, cards=_cards(waiting)),
        detail=message("planning.ptx-driver.detail", source=first.source, because=first.coverage.because),
        evidence=_evidence(waiting),
        framework=first.framework,
    )


def _unknown(open_: Sequence[CardCode]) -> Held:
    first = open_[0]
    return held(
        "gpu-code-unknown",
        "note",
        message(
            "planning.gpu-code-unknown.summary",
            build=first.build,
            cards=_cards(open_),
            because=first.coverage.because,
        ),
        remedies=[(message("planning.gpu-code-unknown.way"), f"provision inspect {first.build}")],
        framework=first.framework,
    )


def _cards(cards: Sequence[CardCode]) -> str:
    unknown = message("planning.unknown")
    return joined(
        dict.fromkeys(
            joined((c.card.name or c.card.vendor, " (", c.card.capability or unknown, ")")) for c in cards
        ),
        ", ",
    )


def _evidence(cards: Sequence[CardCode]) -> list[tuple[str, str]]:
    """Each card with its own facts."""
    return [
        (
            c.card.source or message("planning.detection"),
            f"{c.card.name or c.card.pci} {c.card.capability}: {c.coverage.how}",
        )
        for c in cards
    ]


def _newer_driver(known: Known, missing: Sequence[CardCode]) -> Iterator[str]:
    """PTX that this driver does not know is compiled by a newer one."""
    build = known.builds.get(missing[0].framework)
    if build and any(gpu_code(build, c.card.capability) == "ptx" for c in missing):
        yield message("planning.way.newer-driver", cuda=build.runtime.version)


def _stating(missing: Sequence[CardCode]) -> Iterator[str]:
    """With the card in the profile the solver itself looks for a build that has code for it."""
    card = missing[0].card
    key = "compute-capability" if card.vendor == "nvidia" else "architecture"
    yield message("planning.way.state-card", hardware=f'{{{key}: "{card.capability}"}}')


def _hiding(missing: Sequence[CardCode], served: Sequence[CardCode]) -> Iterator[tuple[str, str]]:
    numbers = [c.card.facts.get("index", "") for c in served]
    if served and all(numbers) and missing[0].card.vendor == "nvidia":
        yield (
            message("planning.way.hide", cards=_cards(served)),
            f"export CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES={','.join(numbers)}",
        )


def _ways(lock: Lock, machine: Machine, known: Known, framework: str) -> Iterator[str]:
    """Builds of the framework with machine code for every card here, and a driver that is new enough for them: of the
    locked version, else of the next one, and of the newest."""
    mine = known.builds.get(framework)
    wanted = {card.capability for card in cards_of(machine, "nvidia")}
    if mine is None or not wanted or lock.hardware != "nvidia":
        return
    fitting = [
        b
        for b in known.others.get(framework, ())
        if b.requirement != mine.requirement
        and all(gpu_code(b, capability) == "native" for capability in wanted)
        and _driver_fits(b, machine, known)
    ]
    by_version = {b.version: b for b in sorted(fitting, key=_cuda)}
    versions = sorted(by_version, key=version_key)
    nearest = [v for v in versions if version_key(v) >= version_key(mine.version)] or versions[-1:]
    for version in dict.fromkeys((*_last_patch(nearest, mine.version), *versions[-1:])):
        yield way(by_version[version])


def _last_patch(versions: Sequence[str], mine: str) -> list[str]:
    """Of the nearest minor version the locked one, else its last patch."""
    if not versions or mine in versions:
        return [mine] if versions else []
    line = version_key(versions[0]).release[:2]
    return [v for v in versions if version_key(v).release[:2] == line][-1:]


def way(build: Build) -> str:
    """A build as what to write into the profile."""
    cuda = (
        f', accelerator: {{{build.runtime.kind}: "{build.runtime.version}"}}' if build.runtime.version else ""
    )
    keys = f'frameworks: {{{build.framework}: "=={build.version}"}}{cuda}'
    if build.index == "pypi":
        return message("planning.way.take", requirement=build.requirement, keys=keys)
    return message("planning.way.take-from", requirement=build.requirement, index=build.index, keys=keys)


def other_ways(lock: Lock, machine: Machine, known: Known) -> Iterator[str]:
    """The same for a driver that is too old: builds whose floor it meets."""
    for framework in known.builds:
        yield from _ways(lock, machine, known, framework)


def _driver_fits(build: Build, machine: Machine, known: Known) -> bool:
    driver = machine.drivers.get("nvidia", "")
    system = "windows" if "wsl2" in machine.traits else machine.os
    rows = [
        row for row in known.runtimes.values() if (row.kind, row.version) == ("cuda", build.runtime.version)
    ]
    floor = rows[0].driver_floor.get(system) if rows else None
    return not driver or not floor or holds(f">={floor}", driver)


def _cuda(build: Build) -> Version:
    return version_key(build.runtime.version or "0")
