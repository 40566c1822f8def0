"""What artifacts say of themselves: from the cache of facts, from a file at hand, or from a server by ranges."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from provision.artifacts.inspect import cache_key, inspect_cached
from provision.artifacts.library import EVERYTHING, GLANCE, Limits
from provision.locking.tags import rank
from provision.messages import message
from provision.model.artifact import ArtifactFacts, artifact_error
from provision.model.finding import Finding, LockError, Remedy
from provision.model.lock import PYPI, Artifact, Lock
from provision.model.profile import Index
from provision.pipeline.session import Session
from provision.ports import CatalogFailure, ClosedPackage, ClosureRequest, ListedFile
from provision.resolving.wanted import PYTHONS

#: Hashing and reading pieces, in bytes.
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Located:
    """A wheel as an index lists it."""

    name: str
    version: str
    index: str
    file: ListedFile


def known_facts(artifact: Artifact, session: Session, read_kept: bool = True) -> ArtifactFacts | None:
    """The facts of a locked wheel that cost no download: cached ones, or a glance at the file in the store."""
    if (cached := _cached(artifact.sha256, (EVERYTHING, GLANCE), session)) is not None:
        return cached
    kept = session.store.place(artifact) if read_kept else None
    return _local(Path(kept), artifact.sha256, session, GLANCE) if kept else None


def remote_facts(artifact: Artifact, lock: Lock, session: Session) -> ArtifactFacts:
    """The facts of a locked wheel read from its server: a few MB of it. Raises ProvisionError leaves."""
    requirement = f"{artifact.name}=={artifact.version}"
    for one in locate(requirement, lock.python, lock.target, session, lock.indexes):
        if one.file.name == artifact.file:
            return _remote(one.file, artifact.sha256, session, GLANCE)
    raise artifact_error("file-gone", message("pipeline.file-gone.summary", file=artifact.file))


def facts_of_file(path: Path, session: Session, limits: Limits = EVERYTHING) -> ArtifactFacts:
    """The facts of a wheel on disk, all of it read. Raises ArtifactError."""
    sha256 = _sha256(path)
    return _cached(sha256, (limits,), session) or _local(path, sha256, session, limits)


def facts_of_located(one: Located, session: Session, limits: Limits = GLANCE) -> ArtifactFacts:
    """The facts of a wheel of an index: from the store if it is there, else by ranges."""
    if one.file.sha256:
        artifact = Artifact(
            name=one.name, version=one.version, index=one.index, file=one.file.name, size=one.file.size,
            sha256=one.file.sha256,
        )  # fmt: skip
        if (found := known_facts(artifact, session)) is not None:
            return found
    return _remote(one.file, one.file.sha256 or "", session, limits)


def locate(
    requirement: str, python: str, target: str, session: Session, indexes: tuple[Index, ...] = ()
) -> tuple[Located, ...]:
    """The wheels that a requirement means for one Python and target, the likeliest first. Raises LockError."""
    request = ClosureRequest(
        requirements=(requirement,), python=python, target=target, indexes=indexes, dependencies=False
    )
    answer = session.catalog.close(request)
    if isinstance(answer, CatalogFailure):
        raise LockError(_not_found(requirement, python, target, answer))
    return tuple(
        Located(package.name, package.version, package.index, wheel)
        for package in _named_first(answer, requirement)
        for wheel in sorted(package.wheels, key=lambda w: _rank(w.name, python, target))
        if _rank(wheel.name, python, target) < _UNFIT
    )


#: After every wheel that fits.
_UNFIT = 1 << 30


def _rank(file: str, python: str, target: str) -> int:
    found = rank(file, python, target)
    return _UNFIT if found is None else found


def rank_of(file: str, pythons: Iterable[str], target: str) -> bool:
    """Does a wheel fit one of these Pythons on a target?"""
    return any(_rank(file, python, target) < _UNFIT for python in pythons)


@dataclass(frozen=True, slots=True)
class Listing:
    """One version of a project as its index lists it: the names of all its wheels."""

    name: str
    version: str
    files: tuple[str, ...]

    @property
    def requirement(self) -> str:
        return f"{self.name}=={self.version}"

    def pythons(self, target: str) -> tuple[str, ...]:
        """The Pythons with a wheel for a target, newest first."""
        return tuple(p for p in reversed(PYTHONS) if any(_rank(f, p, target) < _UNFIT for f in self.files))


def listing(requirement: str, session: Session, indexes: tuple[Index, ...] = ()) -> Listing:
    """The newest version that a requirement admits, pre-releases where it names one. Raises LockError."""
    from packaging.requirements import Requirement
    from packaging.version import Version

    wanted = Requirement(requirement)
    releases = session.catalog.releases(wanted.name, indexes[0] if indexes else None)
    if releases is None:
        raise LockError(_no_project(wanted.name))
    early = any(Version(s.version).is_prerelease for s in wanted.specifier if s.operator in ("==", ">="))
    fitting = [
        r
        for r in releases
        if r.file.endswith(".whl") and wanted.specifier.contains(r.version, prereleases=early or None)
    ]
    if not fitting:
        raise LockError(_no_version(requirement, [r.version for r in releases]))
    newest = max({r.version for r in fitting}, key=Version)
    return Listing(wanted.name, newest, tuple(r.file for r in fitting if r.version == newest))


def _no_project(name: str) -> Finding:
    ways = (Remedy(message("pipeline.no-project.way")),)
    return Finding(
        "no-such-package", "error", message("pipeline.no-such-package.summary", name=name), remedies=ways
    )


def _no_version(requirement: str, versions: Iterable[str]) -> Finding:
    from packaging.version import Version

    known = sorted(set(versions), key=Version)
    newest = message("pipeline.no-such-wheel.detail", newest=known[-5:]) if known else ""
    return Finding(
        "no-such-wheel", "error", message("pipeline.no-such-wheel.summary", requirement=requirement), detail=newest,
        remedies=(Remedy(message("pipeline.no-such-wheel.way")),),
    )  # fmt: skip


def _named_first(closed: tuple[ClosedPackage, ...], requirement: str) -> list[ClosedPackage]:
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    name = canonicalize_name(Requirement(requirement).name)
    return sorted(closed, key=lambda package: canonicalize_name(package.name) != name)


def named_index(text: str, requirement: str, session: Session) -> tuple[Index, ...]:
    """An index given by its address, or by a name that the knowledge base holds (`pytorch-cu126`)."""
    from packaging.requirements import Requirement

    if not text or text == PYPI:
        return ()
    url = text if "://" in text else session.knowledge.index_url(text)
    if url is None:
        raise LockError(
            Finding("no-such-index", "error", message("pipeline.no-such-index.summary", text=f"{text!r}"))
        )
    name = text if "://" not in text else "named"
    return (Index(name=name, url=url, packages=(Requirement(requirement).name,)),)


def _cached(sha256: str, depths: Iterable[Limits], session: Session) -> ArtifactFacts | None:
    """What was read before, the deepest first; reading it again cost nothing."""
    for limits in depths:
        text = session.facts.get(cache_key(sha256, limits))
        if text is not None:
            try:
                return replace(ArtifactFacts.from_json(json.loads(text)), bytes_read=0, requests=0)
            except ValueError:
                continue
    return None


def _local(path: Path, sha256: str, session: Session, limits: Limits) -> ArtifactFacts:
    from provision.world.ranges import FileSource

    with closing(FileSource(path)) as source:
        return inspect_cached(source, sha256, session.facts, limits=limits)


def _remote(file: ListedFile, sha256: str, session: Session, limits: Limits) -> ArtifactFacts:
    """A wheel where an index has it: a server, or a folder of this machine."""
    from provision.world.ranges import HttpSource, local_path

    if (path := local_path(file.url)) is not None:
        return _local(path, sha256, session, limits)
    with closing(HttpSource(file.url, size=file.size)) as source:
        return inspect_cached(source, sha256, session.facts, limits=limits)


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                digest.update(piece)
    except OSError as error:
        raise artifact_error(
            "artifact-unreadable",
            message("pipeline.artifact-unreadable.summary", path=path),
            error.strerror or "",
        ) from None
    return digest.hexdigest()


def _not_found(requirement: str, python: str, target: str, failure: CatalogFailure) -> Finding:
    code = "index-unreachable" if failure.unreachable else "no-such-wheel"
    what = "unreachable" if failure.unreachable else "no-wheel"
    return Finding(
        code,
        "error",
        message(
            f"pipeline.not-found.{what}",
            requirement=requirement,
            python=python,
            target=target,
        ),
        detail=failure.text.strip(),
        remedies=(
            Remedy(
                message("pipeline.not-found.way"),
                "provision inspect REQUIREMENT --python 3.12 --target linux-x86_64",
            ),
            Remedy(
                message("pipeline.not-found.way-2"),
                "provision inspect REQUIREMENT --index pytorch-cu126",
            ),
        ),
    )
