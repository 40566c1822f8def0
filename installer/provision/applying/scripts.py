"""Console scripts and activation of a generation are made to go through the environment's path.

An installer writes the folder it installs into: `#!/.../generations/3/bin/python`. People run `.venv/bin/jupyter`,
and a shell activated today must see the next generation tomorrow: so the text says `/.../.venv/bin/python`.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
from pathlib import PurePath

from provision.ports import Files
from provision.prefix import site_packages


def redirect(files: Files, generation: str, environment: str) -> int:
    """Rewrite the scripts of a generation and the RECORD lines that state their hashes. Returns how many."""
    changed: dict[str, tuple[str, int]] = {}
    folder = str(
        PurePath(generation) / ("Scripts" if files.stat(str(PurePath(generation) / "Scripts")) else "bin")
    )
    for name in files.listdir(folder):
        path = str(PurePath(folder) / name)
        text = _script(files, path)
        if text is None or generation not in text:
            continue
        mended = text.replace(generation, environment)
        files.write_script(path, mended)
        changed[name] = (_record_hash(mended), len(mended.encode()))
    if changed:
        _mend_records(files, generation, folder, changed)
    return len(changed)


def _script(files: Files, path: str) -> str | None:
    """Text of a script; None for links, folders, programs and other binary files."""
    found = files.stat(path)
    if found is None or found.is_dir or found.link is not None or found.size > 1 << 20:
        return None
    text = files.read_text(path)
    return text if text is not None and "\x00" not in text and "\ufffd" not in text else None


def _record_hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return "sha256=" + base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _mend_records(files: Files, generation: str, folder: str, changed: dict[str, tuple[str, int]]) -> None:
    packages = site_packages(files, generation)
    if packages is None:
        return
    for name in files.listdir(packages):
        record = str(PurePath(packages) / name / "RECORD")
        if name.endswith(".dist-info") and files.stat(record):
            text = files.read_text(record, limit=1 << 26) or ""
            mended = _mend_record(text, PurePath(folder).name, changed)
            if mended != text:
                # As what is installed around it: not synced file by file, which waits for all that was copied before.
                files.write_script(record, mended)


def _mend_record(text: str, folder: str, changed: dict[str, tuple[str, int]]) -> str:
    """Only lines about files outside site-packages are read; all others stay as they are."""
    if f"/{folder}/" not in text:
        return text
    return "".join(
        _mend_line(line, folder, changed) if line.startswith(("..", '"..')) else line
        for line in text.splitlines(keepends=True)
    )


def _mend_line(line: str, folder: str, changed: dict[str, tuple[str, int]]) -> str:
    (row,) = csv.reader([line])
    path = PurePath(row[0])
    if path.parent.name != folder or path.name not in changed:
        return line
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow([row[0], changed[path.name][0], str(changed[path.name][1])])
    return out.getvalue()
