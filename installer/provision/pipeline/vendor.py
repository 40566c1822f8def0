"""Wheels that a vendor hands out and people fetch into a folder: what is missing, where it is to be had."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from provision.locking.tags import rank
from provision.messages import joined, message
from provision.model.finding import Evidence, Finding, Remedy, UnsatisfiableError
from provision.model.lock import VENDOR, Lock
from provision.model.profile import Index, VendorFile
from provision.model.stack import Stack

MISSING = "vendor-files-missing"


def wanted(stack: Stack) -> tuple[VendorFile, ...]:
    """The vendor files of a stack for its Python and target; those of unknown tags count."""
    return tuple(file for file in stack.vendor if not file.tags or _fits(file, stack))


def _fits(file: VendorFile, stack: Stack) -> bool:
    return rank(file_name(file), stack.python, stack.target) is not None


def file_name(file: VendorFile) -> str:
    """The name of the file, its local version as far as it is known."""
    return f"{file.name.replace('-', '_')}-{file.version}-{file.tags or '*'}.whl"


def located(stack: Stack, folder: Path) -> Stack:
    """The stack with its vendor index where the files are. Raises UnsatisfiableError where some are not there."""
    files = wanted(stack)
    missing = [file for file in files if not _present(file, stack, folder)]
    if missing:
        raise UnsatisfiableError(_missing(missing, stack, folder))
    if not files:
        return _without_index(stack)
    here = Index(name=VENDOR, url=folder.as_uri(), packages=tuple(sorted({file.name for file in files})))
    return replace(stack, indexes=tuple(here if i.name == VENDOR else i for i in stack.indexes))


def _present(file: VendorFile, stack: Stack, folder: Path) -> bool:
    return any(_is(path.name, file, stack) for path in sorted(folder.glob("*.whl")))


def _is(name: str, file: VendorFile, stack: Stack) -> bool:
    """Whether a file's name is the wanted one, whatever local part its version has beyond what is asked for."""
    try:
        project, version, _, _ = parse_wheel_filename(name)
        same = Version(file.version) in (version, Version(version.public))
    except (InvalidWheelFilename, InvalidVersion):
        return False
    tags = file.tags in ("", "-".join(name.removesuffix(".whl").split("-")[-3:]))
    return project == file.name and same and tags and rank(name, stack.python, stack.target) is not None


def _missing(missing: Sequence[VendorFile], stack: Stack, folder: Path) -> Finding:
    names = joined(
        [message("pipeline.missing.file", file=file_name(file), where=file.where) for file in missing], "; "
    )
    return Finding(
        MISSING,
        "error",
        message("pipeline.missing.summary", profile=stack.profile, name=folder.name, names=names),
        detail=message("pipeline.missing.detail"),
        evidence=tuple(Evidence(file.where, file_name(file)) for file in missing),
        remedies=(
            Remedy(message("pipeline.missing.way", folder=folder)),
            Remedy(message("pipeline.missing.way-2"), "provision plan PROFILE"),
        ),
    )


def without(stack: Stack) -> Stack:
    """What remains of a stack when its vendor files are left out."""
    names = {file.name for file in stack.vendor}
    kept = tuple(r for r in stack.requirements if canonicalize_name(Requirement(r).name) not in names)
    return replace(_without_index(stack), requirements=kept, vendor=())


def _without_index(stack: Stack) -> Stack:
    return replace(stack, indexes=tuple(index for index in stack.indexes if index.name != VENDOR))


def check_hashes(made: Lock, stack: Stack) -> None:
    """Raises UnsatisfiableError where a file is not the one whose hash the profile states."""
    findings = tuple(_mismatches(made, stack))
    if findings:
        raise UnsatisfiableError(findings)


def _mismatches(made: Lock, stack: Stack) -> Iterator[Finding]:
    for artifact in made.packages:
        for file in wanted(stack):
            if artifact.index != VENDOR or not _is(artifact.file, file, stack):
                continue
            if file.sha256 not in (None, artifact.sha256):
                yield Finding(
                    "hash-mismatch",
                    "error",
                    message("pipeline.hash-mismatch.summary", file=artifact.file),
                    evidence=(
                        Evidence(message("pipeline.the-profile"), str(file.sha256)),
                        Evidence(message("pipeline.the-file"), artifact.sha256),
                    ),
                    remedies=(Remedy(message("pipeline.hash-mismatch.way", where=file.where)),),
                )
