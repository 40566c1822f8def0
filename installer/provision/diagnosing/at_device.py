"""Does the framework see the device, has it code for it, and does it train there?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from provision.diagnosing.at_framework import explained
from provision.diagnosing.case import Carried, Case, visible
from provision.diagnosing.layers import Looked, looked
from provision.knowledge.builds import gpu_code
from provision.knowledge.checks import load_checks
from provision.model.finding import Evidence, Finding
from provision.model.machine import Holder, Occupancy


def device(case: Case) -> Looked:
    """Every framework that is built for a device of this machine."""
    using = [one for one in case.carried if _uses(case, one)]
    findings = [*_hidden(case, using), *(_held(case) if using else ())]
    findings += [f for one in using for f in (*_without_code(case, one), *_unseen(case, one))]
    findings += _remote(case, using)
    read = [r for one in case.carried if (r := _read(case, one))]
    asked = any(heard.facts(one.module) for one in case.carried if (heard := case.of(one)))
    if not case.carried:
        return replace(looked([("", case.speaker.word("no-framework"))], findings), otherwise="not-asked")
    return replace(looked(read, findings), otherwise="ok" if asked else "unknown")


def _uses(case: Case, one: Carried) -> bool:
    if one.kind == "directml":
        return one.framework == "tensorflow" and bool(case.machine and case.machine.devices)
    vendor = load_checks().vendors.get(one.kind, "")
    return bool(vendor) and vendor == case.wanted


def _read(case: Case, one: Carried) -> tuple[str, str] | None:
    heard = case.of(one)
    facts = heard.facts(one.module) if heard else {}
    if not facts:
        return None
    names = facts.get("names") or [name for kind, name in facts.get("devices") or () if kind != "CPU"]
    if visible(one, heard):
        return one.module, case.speaker.word("sees", what=", ".join(names) or one.kind)
    return one.module, case.speaker.word("runs-on-cpu")


def _hidden(case: Case, using: Sequence[Carried]) -> Iterator[Finding]:
    """A variable that hides all devices is the cause; one that hides some is worth knowing."""
    for finding in case.machine_findings:
        if finding.code != "devices-hidden":
            continue
        if using and " all " in f" {finding.summary} " and finding.evidence:
            name, value = finding.evidence[0].source.lstrip("$"), finding.evidence[0].text
            yield case.speaker.finding(
                "devices-all-hidden", [(f"${name}", value)], variable=name, value=value
            )
        else:
            yield replace(finding, severity="note")


#: Of a card's memory: when others hold more, a training is likely to fail.
_MUCH = 0.5


def _held(case: Case) -> Iterator[Finding]:
    """Cards that other processes have, or that are closed to all. One card that is free is enough to train."""
    cards = [one for one in case.occupied if one.vendor == case.wanted]
    closed = [one for one in cards if _closed(one)]
    for one in closed:
        prohibited = one.mode == "Prohibited"
        yield case.speaker.finding(
            "device-prohibited" if prohibited else "device-busy", [(one.source, f"{one.card}: {one.mode}")],
            "error" if len(closed) == len(cards) else "note", card=one.card, by=_by(one.holders),
        )  # fmt: skip
    for one in cards:
        share = one.used / one.total if one.used is not None and one.total else None
        if one in closed or not (one.holders or (share or 0) > _MUCH):
            continue
        yield case.speaker.finding(
            "device-held", [(one.source, f"{one.card}: {_memory(one)}".rstrip(": "))],
            "warning" if share is not None and share > _MUCH else "note", card=one.card,
            by=_by(one.holders) or case.speaker.word("unnamed-process"), memory=_memory(one) or "-",
        )  # fmt: skip


def _closed(one: Occupancy) -> bool:
    return one.mode == "Prohibited" or (one.mode.startswith("Exclusive") and bool(one.holders))


def _by(holders: Sequence[Holder]) -> str:
    return ", ".join(f"{one.name or 'process'} ({one.pid})" for one in holders)


def _memory(one: Occupancy) -> str:
    gib = 1 << 30
    return f"{one.used / gib:.1f} / {one.total / gib:.1f} GiB" if one.used is not None and one.total else ""


def _remote(case: Case, using: Sequence[Carried]) -> Iterator[Finding]:
    """Windows gives a remote session another display adapter; some drivers then show it no card."""
    machine = case.machine
    if machine is None or machine.os != "windows" or "remote-session" not in machine.traits or case.seen:
        return
    unseen = any(visible(one, case.of(one)) is False for one in using)
    if using:
        source = machine.evidence.get("traits", "")
        proof = [(source, case.variables.get(source.lstrip("$"), ""))]
        yield case.speaker.finding("remote-session", proof, "warning" if unseen else "note")


def _without_code(case: Case, one: Carried) -> Iterator[Finding]:
    """The build holds no code for the card: by what the framework tells, else by what is known of the build."""
    heard = case.of(one)
    facts = heard.facts(one.module) if heard else {}
    told: list[str] = list(facts.get("architectures") or ())
    cards = list(zip(facts.get("names") or (), facts.get("capabilities") or (), strict=False))
    if not cards and case.machine:
        cards = [
            (d.name, d.capability) for d in case.machine.devices if d.vendor == "nvidia" and d.capability
        ]
    for card, capability in cards if one.kind == "cuda" else ():
        known = [*one.build.architectures, *one.build.ptx] if one.build else []
        if _lacks(one, told, capability):
            yield case.speaker.finding(
                "no-gpu-code", [(one.module, ", ".join(told or known))], what=one, capability=capability, card=card,
                architectures=", ".join(told or known),
            )  # fmt: skip
            return


def _lacks(one: Carried, told: Sequence[str], capability: str) -> bool:
    if told:
        here = tuple(int(n) for n in capability.split("."))
        return not any(_covers(code, (here[0], here[1])) for code in told)
    return one.build is not None and gpu_code(one.build, capability) == "none"


def _covers(code: str, here: tuple[int, int]) -> bool:
    """`sm_86` runs on the same major from its minor on, `compute_86` (PTX) on everything newer."""
    match = re.fullmatch(r"(sm|compute)_(\d+)(\d)[af]?", code)
    if match is None:
        return True
    major, minor = int(match[2]), int(match[3])
    return (major, minor) <= here if match[1] == "compute" else major == here[0] and minor <= here[1]


def _unseen(case: Case, one: Carried) -> Iterator[Finding]:
    heard = case.of(one)
    if visible(one, heard) is not False or heard is None:
        return
    error = str(heard.facts(one.module).get("init_error", ""))
    said = explained(case, heard.log)
    if said.verdict == "fault":
        evidence = Evidence(f"import {one.module}", error)
        yield from (replace(f, evidence=(evidence, *f.evidence)) for f in said.findings)
        return
    log = [line for line in heard.log.splitlines() if line.strip()]
    yield case.speaker.finding(
        "device-not-visible", [("log", line) for line in log[-3:]], what=one,
        vendor="DirectX 12" if one.kind == "directml" else case.wanted, error=error,
    )  # fmt: skip


def training(case: Case) -> Looked:
    """What the smoke jobs said, if they were asked for."""
    if case.trained is None:
        return Looked(read=looked([("", case.speaker.word("ask-train"))]).read, otherwise="not-asked")
    read = []
    for job in case.trained:
        losses = f"loss {job.losses[0]:.2f} -> {job.losses[-1]:.2f}" if job.losses else job.verdict
        read.append((job.job, " ".join(filter(None, (job.framework, job.version, losses, job.device)))))
    return looked(read, (f for job in case.trained for f in job.findings))
