"""An environment that somebody else made, changed where it stands: what goes is moved to a trash until commit.

Nothing is deleted before the commit, and folders stay: taking back is removing what the wheels brought and moving the
trash back. What a person put into the environment meanwhile is neither.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from provision.applying.generations import record_text
from provision.model.state import ADOPTED, Layout, Record

if TYPE_CHECKING:
    from provision.ports import Files

_LIMIT = 1 << 28
#: A file that the installer was writing when it was killed.
_BEGUN = re.compile(r"\.tmp[A-Za-z0-9]{6}")
#: Of a conda base: other environments and conda's package cache. Never walked, never touched.
_NOT_OURS = ("envs", "pkgs")


def before_place(layout: Layout) -> str:
    """Where it is kept what stood in the environment before: {"paths": [...], "coming": [...]}."""
    return f"{layout.state}/before.json"


def note_before(files: Files, layout: Layout) -> None:
    """Keep the names of all that is there, and begin an empty trash; both before the first change."""
    files.remove(layout.trash)
    files.remove(layout.discarded)
    paths = list(walk(files, layout.environment, ""))
    files.write(before_place(layout), json.dumps({"paths": paths, "coming": []}))
    files.make_folder(f"{layout.trash}/files")


def note_coming(files: Files, layout: Layout, record: Record) -> None:
    """What will be known of the environment once this change is committed; what is known of it now stays until then."""
    files.write(layout.coming_record, record_text(record))


def walk(files: Files, root: str, relative: str) -> Iterator[str]:
    for name in files.listdir(f"{root}/{relative}" if relative else root):
        path = f"{relative}/{name}" if relative else name
        found = files.stat(f"{root}/{path}")
        if found is None or path in _NOT_OURS:
            continue
        yield path
        if found.is_dir:
            yield from walk(files, root, path)


def read_before(files: Files, layout: Layout) -> tuple[set[str], list[str]]:
    try:
        found = json.loads(files.read_text(before_place(layout), _LIMIT) or "{}")
        return set(found.get("paths", ())), [p for p in found.get("coming", ()) if _inside(p)]
    except (ValueError, AttributeError):
        return set(), []


def _inside(path: object) -> bool:
    return isinstance(path, str) and bool(path) and not path.startswith("/") and ".." not in path.split("/")


def put_away(files: Files, layout: Layout, gone: Collection[str], packages: str) -> None:
    """Move files to the trash, whole folders where nothing else is in them."""
    known: dict[str, bool] = {}
    present = {
        path for path in gone
        if _inside(path) and files.stat(f"{layout.environment}/{path}") and is_plain(files, layout.environment, path, known)
    }  # fmt: skip
    compiled = {
        c for path in present if path.endswith(".py") for c in _compiled(files, layout.environment, path)
    }
    present |= compiled
    for top in sorted({_top(path, packages) for path in present}):
        for path in _whole(files, layout.environment, top, present)[0]:
            target = f"{layout.trash}/files/{path}"
            files.make_folder(posixpath.dirname(target))
            files.rename(f"{layout.environment}/{path}", target)


def is_plain(files: Files, root: str, path: str, known: dict[str, bool]) -> bool:
    """False if a folder on the way to a path is a link: it may lead out of the environment."""
    parent = posixpath.dirname(path)
    if not parent:
        return True
    if parent not in known:
        found = files.stat(f"{root}/{parent}")
        known[parent] = (found is None or found.link is None) and is_plain(files, root, parent, known)
    return known[parent]


def _compiled(files: Files, root: str, path: str) -> Iterator[str]:
    folder, name = posixpath.split(path)
    stem = name.removesuffix(".py")
    for cached in files.listdir(f"{root}/{folder}/__pycache__"):
        if cached.startswith(f"{stem}.") and cached.endswith(".pyc"):
            yield f"{folder}/__pycache__/{cached}"


def _top(path: str, packages: str) -> str:
    """What is looked at as one: an entry of site-packages, else the file itself."""
    if path.startswith(f"{packages}/"):
        return f"{packages}/{path[len(packages) + 1 :].split('/')[0]}"
    return path


def _whole(files: Files, root: str, path: str, gone: Collection[str]) -> tuple[list[str], bool]:
    """What to move below a path, and whether all of the path goes."""
    found = files.stat(f"{root}/{path}")
    if found is None:
        return [], True
    if not found.is_dir:
        return ([path], True) if path in gone else ([], False)
    parts = [_whole(files, root, f"{path}/{name}", gone) for name in files.listdir(f"{root}/{path}")]
    moves = [move for some, _ in parts for move in some]
    if (moves or path in gone) and all(whole for _, whole in parts):
        return [path], True
    return moves, False


def undo(files: Files, layout: Layout) -> None:
    """Take back: what the wheels brought goes, what lay in the trash comes back. May be interrupted and repeated."""
    if not is_open(files, layout):
        return
    before, coming = read_before(files, layout)
    root = layout.environment
    for path in coming:
        if path not in before or files.stat(f"{layout.trash}/files/{path}") is not None:
            files.remove(f"{root}/{path}")
    for path in _new_paths(files, root, before):
        if "__pycache__" in path.split("/") or _BEGUN.fullmatch(posixpath.basename(path)):
            files.remove(f"{root}/{path}")
    _prune(files, root, {posixpath.dirname(p) for p in coming}, before)
    _give_back(files, f"{layout.trash}/files", root)
    files.remove(layout.trash)
    files.remove(layout.coming_record)
    files.remove(before_place(layout))


def _new_paths(files: Files, root: str, before: set[str]) -> list[str]:
    return [path for path in walk(files, root, "") if path not in before]


def _give_back(files: Files, source: str, target: str) -> None:
    """Move back what is not there; where a folder stands already, what belongs into it."""
    for name in files.listdir(source):
        here, there = files.stat(f"{source}/{name}"), files.stat(f"{target}/{name}")
        if here is not None and there is not None and here.is_dir and there.is_dir:
            _give_back(files, f"{source}/{name}", f"{target}/{name}")
            continue
        if there is not None:
            files.remove(f"{target}/{name}")
        files.make_folder(target)
        files.rename(f"{source}/{name}", f"{target}/{name}")


def _prune(files: Files, root: str, folders: Collection[str], keep: Collection[str]) -> None:
    """Remove folders that are empty now, from the inside out; none of `keep`."""
    every = {folder for path in folders for folder in _parents(path)}
    for folder in sorted(every, key=lambda f: -f.count("/")):
        found = files.stat(f"{root}/{folder}")
        if (
            folder not in keep
            and found is not None
            and found.is_dir
            and not files.listdir(f"{root}/{folder}")
        ):
            files.remove(f"{root}/{folder}")


def _parents(path: str) -> Iterator[str]:
    while path:
        yield path
        path = posixpath.dirname(path)


def finish(files: Files, layout: Layout) -> None:
    """After the commit: folders that the removal left empty, then the trash itself."""
    if files.stat(layout.trash) is not None:
        files.remove(layout.discarded)
        files.rename(layout.trash, layout.discarded)
    if files.stat(layout.coming_record) is not None:
        files.rename(layout.coming_record, layout.record(ADOPTED))
    emptied = [posixpath.dirname(p) for p in walk(files, f"{layout.discarded}/files", "")]
    _prune(files, layout.environment, [p for p in emptied if p], keep=())
    files.remove(layout.discarded)
    files.remove(before_place(layout))


def drop_unbegun(files: Files, layout: Layout) -> None:
    """A run ended between noting what was there and its first journal line: nothing had been changed."""
    if is_open(files, layout):
        files.remove(layout.trash)
        files.remove(before_place(layout))


def is_open(files: Files, layout: Layout) -> bool:
    """True if what is kept of an environment's former state says that a change in place was under way."""
    return files.stat(before_place(layout)) is not None
