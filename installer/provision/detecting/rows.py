"""Knowledge of devices and tools (`knowledge/devices.yaml`), read once, when something is to be looked up."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from provision.parsed import parsed

_PATH = Path(__file__).parent.parent / "knowledge" / "devices.yaml"

Row = Mapping[str, Any]


@cache
def table(name: str) -> tuple[Row, ...]:
    """The rows of one table."""
    rows = _document().get(name, ())
    return tuple(rows)


@cache
def _document() -> Mapping[str, Any]:
    document: Mapping[str, Any] = parsed(_PATH.read_text("utf-8"))
    return document
