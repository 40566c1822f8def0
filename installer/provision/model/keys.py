"""How documents in YAML are read into the nouns: kebab-case keys (`compute-capability`), nothing unknown."""

from __future__ import annotations

from typing import Any


def kebab(name: str) -> str:
    """Attribute name -> YAML key (`schema_` stands for `schema`, which Python tools like to own)."""
    return name.rstrip("_").replace("_", "-")


#: The settings that pydantic takes from the nouns.
YAML_CONFIG: dict[str, Any] = {"alias_generator": kebab, "extra": "forbid", "populate_by_name": False}
