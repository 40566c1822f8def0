"""Every installed file against what its RECORD, the lock and the manifest of placed libraries say of it. Pure."""

from __future__ import annotations

import csv
import posixpath
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from provision.messages import joined, message
from provision.model.finding import Evidence, Finding, Remedy, Severity
from provision.model.lock import Lock
from provision.ports import FileFact

#: The owner of the libraries that provision placed.
_OURS = message("verifying.our-libraries")
#: Paths shown in one finding; the rest is counted.
_SHOWN = 5
#: What installers and interpreters write beside the files of a package, and what an environment itself consists of.
_OWN = re.compile(
    r"(.*/)?__pycache__/.*|.*\.py[co]|.*\.dist-info/(RECORD|INSTALLER|REQUESTED|direct_url\.json|uv_cache\.json|"
    r"[^/]*\.jws|[^/]*\.p7s)|(.*/)?site-packages/(_virtualenv\.(py|pth)|distutils-precedence\.pth)|"
    r"(bin|Scripts)/(python[^/]*|pypy[^/]*|[Aa]ctivate[^/]*|deactivate\.bat|pydoc\.bat)|provision-libraries\.json|"
    r"(bin|Scripts)/[^/]+\.(bat|ps1|fish|csh|nu|xsh)"
)
_CUDNN = re.compile(r"libcudnn\.so\.(\d+)|cudnn64_(\d+)\.dll", re.IGNORECASE)
_CPU_NAME = re.compile(r"-cpu$|^intel-tensorflow")


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """An installed distribution: canonical name, version, the path of its RECORD and that file's text (None: absent).

    `is_condas`: conda brought it, and conda's own record says what belongs to it.
    """

    name: str
    version: str
    folder: str
    record: str | None
    is_condas: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CondaPackage:
    """A package that conda manages: path -> SHA-256 of its files, empty where conda's record states none."""

    name: str
    version: str
    build: str
    paths: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """An environment as it was read. Paths are relative to it, with forward slashes; `packages` is site-packages."""

    packages: str
    files: Mapping[str, FileFact]
    distributions: tuple[Distribution, ...]
    placed: tuple[Mapping[str, Any], ...] = ()
    conda: tuple[CondaPackage, ...] = ()

    @property
    def wheels(self) -> tuple[Distribution, ...]:
        """What came from wheels."""
        return tuple(one for one in self.distributions if not one.is_condas)


@dataclass(slots=True)
class _Claims:
    """Path -> who owns it, with the hash that the owner states (hexadecimal; empty where none is stated)."""

    owners: dict[str, list[tuple[str, str]]] = field(default_factory=lambda: defaultdict(list))

    def add(self, path: str, owner: str, sha256: str) -> None:
        self.owners[path].append((owner, sha256))


def check_files(tree: Tree, lock: Lock, shared: bool = False) -> tuple[Finding, ...]:
    """All that is wrong with the files of an environment that was made from a lock; nothing for a sound one.

    `shared`: it was made by somebody else and only changed to the lock, so that more may stand in it.
    """
    claims = _claims(tree)
    found = (
        *_distributions(tree, lock),
        *_conda_packages(tree, lock),
        *_records(tree),
        *_missing_and_altered(tree, claims),
        *_owned_twice(claims, lock),
        *_foreign(tree, claims),
        *_cudnns(tree),
    )
    return tuple(map(_in_place, found)) if shared else found


def _in_place(finding: Finding) -> Finding:
    severity: Severity = "note" if finding.code == "package-foreign" else finding.severity
    return replace(finding, severity=severity, remedies=() if severity == "note" else (_MEND,))


def _claims(tree: Tree) -> _Claims:
    claims = _Claims()
    for one in tree.wheels:
        for row in csv.reader((one.record or "").splitlines()):
            if row:
                path = posixpath.normpath(posixpath.join(tree.packages, row[0].replace("\\", "/")))
                claims.add(path, one.name, hexadecimal(row[1] if len(row) > 1 else ""))
    for package in tree.conda:
        for path, sha256 in package.paths.items():
            claims.add(posixpath.normpath(path), package.name, sha256)
    for placed in tree.placed:
        claims.add(str(placed["path"]), _OURS, str(placed.get("sha256", "")))
    return claims


