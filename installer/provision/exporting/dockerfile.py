"""A Dockerfile whose image has the packages of a lock."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from provision.exporting.heading import comments
from provision.exporting.requirements import requirements
from provision.model.finding import Finding, Remedy, UsageError
from provision.model.lock import Lock

_PLATFORMS = {"linux-x86_64": "linux/amd64", "linux-aarch64": "linux/arm64"}


def dockerfile(lock: Lock, urls: Mapping[str, str]) -> str:
    """Raises UsageError for a target that is no Linux."""
    if lock.target not in _PLATFORMS:
        raise UsageError(
            Finding(
                "no-container", "error", f"A container is a Linux machine; this lock is for {lock.target}.",
                remedies=(Remedy("Export the lock of a Linux target.", "provision export PROFILE --target linux-x86_64"),),
            )
        )  # fmt: skip
    return "\n".join(_lines(lock, urls)) + "\n"


def _lines(lock: Lock, urls: Mapping[str, str]) -> Iterator[str]:
    yield "# syntax=docker/dockerfile:1"
    yield from (f"# {text}" for text in comments(lock))
    if lock.hardware != "cpu":
        flag = " (docker run --gpus all ...)" if lock.hardware == "nvidia" else ""
        yield f"# The driver is the host's; give the container the {lock.hardware} devices{flag}."
    # Sources are compiled: the full image has a compiler.
    image = "" if any(a.kind == "sdist" for a in lock.packages) else "-slim"
    yield f"FROM --platform={_PLATFORMS[lock.target]} python:{lock.python}{image}"
    yield from (f"ENV {key}={json.dumps(value)}" for key, value in sorted(lock.variables.items()))
    yield "COPY <<'REQUIREMENTS' /tmp/requirements.txt"
    yield requirements(lock, urls).rstrip("\n")
    yield "REQUIREMENTS"
    yield "RUN python -m pip install --no-cache-dir --no-deps --require-hashes -r /tmp/requirements.txt"
