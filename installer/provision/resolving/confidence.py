"""How well a build is supported, by who says so."""

from __future__ import annotations

from provision.knowledge import Build
from provision.model.stack import Confidence
from provision.resolving.candidates import line_version

RANK: dict[Confidence, int] = {"tested": 3, "compatible": 2, "reported": 1, "metadata": 0}

#: What the evidence of a row is worth where its maker's own table names no tested pair.
_BY_EVIDENCE: dict[str, Confidence] = {
    "artifact": "compatible",
    "metadata": "compatible",
    "official-table": "tested",
    "community": "reported",
}


def confidence(build: Build, asked: str = "") -> Confidence:
    """tested: the maker's own table names it, or the wheel brings the very libraries that it was made with.
    compatible: the artifact or the vendor's rule says so. reported: people do.

    `asked` is the runtime version that the profile asks for: another one than was tested is compatible at best.
    How it is known that a wheel exists says nothing about a build that brings all it needs, or needs nothing.
    """
    if build.tested is not None:
        return "compatible" if line_version(build, asked) not in (None, build.tested.runtime) else "tested"
    if not build.row:
        return "metadata"
    if build.evidence == "community" or build.libraries == "system":
        return _BY_EVIDENCE[build.evidence]
    return "tested" if build.libraries in ("bundled", "wheels") else "compatible"
