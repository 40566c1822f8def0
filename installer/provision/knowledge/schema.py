"""JSON schemas of knowledge files, derived from the rows' dataclasses: for editors, and to test every row."""

from __future__ import annotations

from typing import Any

from provision.knowledge.rows import KINDS, Row

_HEADER: dict[str, Any] = {
    "schema": {"const": 1},
    "verified-on": {"type": "string", "format": "date", "description": "The day for all rows of this file."},
    "sources": {
        "type": "object",
        "description": "Key -> {text, evidence}, for rows to name in `source`.",
        "additionalProperties": {
            "type": "object",
            "required": ["text", "evidence"],
            "properties": {"text": {"type": "string"}, "evidence": {"type": "string"}},
            "additionalProperties": False,
        },
    },
    "defaults": {"type": "object", "description": "Kind -> keys that every row of the kind has."},
    "templates": {"type": "object", "description": "Name -> keys that a row takes over with `like`."},
}


def row_schema(kind: type[Row]) -> dict[str, Any]:
    """The schema of one kind of row as it stands in a file: most keys may come from the file's head."""
    from pydantic import TypeAdapter

    schema = TypeAdapter(kind).json_schema(by_alias=True)
    schema["properties"].pop("origin")
    schema["properties"]["like"] = {
        "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]
    }
    for key in ("versions", "packages", "pythons"):
        _allow_one(schema["properties"], key)
    schema["required"] = ["id"]
    return schema


def file_schema() -> dict[str, Any]:
    """The schema of a knowledge file, packaged or a team's."""
    definitions: dict[str, Any] = {}
    kinds = {}
    for name, kind in KINDS.items():
        schema = row_schema(kind)
        for key, value in schema.pop("$defs", {}).items():
            if key == "Wheels":
                _allow_one(value["properties"], "pythons")
            definitions[key] = value
        definitions[kind.__name__] = schema
        kinds[name] = {"type": "array", "items": {"$ref": f"#/$defs/{kind.__name__}"}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "provision knowledge rows",
        "type": "object",
        "additionalProperties": False,
        "properties": _HEADER | kinds,
        "$defs": dict(sorted(definitions.items())),
    }


def _allow_one(properties: dict[str, Any], key: str) -> None:
    """Where a list of texts is meant, one text will do."""
    shape = properties.get(key)
    if shape and shape.get("type") == "array":
        properties[key] = {"anyOf": [{"type": "string"}, shape]}
