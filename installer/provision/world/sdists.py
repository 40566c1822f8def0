"""What building a source distribution asks for, read from the file itself."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path
from typing import IO

from provision.messages import message
from provision.model.finding import Finding, LockError
from provision.ports import ClosedPackage, ListedFile
from provision.world.fetching import Fetcher
from provision.world.store import Wanted

#: PEP 517: what a source without a build-system table asks for.
LEGACY = ("setuptools>=40.8.0", "wheel")
_LIMIT = 1 << 20


def build_requires(package: ClosedPackage, fetcher: Fetcher) -> tuple[str, ...]:
    """PEP 518 requirements of a package's sdist, which is fetched into the store for it (apply needs it anyway)."""
    listed = package.sdist
    if listed is None or listed.sha256 is None:
        raise LockError(
            Finding(
                "no-sdist",
                "error",
                message("world.no-sdist.summary", name=package.name, version=package.version),
            )
        )
    return requires_of(fetcher.fetch([_wanted(listed, package.index)])[listed.sha256])


def requires_of(path: Path) -> tuple[str, ...]:
    """PEP 518 requirements of an sdist on the disk."""
    text = pyproject(path)
    if text is None:
        return LEGACY
    from provision.world.uv import read_toml

    required = read_toml(text).get("build-system", {}).get("requires")
    return tuple(str(r) for r in required) if required is not None else LEGACY


def _wanted(listed: ListedFile, index: str) -> Wanted:
    return Wanted(
        filename=listed.name, sha256=listed.sha256 or "", urls=(listed.url,), size=listed.size, index=index
    )


def pyproject(path: Path) -> str | None:
    """Text of `<name>-<version>/pyproject.toml` in an sdist; None if it has none."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            name = next((n for n in archive.namelist() if _is_top(n)), None)
            return _text(archive.open(name)) if name else None
    with tarfile.open(path) as tar:
        member = next((m for m in tar if m.isfile() and _is_top(m.name)), None)
        stream = tar.extractfile(member) if member else None
        return _text(stream) if stream else None


def _is_top(name: str) -> bool:
    parts = name.removeprefix("./").split("/")
    return len(parts) == 2 and parts[1] == "pyproject.toml"


def _text(stream: IO[bytes]) -> str:
    with stream:
        return stream.read(_LIMIT).decode("utf-8", "replace")
