"""What holding one thing against the machine gave."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from provision.messages import message
from provision.model.finding import Evidence, Finding, Remedy, Severity
from provision.model.machine import Device, Machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A finding of severity error blocks, the others are notes. `framework` is the one it is about, where it is.
    `general`: its ways out are of the kind that fits any case, so that better ones take their place."""

    finding: Finding
    framework: str = ""
    general: bool = True


def held(
    code: str,
    severity: Severity,
    summary: str,
    *,
    detail: str = "",
    evidence: Iterable[tuple[str, str]] = (),
    remedies: Iterable[str | tuple[str, str]] = (),
    framework: str = "",
    general: bool = True,
) -> Held:
    """From plain text: evidence as (source, text), remedies as text or (text, command)."""
    finding = Finding(
        code,
        severity,
        summary,
        detail,
        tuple(Evidence(source, text) for source, text in evidence),
        tuple(Remedy(one) if isinstance(one, str) else Remedy(*one) for one in remedies),
    )
    return Held(finding=finding, framework=framework, general=general)


def not_checked(what: str, wanted: str) -> Held:
    """A fact that nothing tells is no reason to stop, and no reason to be silent."""
    return held("not-checked", "note", message("planning.not-checked.summary", what=what, wanted=wanted))


def detected(machine: Machine) -> bool:
    """Were the facts read from a computer? Then what is not there is absent; what a person wrote down may be part."""
    return bool(machine.evidence)


def cards_of(machine: Machine, vendor: str) -> tuple[Device, ...]:
    """The cards that a program sees: those that a variable hides from it are left out."""
    return tuple(card for card in machine.vendor_devices(vendor) if not card.facts.get("hidden"))


def where(machine: Machine, *names: str) -> str:
    """Where the first of these facts was read."""
    return next(
        (machine.evidence[name] for name in names if name in machine.evidence), message("planning.detection")
    )
