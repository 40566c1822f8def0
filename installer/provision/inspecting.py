"""Environment -> its actual state, by looking at names, sizes and times only: fast enough for every call."""

from __future__ import annotations

import hashlib
import json
from pathlib import PurePath

from provision.model.state import EnvState, Layout, Record
from provision.ports import Files


def inspect(files: Files, environment: str) -> EnvState:
    """The state of the environment at an absolute path. Reads, never writes; never raises for what it finds."""
    layout = Layout(environment)
    numbers = tuple(sorted(int(n) for n in files.listdir(layout.generations) if n.isdigit()))
    target = files.pointed(environment)
    there = files.stat(environment)
    if there is None:
        return _state("absent", environment, None, numbers, None, "")
    if target is None or PurePath(target).parent != PurePath(layout.generations):
        return _state("foreign", environment, None, numbers, None, "")
    number = int(PurePath(target).name) if PurePath(target).name.isdigit() else None
    if number is None or number not in numbers:
        return _state("broken", environment, number, numbers, None, "")
    return _state("ours", environment, number, numbers, read_record(files, layout, number), snapshot(files, target))


def _state(
    kind: str, environment: str, number: int | None, numbers: tuple[int, ...], record: Record | None, shot: str
) -> EnvState:
    facts = json.dumps([kind, environment, number, record.lock if record else "", shot])
    return EnvState(
        kind=kind,  # type: ignore[arg-type]
        environment=environment,
        generation=number,
        generations=numbers,
        record=record,
        snapshot=shot,
        digest=hashlib.sha256(facts.encode()).hexdigest(),
    )


def read_record(files: Files, layout: Layout, number: int) -> Record | None:
    """What was noted when a generation was made; None if there is no (readable) note."""
    text = files.read_text(layout.record(number))
    try:
        return Record(**json.loads(text)) if text else None
    except (ValueError, TypeError):
        return None


def site_packages(files: Files, prefix: str) -> str | None:
    """The folder of installed packages in an environment, or None if it has none."""
    windows = PurePath(prefix) / "Lib" / "site-packages"
    if files.stat(str(windows)):
        return str(windows)
    library = PurePath(prefix) / "lib"
    for name in files.listdir(str(library)):
        candidate = str(library / name / "site-packages")
        if name.startswith("python") and files.stat(candidate):
            return candidate
    return None


def snapshot(files: Files, prefix: str) -> str:
    """A digest of which packages are installed: changes when one is added, removed, replaced or broken.

    It looks at the top level of site-packages and at each RECORD's size and time, not at every file
    (`verify --files` does).
    """
    folder = site_packages(files, prefix)
    if folder is None:
        return ""
    lines = []
    for name in files.listdir(folder):
        if name.endswith((".dist-info", ".egg-info")):
            record = files.stat(str(PurePath(folder) / name / "RECORD"))
            lines.append(f"{name} {record.size if record else None} {record.mtime_ns if record else None}")
        elif name != "__pycache__":
            lines.append(name)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
