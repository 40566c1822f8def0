"""What an environment that somebody else made holds: distributions, their files, litter, and who manages it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: conda: it has a conda-meta folder. none: no environment at all (a folder, or an interpreter's own installation).
Maker = Literal["venv", "virtualenv", "uv", "conda", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """One distribution. `name` is canonical, `info` its metadata folder; `files` of its RECORD relative to the
    environment, only such that lie in it. `broken` says what is wrong with the metadata, empty if nothing. `direct`: it
    came from a folder, a file or a repository, and an index may have something else under its name."""

    name: str
    version: str
    info: str
    files: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    installer: str = ""
    broken: str = ""
    direct: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """`litter` are remains of interrupted installs (`~ensorflow`), `unowned` folders of packages whose distribution is
    gone; paths are relative to the environment. `shadows` are (distribution, folder) that Python would find elsewhere,
    before or beside the environment's own. `protected` is the file that says that it is conda's own base, or frozen."""

    environment: str
    maker: Maker
    python: str
    packages: str
    writable: bool = True
    #: Its Python can be started: the one that a virtual environment was made of is still there.
    usable: bool = True
    externally_managed: str = ""
    protected: str = ""
    distributions: tuple[Installed, ...] = ()
    litter: tuple[str, ...] = ()
    unowned: tuple[str, ...] = ()
    conda: frozenset[str] = frozenset()
    shadows: tuple[tuple[str, str], ...] = ()
    digest: str = ""
