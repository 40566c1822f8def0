"""Version, implementation and processor of an interpreter, from the files around it where they tell."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

from provision.model.machine import Interpreter
from provision.world import binaries, processes

#: The lowest Python that the engine can make an environment for.
_OLDEST = (3, 6)
_VERSION = re.compile(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?")
_QUESTION = (
    "import sys, sysconfig; print('%d.%d.%d' % sys.version_info[:3]); print(sys.implementation.name); "
    "print(sysconfig.get_config_var('Py_GIL_DISABLED') or 0)"
)


def describe(path: Path, source: str) -> Interpreter | None:
    """The interpreter at a path; None if it is broken or too old. It is started only if no file tells."""
    told = told_by_files(path) or _told_by_itself(path)
    if told is None or tuple(int(part) for part in told[0].split(".")[:2]) < _OLDEST:
        return None
    version, implementation = told
    arch = binaries.architecture(Path(os.path.realpath(path)))
    return Interpreter(
        path=str(path), version=version, implementation=implementation, arch=arch, source=source
    )


def told_by_files(path: Path) -> tuple[str, str] | None:
    """(version, implementation) without starting the interpreter, where its folder tells them for sure."""
    real = Path(os.path.realpath(path))
    if not re.fullmatch(r"python[0-9.]*m?(\.exe)?", real.name):
        return None
    prefix = real.parent.parent if real.parent.name == "bin" else real.parent
    if "freethreaded" in prefix.name:
        return None
    version = _conda_version(prefix) or _header_version(prefix, real.name) or _folder_version(prefix)
    return (version, "cpython") if version else None


def _conda_version(prefix: Path) -> str | None:
    for path in sorted(prefix.glob("conda-meta/python-[0-9]*.json")):
        found = _VERSION.match(path.name.removeprefix("python-"))
        if found and "pypy" not in path.name:
            return found[0]
    return None


def _header_version(prefix: Path, name: str) -> str | None:
    minor = re.search(r"\d+\.\d+", name)
    if minor is not None:
        headers = sorted(prefix.glob(f"include/python{minor[0]}*/patchlevel.h"))
    else:
        headers = [prefix / "include" / "patchlevel.h"]
    for path in headers:
        with contextlib.suppress(OSError):
            text = path.read_text("utf-8", "replace")
            if found := re.search(r'#define\s+PY_VERSION\s+"(\d[^"+]*)\+?"', text):
                return found[1]
    return None


def _folder_version(prefix: Path) -> str | None:
    """pyenv's and asdf's `3.10.13`, uv's `cpython-3.10.13-linux-x86_64-gnu`."""
    found = re.match(r"(?:cpython-)?(\d+\.\d+\.\d+\w*)(?:-|$)", prefix.name)
    if found is None or prefix.parent.name not in ("versions", "python"):
        return None
    return found[1] if _VERSION.fullmatch(found[1]) else None


def _told_by_itself(path: Path) -> tuple[str, str] | None:
    output = processes.run([str(path), "-E", "-S", "-c", _QUESTION], timeout=5.0)
    if output is None or output.code != 0:
        return None
    lines = output.stdout.split()
    if len(lines) != 3 or not _VERSION.match(lines[0]):
        return None
    return lines[0], lines[1] + ("-freethreaded" if lines[2] == "1" else "")
