"""Where a profile says something: for findings of later stages about what it asks for."""

from __future__ import annotations

from provision.documents.nodes import Listing, Table
from provision.loading.bases import Read, profile_tree
from provision.model.finding import Evidence


def index_line(text: str | bytes, origin: str, read: Read | None, name: str) -> Evidence | None:
    """The place (`file:line:column`) of a named index in a profile or the base that names it; None if none does."""
    indexes = profile_tree(text, origin, read)[0].get("indexes")
    for entry in indexes.items if isinstance(indexes, Listing) else ():
        node = entry.get("name") if isinstance(entry, Table) else None
        if node is not None and getattr(node, "text", None) == name:
            place = node.source.where(node.start)
            return Evidence(place, node.source.line(node.source.position(node.start)[0]).strip())
    return None
