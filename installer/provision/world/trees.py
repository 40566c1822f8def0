"""An environment's files with their hashes, read by several threads: hashing lets the interpreter go."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from provision.ports import FileFact

_CHUNK = 1 << 20
_THREADS = min(8, os.cpu_count() or 1)


def read_tree(prefix: str, advance: Callable[[int], None] = lambda count: None) -> dict[str, FileFact]:
    """Path relative to the environment -> facts, of every file. Bytecode is left out; links to folders are not entered.

    `advance` is told of the bytes read. A file that cannot be read has no hash.
    """
    paths = list(_walk(prefix))
    with ThreadPoolExecutor(_THREADS) as pool:
        facts = pool.map(lambda path: fact(os.path.join(prefix, path)), paths)  # noqa: PTH118
        found = {}
        for path, one in zip(paths, facts, strict=True):
            found[path.replace(os.sep, "/")] = one
            advance(one.size)
    return found


def _walk(prefix: str) -> Iterator[str]:
    for folder, folders, files in os.walk(prefix):
        folders[:] = [name for name in folders if name != "__pycache__"]
        links = [name for name in folders if Path(folder, name).is_symlink()]
        for name in (*files, *links):
            yield os.path.relpath(os.path.join(folder, name), prefix)  # noqa: PTH118


def fact(path: str) -> FileFact:
    """The facts of one file, or of what a link shows to."""
    link = os.readlink(path) if os.path.islink(path) else None  # noqa: PTH114, PTH115
    try:
        if os.path.isdir(path):  # noqa: PTH112
            return FileFact(size=0, sha256="", link=link)
        digest, size = hashlib.sha256(), 0
        with open(path, "rb") as file:  # noqa: PTH123
            while piece := file.read(_CHUNK):
                digest.update(piece)
                size += len(piece)
        return FileFact(size=size, sha256=digest.hexdigest(), link=link)
    except OSError:
        return FileFact(size=0, sha256="", link=link, dead=link is not None)
