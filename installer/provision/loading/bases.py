"""The mapping that a profile and its bases amount to: bases merged, nulls dropped, shorthands written out.

Merging is done on nodes, so that every later error still points into the file that holds the fault.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import PurePath

from provision.documents.nodes import Node, Scalar, Table, compose_yaml, is_null
from provision.documents.source import decode
from provision.messages import message
from provision.model.finding import Finding, ProfileError

#: Path -> the bytes of the file; raises OSError.
Read = Callable[[str], bytes]
#: Bytes; a real profile has one or two thousand.
LIMIT = 1 << 20
MAX_NODES = 20_000
MAX_BASES = 8


def profile_tree(text: str | bytes, origin: str, read: Read | None) -> tuple[Table, list[Finding]]:
    """What a profile and its bases amount to, and what is wrong on the way.

    A base that cannot be used is a finding: the profile itself can still be checked. Raises ProfileError only
    where the profile itself is no mapping.
    """
    root, findings = _table(text, origin)
    chain = [root]
    seen = [os.path.normpath(origin)]
    try:
        while (
            (base := chain[-1].get("extends")) is not None and isinstance(base, Scalar) and not is_null(base)
        ):
            path = _base_path(base, seen)
            table, more = _table(_base_text(base, path, read), path)
            seen.append(path)
            chain.append(table)
            findings += more
    except ProfileError as problem:
        findings += problem.findings
    return _merged(chain), findings


def _table(text: str | bytes, origin: str) -> tuple[Table, list[Finding]]:
    source = decode(text, origin, LIMIT, ProfileError)
    node, findings = compose_yaml(source, ProfileError, MAX_NODES)
    if not isinstance(node, Table):
        what = message("loading.table.profile-is-mapping-keys-to")
        problem = source.finding(
            "wrong-type", what, node.start, hint=message("loading.table.begin-with-name-my-profile")
        )
        raise ProfileError([*findings, problem])
    write_out(node)
    return node, findings


def write_out(root: Table) -> None:
    """`torch: "==2.0.1"` is short for `torch: {version: "==2.0.1"}`: bases merge by the long form."""
    frameworks = root.get("frameworks")
    if not isinstance(frameworks, Table):
        return
    for name, (key, value) in frameworks.entries.items():
        if isinstance(value, Scalar) and not is_null(value):
            version = Scalar(value.source, value.start, value.end, 1, "version", False)
            table = Table(value.source, value.start, value.end, 2, {"version": (version, value)})
            frameworks.entries[name] = key, table


def _fault(node: Node, code: str, what: str, hint: str = "") -> ProfileError:
    return ProfileError(node.source.finding(code, what, node.start, node.end, hint))


def _base_path(node: Scalar, seen: list[str]) -> str:
    """The path of the base that `node` names, relative to the last file seen."""
    text = node.text.replace("\\", "/")
    if "://" in text or re.match(r"/|[A-Za-z]:|~", text) or not text.strip():
        raise _fault(
            node,
            "bad-value",
            message("loading.base-path.base-is-named-by-path"),
            message("loading.base-path.such-as-base-yaml"),
        )
    path = os.path.normpath(PurePath(seen[-1]).parent / text)
    if path in seen:
        circle = " -> ".join([*seen[seen.index(path) :], path])
        raise _fault(
            node, "extends-circle", message("loading.base-path.profiles-extend-one-another-in"), circle
        )
    if len(seen) > MAX_BASES:
        raise _fault(
            node,
            "extends-depth",
            message("loading.base-path.more-than-bases-in-row", max_bases=MAX_BASES),
            message("loading.base-path.extend-fewer"),
        )
    return path


def _base_text(node: Node, path: str, read: Read | None) -> bytes:
    if read is None:
        raise _fault(
            node,
            "unreadable",
            message("loading.base-text.base-cannot-be-read-here"),
            message("loading.base-text.write-its-keys-out"),
        )
    try:
        return read(path)
    except (OSError, ValueError) as problem:
        raise _fault(
            node,
            "unreadable",
            message("loading.base-text.base-cannot-be-read", path=path, refusal=refusal(problem)),
        ) from None


def refusal(problem: OSError | ValueError) -> str:
    known = {
        FileNotFoundError: message("loading.refusal.there-is-no-such-file"),
        IsADirectoryError: message("loading.refusal.this-is-folder-file-is"),
        PermissionError: message("loading.refusal.it-may-not-be-read"),
        ValueError: message("loading.refusal.this-is-no-path"),
    }
    fallback = getattr(problem, "strerror", None) or message("loading.refusal.it-cannot-be-read")
    return next((text for cls, text in known.items() if isinstance(problem, cls)), fallback)


def _merged(chain: list[Table]) -> Table:
    """The last base first, the profile itself last. A base's name stays with the base."""
    root = chain[-1]
    for table in reversed(chain[:-1]):
        root = replace(root, entries={k: e for k, e in root.entries.items() if k != "name"})
        root = overlay(root, table)
    return _without_nulls(root)


def overlay(base: Table, over: Table) -> Table:
    """Mappings merge key by key; everything else in `over` replaces what stands in `base`."""
    entries = dict(base.entries)
    for name, (key, value) in over.entries.items():
        below = base.get(name)
        if isinstance(value, Table) and isinstance(below, Table):
            value = overlay(below, value)
        entries[name] = key, value
    return Table(over.source, over.start, over.end, over.size, entries)


def _without_nulls(table: Table) -> Table:
    """A null takes back what a base said: the default holds again."""
    entries = {
        name: (key, _without_nulls(value) if isinstance(value, Table) else value)
        for name, (key, value) in table.entries.items()
        if not is_null(value)
    }
    return replace(table, entries=entries)
