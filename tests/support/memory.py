"""A file system in memory for the transaction: implements ports.Files, and is held to the same suite as the real one."""

from __future__ import annotations

import os
import posixpath
from dataclasses import dataclass, field

from provision.model.state import Stat


@dataclass(slots=True)
class Node:
    """A file (`data`), a link (`link`) or a folder (neither)."""

    data: bytes | None = None
    link: str | None = None
    mode: int = 0o644
    mtime: int = 0


@dataclass
class MemoryFiles:
    """Absolute POSIX paths to nodes. Every change is whole at once, as the port asks."""

    nodes: dict[str, Node] = field(default_factory=lambda: {"/": Node()})
    room: int | None = None
    tick: int = 0
    #: Paths already followed; only a change of a link makes them wrong.
    _known: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    def real(self, path: str) -> str:
        """The path with the links of its parents followed."""
        found = self._known.get(path)
        if found is None:
            found = self._known[path] = self._followed_to(path)
        return found

    def _followed_to(self, path: str) -> str:
        parent, name = posixpath.split(posixpath.normpath(path))
        if parent == "/" or not name:
            return posixpath.join(parent, name)
        parent = self.real(parent)
        for _ in range(40):
            node = self.nodes.get(parent)
            if node is None or node.link is None:
                break
            parent = self.real(posixpath.normpath(posixpath.join(posixpath.dirname(parent), node.link)))
        return posixpath.join(parent, name)

    def put(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """Create or replace a file; its folder must be there."""
        path = self.real(path)
        self._parent(path)
        self.tick += 1
        self._forget(path)
        self.nodes[path] = Node(data=data, mode=mode, mtime=self.tick)

    def _forget(self, *paths: str) -> None:
        if any((node := self.nodes.get(path)) is not None and node.link is not None for path in paths):
            self._known.clear()

    def _parent(self, path: str) -> None:
        node = self.nodes.get(posixpath.dirname(path))
        if node is None or node.data is not None or node.link is not None:
            raise FileNotFoundError(2, "No such file or directory", path)

    def _below(self, path: str) -> list[str]:
        return [p for p in self.nodes if p == path or p.startswith(f"{path}/")]

    def tree(self, folder: str) -> dict[str, str | None]:
        """As tests.support.faults.tree, in one go."""
        prefix = posixpath.dirname(self.real(f"{folder}/x")).rstrip("/") + "/"
        found = {
            p[len(prefix) :]: node
            for p, node in sorted(self.nodes.items())
            if p.startswith(prefix) and p != "/"
        }
        return {
            p: f"-> {n.link}" if n.link else None if n.data is None else n.data.decode()
            for p, n in found.items()
        }

    # ports.Files

    def read_text(self, path: str, limit: int = 1 << 20) -> str | None:
        node = self._followed(path)
        return None if node is None or node.data is None else node.data[:limit].decode("utf-8", "replace")

    def _followed(self, path: str) -> Node | None:
        return self.nodes.get(posixpath.dirname(self.real(f"{path}/x")))

    def stat(self, path: str) -> Stat | None:
        node = self.nodes.get(self.real(path))
        if node is None:
            return None
        link = self.pointed(path) if node.link is not None else None
        return Stat(len(node.data or b""), node.mtime, node.data is None and link is None, link)

    def listdir(self, path: str) -> tuple[str, ...]:
        folder = posixpath.dirname(self.real(f"{path}/x"))
        prefix = folder.rstrip("/") + "/"
        return tuple(
            sorted(
                p[len(prefix) :]
                for p in self.nodes
                if p.startswith(prefix) and "/" not in p[len(prefix) :] and p != "/"
            )
        )

    def make_folder(self, path: str) -> None:
        path = posixpath.dirname(self.real(f"{path}/x"))
        parents = [path]
        while parents[-1] != "/":
            parents.append(posixpath.dirname(parents[-1]))
        for place in reversed(parents):
            node = self.nodes.setdefault(place, Node(mode=0o755))
            if node.data is not None:
                raise FileExistsError(17, "File exists", place)

    def write(self, path: str, text: str) -> None:
        self.put(path, text.encode())

    def write_script(self, path: str, text: str) -> None:
        self.put(path, text.encode(), self.nodes[self.real(path)].mode)

    def append(self, path: str, line: str) -> None:
        node = self.nodes.get(self.real(path))
        before = (node.data or b"") if node else b""
        torn = b"\n" if before and not before.endswith(b"\n") else b""
        self.put(path, before + torn + line.encode() + b"\n")

    def remove(self, path: str) -> None:
        gone = self._below(self.real(path))
        self._forget(*gone)
        for place in gone:
            del self.nodes[place]

    def rename(self, source: str, destination: str) -> None:
        source, destination = self.real(source), self.real(destination)
        self._parent(destination)
        if source not in self.nodes:
            raise FileNotFoundError(2, "No such file or directory", source)
        if len(self._below(destination)) > 1:
            raise OSError(39, "Directory not empty", destination)
        moved = self._below(source)
        self._forget(destination, *moved)
        for place in moved:
            self.nodes[destination + place[len(source) :]] = self.nodes.pop(place)

    def point(self, pointer: str, destination: str) -> None:
        pointer = self.real(pointer)
        self._parent(pointer)
        here = self.nodes.get(pointer)
        if here is not None and here.link is None and here.data is None:
            raise IsADirectoryError(21, "Is a directory", pointer)
        self._known.clear()
        self.nodes[pointer] = Node(link=os.path.relpath(destination, posixpath.dirname(pointer)))

    def pointed(self, pointer: str) -> str | None:
        node = self.nodes.get(self.real(pointer))
        if node is None or node.link is None:
            return None
        return posixpath.normpath(posixpath.join(posixpath.dirname(pointer), node.link))

    def free(self, path: str) -> int | None:
        return self.room