def hexadecimal(stated: str) -> str:
    """RECORD's `sha256=` with unpadded base64 -> hexadecimal; other algorithms and nothing -> the empty text."""
    import base64

    algorithm, _, text = stated.partition("=")
    if algorithm != "sha256" or not text:
        return ""
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).hex()
    except ValueError:
        return ""


def _distributions(tree: Tree, lock: Lock) -> Iterator[Finding]:
    """The packages themselves: missing, of another version, not of the lock, that must be absent."""
    installed = {one.name: one.version for one in tree.wheels}
    locked = {a.name: a.version for a in lock.packages}
    gone = sorted(name for name in locked if name not in installed)
    if gone:
        yield _finding("package-missing", message("verifying.package-missing.summary", names=gone), gone)
    for name in sorted(locked.keys() & installed.keys()):
        if not _same_version(installed[name], locked[name]):
            yield _other_version(name, installed[name], locked[name])
    bad = sorted(name for name in installed if name in lock.absent)
    if bad:
        yield _finding("package-unwanted", message("verifying.package-unwanted.summary", names=bad), bad)
    tools = {"pip", "setuptools", "wheel"} if lock.pip else set()
    more = sorted(name for name in installed if name not in locked and name not in bad and name not in tools)
    if more:
        yield _finding("package-foreign", message("verifying.package-foreign.summary", names=more), more)
    yield from _cpu_builds(installed, locked, lock)


def _conda_packages(tree: Tree, lock: Lock) -> Iterator[Finding]:
    """The same of conda's packages, where the lock has such."""
    installed = {one.name: f"{one.version} {one.build}" for one in tree.conda}
    locked = {one.name: f"{one.version} {one.build}" for one in lock.conda}
    if not locked:
        return
    gone = sorted(locked.keys() - installed.keys())
    if gone:
        yield _finding("package-missing", message("verifying.package-missing.summary", names=gone), gone)
    for name in sorted(locked.keys() & installed.keys()):
        if installed[name] != locked[name]:
            yield _other_version(name, installed[name], locked[name])
    more = sorted(installed.keys() - locked.keys())
    if more:
        yield _finding("package-foreign", message("verifying.package-foreign.summary", names=more), more)


def _same_version(installed: str, locked: str) -> bool:
    from packaging.version import InvalidVersion, Version

    try:
        return Version(installed) == Version(locked)
    except InvalidVersion:
        return installed == locked


def _other_version(name: str, installed: str, locked: str) -> Finding:
    return Finding(
        "package-version",
        "error",
        message("verifying.package-version.summary", name=name, installed=installed, locked=locked),
        evidence=(
            Evidence(message("verifying.installed"), installed),
            Evidence(message("verifying.lock"), locked),
        ),
        remedies=(_AGAIN,),
    )


def _cpu_builds(installed: Mapping[str, str], locked: Mapping[str, str], lock: Lock) -> Iterator[Finding]:
    """A build for the CPU that came over one for a card."""
    if lock.hardware == "cpu":
        return
    for name, version in sorted(installed.items()):
        by_name = _CPU_NAME.search(name) and name not in locked
        by_label = version.endswith("+cpu") and not locked.get(name, "+cpu").endswith("+cpu")
        if by_name or by_label:
            summary = message(
                "verifying.cpu-build.summary", name=name, version=version, hardware=lock.hardware
            )
            yield Finding("cpu-build", "error", summary, remedies=(_AGAIN,))


def _records(tree: Tree) -> Iterator[Finding]:
    without = sorted(one.name for one in tree.wheels if one.record is None)
    if without:
        yield _finding("record-missing", message("verifying.record-missing.summary", names=without), without)


