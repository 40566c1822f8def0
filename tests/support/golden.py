"""Texts as people see them, kept in tests/golden. `UPDATE_GOLDEN=1 pytest` writes them anew: then read the diff."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "golden"


def golden(name: str, text: str) -> None:
    """Fail unless the text is the kept one."""
    path = FOLDER / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8", newline="\n")
    assert path.is_file(), f"{path} is missing: run with UPDATE_GOLDEN=1 and read it"
    assert text == path.read_text(encoding="utf-8")
