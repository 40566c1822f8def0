"""The store of fetched files, by hash, and the disk errors that can happen on the way into it.

`<cache>/files/<index>/<aa>/<sha256>/<filename>`. A file under its final name is complete and was verified;
what lies beside it (`.part`) is something that the next run continues.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from provision.messages import message
from provision.model.finding import Evidence, Finding, LockError, Remedy
from provision.model.lock import PYPI
from provision.world.web import Trouble

_NAME = re.compile(r"[^\\/:*?\"<>|\x00-\x1f]+")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One file: what it must be, and the places to try, in order (URLs, `file://` URLs, paths of files, or
    folders that may hold it). `size` is in bytes, None where unknown; `headers` go to the first host only."""

    filename: str
    #: Empty where only the MD5 is known.
    sha256: str
    urls: tuple[str, ...]
    size: int | None = None
    index: str = PYPI
    headers: Mapping[str, str] = field(default_factory=dict)
    md5: str = ""

    @property
    def algorithm(self) -> str:
        return "sha256" if self.sha256 else "md5"

    @property
    def digest(self) -> str:
        """What the file's digest must be, in hex."""
        return self.sha256 or self.md5

    @property
    def key(self) -> str:
        """The file's name in the store: its SHA-256, or `md5-` and its MD5."""
        return self.sha256 or f"md5-{self.md5}"


class Store:
    """Verified files by hash."""

    def __init__(self, cache: Path) -> None:
        self.root = cache / "files"

    def path(self, wanted: Wanted) -> Path:
        """Where a file is or will be. Raises LockError for a name that would lead out of the store."""
        for part in (wanted.index, wanted.filename):
            if not _NAME.fullmatch(part) or _RESERVED.fullmatch(part) or part != part.strip(" ."):
                raise LockError(_bad_name(part))
        if not re.fullmatch(r"[0-9a-f]{64}|md5-[0-9a-f]{32}", wanted.key):
            raise LockError(_bad_name(wanted.key))
        return self.root / wanted.index / wanted.digest[:2] / wanted.key / wanted.filename

    def holds(self, wanted: Wanted) -> bool:
        """Whether the file is there at its full size. It was verified as it came; installers do it again."""
        return is_complete(self.path(wanted), wanted.size)

    def held(self, wanted: Wanted) -> int:
        """Bytes that an interrupted run has left of a file."""
        return size_of(part_of(self.path(wanted)))


def part_of(target: Path) -> Path:
    return target.with_name(target.name + ".part")


def size_of(path: Path) -> int:
    """Bytes of a file, 0 where there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def is_complete(path: Path, size: int | None) -> bool:
    return path.is_file() and (size is None or path.stat().st_size == size)


def publish(made: Path, target: Path) -> None:
    """Rename after the bytes are on the disk, so that a final name never stands for less."""
    descriptor = os.open(made, os.O_RDWR | getattr(os, "O_BINARY", 0))
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    made.replace(target)
    if os.name != "nt":
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextlib.contextmanager
def alone(path: Path, stop: threading.Event) -> Iterator[bool]:
    """Hold a lock file against other processes and threads; False if `stop` was set while waiting."""
    from filelock import FileLock, Timeout

    lock = FileLock(path)
    while not stop.is_set():
        try:
            lock.acquire(timeout=0.2, poll_interval=0.05)
        except Timeout:
            continue
        try:
            yield True
        finally:
            lock.release()
        return
    yield False


@contextlib.contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Translate the operating system's errors about the disk, once."""
    try:
        yield
    except OSError as error:
        raise _trouble(error, path) from error


def _trouble(error: OSError, path: Path) -> Trouble:
    where = Path(error.filename) if isinstance(error.filename, str) else path
    said = error.strerror or str(error)
    if error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)):
        return Trouble(disk_full(where, None, free_space(where)), everywhere=True)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        remedy = Remedy(message("world.trouble.way"), "export PROVISION_CACHE=/path")
        summary = message("world.trouble.cannot-write-to-cache", where=where)
        finding = Finding("no-permission", "error", summary, said, (Evidence(str(where), said),), (remedy,))
    else:
        summary = message("world.trouble.disk-failed-at", where=where)
        finding = Finding("disk", "error", summary, said, (Evidence(str(where), said),))
    return Trouble(finding, everywhere=True)


def free_space(path: Path) -> int | None:
    """Free bytes where a path is or would be made; None if the system does not say."""
    try:
        return shutil.disk_usage(next(p for p in (path, *path.parents) if p.exists())).free
    except OSError:
        return None


def disk_full(path: Path, needed: int | None, free: int | None) -> Finding:
    return Finding(
        "disk-full",
        "error",
        message("world.disk-full.summary", path=path),
        message("world.disk-full.needed", needed=megabytes(needed), free=megabytes(free))
        if needed
        else message("world.disk-full.detail", free=megabytes(free)),
        (Evidence(str(path), message("world.disk-full.free", free=megabytes(free))),),
        (
            Remedy(message("world.disk-full.way")),
            Remedy(message("world.disk-full.way-2"), "export PROVISION_CACHE=/path/on/a/larger/disk"),
        ),
    )


def megabytes(count: int | None) -> str:
    return message("world.megabytes.unknown-size") if count is None else f"{count / 1e6:,.1f} MB"


def _bad_name(name: str) -> Finding:
    summary = message("world.bad-name.cannot-be-name-file-index", name=f"{name!r}")
    return Finding("bad-file-name", "error", summary, remedies=(Remedy(message("world.bad-file-name.way")),))
