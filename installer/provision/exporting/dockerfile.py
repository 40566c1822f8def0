"""A Dockerfile whose image has the packages of a lock."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from provision.exporting.heading import comments, vendor_folder
from provision.exporting.requirements import requirements
from provision.messages import message
from provision.model.finding import Finding, Remedy, UsageError
from provision.model.lock import Lock

#: Where files of a vendor stand in the image while it is built.
_VENDOR = "/tmp/vendor"  # noqa: S108
_PLATFORMS = {"linux-x86_64": "linux/amd64", "linux-aarch64": "linux/arm64"}


def dockerfile(lock: Lock, urls: Mapping[str, str]) -> str:
    """Raises UsageError for a target that is no Linux."""
    if lock.target not in _PLATFORMS:
        raise UsageError(
            Finding(
                "no-container", "error", message("exporting.no-container.summary", target=lock.target),
                remedies=(Remedy(message("exporting.no-container.way"), "provision export PROFILE --target linux-x86_64"),),
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
    folder = vendor_folder(lock)
    if folder:
        yield f"COPY {folder}/ {_VENDOR}/"
    yield "COPY <<'REQUIREMENTS' /tmp/requirements.txt"
    text = requirements(lock, urls)
    yield (text.replace(f"--find-links {folder}", f"--find-links {_VENDOR}") if folder else text).rstrip("\n")
    yield "REQUIREMENTS"
    yield "RUN python -m pip install --no-cache-dir --no-deps --require-hashes -r /tmp/requirements.txt"
