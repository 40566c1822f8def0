"""Faults inside a transaction: every effect is counted, and the N-th one fails in a chosen way.

An effect has three moments: before it, half done, after it. `Wire` counts them; the wrapped file system and installer
tell it. `kill` with a real process is SIGKILL; with `Dead` all later effects do nothing, as if the process were gone.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from provision.model.lock import Artifact
from provision.ports import Contents, Files, LocalFile, Member
from tests.support.memory import MemoryFiles


class Dead(BaseException):
    """The process is gone: nothing that it would have done after this happens."""


@dataclass
class Wire:
    """Acts at the `at`-th moment (counted from 1). After `Dead` it stays dead."""

    at: int = 0
    act: Callable[[str], None] = lambda name: None
    count: int = 0
    dead: bool = False
    names: list[str] = field(default_factory=list)

    def touch(self, name: str) -> None:
        if self.dead:
            raise Dead(name)
        self.count += 1
        self.names.append(name)
        if self.count == self.at:
            try:
                self.act(name)
            except Dead:
                self.dead = True
                raise

    @property
    def next_acts(self) -> bool:
        return not self.dead and self.count + 1 == self.at


class FaultyFiles:
    """ports.Files over another one, with moments. Reading is never disturbed."""

    def __init__(self, files: Files, wire: Wire) -> None:
        self._files = files
        self._wire = wire

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)

    def _do(self, name: str, path: str, effect: Callable[[], None], half: Callable[[], None] = lambda: None) -> None:
        where = f"{name} {posixpath.basename(path)}"
        self._wire.touch(f"before {where}")
        if self._wire.next_acts:
            half()
        self._wire.touch(f"half {where}")
        effect()
        self._wire.touch(f"after {where}")

    def make_folder(self, path: str) -> None:
        self._do("make_folder", path, lambda: self._files.make_folder(path))

    def write(self, path: str, text: str) -> None:
        half = lambda: self._files.write(f"{path}.99999.tmp", text[: len(text) // 2])  # noqa: E731
        self._do("write", path, lambda: self._files.write(path, text), half)

    def write_script(self, path: str, text: str) -> None:
        self._do("write_script", path, lambda: self._files.write_script(path, text))

    def append(self, path: str, line: str) -> None:
        self._do("append", path, lambda: self._files.append(path, line), lambda: self._torn(path, line))

    def _torn(self, path: str, line: str) -> None:
        text = self._files.read_text(path, 1 << 26) or ""
        self._files.write(path, text + ("\n" if text and not text.endswith("\n") else "") + line[: len(line) // 2])

    def remove(self, path: str) -> None:
        if self._files.stat(path) is not None:
            self._do("remove", path, lambda: self._files.remove(path), lambda: self._gnaw(path))

    def _gnaw(self, path: str) -> None:
        """Half of a folder is gone already."""
        found = self._files.stat(path)
        if found is not None and found.is_dir:
            for name in self._files.listdir(path)[::2]:
                self._files.remove(f"{path}/{name}")

    def rename(self, source: str, destination: str) -> None:
        self._do("rename", source, lambda: self._files.rename(source, destination))

    def point(self, pointer: str, destination: str) -> None:
        half = lambda: self._files.point(f"{pointer}.99999.new", destination)  # noqa: E731
        self._do("point", pointer, lambda: self._files.point(pointer, destination), half)


PACKAGES = "lib/python3.11/site-packages"


class TinyInstaller:
    """ports.Installer over any ports.Files: writes what uv would, file by file, each a moment."""

    def __init__(self, files: Files, wire: Wire, altered: Sequence[str] = ()) -> None:
        self._files = files
        self._wire = wire
        self.altered = tuple(altered)
        self.forgotten: list[str] = []

    def _put(self, path: str, text: str) -> None:
        self._wire.touch(f"installing {posixpath.basename(path)}")
        self._files.make_folder(posixpath.dirname(path))
        self._files.write(path, text)

    def create(self, environment: str, python: str, prompt: str, pip: bool) -> None:
        self._put(f"{environment}/pyvenv.cfg", f"home = {python}\nprompt = {prompt}\n")
        self._put(f"{environment}/bin/python", "binary\x00")
        self._files.make_folder(f"{environment}/{PACKAGES}")

    def build(self, sdist: LocalFile, python: str, tools: Sequence[LocalFile]) -> LocalFile:
        raise AssertionError("nothing to build")

    def install(self, environment: str, wheels: Sequence[LocalFile], again: bool = False) -> None:
        packages = f"{environment}/{PACKAGES}"
        for wheel in wheels:
            name, version = wheel.artifact.name, wheel.artifact.version
            self._put(f"{packages}/{name}/__init__.py", f"__version__ = '{version}'\n")
            self._put(f"{packages}/{name}/data.bin", "x" * 4096)
            self._put(f"{environment}/bin/{name}", f"#!{environment}/bin/python\nimport {name}\n")
            self._put(f"{packages}/{name}-{version}.dist-info/METADATA", f"Name: {name}\nVersion: {version}\n")
            rows = f"{name}/__init__.py,,\n{name}/data.bin,,\n../../../bin/{name},sha256=x,9\n"
            self._put(f"{packages}/{name}-{version}.dist-info/RECORD", rows)

    def contents(self, wheel: LocalFile) -> Contents:
        return Contents((Member(f"{wheel.artifact.name}/__init__.py", 1, 1),), (wheel.artifact.name,))

    def places(self, environment: str, wheels: Sequence[LocalFile]) -> tuple[str, ...]:
        found = []
        for wheel in wheels:
            name, version = wheel.artifact.name, wheel.artifact.version
            found += [f"{PACKAGES}/{name}/__init__.py", f"{PACKAGES}/{name}/data.bin", f"bin/{name}"]
            found.append(f"{PACKAGES}/{name}-{version}.dist-info")
        return tuple(found)

    def wrong_sizes(self, environment: str, wheels: Sequence[LocalFile]) -> tuple[str, ...]:
        return ()

    def begin_contents_check(self, environment: str, wheels: Sequence[LocalFile]) -> Callable[[], tuple[str, ...]]:
        return lambda: self.altered

    def forget(self, wheels: Sequence[LocalFile]) -> None:
        self.forgotten += [wheel.artifact.name for wheel in wheels]


def artifact(name: str, version: str) -> Artifact:
    return Artifact(
        name=name, version=version, index="pypi", file=f"{name}-{version}-py3-none-any.whl", size=1,
        sha256=(name + version).encode().hex().ljust(64, "0")[:64],
    )  # fmt: skip


def tree(files: Files, folder: str) -> dict[str, str | None]:
    """Everything below a folder: relative path -> text of a file, target of a link, None for a folder."""
    if isinstance(files, MemoryFiles):
        return files.tree(folder)
    found: dict[str, str | None] = {}
    for name in files.listdir(folder):
        path = f"{folder}/{name}"
        stat = files.stat(path)
        assert stat is not None
        if stat.link is not None:
            found[name] = f"-> {os.path.relpath(stat.link, folder)}"
        elif stat.is_dir:
            found[name] = None
            found |= {f"{name}/{rest}": value for rest, value in tree(files, path).items()}
        else:
            found[name] = files.read_text(path, 1 << 26)
    return found
