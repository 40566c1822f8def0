"""Reading an environment's folder: where its packages stand, what is noted of it, its quick digest.

Level 1, beside the ports: inspecting and applying both need it.
"""

from __future__ import annotations

import json
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from provision.model.state import Layout, Record

if TYPE_CHECKING:
    from provision.ports import Files

#: In an environment: the libraries that were placed, with every file and link.
MANIFEST = "provision-libraries.json"


def read_record(files: Files, layout: Layout, number: int) -> Record | None:
    """What was noted when a generation was made; None if there is no (readable) note."""
    text = files.read_text(layout.record(number))
    try:
        return Record(**json.loads(text)) if text else None
    except (ValueError, TypeError):
        return None


def generation_numbers(files: Files, layout: Layout) -> tuple[int, ...]:
    """The numbers of the generations that are there, in order."""
    return tuple(sorted(int(n) for n in files.listdir(layout.generations) if is_number(n)))


def is_number(name: str) -> bool:
    """True for the one spelling that a generation's number has as a name."""
    return name.isascii() and name.isdecimal() and str(int(name)) == name


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

    It looks at the top level of site-packages, at each RECORD's size and time and at the placed libraries, not at
    every file (`verify --files` does).
    """
    import hashlib  # Loaded late: a rollback does not look at contents.

    folder = site_packages(files, prefix)
    lines = _conda_lines(files, prefix)
    if folder is None:
        return hashlib.sha256("\n".join(lines).encode()).hexdigest() if lines else ""
    for name in files.listdir(folder):
        if name.endswith((".dist-info", ".egg-info")):
            record = files.stat(str(PurePath(folder) / name / "RECORD"))
            lines.append(f"{name} {record.size if record else None} {record.mtime_ns if record else None}")
        elif name != "__pycache__":
            lines.append(name)
    for row in placed_files(files, prefix):
        found = files.stat(str(PurePath(prefix) / row["path"]))
        lines.append(f"{row['path']} {(found.size, found.mtime_ns, found.link) if found else None}")
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _conda_lines(files: Files, prefix: str) -> list[str]:
    """Each conda record with its size and time; none in other environments."""
    folder = str(PurePath(prefix) / "conda-meta")
    lines = []
    for name in files.listdir(folder):
        found = files.stat(str(PurePath(folder) / name)) if name.endswith(".json") else None
        if found is not None:
            lines.append(f"conda {name} {found.size} {found.mtime_ns}")
    return lines


def manifest(files: Files, prefix: str) -> dict[str, Any]:
    """What was placed in an environment: `libraries` and `files` (path, size, sha256, or link); empty for nothing."""
    text = files.read_text(str(PurePath(prefix) / MANIFEST), limit=1 << 24)
    try:
        found = json.loads(text) if text else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def placed_files(files: Files, prefix: str) -> tuple[dict[str, Any], ...]:
    """Files and links of the placed libraries; paths relative to the environment."""
    rows = manifest(files, prefix).get("files", ())
    return tuple(row for row in rows if isinstance(row, dict) and isinstance(row.get("path"), str))
