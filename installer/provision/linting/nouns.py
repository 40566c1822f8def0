"""What every kind of file is read into: what is wanted, where from, and where that stands in the file."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from provision.documents.source import Source
from provision.messages import message
from provision.model.finding import Evidence, Finding, Remedy, Severity

Manager = Literal["pip", "conda"]
Kind = Literal[
    "index-url", "extra-index-url", "find-links", "no-index", "pre", "channel", "channel-mirror", "path", "name"
]  # fmt: skip
#: An exact version, without operators: what a pin may look like.
_EXACT = re.compile(r"===?\s*([^,;*\s]+)")


@dataclass(frozen=True)
class Document:
    """A file to lint: its path as people should see it, and its text."""

    origin: str
    text: str | bytes


@dataclass(frozen=True)
class Place:
    """A stretch of a file."""

    source: Source
    start: int
    end: int

    def finding(
        self, code: str, severity: Severity, summary: str, because: tuple[str, str] = ("", ""),
        ways: tuple[str, ...] = (), detail: str = "",
    ) -> Finding:  # fmt: skip
        """A finding about this place. `because` is a knowledge row's id and its source, `ways` are ways out."""
        made = self.source.finding(code, summary, self.start, self.end, detail=detail, severity=severity)
        row, source = because
        evidence = (
            *made.evidence,
            *([Evidence(message("linting.nouns.knowledge", row=row), source)] if row else []),
        )
        remedies = tuple(Remedy(way) for way in ways)
        return Finding(code, severity, made.summary, detail, evidence, remedies)


@dataclass(frozen=True)
class Wanted:
    """One requirement. `version` is the exact version where one is pinned, local part included.

    `bound` is the address of the index that the file binds this package to; `url` where the file itself is.
    `marker` is a PEP 508 marker. `build` is conda's build string. `solved`: the solver chooses the build and adds
    what metadata lacks.
    """

    place: Place
    name: str
    manager: Manager = "pip"
    extras: tuple[str, ...] = ()
    specifier: str = ""
    url: str = ""
    marker: str = ""
    bound: str = ""
    build: str = ""
    hashed: bool = False
    solved: bool = False

    @property
    def version(self) -> str | None:
        exact = _EXACT.fullmatch(self.specifier)
        return exact[1] if exact else None

    @property
    def local(self) -> str:
        """The local part of the pinned version: `cu118` of `2.0.1+cu118`."""
        return (self.version or "").partition("+")[2]

    @property
    def specifiers(self) -> SpecifierSet:
        return SpecifierSet(self.specifier)

    def __str__(self) -> str:
        extras = f"[{','.join(self.extras)}]" if self.extras else ""
        return f"{self.name}{extras}{self.specifier}"


@dataclass(frozen=True)
class Setting:
    """One setting that says where packages come from, or where they go."""

    place: Place
    kind: Kind
    value: str = ""


@dataclass(frozen=True)
class Scope:
    """What goes into one environment together. Empty `targets`, `python` and `vendor`: the files do not say.

    `manager` makes the environment. `folder` is where a relative path of the environment starts.
    """

    name: str
    wanted: tuple[Wanted, ...] = ()
    settings: tuple[Setting, ...] = ()
    targets: tuple[str, ...] = ()
    python: str = ""
    vendor: str = ""
    manager: Manager = "pip"
    folder: str = ""

    @property
    def is_profile(self) -> bool:
        """Only a profile states a vendor, `cpu` where it names none."""
        return self.vendor != ""

    def of(self, *kinds: Kind) -> tuple[Setting, ...]:
        return tuple(setting for setting in self.settings if setting.kind in kinds)

    def by_name(self, manager: Manager = "pip") -> dict[str, list[Wanted]]:
        found: dict[str, list[Wanted]] = {}
        for one in self.wanted:
            if one.manager == manager:
                found.setdefault(one.name, []).append(one)
        return found


@dataclass
class Reading:
    """What a reader gathers: scopes, settings that hold for every scope, and what could not be read."""

    scopes: list[Scope] = field(default_factory=list)
    everywhere: list[Setting] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def canonical(name: str) -> str:
    return str(canonicalize_name(name))
