"""The real Reader: files, environment variables and tools of the computer that we run on."""

from __future__ import annotations

import glob
import hashlib
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from provision.ports import Host, Output, RegistryKey, Space
from provision.world import processes, windows

_SCRIPTS = Path(__file__).parent / "scripts"
_ARCHES = {"amd64": "x86_64", "i386": "x86", "i686": "x86", "arm64": "aarch64"}


class HostReader:
    """Reads this computer. `root` stands for `/` where a mounted image or container file system is read
    instead (its tools are still looked for on `PATH`); `environ` replaces the process environment."""

    def __init__(
        self, root: Path | None = None, environ: Mapping[str, str] | None = None, host: Host | None = None
    ) -> None:
        self._root = None if root is None else root.resolve()
        self._environ = environ
        self._host = host

    def host(self) -> Host:
        if self._host is None:
            self._host = this_host()
        return self._host

    def read_text(self, path: str, limit: int = 1 << 20) -> str | None:
        try:
            with self._real(path).open("rb") as file:
                return file.read(limit).decode("utf-8", "replace")
        except (OSError, ValueError):
            return None

    def exists(self, path: str) -> bool:
        try:
            return self._real(path).exists()
        except (OSError, ValueError):
            return False

    def listdir(self, path: str) -> tuple[str, ...]:
        try:
            return tuple(sorted(entry.name for entry in self._real(path).iterdir()))
        except (OSError, ValueError):
            return ()

    def sizes(self, path: str) -> Mapping[str, int]:
        try:
            with os.scandir(self._real(path)) as entries:
                return {entry.name: _size(entry) for entry in entries}
        except (OSError, ValueError):
            return {}

    def sha256(self, path: str) -> str | None:
        digest = hashlib.sha256()
        try:
            with self._real(path).open("rb", buffering=0) as file:
                while block := file.read(1 << 20):
                    digest.update(block)
        except (OSError, ValueError):
            return None
        return digest.hexdigest()

    def glob(self, pattern: str) -> tuple[str, ...]:
        root = "" if self._root is None else glob.escape(str(self._root))
        found = glob.glob(root + pattern)  # noqa: PTH207 (pathlib's takes no absolute pattern, and hidden names)
        return tuple(sorted(self._shown(path) for path in found))

    def realpath(self, path: str) -> str:
        if self._root is None:
            return os.path.realpath(path)
        return self._shown(os.path.realpath(self._real(path)))

    def environ(self) -> Mapping[str, str]:
        return os.environ if self._environ is None else self._environ

    def which(self, name: str) -> str | None:
        return shutil.which(name, path=self.environ().get("PATH", os.defpath))

    def run(
        self, command: Sequence[str], timeout: float = 10.0, env: Mapping[str, str] | None = None
    ) -> Output | None:
        variables = {**self.environ(), **(env or {})}
        # A name is looked up on the PATH that `which` uses, not on the one of our own process.
        found = command[0] if len(Path(command[0]).parts) > 1 else self.which(command[0])
        if found is None:
            return None
        return processes.run([found, *command[1:]], timeout, variables)

    def script(self, name: str, arguments: Sequence[str] = (), timeout: float = 10.0) -> Output | None:
        command = [sys.executable, "-I", "-S", str(_SCRIPTS / f"{name}.py"), *arguments]
        return processes.run(command, timeout, self.environ())

    def usable(self, path: str) -> bool:
        return os.access(self._real(path), os.R_OK | os.W_OK)

    def space(self, path: str) -> Space | None:
        try:
            usage = shutil.disk_usage(self._real(path))
        except (OSError, ValueError):
            return None
        return Space(usage.total, usage.free)

    def registry(self, key: str) -> RegistryKey | None:
        return windows.registry(key)

    def _real(self, path: str) -> Path:
        if self._root is None:
            return Path(path)
        return self._root / path.lstrip("/")

    def _shown(self, path: str) -> str:
        if self._root is None:
            return path
        return "/" + os.path.relpath(path, self._root).replace(os.sep, "/")


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat().st_size
    except OSError:
        return -1


def this_host() -> Host:
    """The computer that we run on, by system calls only (no process is started)."""
    if sys.platform == "win32":
        return windows.host()
    names = os.uname()
    if sys.platform == "darwin":
        import platform

        return Host(os="macos", arch=names.machine, release=names.release, version=platform.mac_ver()[0])
    arch = _ARCHES.get(names.machine, names.machine)
    return Host(os=names.sysname.lower(), arch=arch, release=names.release)
