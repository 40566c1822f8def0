"""lock diff: two places -> pairs of locks. A place is a file, a folder of locks, or either at a revision (`HEAD:path`)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from provision.documents import read_lock
from provision.locking.diffing import Difference, diff
from provision.messages import message
from provision.model.finding import Finding, Remedy, UsageError
from provision.model.lock import Lock
from provision.pipeline.session import Session

_SUFFIX = ".lock.yaml"


def compare(old: str, new: str, session: Session) -> tuple[Difference, ...]:
    """One difference for each lock that changed, in the order of their names. Raises UsageError, LockError."""
    before, after = locks_at(old, session), locks_at(new, session)
    if len(before) == len(after) == 1:
        # Two files are compared whatever their names are.
        pairs: list[tuple[Lock | None, Lock | None]] = list(zip(before.values(), after.values(), strict=True))
    else:
        pairs = [(before.get(name), after.get(name)) for name in sorted({*before, *after})]
    found = (diff(was, now) for was, now in pairs)
    return tuple(one for one in found if not one.empty)


def locks_at(place: str, session: Session) -> Mapping[str, Lock]:
    """The locks at a place, by their path below it."""
    texts = _here(session.folder / place) if (session.folder / place).exists() else _revision(place, session)
    if texts is None:
        raise UsageError(_nothing(place))
    return {name: read_lock(text, f"{place}/{name}" if name else place) for name, text in texts.items()}


def _here(path: Path) -> dict[str, str]:
    files = sorted(path.rglob(f"*{_SUFFIX}")) if path.is_dir() else [path]
    return {
        "" if file == path else file.relative_to(path).as_posix(): file.read_text(encoding="utf-8")
        for file in files
    }


def _revision(place: str, session: Session) -> dict[str, str] | None:
    """`HEAD~1:profiles/locks`: what git has there; None if it is no such place. A folder without locks is empty."""
    revision, colon, path = place.partition(":")
    if not colon or _git(session, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}") is None:
        return None
    inside = (_git(session, "rev-parse", "--show-prefix") or "").strip()
    full = os.path.normpath(PurePosixPath(inside) / path).replace(os.sep, "/")
    listed = _git(session, "ls-tree", "-r", "--name-only", "--full-tree", revision, "--", full) or ""
    names = [name for name in listed.splitlines() if name.endswith(_SUFFIX) or name == full]
    texts = {name: _git(session, "show", f"{revision}:{name}") or "" for name in names}
    return {"" if name == full else name.removeprefix(f"{full}/"): text for name, text in texts.items()}


def _git(session: Session, *arguments: str) -> str | None:
    from provision.world.reader import HostReader

    git = ["git", "-C", str(session.folder), "-c", "core.quotePath=false"]
    done = HostReader().run([*git, *arguments], timeout=60)
    return done.stdout if done is not None and done.code == 0 else None


def _nothing(place: str) -> Finding:
    return Finding(
        "no-such-lock", "error", message("pipeline.no-such-lock.summary", place=place),
        remedies=(Remedy(message("pipeline.no-such-lock.way"), "provision lock diff HEAD:profiles/locks profiles/locks"),),
    )  # fmt: skip
