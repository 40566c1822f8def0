"""The resolver's words for a failed closure -> findings that say which requirement, why, and what does exist."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence

from packaging.utils import canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from provision.locking.tags import platforms
from provision.messages import joined, message, sentence, stopped
from provision.model.finding import Evidence, Finding, Remedy
from provision.ports import Catalog, CatalogFailure, ClosureRequest, Release

#: A name that is not what it seems -> what is so, and what to use instead.
LookAlikes = Mapping[str, tuple[str, tuple[str, ...]]]

_NO_VERSION = re.compile(
    r"there (?:is|are) no versions? of (?P<name>[\w.-]+?)(?P<spec>[=<>!~]=?[^\s,]+(?:,[^\s]+)?)\s"
)
_ONLY_VERSIONS = re.compile(r"only (?P<name>[\w.-]+?)(?P<spec>[=<>!~]=?\S+) (?:is|are) available")
_NO_NAME = re.compile(
    r"(?P<name>[\w.-]+) was not found in the (?:package registry|provided package locations)"
)
_NO_TAG = re.compile(r"(?P<name>[\w.-]+?)==(?P<version>\S+) has no (?:wheels with a matching|usable wheels)")
_PAIR = re.compile(
    r"(?P<name>[\w.-]+(?:\[[\w,.-]+\])?(?:[=<>~!]=?[^\s]+)?) depends on (?P<what>[\w.-]+(?:\[[\w,.-]+\])?(?:\{.*?\})?"
    r"(?:[=<>~!]=?[\w.*+!<>=,-]+)?)"
)
_NOT_CACHED = re.compile(r"all versions of (?P<name>[\w.-]+) need to be downloaded from a registry")
_NOT_BUILT = re.compile(r"Failed to build `(?P<name>[\w.-]+)==(?P<version>[^`\s]+)`")
_RAISED = re.compile(r"^\s*(?P<said>[\w.]*(?:Error|Exception|Requirement|Exit)\b.*)$", re.M)
#: Characters of another program's text that a person reads.
_LONGEST = 600
_URL = re.compile(r"Failed to fetch: `?(?P<url>\S+?)`?$", re.M)


def closure_findings(
    failure: CatalogFailure, request: ClosureRequest, catalog: Catalog, names: LookAlikes
) -> tuple[Finding, ...]:
    """At least one finding; the resolver's own text is kept as evidence where it says most."""
    if failure.findings:
        return failure.findings
    text = _one_line(failure.text)
    if failure.unreachable:
        return (_unreachable(failure, request),)
    found = [
        *(_no_such_package(m["name"], names, text) for m in _NO_NAME.finditer(text)),
        *(_no_such_version(m, request, catalog, text) for m in _NO_VERSION.finditer(text)),
        *(_no_tag(m, request, catalog, text) for m in _NO_TAG.finditer(text)),
        *(_not_cached(m["name"], text) for m in _NOT_CACHED.finditer(text)),
        *(_not_built(m, failure.text) for m in _NOT_BUILT.finditer(text)),
    ]
    return tuple(_distinct(found)) or (_conflict(text),)


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text) + " "


def _distinct(findings: Iterable[Finding]) -> Iterable[Finding]:
    seen: set[str] = set()
    for finding in findings:
        if finding.summary not in seen:
            seen.add(finding.summary)
            yield finding


def _resolver_says(text: str) -> tuple[Evidence, ...]:
    plain = text.removeprefix("error: ").strip().replace("the-profile", "the profile")
    return (Evidence("resolver", plain if len(plain) <= _LONGEST else plain[:_LONGEST] + " ..."),)


def _not_cached(name: str, text: str) -> Finding:
    """Without the network, and never asked for before."""
    return Finding(
        "offline-missing",
        "error",
        message("locking.offline-missing.summary", name=name),
        evidence=_resolver_says(text),
        remedies=(Remedy(message("locking.offline-missing.way")),),
    )


def _not_built(match: re.Match[str], text: str) -> Finding:
    """A source that does not even say what it needs: its last error, not the whole traceback."""
    raised = _RAISED.findall(text)
    said = raised[-1].strip() if raised else _one_line(text).strip()
    return Finding(
        "source-not-built",
        "error",
        message("locking.source-not-built.summary", name=match["name"], version=match["version"]),
        evidence=(Evidence("build", said[:_LONGEST]),),
        remedies=(
            Remedy(message("locking.source-not-built.way", name=match["name"])),
            Remedy(message("locking.source-not-built.way-2")),
        ),
    )


def _unreachable(failure: CatalogFailure, request: ClosureRequest) -> Finding:
    match = _URL.search(failure.text)
    url = match["url"] if match else ""
    index = next((i.name for i in request.indexes if url.startswith(i.url.rstrip("/"))), None)
    name = (
        message("locking.unreachable.index-profile", index=f"{index!r}")
        if index
        else message("locking.unreachable.default-index")
        if not url
        else message("locking.unreachable.index", host=_host(url))
    )
    return Finding(
        "index-unreachable",
        "error",
        message("locking.index-unreachable.summary", name=name),
        detail=(
            message(
                "locking.index-unreachable.detail",
                what=[i for x in request.indexes if x.name == index for i in x.packages],
            )
            if index
            else ""
        ),
        evidence=_resolver_says(_one_line(failure.text)),
        remedies=(
            Remedy(message("locking.common.check-network-and-proxy-https")),
            Remedy(
                message("locking.index-unreachable.way-2"),
                f"export PROVISION_INDEX_{(index or 'pypi').upper().replace('-', '_')}=URL-or-folder",
            ),
        ),
    )


