"""The Pythons of this computer. What was found is kept in a cache that the modification times of the searched
folders and of the interpreters themselves invalidate, so that a second look costs a few milliseconds."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from provision.model.machine import Interpreter
from provision.world import interpreter_facts, interpreter_places
from provision.world.interpreter_places import Candidate

_SCHEMA = 1
_Row = dict[str, Any]


class HostInterpreters:
    """Finds interpreters here. `cache` is a file (None: no cache); `environ` replaces the process environment
    for the places that findpython does not search."""

    def __init__(self, cache: Path | None = None, environ: Mapping[str, str] | None = None) -> None:
        self._cache = cache
        self._environ = os.environ if environ is None else environ

    def find(self) -> tuple[Interpreter, ...]:
        stored = _load(self._cache)
        key = {name: self._environ[name] for name in interpreter_places.STEERING if name in self._environ}
        fresh = stored.get("key") == key and _unchanged(stored.get("roots"))
        found = _stored(stored) if fresh else interpreter_places.candidates(self._environ)
        known = {(row["path"], row["stamp"]): row for row in stored.get("found", ())}
        rows = [row for candidate in found if (row := _row(candidate, known)) is not None]
        if not fresh or rows != stored.get("found"):
            roots = stored["roots"] if fresh else _stamps(interpreter_places.roots(self._environ, found))
            _save(self._cache, {"schema": _SCHEMA, "key": key, "roots": roots, "found": rows})
        return _interpreters(rows)


def _row(candidate: Candidate, known: Mapping[tuple[str, str], _Row]) -> _Row | None:
    stamp = _stamp(candidate.path)
    if stamp is None:
        return None
    if (candidate.path, stamp) in known:
        return known[candidate.path, stamp]
    python = interpreter_facts.describe(Path(candidate.path), candidate.source)
    return {**asdict(python), "stamp": stamp} if python else None


def _interpreters(rows: Iterable[_Row]) -> tuple[Interpreter, ...]:
    found = [Interpreter(**{name: row[name] for name in row if name != "stamp"}) for row in rows]
    return tuple(sorted(found, key=_newest_first))


def _newest_first(python: Interpreter) -> tuple[tuple[int, ...], str]:
    return tuple(-int(number) for number in re.findall(r"\d+", python.version)[:3]), python.path


def _stamp(path: str) -> str | None:
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return f"{status.st_mtime_ns}-{status.st_size}"


def _stamps(roots: Iterable[str]) -> dict[str, str | None]:
    return {root: _stamp(root) for root in sorted(roots)}


def _unchanged(roots: object) -> bool:
    # The Windows registry has no time that covers all of it: there the search is always done.
    if not isinstance(roots, dict) or sys.platform == "win32":
        return False
    return all(_stamp(path) == was for path, was in roots.items())


def _stored(stored: Mapping[str, Any]) -> list[Candidate]:
    return [Candidate(row["path"], row["source"]) for row in stored.get("found", ())]


def _load(cache: Path | None) -> dict[str, Any]:
    if cache is None:
        return {}
    try:
        stored = json.loads(cache.read_bytes())
        rows = stored["found"]
        sound = stored["schema"] == _SCHEMA and all({"path", "stamp", "source"} <= set(row) for row in rows)
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return stored if sound else {}


def _save(cache: Path | None, document: Mapping[str, Any]) -> None:
    """Best effort: a cache that cannot be written costs time, nothing else."""
    if cache is None:
        return
    fresh = cache.with_name(f"{cache.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        cache.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_text(json.dumps(document), "utf-8")
        fresh.replace(cache)
