"""The coherent choice that `resolve` makes for one profile, target and Python, with its reasons as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from provision.model.profile import Index, VendorFile

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
class Archive:
    """A file of a library's maker, outside every index. `folder` is where the libraries stand in it; `size` is
    in bytes, None where no source states it."""

    file: str
    url: str
    sha256: str
    folder: str
    size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """A set of shared libraries that is placed inside the environment: `packages` are the distributions of the
    lock that bring it, or else `archive` holds it.

    `holds` are the names that programs open, in the order in which they may be loaded; `needs` are further files
    that it opens and nothing here brings. `reach` are the folders in site-packages whose libraries find it
    through links beside them.
    """

    id: str
    library: str
    version: str
    licence: str
    holds: tuple[str, ...]
    packages: tuple[str, ...] = ()
    archive: Archive | None = None
    reach: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    because: str = ""
    source: str = ""


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
    #: Files that no index serves: the profile's, and those that the chosen builds need beside them (`tags` is empty
    #: where their exact names are not known).
    vendor: tuple[VendorFile, ...] = ()
    patches: tuple[Patch, ...] = ()
    needs: tuple[Need, ...] = ()
    notes: tuple[Note, ...] = ()
    absent: tuple[str, ...] = ()
    libraries: tuple[Library, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)
    rejected: tuple[Rejected, ...] = ()