def _host(url: str) -> str:
    return url.split("/")[2] if "//" in url else url


def _no_such_package(name: str, names: LookAlikes, text: str) -> Finding:
    what, instead = names.get(canonicalize_name(name), ("", ()))
    near = difflib.get_close_matches(name, [i for _, ways in names.values() for i in ways], 1, 0.85)
    return Finding(
        "no-such-package",
        "error",
        message("locking.no-such-package.index-and-so", name=name, what=what)
        if what
        else message("locking.no-such-package.index", name=name),
        evidence=_resolver_says(text),
        remedies=tuple(Remedy(_instead(way)) for way in instead or near),
    )


def _instead(way: str) -> str:
    """A name is one to use; words say themselves what to do."""
    return sentence(way) if " " in way else message("locking.no-such-package.way-2", way=way)


def _versions(releases: Sequence[Release]) -> list[Version]:
    """All versions that exist, oldest first; yanked ones and unreadable ones left out."""
    found = set()
    for release in releases:
        if not release.yanked:
            try:
                found.add(Version(release.version))
            except InvalidVersion:
                continue
    return sorted(found)


def _no_such_version(match: re.Match[str], request: ClosureRequest, catalog: Catalog, text: str) -> Finding:
    name, spec = match["name"], match["spec"]
    index = next((i for i in request.indexes if canonicalize_name(name) in i.packages), None)
    versions = _versions(catalog.releases(name, index) or ())
    wanted = spec.lstrip("=<>!~")
    near = _nearest(wanted, versions)
    return Finding(
        "no-such-version",
        "error",
        message("locking.no-such-version.near", name=name, spec=spec, near=near)
        if near
        else message("locking.no-such-version.summary", name=name, spec=spec),
        detail=_exist(name, versions),
        evidence=_resolver_says(text),
        remedies=(Remedy(message("locking.no-such-version.way", name=name, near=near)),) if near else (),
    )


def _exist(name: str, versions: Sequence[Version], most: int = 12) -> str:
    if not versions:
        return ""
    shown = [str(v) for v in versions]
    listed = shown if len(shown) <= most else [*shown[:3], "...", *shown[-(most - 3) :]]
    return message("locking.exist.versions-exist", shown=len(shown), name=name, listed=listed)


def _nearest(wanted: str, versions: Sequence[Version]) -> str | None:
    """The closest version: same release first, then the smallest step, measured number by number.

    Nobody who asks for a release means a candidate of one, unless there are no others.
    """
    try:
        target = Version(wanted)
    except InvalidVersion:
        return str(versions[-1]) if versions else None
    finals = [v for v in versions if not v.is_prerelease or target.is_prerelease or target.is_devrelease]
    return str(min(finals or versions, key=lambda v: _distance(v, target))) if versions else None


def _distance(one: Version, other: Version) -> tuple[int, ...]:
    width = 4
    left, right = ((*v.release, *(0,) * width)[:width] for v in (one, other))
    steps = tuple(abs(a - b) for a, b in zip(left, right, strict=True))
    return (*steps, abs((one.dev or 0) - (other.dev or 0)), 0 if one.local == other.local else 1)


def _no_tag(match: re.Match[str], request: ClosureRequest, catalog: Catalog, text: str) -> Finding:
    name, version = match["name"], match["version"]
    releases = catalog.releases(name, next((i for i in request.indexes if name in i.packages), None)) or ()
    pythons = sorted(set(_pythons(version, releases, request.target)), key=Version)
    elsewhere = sorted(set(_pythons(version, releases, None)), key=Version)
    summary = message(
        "locking.no-tag.has-no-wheel-for-python",
        name=name,
        version=version,
        python=request.python,
        target=request.target,
    )
    if pythons:
        ways = Remedy(message("locking.no-tag.way", pythons=joined(pythons, " or "), pythons2=pythons[-1]))
        return Finding(
            "no-wheel-for-python",
            "error",
            message("locking.no-wheel-for-python.summary", summary=summary, pythons=tuple(pythons)),
            evidence=_resolver_says(text),
            remedies=(ways,),
        )
    detail = (
        message("locking.no-tag.it-has-wheels-for-python", elsewhere=tuple(elsewhere)) if elsewhere else ""
    )
    return Finding(
        "no-wheel-for-platform", "error", stopped(summary), detail=detail, evidence=_resolver_says(text)
    )


def _pythons(version: str, releases: Sequence[Release], target: str | None) -> Iterable[str]:
    """`major.minor` of every CPython that a version has wheels for (on a target, or anywhere)."""
    fitting = set(platforms(target)) | {"any"} if target else None
    for release in releases:
        if release.version != version or not release.file.endswith(".whl"):
            continue
        for tag in parse_wheel_filename(release.file)[3]:
            if re.fullmatch(r"cp3\d+", tag.interpreter) and (fitting is None or tag.platform in fitting):
                yield f"3.{tag.interpreter[3:]}"


def _wants(name: str, what: str) -> str:
    if name == "the-profile":
        return message("locking.conflict.profile-wants", what=what)
    return message("locking.conflict.wants", name=name, what=what)


def _conflict(text: str) -> Finding:
    pairs = list(dict.fromkeys(_wants(m["name"], m["what"].rstrip(",")) for m in _PAIR.finditer(text)))[:4]
    return Finding(
        "conflict",
        "error",
        message("locking.conflict.wishes", pairs=joined(pairs, "; "))
        if pairs
        else message("locking.conflict.packages"),
        evidence=_resolver_says(text),
        remedies=(Remedy(message("locking.conflict.way")),),
    )
