"""The conda solver's words for why there is no environment -> findings that say what is missing and the way out."""

from __future__ import annotations

import re

from provision.messages import message
from provision.model.finding import Evidence, Finding, Remedy
from provision.model.profile import Profile
from provision.ports import CatalogFailure, CondaRequest

_NO_CANDIDATE = re.compile(r"No candidates were found for (?P<spec>[^\n]+?)\.?$", re.M)
_MISSING = re.compile(r"(?P<spec>[\w.-]+[^\n,]*?), for which no candidates were found")
_VIRTUAL = re.compile(r"(?P<name>__\w+)(?P<rest>[ =<>!~*\w.,]*)")


def solve_findings(failure: CatalogFailure, request: CondaRequest, profile: Profile) -> tuple[Finding, ...]:
    """At least one finding; the solver's own text is kept as evidence."""
    if failure.unreachable:
        return (_unreachable(failure, request),)
    virtual = next((m for m in _VIRTUAL.finditer(failure.text)), None)
    if virtual is not None:
        return (_no_virtual(virtual, failure, request, profile),)
    missing = _NO_CANDIDATE.search(failure.text)
    nested = _MISSING.search(failure.text)
    asked = {_name(spec) for spec in request.specs}
    # A dependency whose name is asked for as well is not missing: the two wishes exclude one another.
    if missing is None and nested is not None and _name(nested["spec"].strip()) not in asked:
        missing = nested
    if missing is not None:
        return (_no_package(missing["spec"].strip(), failure, request),)
    return (_conflict(failure),)


def _name(spec: str) -> str:
    return re.split(r"[ =<>!~\[]", spec.rsplit("::", 1)[-1], maxsplit=1)[0]


def _said(failure: CatalogFailure) -> tuple[Evidence, ...]:
    return (Evidence("solver", re.sub(r"\s+", " ", failure.text).strip()),)


def _unreachable(failure: CatalogFailure, request: CondaRequest) -> Finding:
    return Finding(
        "channel-unreachable", "error",
        message("locking.channel-unreachable.summary", channels=tuple(request.channels)),
        evidence=_said(failure),
        remedies=(
            Remedy(message("locking.common.check-network-and-proxy-https")),
            Remedy(message("locking.channel-unreachable.way-2")),
        ),
    )  # fmt: skip


def _no_virtual(
    match: re.Match[str], failure: CatalogFailure, request: CondaRequest, profile: Profile
) -> Finding:
    name, wanted = match["name"], match["rest"].partition(", for which")[0].strip(" ,.")
    has = request.virtual_packages.get(name)
    wish = f"{name} {wanted}".rstrip()
    ways: tuple[Remedy, ...] = (Remedy(message("locking.no-virtual.way")),)
    if name == "__cuda":
        ways = (
            Remedy(message("locking.no-virtual.way-2")),
            Remedy(message("locking.no-virtual.way-3")),
        )
    return Finding(
        "no-cuda" if name == "__cuda" else "machine-lacks", "error",
        message("locking.no-virtual.has", wish=wish, name=profile.name, what=f"{name} {has}")
        if has
        else message("locking.no-virtual.lacks", wish=wish, name=profile.name, what=name),
        detail=message("locking.no-virtual.detail"),
        evidence=_said(failure), remedies=ways,
    )  # fmt: skip


def _no_package(spec: str, failure: CatalogFailure, request: CondaRequest) -> Finding:
    return Finding(
        "no-such-package", "error",
        message("locking.no-such-package.summary", channels=tuple(request.channels), spec=spec, subdir=request.subdir),
        evidence=_said(failure),
        remedies=(Remedy(message("locking.no-such-package.way")),),
    )  # fmt: skip


def _conflict(failure: CatalogFailure) -> Finding:
    return Finding(
        "conflict", "error", message("locking.conflict.summary"), detail=failure.text.strip(),
        evidence=_said(failure),
        remedies=(Remedy(message("locking.conflict.way")),),
    )  # fmt: skip
