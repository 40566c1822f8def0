"""export: a profile or a lock file -> the text of another tool's file."""

from __future__ import annotations

from pathlib import Path

from provision.exporting import export, needs_url
from provision.messages import message
from provision.model.finding import Finding, LockError, Remedy, UnsatisfiableError
from provision.model.lock import Lock
from provision.pipeline.locks import combinations, read_lock_file, targets_of
from provision.pipeline.profiles import Source, find_lock, read, variants_of
from provision.pipeline.session import Session
from provision.ports import CatalogFailure, ClosureRequest
from provision.shells import quoted

_SUFFIX = ".lock.yaml"


def exported(
    reference: str,
    form: str,
    session: Session,
    target: str = "",
    python: str = "",
    variant: str | None = None,
) -> tuple[str, Lock]:
    """The text and the lock it is of. Raises LockError where there is no lock, UsageError for what cannot be said."""
    if reference.endswith(_SUFFIX):
        lock, _ = read_lock_file(session.folder / reference)
    else:
        lock, _ = read_lock_file(_lock_of(reference, session, target, python, variant))
    return export(lock, form, _addresses(lock, form, session)), lock


def _lock_of(reference: str, session: Session, target: str, python: str, variant: str | None) -> Path:
    """The lock that is meant: of this machine's target if there is one, of the newest Python."""
    source = variants_of(read(reference, session.folder), variant)[0]
    target = target or _target(source, session)
    pythons = (
        [python]
        if python
        else [p for _, p in combinations(source.profile, session.serving(source), [target])]
    )
    for one in pythons:
        path = find_lock(source, session.folder, target, one)
        if path is not None:
            return path
    raise LockError(_missing(source, target, pythons[0]))


def _target(source: Source, session: Session) -> str:
    targets = targets_of(source.profile, session)
    host = session.host_target()
    return host if host in targets else targets[0]


def _missing(source: Source, target: str, python: str) -> Finding:
    return Finding(
        "lock-missing",
        "error",
        message("pipeline.lock-missing.summary-3", name=source.profile.name, target=target, python=python),
        remedies=(Remedy(message("pipeline.lock-missing.way-3"), f"provision lock {quoted(source.path)}"),),
    )


def _addresses(lock: Lock, form: str, session: Session) -> dict[str, str]:
    """File name -> address, as the indexes of this machine give it, for the files that a format names so."""
    wanted = [a for a in lock.packages if needs_url(a, form)]
    if not wanted or session.offline:
        return {}
    request = ClosureRequest(
        requirements=tuple(f"{a.name}=={a.version}" for a in wanted), python=lock.python, target=lock.target,
        indexes=lock.indexes, dependencies=False,
    )  # fmt: skip
    answer = session.catalog.close(request)
    if isinstance(answer, CatalogFailure):
        raise UnsatisfiableError(_not_told(answer))
    listed = (
        file for package in answer for file in (*package.wheels, *([package.sdist] if package.sdist else []))
    )
    return {file.name: file.url for file in listed}


def _not_told(failure: CatalogFailure) -> Finding:
    return Finding(
        "index-unreachable" if failure.unreachable else "file-gone", "error",
        message("pipeline.not-told.summary"), detail=failure.text,
        remedies=(Remedy(message("pipeline.not-told.way")),),
    )  # fmt: skip
