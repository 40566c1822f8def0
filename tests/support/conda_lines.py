"""Profiles with conda packages of a local channel, locked in this process: a process a lock would take ten times longer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from provision.model.finding import Finding
from provision.model.lock import Lock
from provision.pipeline.locks import KEEP, Upgrade, lock_pair
from provision.pipeline.profiles import read
from provision.pipeline.session import Session
from tests.support.command import running_python


def write(folder: Path, text: str, name: str = "team", more: str = "") -> Path:
    """A profile of a conda environment at `.env` over the channel `tiny`; `more` are further keys of `environment`."""
    path = folder / f"{name}.yaml"
    environment = f"environment: {{manager: conda, path: .env, channels: [tiny]{more}}}\n"
    path.write_text(
        f"schema: 1\nname: {name}\npython: '{running_python()}'\n{environment}{text}", encoding="utf-8"
    )
    return path


def locked(path: Path, upgrade: bool = False) -> tuple[Lock | None, tuple[Finding, ...]]:
    """The lock of a profile for Linux and the running Python, or the findings that refuse it."""
    session = Session(folder=path.parent)
    source = read(str(path), path.parent)
    how = Upgrade(everything=True) if upgrade else KEEP
    done = lock_pair(source, session, "linux-x86_64", running_python(), how)
    return done.lock, done.findings


def lock_file(path: Path) -> Path:
    (found,) = (path.parent / "locks" / path.stem).glob("*.lock.yaml")
    return found


def lock_of(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(lock_file(path).read_text(encoding="utf-8"))
    return document
