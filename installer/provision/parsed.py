"""YAML text -> data, kept parsed: the knowledge base is read by nearly every verb, and JSON is read fifty times faster.

What is kept is addressed by the text's own hash, so that it never is older than the text. Dates come out as ISO 8601
texts, keys as texts.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from typing import Any, Protocol


class Keeper(Protocol):
    """Where parsed texts are kept between processes (`world/kept.py`); it may forget, and never raises."""

    def kept(self, key: str) -> str | None: ...

    def keep(self, key: str, text: str) -> None: ...


class NotYaml(Exception):
    """The text is no YAML document; what the reader said of it."""


_keeper: Keeper | None = None


def keep_parsed(keeper: Keeper | None) -> None:
    """Who keeps parsed documents from now on; None: nobody."""
    global _keeper
    _keeper = keeper


def parsed(text: str) -> Any:
    """The data of a YAML document. Raises NotYaml."""
    key = hashlib.sha256(text.encode()).hexdigest()[:32]
    if _keeper is not None and (kept := _keeper.kept(key)) is not None:
        with suppress(ValueError):  # A torn file.
            return json.loads(kept)
    plain = json.dumps(_read(text), ensure_ascii=False, default=str)
    if _keeper is not None:
        _keeper.keep(key, plain)
    return json.loads(plain)


def _read(text: str) -> Any:
    import yaml

    # The C loader reads the same documents and is some ten times faster; not every build of PyYAML has it.
    try:
        return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 (both are safe)
    except yaml.YAMLError as error:
        raise NotYaml(str(error)) from error
