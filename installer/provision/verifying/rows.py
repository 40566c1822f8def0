"""The rows of verification (rows.yaml), read once."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from provision.messages import message
from provision.parsed import parsed


@cache
def rows() -> dict[str, Any]:
    """All sections of rows.yaml as plain data."""
    text = files(__package__).joinpath("rows.yaml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = parsed(text)
    return loaded


def margin(name: str) -> float:
    """How far a figure may be off before it counts against the environment (a share, without unit)."""
    return float(rows()["margins"][name]["value"])


def device_type(framework: str, device: str) -> str:
    """The word that `framework` uses for `device` in what it reports (`GPU`, `cuda`, `privateuseone`)."""
    return str(rows()["types"][framework][device])


def crash(code: int | None) -> dict[str, Any] | None:
    """The row for a process that ended by a signal or a Windows exception, else None.

    Codes are those of ports.Output; a shell's 128 + n counts as signal n.
    """
    if code is None or code == 0:
        return None
    signal = -code if -64 <= code < 0 else code - 128 if 128 < code < 160 else None
    for row in rows()["crashes"]:
        if signal in row["signals"] or (code & 0xFFFFFFFF) in row["codes"]:
            return dict(row)
    if code < 0:
        return {
            "id": "crash-other",
            "name": message("verifying.signal", number=-code),
            "source": "POSIX signal(7)",
        }
    return None
