"""A tree of nodes -> one of our nouns, driven by the type hints of its dataclass; every problem is collected.

What a type cannot say (a version specifier, a name) is said by checks: functions from the written value to
the meant one, that raise `BadValueError`. They are named by class and attribute in a table of the caller.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Literal

from provision.documents import nodes
from provision.documents.nodes import Listing, Node, Scalar, Table, is_null
from provision.messages import message
from provision.model.finding import Finding

#: (class, attribute) -> check of each scalar written under it; (class, attribute, "key") -> of each key.
Checks = Mapping[tuple[Any, ...], Callable[[Any], Any]]


class BadValueError(ValueError):
    """A check refuses a value: what is wrong, and how to mend it."""

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint


#: Stands for a value that could not be read; what is wrong with it has been reported.
BAD: Any = object()


@functools.cache
def hints(cls: Any) -> dict[str, Any]:
    """Attribute -> type, in written order, without class variables."""
    found = typing.get_type_hints(cls)
    return {f.name: found[f.name] for f in dataclasses.fields(cls)}


def snake(name: str) -> str:
    """Attribute -> JSON key."""
    return name.rstrip("_")


def nearest(word: str, known: Any) -> str:
    """The known word that was probably meant, or the empty string."""
    near = difflib.get_close_matches(word, [str(k) for k in known], 1, 0.6)
    return near[0] if near else ""


def choices(word: str, known: Any) -> str:
    """The hint for a word that is none of the known ones."""
    near = nearest(word, known)
    return (
        message("documents.choices.did-you-mean", near=near)
        if near
        else message("documents.common.one-of", known=tuple(known))
    )


class Reading:
    """Reads nodes into values. `key` makes a document's key of an attribute's name."""

    def __init__(self, key: Callable[[str], str], checks: Checks | None = None) -> None:
        self.key = key
        self.checks = checks or {}
        self.findings: list[Finding] = []

    def report(self, code: str, node: Node, what: str, hint: str = "") -> Any:
        self.findings.append(node.source.finding(code, what, node.start, node.end, hint=hint))
        return BAD

    def noun(self, node: Node, cls: Any) -> Any:
        """A mapping -> the dataclass; every unknown, missing and wrong entry is reported."""
        if not isinstance(node, Table):
            return self.mismatch(node, message("documents.common.mapping-key-value"))
        if self.other_schema(node, cls):
            return BAD
        names = {self.key(name): name for name in hints(cls)}
        values = {}
        for key, (key_node, value) in node.entries.items():
            if key in names:
                values[names[key]] = self.attribute(value, cls, names[key])
            else:
                self.report(
                    "unknown-key",
                    key_node,
                    message("documents.noun.unknown-key", what=key),
                    choices(key, names),
                )
        missing = [f for f in dataclasses.fields(cls) if required(f) and f.name not in values]
        for f in missing:
            self.report(
                "missing-key",
                first_line(node),
                message("documents.noun.key-is-missing", what=self.key(f.name)),
            )
        return BAD if missing or BAD in values.values() else cls(**values)

    def other_schema(self, node: Table, cls: Any) -> bool:
        """A document of another schema: that is the one thing to say about it."""
        found = node.get("schema")
        known = hints(cls).get("schema_")
        if known is None or not isinstance(found, Scalar) or not nodes.INT.fullmatch(found.text):
            return False
        if nodes.scalar_value(found) in typing.get_args(known):
            return False
        text = message(
            "documents.other-schema.schema-is-not-known-to", text=found.text, what=typing.get_args(known)[0]
        )
        self.report("unknown-schema", found, text, message("documents.other-schema.use-newer-provision"))
        return True

    def attribute(self, node: Node, cls: Any, name: str) -> Any:
        key_check = self.checks.get((cls, name, "key"))
        return self.value(node, hints(cls)[name], self.checks.get((cls, name)), key_check)

    def value(self, node: Node, hint: Any, check: Any = None, key_check: Any = None) -> Any:
        origin = typing.get_origin(hint)
        if origin in (typing.Union, types.UnionType):
            inner = [arg for arg in typing.get_args(hint) if arg is not type(None)]
            return None if is_null(node) else self.value(node, inner[0], check)
        if origin is tuple:
            return self.listing(node, typing.get_args(hint)[0], check)
        if origin is dict:
            return self.table(node, typing.get_args(hint), check, key_check)
        if dataclasses.is_dataclass(hint):
            return self.noun(node, hint)
        if hint is Any:
            return nodes.plain_value(node)
        read = self.literal(node, hint) if origin is Literal else self.scalar(node, hint)
        return read if read is BAD or check is None else self.checked(node, read, check)

    def listing(self, node: Node, hint: Any, check: Any) -> Any:
        if not isinstance(node, Listing):
            return self.mismatch(node, message("documents.listing.list-b"))
        values = tuple(self.value(item, hint, check) for item in node.items)
        return BAD if BAD in values else values

    def table(self, node: Node, types: tuple[Any, ...], check: Any, key_check: Any) -> Any:
        if not isinstance(node, Table):
            return self.mismatch(node, message("documents.common.mapping-key-value"))
        values = {}
        for key_node, value in node.entries.values():
            key = self.table_key(key_node, types[0], key_check)
            read = self.value(value, types[1], check)
            values[key] = read if key is not BAD else BAD
        return BAD if BAD in values.values() else values

    def table_key(self, node: Scalar, hint: Any, check: Any) -> Any:
        known = typing.get_args(hint)
        if known and node.text not in known:
            return self.report(
                "unknown-key",
                node,
                message("documents.table-key.unknown-key", text=node.text),
                choices(node.text, known),
            )
        return self.checked(node, node.text, check) if check else node.text

    def checked(self, node: Node, value: Any, check: Callable[[Any], Any]) -> Any:
        try:
            return check(value)
        except BadValueError as wrong:
            return self.report("bad-value", node, wrong.what, wrong.hint)

    def literal(self, node: Node, hint: Any) -> Any:
        known = typing.get_args(hint)
        if not isinstance(node, Scalar) or is_null(node):
            return self.mismatch(node, message("documents.literal.one-of", known=known))
        value = nodes.scalar_value(node) if isinstance(known[0], int) else node.text
        if value in known:
            return value
        what = message("documents.literal.is-not-possible-here", text=node.text)
        return self.report("bad-value", node, what, choices(node.text, known))

    def scalar(self, node: Node, hint: Any) -> Any:
        if not isinstance(node, Scalar):
            return self.mismatch(node, message(_WORDS[hint]))
        return _SCALARS[hint](self, node)

    def text(self, node: Scalar) -> Any:
        if not node.plain or nodes.AMBIGUOUS.fullmatch(node.text) is None:
            return node.text
        if is_null(node):
            return self.mismatch(node, message("documents.common.text"))
        what = message("documents.text.without-quotes-is-not-text", text=node.text)
        return self.report("wrong-type", node, what, message("documents.text.write", text=node.text))

    def integer(self, node: Scalar) -> Any:
        if node.plain and nodes.INT.fullmatch(node.text) and len(node.text) < 25:
            return int(node.text)
        return self.mismatch(
            node,
            message("documents.common.whole-number"),
            node.text if nodes.INT.fullmatch(node.text) else "",
        )

    def number(self, node: Scalar) -> Any:
        if is_null(node):
            # JSON has no word for a number that is none: writing.to_json says null.
            return float("nan")
        if node.plain and (nodes.INT.fullmatch(node.text) or nodes.FLOAT.fullmatch(node.text)):
            return float(nodes.scalar_value(node))  # type: ignore[arg-type]
        return self.mismatch(node, message("documents.common.number"))

    def boolean(self, node: Scalar) -> Any:
        if node.plain and nodes.BOOL.fullmatch(node.text):
            return node.text.lower() == "true"
        meant = {"yes": "true", "on": "true", "y": "true", "true": "true", "1": "true"}
        meant |= {"no": "false", "off": "false", "n": "false", "false": "false", "0": "false"}
        return self.mismatch(
            node, message("documents.common.true-or-false"), meant.get(node.text.lower(), "")
        )

    def mismatch(self, node: Node, wanted: str, meant: str = "") -> Any:
        what = message("documents.mismatch.is-wanted-here-not", wanted=wanted, kind=kind(node))
        return self.report(
            "wrong-type", node, what, meant and message("documents.mismatch.write", meant=meant)
        )


#: Type -> the message that names it.
_WORDS: dict[Any, str] = {
    str: "documents.common.text",
    int: "documents.common.whole-number",
    float: "documents.common.number",
    bool: "documents.common.true-or-false",
}
_SCALARS: dict[Any, Callable[[Reading, Scalar], Any]] = {
    str: Reading.text,
    int: Reading.integer,
    float: Reading.number,
    bool: Reading.boolean,
}


def required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def first_line(node: Node) -> Node:
    """The begin of a mapping: where a missing key could have stood."""
    line = node.source.position(node.start)
    return Node(node.source, node.start, node.start + len(node.source.line(line[0])) - line[1] + 1)


def kind(node: Node) -> str:
    """What a node is, in the words of a message."""
    if isinstance(node, Table):
        return message("documents.kind.mapping")
    if isinstance(node, Listing):
        return message("documents.kind.list")
    assert isinstance(node, Scalar)
    if not node.plain:
        return message("documents.kind.text-in-quotes")
    if is_null(node):
        return message("documents.kind.nothing")
    return f"'{node.text}'" if len(node.text) <= 40 else message("documents.common.text")
