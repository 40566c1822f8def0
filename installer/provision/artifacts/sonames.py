"""Which libraries do planned artifacts need that none of them brings? Metadata forgets such needs; the
files do not.

A wheel's Requires-Dist may lack a package that its libraries are linked with (pytorch/pytorch#146679): the
environment installs without a word, and the import fails.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from provision.artifacts.reading import library_key, packaged, pattern
from provision.messages import message
from provision.model.artifact import ArtifactFacts, LibraryFacts
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
    """A library that nobody brings, and the files that need it (`wheel: path`). `by` is who usually does.

    `fatal`: a Python module needs it, or a library that others are linked with; else the files that need it
    are loaded by name only, if at all."""

    soname: str
    wanted_by: tuple[str, ...]
    by: str = ""
    fatal: bool = True


@cache
def supplies() -> tuple[Supply, ...]:
    """The packaged rows (knowledge/sonames.yaml)."""
    rows = packaged("sonames.yaml")["supplies"]
    return tuple(
        Supply(id=row["id"], by=row["by"], names=pattern(row["names"]), source=row["source"]) for row in rows
    )


def missing(planned: Sequence[ArtifactFacts], rows: Sequence[Supply] | None = None) -> tuple[Missing, ...]:
    """The libraries that are needed and that neither the system nor a planned artifact brings.

    Libraries that the machine must have (driver, SDK, the Visual C++ runtime) are not among them:
    `from_machine` names those."""
    rows = supplies() if rows is None else rows
    linked = {
        library_key(name) for facts in planned for library in facts.libraries for name in library.needed
    }
    found = []
    for soname, wanted in _open_needs(planned).items():
        by = _supplier(soname, rows)
        if by not in MACHINE:
            fatal = any(_is_loaded(library, linked) for library in wanted.values())
            found.append(Missing(soname=soname, wanted_by=tuple(wanted), by=by, fatal=fatal))
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
    remedies = [Remedy(message("artifacts.missing-finding.way"))]
    if project:
        remedies.insert(
            0, Remedy(message("artifacts.missing-finding.way-2", project=project), f"packages: [{project}]")
        )
    return Finding(
        code="soname-missing",
        severity="error" if lacking.fatal else "warning",
        summary=message("artifacts.soname-missing.summary", soname=lacking.soname),
        detail=message("artifacts.soname-missing.fatal")
        if lacking.fatal
        else message("artifacts.soname-missing.by-name"),
        evidence=tuple(
            Evidence(place, message("artifacts.missing-finding.needs", soname=lacking.soname))
            for place in lacking.wanted_by
        ),
        remedies=tuple(remedies),
    )


#: Brought by whoever runs the program; of these `SYSTEM` is always there.
SYSTEM = frozenset({"system", "python"})
MACHINE = SYSTEM | {"driver", "sdk", "msvc"}


def _open_needs(planned: Sequence[ArtifactFacts]) -> dict[str, dict[str, LibraryFacts]]:
    """Needed by some library and provided by no artifact -> who needs it (`wheel: path`)."""
    provided = {library_key(name) for facts in planned for name in facts.provided}
    needs: dict[str, dict[str, LibraryFacts]] = {}
    for facts in planned:
        for library in facts.libraries:
            for name in (*library.needed, *library.delayed):
                if library_key(name) not in provided:
                    needs.setdefault(name, {})[f"{facts.file}: {library.path}"] = library
    return dict(sorted(needs.items()))


def _is_loaded(library: LibraryFacts, linked: set[str]) -> bool:
    """Is it a Python module, or linked into another planned library?"""
    name = library.path.rsplit("/", 1)[-1]
    module = name.endswith(".pyd") or not name.startswith("lib") or ".cpython-" in name or ".abi3." in name
    return (module and not name.lower().endswith(".dll")) or {
        library_key(name),
        library.soname,
    } & linked != set()


def _supplier(soname: str, rows: Sequence[Supply]) -> str:
    return next((row.by for row in rows if row.names.fullmatch(library_key(soname))), "")
