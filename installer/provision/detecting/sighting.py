"""What one probe saw, and how what many saw becomes one machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from provision.model.finding import Evidence, Finding, Remedy, Severity
from provision.model.machine import Machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """Facts under the names of Machine's fields, where each was read (`evidence`), and what is wrong."""

    facts: Mapping[str, Any] = field(default_factory=dict)
    evidence: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()


NOTHING = Sighting()


def saw(source: str, **facts: Any) -> Sighting:
    """Facts that all come from one source; empty ones are dropped, since an absent fact is never stated."""
    told = {name: value for name, value in facts.items() if value not in (None, "", (), {})}
    return Sighting(facts=told, evidence={name: source for key in told for name in _names(key, told[key])})


def _names(key: str, value: object) -> Iterable[str]:
    return [f"{key}.{part}" for part in value] if isinstance(value, Mapping) else [key]


def found(
    code: str,
    severity: Severity,
    summary: str,
    *,
    detail: str = "",
    evidence: Iterable[tuple[str, str]] = (),
    remedies: Iterable[str | tuple[str, str]] = (),
) -> Finding:
    """A finding from plain text: evidence as (source, text), remedies as text or (text, command)."""
    return Finding(
        code,
        severity,
        summary,
        detail,
        tuple(Evidence(source, text) for source, text in evidence),
        tuple(Remedy(one) if isinstance(one, str) else Remedy(*one) for one in remedies),
    )


def trouble(*findings: Finding) -> Sighting:
    """A sighting that holds only findings."""
    return Sighting(findings=findings)


def joined(sightings: Iterable[Sighting]) -> Sighting:
    """One sighting of many. The earlier one wins for a single fact; maps are united, lists are appended."""
    facts: dict[str, Any] = {}
    evidence: dict[str, str] = {}
    findings: list[Finding] = []
    for sighting in sightings:
        for name, value in sighting.facts.items():
            facts[name] = _united(facts[name], value) if name in facts else value
        evidence = {**sighting.evidence, **evidence}
        findings += [finding for finding in sighting.findings if finding not in findings]
    return Sighting(facts=facts, evidence=evidence, findings=tuple(findings))


def _united(first: Any, second: Any) -> Any:
    if isinstance(first, Mapping):
        return {**second, **first}
    if isinstance(first, tuple):
        return first + tuple(one for one in second if one not in first)
    return first


def applied(machine: Machine, sighting: Sighting) -> Machine:
    """The machine with the facts of a sighting."""
    return replace(machine, **sighting.facts, evidence={**machine.evidence, **sighting.evidence})
