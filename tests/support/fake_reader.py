"""A Reader over plain data: files, links, variables, tools. Held to the same contract as the real one."""

from __future__ import annotations

import fnmatch
import hashlib
import ntpath
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from provision.ports import Host, Output, RegistryKey, Space

LINUX = Host(os="linux", arch="x86_64", release="6.1.0-18-amd64")


@dataclass(kw_only=True)
class FakeReader:
    """`files`: path -> text, None for one that may not be read. `links`: path -> where it leads. `commands`:
    the words joined by a space -> Output; the first word is a name on PATH or a path. `tools`: name -> path.
    `limits`: a command that needs longer than the caller waits ends as one that the time limit ended."""

    machine: Host = LINUX
    files: Mapping[str, str | None] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    commands: Mapping[str, Output] = field(default_factory=dict)
    scripts: Mapping[str, Output] = field(default_factory=dict)
    tools: Mapping[str, str] = field(default_factory=dict)
    keys: Mapping[str, RegistryKey] = field(default_factory=dict)
    spaces: Mapping[str, Space] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def host(self) -> Host:
        return self.machine

    def read_text(self, path: str, limit: int = 1 << 20) -> str | None:
        text = self._files().get(self._key(self.realpath(path)))
        if text is None:
            return None
        return text.encode("utf-8", "surrogateescape")[:limit].decode("utf-8", "replace")

    def exists(self, path: str) -> bool:
        key = self._key(self.realpath(path))
        return key in self._files() or key in self._folders()

    def listdir(self, path: str) -> tuple[str, ...]:
        parent = self._key(self.realpath(path))
        names = {self._paths().split(known) for known in self._known()}
        return tuple(sorted({name for folder, name in names if self._key(folder) == parent and name}))

    def sizes(self, path: str) -> Mapping[str, int]:
        return {name: self._size(self._paths().join(path, name)) for name in self.listdir(path)}

    def _size(self, path: str) -> int:
        key = self._key(self.realpath(path))
        if key in self._files():
            return len((self._files()[key] or "").encode("utf-8", "surrogateescape"))
        return 0 if key in self._folders() else -1

    def sha256(self, path: str) -> str | None:
        text = self._files().get(self._key(self.realpath(path)))
        return None if text is None else hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()

    def glob(self, pattern: str) -> tuple[str, ...]:
        return tuple(sorted(set(self._matching(pattern))))

    def _matching(self, pattern: str) -> Iterator[str]:
        parent, last = self._paths().split(pattern)
        if parent == pattern:
            yield from [pattern] if self.exists(pattern) else []
            return
        parents = self.glob(parent) if any(mark in parent for mark in "*?[") else (parent,)
        for folder in parents:
            for name in self.listdir(folder):
                hidden = name.startswith(".") and not last.startswith(".")
                if not hidden and fnmatch.fnmatchcase(self._key(name), self._key(last)):
                    path = self._paths().join(folder, name)
                    if self.exists(path):
                        yield path

    def realpath(self, path: str) -> str:
        for _ in range(40):
            step = next((self._through(path, link) for link in self.links if self._through(path, link)), None)
            if step is None:
                return self._paths().normpath(path)
            path = step
        return path

    def _through(self, path: str, link: str) -> str:
        key, start = self._key(path), self._key(link)
        if key == start or key.startswith(start + self._paths().sep):
            paths = self._paths()
            return paths.normpath(paths.join(paths.dirname(link), self.links[link]) + path[len(link) :])
        return ""

    def environ(self) -> Mapping[str, str]:
        return self.variables

    def which(self, name: str) -> str | None:
        return self.tools.get(name)

    def run(
        self, command: Sequence[str], timeout: float = 10.0, env: Mapping[str, str] | None = None
    ) -> Output | None:
        return self._answer(self.commands, command, timeout)

    def script(self, name: str, arguments: Sequence[str] = (), timeout: float = 10.0) -> Output | None:
        return self._answer(self.scripts, [name, *arguments], timeout)

    def _answer(self, known: Mapping[str, Output], command: Sequence[str], timeout: float) -> Output | None:
        words = " ".join(command)
        self.asked.append(words)
        names = {path: name for name, path in self.tools.items()}
        short = " ".join([names.get(command[0], command[0]), *command[1:]])
        output = (
            known.get(words) or known.get(short) or (known.get(command[0]) if known is self.scripts else None)
        )
        if output is None and short.split(" ")[0] in self.tools:
            # The tool is there; what it answers to this question is not on record.
            return Output(1, "", "not on record")
        if output is not None and output.seconds > timeout:
            return Output(None, output.stdout, output.stderr, timeout)
        return output

    def usable(self, path: str) -> bool:
        return self.exists(path) and self._files().get(self._key(path), "") is not None

    def space(self, path: str) -> Space | None:
        return self.spaces.get(path)

    def registry(self, key: str) -> RegistryKey | None:
        known = {name.lower(): value for name, value in self.keys.items()}
        below = {
            name[len(key) + 1 :].split("\\")[0]
            for name in self.keys
            if name.lower().startswith(key.lower() + "\\")
        }
        found = known.get(key.lower())
        if found is None and not below:
            return None
        return RegistryKey(found.values if found else {}, tuple(sorted(below)))

    def _paths(self) -> Any:
        return ntpath if self.machine.os == "windows" else posixpath

    def _key(self, path: str) -> str:
        return ntpath.normcase(path) if self.machine.os == "windows" else path

    def _files(self) -> Mapping[str, str | None]:
        return {self._key(path): text for path, text in self.files.items()}

    def _known(self) -> Iterator[str]:
        """All paths: files, links, and every folder above them."""
        for path in (*self.files, *self.links, *self.tools.values()):
            while True:
                yield path
                parent = self._paths().dirname(path)
                if parent == path:
                    break
                path = parent

    def _folders(self) -> set[str]:
        return {self._key(path) for path in self._known()}
