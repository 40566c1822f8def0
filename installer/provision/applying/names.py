"""The words of a lock that reach commands and paths: each must be what it claims to be. Pure.

A lock is a file that comes with a repository, so it may be hostile: a file name must not lead out of a folder, a version
must not be an option of the installer, an address must not name a file of this machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from provision.messages import message
from provision.model.finding import Finding, LockError, Remedy
from provision.model.lock import Artifact, Lock

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_VERSION = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.!+_-]*[A-Za-z0-9])?")
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+!~-]*\.(whl|tar\.gz|zip|tar\.bz2|tar\.xz|tgz|conda)")
_INDEX = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_PYTHON = re.compile(r"\d+\.\d+")


def check(lock: Lock) -> None:
    """Raises LockError that names the first word that is not what it claims to be."""
    for what, value in _faults(lock):
        raise LockError(
            Finding(
                "hostile-lock",
                "error",
                message("applying.hostile-lock.summary", what=what, value=f"{value!r}"),
                remedies=(Remedy(message("applying.hostile-lock.way"), "provision lock PROFILE"),),
            )
        )


def _faults(lock: Lock) -> Iterator[tuple[str, str]]:
    if not _PYTHON.fullmatch(lock.python):
        yield message("applying.name.python"), lock.python
    for artifact in (*lock.packages, *lock.build):
        yield from _of_artifact(artifact)
    for index in lock.indexes:
        if not _INDEX.fullmatch(index.name):
            yield message("applying.name.index"), index.name
    for name in lock.variables:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            yield message("applying.name.variable"), name


def _of_artifact(artifact: Artifact) -> Iterator[tuple[str, str]]:
    checks = (
        (message("applying.name.package"), _NAME, artifact.name),
        (message("applying.name.version"), _VERSION, artifact.version),
        (message("applying.name.file"), _FILE, artifact.file),
        (message("applying.name.index"), _INDEX, artifact.index),
        ("SHA-256", _SHA256, artifact.sha256),
    )
    for what, pattern, value in checks:
        if not pattern.fullmatch(value):
            yield what, value
    if artifact.url is not None and not artifact.url.startswith(("https://", "http://")):
        yield "address", artifact.url
