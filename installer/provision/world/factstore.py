"""The real store of artifact facts: one small file a key in a folder of the cache."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path


class FolderFactStore:
    """Keeps texts in a folder. A file appears whole or not at all; trouble with the disk loses a cache
    entry only."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, key: str) -> str | None:
        try:
            return self._path(key).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None

    def put(self, key: str, text: str) -> None:
        path = self._path(key)
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent, suffix=".new")
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    file.write(text)
                Path(name).replace(path)
            except OSError:
                Path(name).unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        """A key is any text; its file name is a digest, in folders of a few hundred files."""
        digest = hashlib.sha256(key.encode()).hexdigest()
        return self._folder / digest[:2] / f"{digest[2:]}.json"
