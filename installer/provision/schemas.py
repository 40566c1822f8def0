"""The JSON Schemas of our documents, made from the nouns: `python -m provision.schemas schemas/` writes them.

Made by hand and not by a library, because the files are committed and compared byte by byte, and what the
library makes of one dataclass differs from release to release.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import sys
import types
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from provision.documents.reading import hints, required, snake
from provision.documents.writing import plain
from provision.model.lock import Lock
from provision.model.plan import Plan, SavedPlan
from provision.model.profile import Environment, Framework, Hardware, Index, Profile, Smoke, kebab
from provision.model.receipt import Receipt

Json = dict[str, Any]
NAME = {"pattern": "^[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9])?$"}
#: What a type cannot say and an editor can use. `loading` checks all of it, and more, in better words.
FACETS: dict[tuple[type, str], Json] = {
    (Profile, "name"): NAME,
    (Profile, "python"): {"examples": ["3.10", ">=3.10,<3.14"]},
    (Profile, "packages"): {"examples": [["jupyterlab", "numpy<2"]]},
    (Profile, "accelerator"): {"examples": [{"cuda": "11.8", "cudnn": "8.6"}]},
    (Profile, "as_of"): {"format": "date", "examples": ["2024-06-30"]},
    (Hardware, "compute_capability"): {"examples": [">=5.0", "8.6"]},
    (Hardware, "driver"): {"examples": [">=535.54"]},
    (Framework, "version"): {"examples": ["==2.10.1", ">=2.15,<2.17"]},
    (Index, "name"): NAME,
    (Index, "url"): {"format": "uri"},
    (Smoke, "time_limit"): {"minimum": 1, "maximum": 604800},
    (Environment, "path"): {"examples": [".venv"]},
}
#: A noun that may be written as one word: the attribute that the word is.
SHORT: dict[type, str] = {Framework: "version"}


class Maker:
    """Makes the schema of one document.

    `by_hand`: people write it, so null may stand for a default, there are short forms, and facets help.
    """

    def __init__(self, key: Callable[[str], str], by_hand: bool = False) -> None:
        self.key = key
        self.by_hand = by_hand
        self.definitions: dict[str, Json] = {}

    def document(self, name: str, cls: Any) -> Json:
        body = self.noun(cls)
        number = typing.get_args(hints(cls)["schema_"])[0]
        return {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "$id": f"urn:dl-provision:{name}:{number}",
            "title": name,
            **body,
            "definitions": dict(sorted(self.definitions.items())),
        }

    def noun(self, cls: Any) -> Json:
        fields = dataclasses.fields(cls)
        notes = field_notes(cls)
        return {
            "description": paragraph(cls.__doc__),
            "type": "object",
            "properties": {self.key(f.name): self.attribute(cls, f, notes.get(f.name, "")) for f in fields},
            "required": [self.key(f.name) for f in fields if required(f)],
            "additionalProperties": False,
        }

    def attribute(self, cls: Any, field: dataclasses.Field[Any], note: str) -> Json:
        if (cls, field.name) == (Profile, "variants"):
            return {"description": note, "type": ["array", "null"], "items": self.variant()}
        schema = self.of(hints(cls)[field.name]) | self.facets(cls, field.name)
        if self.by_hand and not required(field) and field.name != "schema_":
            schema = nullable(schema)
        if "$ref" in schema:
            # Draft 7 reads nothing that stands beside a $ref.
            schema = {"allOf": [schema]}
        head = {"description": note} if note else {}
        return head | schema | self.default(field)

    def variant(self) -> Json:
        """An overlay: any key of a profile but those of the profile as a whole, and its own name."""
        own = [f for f in dataclasses.fields(Profile) if f.name not in ("schema_", "extends", "variants")]
        notes = field_notes(Profile)
        return {
            "type": "object",
            "properties": {self.key(f.name): self.attribute(Profile, f, notes.get(f.name, "")) for f in own},
            "required": ["name"],
            "additionalProperties": False,
        }

    def facets(self, cls: type, attribute: str) -> Json:
        return FACETS.get((cls, attribute), {}) if self.by_hand else {}

    def default(self, field: dataclasses.Field[Any]) -> Json:
        if field.default is not dataclasses.MISSING and field.default is not None:
            return {"default": plain(field.default, self.key, sparse=True)}
        return {}

    def of(self, hint: Any) -> Json:
        origin, args = typing.get_origin(hint), typing.get_args(hint)
        if origin in (typing.Union, types.UnionType):
            return nullable(self.of(next(arg for arg in args if arg is not type(None))))
        if origin is tuple:
            return {"type": "array", "items": self.of(args[0])}
        if origin is dict:
            return self.table(*args)
        if origin is Literal:
            return {"const": args[0]} if len(args) == 1 else {"enum": list(args)}
        if dataclasses.is_dataclass(hint):
            return self.reference(hint)
        return dict(_BASIC[hint])

    def table(self, key: Any, value: Any) -> Json:
        items = nullable(self.of(value)) if self.by_hand and value is not Any else self.of(value)
        if names := typing.get_args(key):
            return {
                "type": "object",
                "properties": dict.fromkeys(names, items),
                "additionalProperties": False,
            }
        return {"type": "object", "additionalProperties": items} if items else {"type": "object"}

    def reference(self, cls: Any) -> Json:
        if cls.__name__ not in self.definitions:
            self.definitions[cls.__name__] = {}
            self.definitions[cls.__name__] = self.noun(cls)
        whole = {"$ref": f"#/definitions/{cls.__name__}"}
        if cls not in SHORT or not self.by_hand:
            return whole
        word = self.of(hints(cls)[SHORT[cls]]) | self.facets(cls, SHORT[cls])
        return {"anyOf": [word, whole]}


_BASIC: dict[Any, Json] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    # JSON has no word for a number that is none (a loss that was lost): null stands for it.
    float: {"type": ["number", "null"]},
    bool: {"type": "boolean"},
    Any: {},
}


def nullable(schema: Json) -> Json:
    """The same schema, and null."""
    if "enum" in schema:
        return schema | {"enum": list(dict.fromkeys([*schema["enum"], None]))}
    if "anyOf" in schema:
        return schema | {"anyOf": [*schema["anyOf"], {"type": "null"}]}
    if "type" not in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return schema | {"type": list(dict.fromkeys([*kinds, "null"]))}


def field_notes(cls: Any) -> dict[str, str]:
    """The `#:` comments above the fields of a dataclass, as text."""
    notes: dict[str, str] = {}
    lines: list[str] = []
    for line in inspect.getsource(cls).splitlines():
        if comment := re.match(r"    #: ?(.*)", line):
            lines.append(comment[1])
        elif name := re.match(r"    (\w+):", line):
            notes[name[1]] = paragraph(" ".join(lines))
            lines = []
    return notes


def paragraph(text: str | None) -> str:
    """A docstring as one line of text without code marks."""
    return " ".join((text or "").split()).replace("`", "'")


def schemas() -> dict[str, Json]:
    """File name -> schema, for all documents that people or programs write or read."""
    return {
        "profile.schema.json": Maker(kebab, by_hand=True).document("profile", Profile),
        "lock.schema.json": Maker(kebab).document("lock", Lock),
        "plan.schema.json": Maker(snake).document("plan", Plan),
        "saved-plan.schema.json": Maker(snake).document("saved-plan", SavedPlan),
        "receipt.schema.json": Maker(snake).document("receipt", Receipt),
    }


def text(schema: Json) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for file, made in schemas().items():
        Path(sys.argv[1], file).write_text(text(made), encoding="utf-8", newline="\n")
