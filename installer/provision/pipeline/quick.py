"""The answer of a second `apply` when nothing is to be done: no YAML, no search, no network, under 0.3 s.

It holds when the files that the environment was made from (profile, its bases, lock) are byte for byte what they
were, the same options are asked for, and the environment is proven and unchanged. Anything else goes the long way.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from provision.inspecting import inspect
from provision.model.state import EnvState, Layout

if TYPE_CHECKING:
    from provision.ports import Files


@dataclass(frozen=True, slots=True)
class Unchanged:
    """An environment that already is what is asked for, with the receipt that proved it (as JSON data)."""

    state: EnvState
    profile: str
    receipt: dict[str, Any]


def file_digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def unchanged(
    files: Files, folder: Path, profile: Path, environment: str | None, device: str | None
) -> Unchanged | None:
    """None means: not sure, look properly."""
    for name in [Path(environment).name] if environment else files.listdir(str(folder / ".provision")):
        path = folder / environment if environment else folder / name
        state = inspect(files, str(path.parent.resolve() / path.name))
        if _holds(state, profile, device):
            return _answer(files, state)
    return None


def _holds(state: EnvState, profile: Path, device: str | None) -> bool:
    record = state.record
    if state.kind != "ours" or record is None or record.outcome != "proven" or state.drifted:
        return False
    return (
        str(profile.absolute()) in record.inputs
        and (device is None or device == record.device)
        and all(_is(Path(path), digest) for path, digest in record.inputs.items())
    )


def _is(path: Path, digest: str) -> bool:
    try:
        return file_digest(path) == digest
    except OSError:
        return False


def _answer(files: Files, state: EnvState) -> Unchanged | None:
    assert state.generation is not None
    assert state.record is not None
    text = files.read_text(Layout(state.environment).receipt(state.generation))
    try:
        return Unchanged(state, state.record.profile, json.loads(text)) if text else None
    except ValueError:
        return None
