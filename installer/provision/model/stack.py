"""The coherent choice that `resolve` makes for one profile, target and Python, with its reasons as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from provision.model.profile import Index

#: How well a choice is supported, best first.
Confidence = Literal["tested", "compatible", "reported", "metadata"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One axis of the stack and the value taken, with the knowledge row that speaks for it."""

    axis: str
    value: str
    confidence: Confidence = "metadata"
    because: str = ""
    rule: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A value that was not taken, and the rule that rejected it."""

    axis: str
    value: str
    because: str
    rule: str
    source: str = ""
    code: str = ""
    instead: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """A constraint that package metadata lacks: applied to the closure, with the row it comes from."""

    requirement: str
    kind: Literal["constraint", "override", "add"] = "constraint"
    because: str = ""
    rule: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something worth knowing about a choice: what a rule says without rejecting."""

    severity: Literal["error", "warning", "note"] = "note"
    because: str
    rule: str = ""
    source: str = ""
    instead: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """Something that the machine must have; `what` is a fact name of Machine, `value` a floor or a set."""

    what: str
    value: str
    because: str = ""
    rule: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """What to install for one profile, target and Python (`major.minor`)."""

    profile: str
    target: str
    python: str
    choices: tuple[Choice, ...] = ()
    requirements: tuple[str, ...] = ()
    #: Named indexes: the profile's, and those that the chosen builds need beside them.
    indexes: tuple[Index, ...] = ()
    patches: tuple[Patch, ...] = ()
    needs: tuple[Need, ...] = ()
    notes: tuple[Note, ...] = ()
    absent: tuple[str, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)
    rejected: tuple[Rejected, ...] = ()
