"""The ordered steps from the actual state to the lock."""

from __future__ import annotations

from collections.abc import Iterator

from provision.messages import joined, message
from provision.model.lock import Artifact, CondaArtifact, Lock
from provision.model.machine import Machine
from provision.model.plan import Sizes, Step
from provision.model.state import EnvState
from provision.planning.interpreters import interpreter_for
from provision.planning.request import Request

#: Unpacked bytes for one byte of wheel: TensorFlow's stack 4.3, torch 2.6 (measured).
_UNPACKED = 4
#: What an environment costs although its files share their bytes with the cache: folders and small files.
_SHARED = 0.06


def steps(lock: Lock, state: EnvState, machine: Machine, request: Request, generation: int) -> Iterator[Step]:
    begin = conda_steps if lock.manager == "conda" else _venv_steps
    yield from begin(lock, state, machine, request, generation)
    yield from _fetch_steps(lock, request)
    for artifact in lock.packages:
        if artifact.kind == "sdist":
            yield Step(
                action="build",
                kind="package",
                subject=f"{artifact.name} {artifact.version}",
                reason=message("planning.reason.source-only"),
                args={"sha256": artifact.sha256},
            )
    for artifact in lock.packages:
        yield Step(
            action="install",
            kind="package",
            subject=f"{artifact.name} {artifact.version}",
            reason=_why(artifact, lock),
            args={
                "index": artifact.index,
                "file": artifact.file,
                "size": artifact.size,
                "sha256": artifact.sha256,
            },
        )
    for library in lock.libraries:
        yield Step(
            action="place",
            kind="library",
            subject=f"{library.library} {library.version}",
            reason=library.because,
            args={"id": library.id, "licence": library.licence},
        )
    for job in request.jobs:
        args = {"device": request.proof_device}
        yield Step(
            action="prove",
            kind="job",
            subject=job,
            reason=message("planning.reason.level", level=lock.smoke.level),
            args=args,
        )
    yield Step(
        action="switch",
        kind="pointer",
        subject=message("planning.generation", generation=generation),
        reason=message("planning.reason.stays", generation=state.generation)
        if state.generation
        else message("planning.reason.first"),
    )


def _venv_steps(
    lock: Lock, state: EnvState, machine: Machine, request: Request, generation: int
) -> Iterator[Step]:
    """An interpreter of the machine (fetched if there is none), and an environment of it."""
    python = interpreter_for(lock, machine, request)
    if python is None and request.fetchable_python:
        yield Step(
            action="fetch",
            kind="interpreter",
            subject=request.fetchable_python,
            reason=message("planning.reason.no-python", python=lock.python),
            args={"python": lock.python},
        )
    yield Step(
        action="create",
        kind="environment",
        subject=message("planning.generation", generation=generation),
        reason=_why_new(state),
        args={"python": python.path if python else "", "version": python.version if python else lock.python},
    )


def conda_steps(
    lock: Lock, state: EnvState, machine: Machine, request: Request, generation: int
) -> Iterator[Step]:
    """An empty prefix, and conda's packages in it; Python is one of them."""
    version = next((a.version for a in lock.conda if a.name == "python"), lock.python)
    yield Step(
        action="create",
        kind="prefix",
        subject=message("planning.generation", generation=generation),
        reason=_why_new(state),
        args={"python": "", "version": version},
    )
    for artifact in (a for a in lock.conda if a.key not in request.present):
        yield Step(
            action="fetch",
            kind="conda",
            subject=artifact.file,
            reason=message("planning.reason.from", where=artifact.channel),
            args={"size": artifact.size, "key": artifact.key, "channel": artifact.channel},
        )
    for artifact in lock.conda:
        args = {
            "channel": artifact.channel,
            "file": artifact.file,
            "size": artifact.size,
            "key": artifact.key,
        }
        yield Step(
            action="install",
            kind="conda",
            subject=f"{artifact.name} {artifact.version}",
            reason=_why_conda(artifact, lock),
            args={**args, "asked": artifact.name in lock.imports},
        )


def _why_conda(artifact: CondaArtifact, lock: Lock) -> str:
    for choice in lock.stack:
        if choice.value.split("==")[0] == artifact.name:
            return choice.because
    return (
        message("planning.reason.named")
        if artifact.name in lock.imports
        else message("planning.reason.dependency")
    )


def _why_new(state: EnvState) -> str:
    if state.kind == "absent":
        return message("planning.reason.absent")
    if state.drifted:
        return message("planning.reason.drifted", generation=state.generation)
    return message("planning.reason.other-lock")


def _fetch_steps(lock: Lock, request: Request) -> Iterator[Step]:
    missing = [a for a in lock.artifacts if a.sha256 not in request.present]
    for artifact in missing:
        yield Step(
            action="fetch",
            kind="package",
            subject=artifact.file,
            reason=message("planning.reason.from", where=artifact.index),
            args={"size": artifact.size, "sha256": artifact.sha256, "index": artifact.index},
        )


def _why(artifact: Artifact, lock: Lock) -> str:
    """A framework's reason is its choice; a held-down package's reason is its patch; the rest are dependencies."""
    for choice in lock.stack:
        if choice.value.split("==")[0].split("[")[0] == artifact.name:
            return choice.because
    for patch in lock.patches:
        if _name(patch.requirement) == artifact.name:
            return joined((patch.requirement, ": ", patch.because))
    return (
        message("planning.reason.named")
        if artifact.name in lock.imports
        else message("planning.reason.dependency")
    )


def _name(requirement: str) -> str:
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name

    try:
        return canonicalize_name(Requirement(requirement).name)
    except InvalidRequirement:
        return requirement


def sizes(lock: Lock, request: Request) -> Sizes:
    every = [(a.sha256, a.size) for a in lock.artifacts] + [(a.key, a.size) for a in lock.conda]
    missing = [size for key, size in every if key not in request.present]
    return Sizes(
        fetch=sum(size or 0 for size in missing),
        cached=sum(size or 0 for key, size in every if key in request.present),
        unknown=sum(1 for size in missing if size is None),
        write=written(lock, request)[0],
        free=request.free,
    )


def written(lock: Lock, request: Request) -> tuple[int, int]:
    """Bytes that an apply writes, about: into the environment, into the cache (files and what they unpack to).

    Sizes that no source states count nothing; files that are in the cache are taken for unpacked before.
    """
    wheels = [(a.sha256, a.size or 0) for a in lock.packages] + [(a.key, a.size or 0) for a in lock.conda]
    every = [(a.sha256, a.size or 0) for a in lock.artifacts] + [(a.key, a.size or 0) for a in lock.conda]
    coming = sum(size for key, size in every if key not in request.present)
    unpacked = _UNPACKED * sum(size for _, size in wheels)
    missing = _UNPACKED * sum(size for key, size in wheels if key not in request.present)
    return unpacked if request.copies else int(_SHARED * unpacked), coming + missing
