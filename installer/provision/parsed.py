"""YAML text -> data, kept parsed: the knowledge base is read by nearly every verb, and JSON is read fifty times faster.

What is kept is addressed by the text's own hash, so that it never is older than the text. Dates come out as ISO 8601
texts, keys as texts.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

#: More than the files of two releases of provision and a team's overlays.
_MOST = 200
_folder: Path | None = None


def keep_parsed(folder: Path | None) -> None:
    """Keep parsed documents in this folder from now on; None: nowhere. What is there is taken from it."""
    global _folder
    _folder = folder


class NotYaml(Exception):
    """The text is no YAML document; what the reader said of it."""


def parsed(text: str) -> Any:
    """The data of a YAML document. Raises NotYaml."""
    kept = _folder / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.json" if _folder else None
    if kept is not None:
        with suppress(OSError, ValueError):
            return json.loads(kept.read_text(encoding="utf-8"))
    plain = json.dumps(_read(text), ensure_ascii=False, default=str)
    if kept is not None:
        with suppress(OSError):
            _keep(kept, plain)
    return json.loads(plain)


def _read(text: str) -> Any:
    import yaml

    # The C loader reads the same documents and is some ten times faster; not every build of PyYAML has it.
    try:
        return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 (both are safe)
    except yaml.YAMLError as error:
        raise NotYaml(str(error)) from error


def _keep(place: Path, text: str) -> None:
    """Whole or not at all: another process may read it at the same time."""
    place.parent.mkdir(parents=True, exist_ok=True)
    others = sorted(place.parent.glob("*.json"), key=lambda path: path.stat().st_mtime)
    for old in others[: max(0, len(others) + 1 - _MOST)]:
        old.unlink(missing_ok=True)
    fresh = place.with_suffix(f".{os.getpid()}.tmp")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(place)