def _missing_and_altered(tree: Tree, claims: _Claims) -> Iterator[Finding]:
    missing: dict[str, list[str]] = defaultdict(list)
    altered: dict[str, list[str]] = defaultdict(list)
    for path, owners in claims.owners.items():
        fact = tree.files.get(path)
        stated = [sha256 for _, sha256 in owners if sha256]
        owner = owners[0][0]
        if fact is None:
            if not _OWN.fullmatch(path):
                missing[owner].append(path)
        elif stated and fact.sha256 not in stated:
            altered[owner].append(path)
    yield from _by_owner("file-missing", missing)
    yield from _by_owner("file-altered", altered)
    yield from _by_owner("link-altered", _links(tree))


def _links(tree: Tree) -> dict[str, list[str]]:
    wrong = [
        str(row["path"])
        for row in tree.placed
        if row.get("link")
        and (fact := tree.files.get(str(row["path"])))
        and (fact.link != row["link"] or fact.dead)
    ]
    return {_OURS: wrong} if wrong else {}


def _owned_twice(claims: _Claims, lock: Lock) -> Iterator[Finding]:
    """Paths that two distributions claim with other contents, or that a package claims which must be absent."""
    pairs: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for path, owners in claims.owners.items():
        names = tuple(sorted({name for name, _ in owners}))
        differ = len({sha256 for _, sha256 in owners if sha256}) > 1
        if len(names) > 1 and not _OWN.fullmatch(path) and (differ or set(names) & set(lock.absent)):
            pairs[names].append(path)
    for names, paths in sorted(pairs.items()):
        text = message(
            "verifying.file-owned-twice.summary", names=joined(names, " and "), files=_count(paths)
        )
        yield _finding("file-owned-twice", text, paths)


def _foreign(tree: Tree, claims: _Claims) -> Iterator[Finding]:
    """Files in site-packages that nobody claims."""
    found = sorted(
        path
        for path in tree.files
        if path.startswith(f"{tree.packages}/") and path not in claims.owners and not _OWN.fullmatch(path)
    )
    if found:
        yield _finding(
            "file-foreign", message("verifying.file-foreign.summary", files=_count(found)), found, "warning"
        )


def _cudnns(tree: Tree) -> Iterator[Finding]:
    """Copies of cuDNN of one name: the one that is loaded first serves everybody in the process."""
    copies: dict[str, list[str]] = defaultdict(list)
    for path, fact in tree.files.items():
        if fact.link is None and (match := _CUDNN.fullmatch(posixpath.basename(path))):
            copies[match[1] or match[2]].append(path)
    for major, paths in sorted(copies.items()):
        if len(paths) > 1:
            text = message("verifying.two-cudnn.summary", major=major, times=len(paths))
            yield _finding("two-cudnn", text, sorted(paths), "warning")


def _by_owner(code: str, paths: Mapping[str, list[str]]) -> Iterator[Finding]:
    for owner, found in sorted(paths.items()):
        text = message(f"verifying.by-owner.{code}", files=_count(found), owner=owner)
        yield _finding(code, text, sorted(found))


def _count(paths: Sequence[str]) -> str:
    return message("verifying.files", count=len(paths))


_AGAIN = Remedy(message("verifying.module.way"), "provision apply PROFILE --reinstall")
_MEND = Remedy(message("verifying.module.way-2"), "provision apply PROFILE --in-place --reinstall")


def _finding(code: str, summary: str, paths: Sequence[str], severity: str = "error") -> Finding:
    shown = "\n".join(paths[:_SHOWN])
    rest = len(paths) - _SHOWN
    text = joined((shown, message("verifying.and-more", count=rest)), "\n") if rest > 0 else shown
    return Finding(
        code, severity, summary,  # type: ignore[arg-type]
        evidence=(Evidence(message("verifying.environment"), text),), remedies=(_AGAIN,),
    )  # fmt: skip


def verdict(findings: Iterable[Finding]) -> bool:
    """True where nothing is wrong (warnings may be)."""
    return all(finding.severity != "error" for finding in findings)
