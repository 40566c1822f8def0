"""What the knowledge base and the artifacts say of a locked stack: everything that the gate needs beside lock and
machine. The pipeline puts it together, since a stage knows neither the artifacts nor the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from provision.knowledge.builds import Build
from provision.knowledge.rows import RuleRow, RuntimeRow
from provision.model.artifact import ArtifactFacts, Coverage
from provision.model.finding import Finding
from provision.model.machine import Device


@dataclass(frozen=True, slots=True, kw_only=True)
class CardCode:
    """Does a framework's build hold code for a card? `source` is the file that was read or the row that says so."""

    framework: str
    build: str
    card: Device
    coverage: Coverage
    source: str
    by_artifact: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """`builds`: framework -> the knowledge row's build that the lock took; `others`: every build of it for the lock's
    target and Python. `runtimes`: id -> row. `facts` are of artifacts that were read, `findings` about them."""

    rules: tuple[RuleRow, ...] = ()
    builds: Mapping[str, Build] = field(default_factory=dict)
    others: Mapping[str, tuple[Build, ...]] = field(default_factory=dict)
    runtimes: Mapping[str, RuntimeRow] = field(default_factory=dict)
    codes: tuple[CardCode, ...] = ()
    facts: tuple[ArtifactFacts, ...] = ()
    findings: tuple[Finding, ...] = ()


NOTHING = Known()
