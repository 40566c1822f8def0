"""Which environment `doctor` and `explain --env` mean: any, whoever made it."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from provision.messages import message
from provision.model.finding import Finding, Remedy, UsageError
from provision.pipeline.places import environment_names, find_environment

if TYPE_CHECKING:
    from provision.pipeline.session import Session

_BINARIES = ("python", "python3", "python.exe")
_PYTHON = re.compile(r"python|pypy", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is examined. `prefix` is the environment's folder (empty: only the machine), `python` its interpreter
    where that was named, `profile` the reference of a profile, `variables` what its activation sets."""

    prefix: str = ""
    python: str = ""
    profile: str = ""
    shown: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)


def subject_of(session: Session, reference: str | None) -> Subject:
    """A folder, an interpreter (a path, or a name on PATH), or a profile; else what stands here or is active.

    Raises UsageError for a folder that holds no environment, ProfileError for an unknown name.
    """
    if reference is None:
        return _here(session)
    path = session.folder / reference
    if path.is_dir():
        return _folder(path, reference)
    if path.is_file() and path.suffix not in (".yaml", ".yml"):
        if not _PYTHON.match(path.name):
            raise UsageError(_no_python(reference))
        return _interpreter(path, reference)
    if _is_word(reference) and reference.startswith("python") and (found := shutil.which(reference)):
        return _interpreter(Path(found), reference)
    prefix = find_environment(session, reference, None)
    return Subject(prefix=prefix, profile=reference, shown=reference)


def _no_python(reference: str) -> Finding:
    """A file of another name is never started to see what it is."""
    return Finding(
        "no-such-interpreter", "error", message("pipeline.no-such-interpreter.name", path=reference),
        remedies=(Remedy(message("pipeline.no-environment.way"), "provision doctor .venv"),),
    )  # fmt: skip


def _is_word(reference: str) -> bool:
    return "/" not in reference and os.sep not in reference


def _here(session: Session) -> Subject:
    """The one environment that provision made here, a `.venv`, or the one that is active."""
    names = environment_names(session)
    if len(names) == 1:
        return _folder(session.folder / names[0], names[0])
    if (session.folder / ".venv").is_dir():
        return _folder(session.folder / ".venv", ".venv")
    active = os.environ.get("VIRTUAL_ENV") or os.environ.get("CONDA_PREFIX")
    # The environment that provision itself stands in is the tool's, not the user's.
    if active and Path(active).is_dir() and Path(active).resolve() != Path(sys.prefix).resolve():
        return _folder(Path(active), active)
    return Subject()


def _folder(path: Path, reference: str) -> Subject:
    absolute = path.absolute()
    ours = (absolute.parent / ".provision" / absolute.name / "generations").is_dir()
    linked = absolute.is_symlink() and not ours
    prefix = str(absolute.resolve() if linked else absolute.parent.resolve() / absolute.name)
    marks = ("pyvenv.cfg", "conda-meta", *(f"bin/{n}" for n in _BINARIES), "Scripts/python.exe", "python.exe")
    if not any((absolute / mark).exists() or (absolute / mark).is_symlink() for mark in marks):
        raise UsageError(
            Finding(
                "no-environment", "error", message("pipeline.no-environment.summary", reference=reference),
                remedies=(Remedy(message("pipeline.no-environment.way"), "provision doctor .venv"),),
            )
        )  # fmt: skip
    return Subject(prefix=prefix, shown=reference)


def _interpreter(path: Path, reference: str) -> Subject:
    """The environment around an interpreter; that of a system Python is where it says."""
    absolute = path.absolute()
    for folder in (absolute.parent.parent, absolute.parent):
        if (folder / "pyvenv.cfg").is_file() or (folder / "conda-meta").is_dir():
            return Subject(prefix=str(folder), python=str(absolute), shown=reference)
    return Subject(python=str(absolute), shown=reference)
