"""Which libraries do planned artifacts need that none of them brings? Metadata forgets such needs; the
files do not.

A wheel's Requires-Dist may lack a package that its libraries are linked with (pytorch/pytorch#146679): the
environment installs without a word, and the import fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from provision.artifacts.reading import packaged
from provision.model.artifact import ArtifactFacts
from provision.model.finding import Evidence, Finding, Remedy


@dataclass(frozen=True, slots=True, kw_only=True)
class Supply:
    """Who brings libraries whose names match: `by` is `system`, `driver`, `python`, `msvc`, `sdk` or a
    distribution's name (`{cuda}` in it stands for the CUDA major)."""

    id: str
    by: str
    names: re.Pattern[str]
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A library that nobody brings, and the files that need it (`wheel: path`). `by` is who usually does."""

    soname: str
    wanted_by: tuple[str, ...]
    by: str = ""


@cache
def supplies() -> tuple[Supply, ...]:
    """The packaged rows (knowledge/sonames.yaml)."""
    rows = packaged("sonames.yaml")["supplies"]
    return tuple(
        Supply(id=row["id"], by=row["by"], names=_pattern(row["names"]), source=row["source"]) for row in rows
    )


def missing(planned: Sequence[ArtifactFacts], rows: Sequence[Supply] | None = None) -> tuple[Missing, ...]:
    """The libraries that are needed and that neither the system nor a planned artifact brings.

    Libraries that the machine must have (driver, SDK, the Visual C++ runtime) are not among them:
    `from_machine` names those."""
    rows = supplies() if rows is None else rows
    found = []
    for soname, wanted in _open_needs(planned).items():
        by = _supplier(soname, rows)
        if by not in MACHINE:
            found.append(Missing(soname=soname, wanted_by=wanted, by=by))
    return tuple(found)


def from_machine(
    planned: Sequence[ArtifactFacts], rows: Sequence[Supply] | None = None
) -> dict[str, tuple[str, ...]]:
    """What the machine must bring beside the system: `driver`, `sdk`, `msvc` -> names of libraries."""
    rows = supplies() if rows is None else rows
    found: dict[str, list[str]] = {}
    for soname in _open_needs(planned):
        by = _supplier(soname, rows)
        if by in MACHINE and by not in SYSTEM:
            found.setdefault(by, []).append(soname)
    return {by: tuple(names) for by, names in sorted(found.items())}


def missing_finding(lacking: Missing, cuda: str = "") -> Finding:
    """The finding for one missing library. `cuda` is the CUDA version of the stack, where it has one."""
    known = cuda or "{cuda}" not in lacking.by
    project = lacking.by.replace("{cuda}", cuda.split(".")[0]) if known else ""
    remedies = [Remedy("Take a build whose metadata is complete: another version, or another index")]
    if project:
        remedies.insert(0, Remedy(f"Add {project} to the profile's packages", f"packages: [{project}]"))
    return Finding(
        code="soname-missing",
        severity="error",
        summary=f"No planned package brings {lacking.soname}",
        detail="Libraries in the plan are linked with it, the packages' metadata does not ask for it: "
        "the environment would install, and the import would fail.",
        evidence=tuple(Evidence(place, f"needs {lacking.soname}") for place in lacking.wanted_by),
        remedies=tuple(remedies),
    )


#: Brought by whoever runs the program; of these `SYSTEM` is always there.
SYSTEM = frozenset({"system", "python"})
MACHINE = SYSTEM | {"driver", "sdk", "msvc"}


def _open_needs(planned: Sequence[ArtifactFacts]) -> dict[str, tuple[str, ...]]:
    """Needed by some artifact and provided by none -> who needs it. Windows does not tell cases apart."""
    provided = {_key(name) for facts in planned for name in facts.provided}
    needs: dict[str, dict[str, None]] = {}
    for facts in planned:
        for library in facts.libraries:
            for name in (*library.needed, *library.delayed):
                if _key(name) not in provided:
                    needs.setdefault(name, {})[f"{facts.file}: {library.path}"] = None
    return {name: tuple(needs[name]) for name in sorted(needs)}


def _key(name: str) -> str:
    return name.lower() if name.lower().endswith((".dll", ".pyd")) else name


def _supplier(soname: str, rows: Sequence[Supply]) -> str:
    return next((row.by for row in rows if row.names.fullmatch(_key(soname))), "")


def _pattern(names: Iterable[str]) -> re.Pattern[str]:
    """Names where `*` stands for anything."""
    return re.compile("|".join(re.escape(name).replace(r"\*", ".*") for name in names))
