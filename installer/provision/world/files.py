"""The real file system for the transaction: complete or absent, durable, links never followed out."""

from __future__ import annotations

import contextlib
import os
import stat as stat_module
import sys
from pathlib import Path
from typing import IO

from provision.model.state import Stat


class HostFiles:
    """Implements ports.Files on this computer."""

    def read_text(self, path: str, limit: int = 1 << 20) -> str | None:
        try:
            with open(path, "rb") as file:  # noqa: PTH123 (a str path, on every call)
                return file.read(limit).decode("utf-8", "replace")
        except (OSError, ValueError):
            return None

    def stat(self, path: str) -> Stat | None:
        try:
            found = os.lstat(path)
        except (OSError, ValueError):
            return None
        # A junction has the mode of a folder.
        link = self.pointed(path) if _is_link(path, found) else None
        is_dir = stat_module.S_ISDIR(found.st_mode) and link is None
        return Stat(found.st_size, found.st_mtime_ns, is_dir, link)

    def listdir(self, path: str) -> tuple[str, ...]:
        try:
            return tuple(sorted(os.listdir(path)))  # noqa: PTH208 (names only, fast)
        except OSError:
            return ()

    def make_folder(self, path: str) -> None:
        Path(path).mkdir(parents=True, exist_ok=True)

    def write(self, path: str, text: str) -> None:
        temporary = f"{path}.{os.getpid()}.tmp"
        with open(temporary, "w", encoding="utf-8", newline="\n") as file:  # noqa: PTH123
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)  # noqa: PTH105
        _sync_folder(os.path.dirname(path))  # noqa: PTH120

    def write_script(self, path: str, text: str) -> None:
        mode = stat_module.S_IMODE(os.stat(path).st_mode)  # noqa: PTH116
        temporary = f"{path}.{os.getpid()}.tmp"
        with open(temporary, "w", encoding="utf-8", newline="") as file:  # noqa: PTH123
            file.write(text)
        os.chmod(temporary, mode)  # noqa: PTH101
        os.replace(temporary, path)  # noqa: PTH105

    def append(self, path: str, line: str) -> None:
        with open(path, "a+b") as file:  # noqa: PTH123
            torn = b"\n" if _is_torn(file) else b""
            file.write(torn + line.encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def remove(self, path: str) -> None:
        try:
            found = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return
        if _is_link(path, found) or not stat_module.S_ISDIR(found.st_mode):
            _unlink(path)
        else:
            import shutil

            shutil.rmtree(path, onerror=_Retry(path))

    def rename(self, source: str, destination: str) -> None:
        os.replace(source, destination)  # noqa: PTH105
        _sync_folder(os.path.dirname(destination))  # noqa: PTH120

    def point(self, pointer: str, destination: str) -> None:
        temporary = f"{pointer}.{os.getpid()}.new"
        self.remove(temporary)
        if sys.platform == "win32":
            _junction(temporary, destination)
            # A junction is a folder to Windows: it cannot be replaced by rename, so there is a short moment
            # without one. The journal knows, and recovery sets it. A real folder stays, and the rename fails.
            if os.path.lexists(pointer) and _is_link(pointer, os.lstat(pointer)):
                _unlink(pointer)
        else:
            os.symlink(os.path.relpath(destination, os.path.dirname(pointer)), temporary)  # noqa: PTH120, PTH211
        os.replace(temporary, pointer)  # noqa: PTH105
        _sync_folder(os.path.dirname(pointer))  # noqa: PTH120

    def pointed(self, pointer: str) -> str | None:
        try:
            target = os.readlink(pointer)  # noqa: PTH115
        except (OSError, ValueError):
            return None
        target = target.removeprefix("\\\\?\\")
        return os.path.normpath(os.path.join(os.path.dirname(pointer), target))  # noqa: PTH118, PTH120

    def free(self, path: str) -> int | None:
        for folder in (Path(path), *Path(path).parents):
            if folder.exists():
                return _free(folder)
        return None


def _free(folder: Path) -> int:
    import shutil  # Loaded late, here and elsewhere: a rollback needs nothing of it.

    return shutil.disk_usage(folder).free


def space(path: str) -> tuple[int, int] | None:
    """The file system of a path (or of its nearest existing parent) as a number, and its free bytes."""
    for folder in (Path(path), *Path(path).parents):
        try:
            return folder.stat().st_dev, _free(folder)
        except OSError:
            continue
    return None


def _is_link(path: str, found: os.stat_result) -> bool:
    """Symbolic link, or a Windows junction (a reparse point that is a folder)."""
    if stat_module.S_ISLNK(found.st_mode):
        return True
    return bool(getattr(found, "st_reparse_tag", 0)) and getattr(found, "st_file_attributes", 0) & 0x400 != 0


def _unlink(path: str) -> None:
    if sys.platform == "win32" and os.path.isdir(path):  # noqa: PTH112
        os.rmdir(path)  # noqa: PTH106 (removes a junction, not what it shows to)
    else:
        os.unlink(path)  # noqa: PTH108


def _junction(path: str, destination: str) -> None:
    if sys.platform == "win32":
        import _winapi

        try:
            _winapi.CreateJunction(os.path.abspath(destination), path)  # noqa: PTH100
        except OSError:
            # It makes a folder first; on a file system without junctions that is all that comes of it.
            with contextlib.suppress(OSError):
                os.rmdir(path)  # noqa: PTH106
            raise


def _sync_folder(path: str) -> None:
    """Make a rename durable. Windows has no such call (NTFS journals the rename itself)."""
    if os.name == "nt":
        return
    descriptor = os.open(path or ".", os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _is_torn(file: IO[bytes]) -> bool:
    """True if the last line has no end: a crash came while it was written."""
    if file.seek(0, os.SEEK_END) == 0:
        return False
    file.seek(-1, os.SEEK_END)
    return file.read(1) != b"\n"


class _Retry:
    """Folders without write permission, and read-only files of Windows, are removed as well.

    Permissions are changed inside the tree that goes away only, and on POSIX never a file's: it may be a hard
    link whose other name stays.
    """

    def __init__(self, root: str) -> None:
        self._root = root

    def __call__(self, function: object, path: str, error: object) -> None:
        parent = os.path.dirname(path)  # noqa: PTH120
        items = [parent] if path != self._root else []
        if os.name == "nt" or os.path.isdir(path):  # noqa: PTH112
            items.append(path)
        for item in items:
            if not os.path.islink(item):  # noqa: PTH114
                os.chmod(item, stat_module.S_IRWXU)  # noqa: PTH101
        if os.path.isdir(path) and not os.path.islink(path):  # noqa: PTH112, PTH114
            import shutil

            shutil.rmtree(path)
        elif os.path.lexists(path):
            _unlink(path)
