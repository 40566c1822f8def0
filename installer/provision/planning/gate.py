"""The gate: what the lock needs, what its artifacts are and what the rules know, held against the machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from provision.messages import lowered, message
from provision.model.finding import Finding, Remedy
from provision.model.gpucode import numbers
from provision.model.lock import Lock
from provision.model.machine import Machine
from provision.model.stack import Need
from provision.planning.code import codes, other_ways
from provision.planning.held import Held
from provision.planning.known import Known
from provision.planning.needs import DEVICE_NEEDS, check, for_wsl
from provision.planning.request import Request
from provision.planning.speaking import merged, spoken


def judge(lock: Lock, machine: Machine, request: Request, known: Known) -> tuple[Finding, ...]:
    """Every finding, those that block first. A machine that lacks the device or the driver gets one finding of each
    kind, not one a framework."""
    found = list(_checked(lock, machine, request, known))
    every = [*merged(found, spoken(lock, machine, request, known), known)]
    findings = [one.finding for one in every]
    ordered = sorted(
        [*findings, *known.findings], key=lambda f: ("error", "warning", "note").index(f.severity)
    )
    return tuple(dict.fromkeys(ordered))


def _checked(lock: Lock, machine: Machine, request: Request, known: Known) -> Iterator[Held]:
    for need in _needs(lock, machine, request, known):
        if (one := check(need, machine)) is not None:
            yield _with_ways(one, lock, machine, known)
    if not request.without_device:
        yield from codes(lock, machine, known)


def _needs(lock: Lock, machine: Machine, request: Request, known: Known) -> Iterator[Need]:
    """The lock's needs, of several about one thing the strictest, then what the artifacts ask for beyond them."""
    wanted: dict[tuple[str, str], Need] = {}
    for need in (*lock.needs, *_of_artifacts(machine, known)):
        if request.without_device and need.what.partition(".")[0] in DEVICE_NEEDS:
            continue
        need = for_wsl(need, machine, known.runtimes)
        key = need.what, "" if need.value.startswith(">=") else need.value
        before = wanted.get(key)
        if before is None or _floor(need) > _floor(before):
            wanted[key] = need
    yield from wanted.values()


def _floor(need: Need) -> tuple[int, ...]:
    return tuple(int(part) for part in need.value.removeprefix(">=").split(".") if part.isdigit())


def _of_artifacts(machine: Machine, known: Known) -> Iterator[Need]:
    """What the libraries of an artifact really ask for, whatever its tag says."""
    for facts in known.facts:
        if machine.os == "linux" and facts.glibc:
            floor = max(facts.glibc, facts.tag_glibc, key=numbers)
            yield Need(
                what="glibc",
                value=f">={floor}",
                because=message("planning.read-from-libraries", file=facts.file),
            )
        parts = sorted(
            {n.lower() for n in facts.needed if n.lower().startswith(("msvcp140", "vcruntime140"))}
        )
        if parts:
            yield Need(what="msvc", value=", ".join(parts), because=facts.file)


def _with_ways(one: Held, lock: Lock, machine: Machine, known: Known) -> Held:
    """An old driver has a second way out beside a newer one: a build that it can run."""
    if one.finding.code != "driver-too-old":
        return one
    ways = tuple(
        Remedy(message("planning.with-ways.way", way=lowered(text)))
        for text in other_ways(lock, machine, known)
    )
    return replace(one, finding=replace(one.finding, remedies=(*one.finding.remedies, *ways)))
