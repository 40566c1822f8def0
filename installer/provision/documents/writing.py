"""Nouns -> text: byte-stable YAML for people and version control, JSON for programs.

Same value, same bytes, on every machine and with every version of every library: the YAML writer is
therefore our own and knows one form only (block style, plain words or double quotes).
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

from provision.documents.nodes import AMBIGUOUS
from provision.documents.reading import required, snake
from provision.model.lock import Lock
from provision.model.profile import Profile, kebab

#: Where the schema lies, seen from where this repository keeps such a document.
SCHEMAS: dict[type, str] = {
    Profile: "../schemas/profile.schema.json",
    Lock: "../../../schemas/lock.schema.json",
}
#: Text that no reader takes for anything else. Digests are left out: quotes on some of them only would jar.
_PLAIN = re.compile(r"(?![0-9a-f]{32,}$)[^\W\d](?:[\w ./+\-()=<>,;'@~*!%\[\]]*[\w./+\-()=<>,;'@~*!%\[\]])?")
#: Legal in JSON's double quotes, but YAML readers refuse them or take them for line breaks.
_ESCAPE = re.compile("[\x7f-\xa0\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


def plain(value: Any, key: Callable[[str], str], sparse: bool) -> Any:
    """Dataclasses -> dicts, tuples -> lists. `sparse` leaves out what equals its default (never `schema`)."""
    if dataclasses.is_dataclass(value):
        return {
            key(f.name): plain(getattr(value, f.name), key, sparse)
            for f in dataclasses.fields(value)
            if not (sparse and f.name != "schema_" and _is_default(f, getattr(value, f.name)))
        }
    if isinstance(value, dict):
        return {str(k): plain(v, key, sparse) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v, key, sparse) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _is_default(field: dataclasses.Field[Any], value: Any) -> bool:
    if required(field):
        return False
    default = field.default_factory() if field.default_factory is not dataclasses.MISSING else field.default
    return bool(value == default)


def to_json(value: Any) -> Any:
    """Any noun as JSON data with snake_case keys; nothing is left out. A number that is none becomes null."""
    return plain(value, snake, sparse=False)


def dump_json(value: Any) -> str:
    """Any noun as a JSON text that ends in a line break."""
    return json.dumps(to_json(value), ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def canonical(value: Any) -> bytes:
    """One byte string for one meaning: sorted keys; no defaults, so that a new key changes no digest."""
    data = plain(value, snake, sparse=True)
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def dump_yaml(value: Any, schema: str | None = None) -> str:
    """A noun as YAML with kebab-case keys, its schema named in the first line.

    `schema` is the path or address that editors load, "" for none; without it the place in this repository's layout.
    """
    schema = SCHEMAS.get(type(value)) if schema is None else schema
    head = f"# yaml-language-server: $schema={schema}\n" if schema else ""
    data = plain(value, kebab, sparse=True)
    return head + "".join(f"{line}\n" for line in _block(data))


def _block(value: Any) -> Iterator[str]:
    """Lines of a non-empty mapping or list, without indentation of their own."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _entry(f"{_scalar(key)}:", item, "  ")
    else:
        for item in value:
            yield from _entry("-", item, "  ")


def _entry(head: str, value: Any, indent: str) -> Iterator[str]:
    if not isinstance(value, (dict, list)):
        yield f"{head} {_scalar(value)}"
    elif not value:
        yield f"{head} {'{}' if isinstance(value, dict) else '[]'}"
    elif head == "-":
        # The first line of the item stands behind its dash.
        for number, line in enumerate(_block(value)):
            yield ("- " if number == 0 else indent) + line
    else:
        # A list under a key needs no indentation to be told from it, as most people write it.
        yield head
        yield from ((indent if isinstance(value, dict) else "") + line for line in _block(value))


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return json.dumps(value)


def _text(text: str) -> str:
    if _PLAIN.fullmatch(text) and not AMBIGUOUS.fullmatch(text):
        return text
    return _ESCAPE.sub(lambda m: f"\\u{ord(m[0]):04x}", json.dumps(text, ensure_ascii=False))
