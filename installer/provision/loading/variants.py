"""Variants: named overlays on the rest of the profile, tried in the order they stand in.

variants:
  - {name: nvidia, hardware: {vendor: nvidia}}
  - {name: cpu}
"""

from __future__ import annotations

import re
from dataclasses import replace

from provision.documents.nodes import Listing, Node, Scalar, Table
from provision.loading.bases import overlay, write_out
from provision.messages import message
from provision.model.finding import Finding

_NAME = re.compile(r"[a-z0-9]([a-z0-9._-]*[a-z0-9])?")
#: Keys that belong to the profile as a whole.
_NOT_HERE = ("schema", "extends", "variants")


def split(root: Table) -> tuple[Table, list[tuple[str, Table]], list[Finding]]:
    """The profile without its variants, each variant laid over it, and what is wrong with how they are written."""
    entry = root.get("variants")
    base = replace(root, entries={k: e for k, e in root.entries.items() if k != "variants"})
    findings: list[Finding] = []
    overlays: list[tuple[str, Table]] = []
    for item in _items(entry, findings):
        name = _name(item, {n for n, _ in overlays}, findings)
        if name is not None and isinstance(item, Table):
            write_out(item)
            own = {k: e for k, e in item.entries.items() if k != "name"}
            overlays.append((name, overlay(base, replace(item, entries=own))))
    return base, overlays, findings


def _items(entry: Node | None, findings: list[Finding]) -> list[Node]:
    if entry is None:
        return []
    if not isinstance(entry, Listing):
        findings.append(
            _at(
                entry,
                "wrong-type",
                message("loading.items.list-variants-is-wanted-here"),
                "- {name: cpu}",
            )
        )
        return []
    return list(entry.items)


def _name(item: Node, taken: set[str], findings: list[Finding]) -> str | None:
    if not isinstance(item, Table):
        findings.append(
            _at(
                item,
                "wrong-type",
                message("loading.name.variant-is-mapping-with-name"),
                "{name: cpu}",
            )
        )
        return None
    for key in _NOT_HERE:
        if key in item.entries:
            findings.append(
                _at(
                    item.entries[key][0],
                    "unknown-key",
                    message("loading.name.cannot-stand-in-variant", what=key),
                )
            )
    node = item.get("name")
    if not isinstance(node, Scalar):
        findings.append(_at(item, "missing-key", message("loading.name.key-name-is-missing")))
        return None
    if not _NAME.fullmatch(node.text):
        findings.append(
            _at(
                node,
                "bad-value",
                message("loading.name.is-no-name-variant", text=node.text),
                message("loading.name.small-letters-digits"),
            )
        )
        return None
    if node.text in taken:
        findings.append(
            _at(node, "contradiction", message("loading.name.there-are-two-variants-named", text=node.text))
        )
        return None
    return node.text


def _at(node: Node, code: str, what: str, hint: str = "") -> Finding:
    found: Finding = node.source.finding(code, what, node.start, node.end, hint)
    return found
