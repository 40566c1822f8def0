"""Parsed texts in a folder of the cache, one file a text, by its hash."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

#: More than the files of two releases of provision and a team's overlays.
_MOST = 200


class KeptFiles:
    """A `provision.parsed.Keeper`. A folder that cannot be read or written is one that holds nothing."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def kept(self, key: str) -> str | None:
        try:
            return (self._folder / f"{key}.json").read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None

    def keep(self, key: str, text: str) -> None:
        """Whole or not at all: another process may read it at the same time."""
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            others = sorted(self._folder.glob("*.json"), key=lambda path: path.stat().st_mtime)
            for old in others[: max(0, len(others) + 1 - _MOST)]:
                old.unlink(missing_ok=True)
            fresh = self._folder / f"{key}.{os.getpid()}.tmp"
            fresh.write_text(text, encoding="utf-8")
            fresh.replace(self._folder / f"{key}.json")
