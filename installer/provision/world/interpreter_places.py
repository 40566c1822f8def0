"""Where people have their Pythons, and which of the names found there are one interpreter.

findpython knows PATH, pyenv, asdf, rye, uv, the Windows registry and python.org's macOS builds; conda,
Homebrew and the tool caches of CI machines are added here.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

#: Environment variables that change where Pythons are looked for.
STEERING = (
    *("PATH", "HOME", "USERPROFILE", "LOCALAPPDATA", "PROGRAMDATA", "XDG_DATA_HOME"),
    *("PYENV_ROOT", "ASDF_DATA_DIR", "UV_PYTHON_INSTALL_DIR", "CONDA_PREFIX", "CONDA_EXE"),
    *("MAMBA_ROOT_PREFIX", "RUNNER_TOOL_CACHE", "AGENT_TOOLSDIRECTORY"),
)
_WINDOWS = sys.platform == "win32"
_CONDA_BASES = ("miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba", ".conda", "conda")
_HOMEBREW = ("/opt/homebrew", "/usr/local", "/home/linuxbrew/.linuxbrew")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A path that should be a Python, and the kind of place that it was found in."""

    path: str
    source: str


def candidates(environ: Mapping[str, str]) -> list[Candidate]:
    """One candidate for each real interpreter that the known places hold."""
    return distinct(_everywhere(environ))


def _everywhere(environ: Mapping[str, str]) -> Iterator[Candidate]:
    yield Candidate(getattr(sys, "_base_executable", None) or sys.executable, "running")
    yield from _from_findpython()
    for prefix in _conda_prefixes(environ):
        yield Candidate(str(prefix / ("python.exe" if _WINDOWS else "bin/python")), "conda")
    for prefix in map(Path, () if _WINDOWS else _HOMEBREW):
        for path in sorted(prefix.glob("opt/python@3.*/bin/python3.[0-9]*[0-9]")):
            yield Candidate(str(path), "homebrew")
    for folder in _named(environ, "RUNNER_TOOL_CACHE", "AGENT_TOOLSDIRECTORY"):
        for path in sorted(folder.glob("Python/*/*/python.exe" if _WINDOWS else "Python/*/*/bin/python3")):
            yield Candidate(str(path), "tool-cache")


def _from_findpython() -> Iterator[Candidate]:
    from findpython.providers import ALL_PROVIDERS

    for name, provider in ALL_PROVIDERS.items():
        # A place that a provider stumbles over (a broken registry entry) hides no other.
        with contextlib.suppress(Exception):
            found = provider.create()
            for python in found.find_pythons() if found is not None else ():
                yield Candidate(str(python.executable), name)


def _conda_prefixes(environ: Mapping[str, str]) -> Iterator[Path]:
    for base in _conda_bases(environ):
        yield base
        with contextlib.suppress(OSError):
            yield from sorted((base / "envs").iterdir())
    with contextlib.suppress(OSError):
        listed = (_home(environ) / ".conda" / "environments.txt").read_text("utf-8", "replace")
        yield from (Path(line.strip()) for line in listed.splitlines() if line.strip())


def _conda_bases(environ: Mapping[str, str]) -> Iterator[Path]:
    yield from _named(environ, "CONDA_PREFIX", "MAMBA_ROOT_PREFIX")
    yield from (executable.parent.parent for executable in _named(environ, "CONDA_EXE"))
    parents = [_home(environ), *_named(environ, "LOCALAPPDATA", "PROGRAMDATA")]
    if not _WINDOWS:
        parents.append(Path("/opt"))
    yield from (parent / name for parent in parents for name in _CONDA_BASES)


def _named(environ: Mapping[str, str], *names: str) -> list[Path]:
    return [Path(environ[name]) for name in names if environ.get(name)]


def _home(environ: Mapping[str, str]) -> Path:
    told = environ.get("USERPROFILE" if _WINDOWS else "HOME")
    return Path(told) if told else Path.home()


def roots(environ: Mapping[str, str], found: Iterable[Candidate]) -> set[str]:
    """The folders and files whose change means that the places must be searched again."""
    home = _home(environ)
    data = Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    paths = [Path(entry) for entry in environ.get("PATH", "").split(os.pathsep) if entry]
    paths += [Path(candidate.path).parent for candidate in found]
    paths += [
        Path(environ.get("PYENV_ROOT") or home / ".pyenv") / "versions",
        Path(environ.get("ASDF_DATA_DIR") or home / ".asdf") / "installs" / "python",
        Path(environ.get("UV_PYTHON_INSTALL_DIR") or data / "uv" / "python"),
        home / ".conda" / "environments.txt",
        Path("/Library/Frameworks/Python.framework/Versions"),
    ]
    paths += [base / name for base in _conda_bases(environ) for name in ("envs", "conda-meta")]
    paths += [Path(prefix) / "opt" for prefix in _HOMEBREW]
    return {str(path) for path in paths}


def distinct(found: Iterable[Candidate]) -> list[Candidate]:
    """One candidate for each real interpreter, under the most telling of its names."""
    best: dict[str, Candidate] = {}
    for candidate in found:
        base = _base_of(Path(candidate.path))
        if base is None or _is_shim(base):
            continue
        named = Candidate(str(base), candidate.source)
        identity = _identity(base)
        if identity not in best or _rank(named) < _rank(best[identity]):
            best[identity] = named
    return list(best.values())


def _identity(path: Path) -> str:
    """Equal for all names of one file, symbolic and hard links alike (Windows: for one real path)."""
    try:
        status = path.stat()
    except OSError:
        return str(path)
    return f"{status.st_dev}:{status.st_ino}" if status.st_ino else os.path.realpath(path)


def _rank(candidate: Candidate) -> tuple[int, bool, int]:
    name = Path(candidate.path).name.removesuffix(".exe")
    # python3.11 stays what it is when the system's python3 moves on; then no link, then the shorter one.
    numbers = len(re.findall(r"\d+", name))
    return -numbers, candidate.path != os.path.realpath(candidate.path), len(candidate.path)


def _base_of(path: Path) -> Path | None:
    """The interpreter itself, or for the one of a virtual environment the interpreter it was made from."""
    folder = path.parent.parent if path.parent.name.lower() in ("bin", "scripts") else path.parent
    try:
        settings = (folder / "pyvenv.cfg").read_text("utf-8", "replace")
    except OSError:
        return path
    home = re.search(r"^home\s*=\s*(.+?)\s*$", settings, re.MULTILINE)
    if home is None:
        return None
    return Path(home[1]) / "python.exe" if _WINDOWS else Path(os.path.realpath(path))


def _is_shim(path: Path) -> bool:
    """A shim of pyenv or asdf starts another Python in each folder; an app alias of Windows opens a shop."""
    if "shims" in path.parts:
        return True
    with contextlib.suppress(OSError):
        return _WINDOWS and path.stat().st_size == 0
    return False
