"""The chain, layer by layer: what was read, the verdict, and the first broken link as the cause.

A layer after the first broken one is not reached: nothing is guessed about it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from provision.diagnosing import at_device, at_environment, at_framework, at_machine
from provision.diagnosing.case import Case
from provision.diagnosing.layers import LAYERS, Looked
from provision.model.finding import Evidence, Finding

__all__ = ["LAYERS", "Case", "Examination", "Layer", "examine"]

Verdict = Literal["ok", "warning", "broken", "unknown", "not-reached", "not-asked"]

_LOOK: dict[str, Callable[[Case], Looked]] = {
    "hardware": at_machine.hardware,
    "driver": at_machine.driver,
    "runtime": at_machine.runtime,
    "companions": at_machine.companions,
    "loader": at_machine.loader,
    "environment": at_environment.environment,
    "framework": at_framework.framework,
    "device": at_device.device,
    "training": at_device.training,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One layer: what was read and where, what is wrong, the verdict."""

    name: str
    verdict: Verdict
    read: tuple[Evidence, ...] = ()
    findings: tuple[Finding, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "layer": self.name,
            "verdict": self.verdict,
            "read": [{"source": e.source, "text": e.text} for e in self.read],
            "findings": [f.to_json() for f in self.findings],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """All layers in order."""

    layers: tuple[Layer, ...]

    @property
    def cause(self) -> Finding | None:
        """The first error of the first broken layer."""
        return next((f for layer in self.layers for f in layer.findings if f.severity == "error"), None)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Errors of the broken layer first, then warnings, then notes; each as the layers gave it."""
        rank = {"error": 0, "warning": 1, "note": 2}
        return tuple(sorted((f for layer in self.layers for f in layer.findings), key=lambda f: rank[f.severity]))

    @property
    def sound(self) -> bool:
        """True if there is neither an error nor a warning."""
        return all(f.severity == "note" for f in self.findings)


def examine(case: Case) -> Examination:
    """Judge layer after layer; after the first broken one no more is judged."""
    return Examination(layers=tuple(_layers(case)))


def _layers(case: Case) -> Iterator[Layer]:
    broken = False
    for name in LAYERS:
        if broken:
            yield Layer(name=name, verdict="not-reached")
            continue
        looked = _LOOK[name](case)
        if case.seen and name in LAYERS[: LAYERS.index("environment")]:
            looked = replace(looked, findings=tuple(_harmless(f) for f in looked.findings))
        broken = any(f.severity == "error" for f in looked.findings)
        yield Layer(name=name, verdict=_verdict(looked), read=looked.read, findings=looked.findings)


def _harmless(finding: Finding) -> Finding:
    """A framework sees its device: whatever was read below it does not stand in the way."""
    return replace(finding, severity="note") if finding.severity == "error" else finding


def _verdict(looked: Looked) -> Verdict:
    severities = {f.severity for f in looked.findings}
    if "error" in severities:
        return "broken"
    if "warning" in severities:
        return "warning"
    return looked.otherwise
