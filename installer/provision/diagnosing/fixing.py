"""What mends a finding, and who can do it. Pure: nothing is done here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from provision.diagnosing.case import Case
from provision.diagnosing.doctor import Examination
from provision.diagnosing.mends import MENDED
from provision.knowledge.checks import load_checks
from provision.model.finding import Finding
from provision.shells import quoted

#: rebuild: from the lock, by `apply --reinstall`. profile: lines for the profile. change: in place, by a plan (`mends`).
#: foreign: a command to run in an environment that is not ours. person: what no program can do.
Kind = Literal["rebuild", "profile", "change", "foreign", "person"]


#: Environments whose packages may be changed in place; a system's own Python is not.
_CHANGED = ("venv", "virtualenv", "uv", "conda")


@dataclass(frozen=True, slots=True)
class Fix:
    """One remedy: for which finding, of which kind, and the lines to show."""

    code: str
    kind: Kind
    lines: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {"code": self.code, "kind": self.kind, "lines": list(self.lines)}


def fixes(case: Case, examination: Examination, profile: str = "PROFILE") -> tuple[Fix, ...]:
    """A remedy for every error and warning; one rebuild mends all that a rebuild mends."""
    found: dict[tuple[str, ...], Fix] = {}
    for finding in examination.findings:
        if finding.severity == "note":
            continue
        for fix in _fix(case, finding, profile):
            found.setdefault((fix.kind, *fix.lines), fix)
    return tuple(found.values())


def _fix(case: Case, finding: Finding, profile: str) -> Iterator[Fix]:
    kind = load_checks().fixes.get(finding.code, "")
    if case.ours and (kind == "rebuild" or (kind and case.drifted)):
        # What was changed since the proof is undone by a rebuild; only then the lock itself can be wrong.
        yield Fix(finding.code, "rebuild", (f"provision apply {quoted(profile)} --reinstall",))
    elif case.ours and kind == "profile":
        yield Fix(finding.code, "profile", tuple(_lines(finding)))
    elif kind and finding.code in MENDED and case.environment and case.environment.kind in _CHANGED:
        yield Fix(finding.code, "change", tuple(r.command or r.text for r in finding.remedies[:1]))
    elif kind:
        yield Fix(finding.code, "foreign", tuple(r.command or r.text for r in finding.remedies[:1]))
    else:
        yield Fix(finding.code, "person", tuple(_told(finding)))


def _told(finding: Finding) -> Iterator[str]:
    for remedy in finding.remedies[:1]:
        yield remedy.text
        if remedy.command:
            yield remedy.command
    if not finding.remedies:
        yield finding.summary


def _lines(finding: Finding) -> Iterator[str]:
    """YAML for the profile: the requirement that the remedy's command installs."""
    wanted = [w for r in finding.remedies for w in re.findall(r"'([^']+)'", r.command)]
    yield f"packages: [{', '.join(repr(w) for w in wanted[:1])}]"
