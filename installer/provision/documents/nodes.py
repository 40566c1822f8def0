"""YAML or JSON text -> a tree of nodes that remember where they stand.

YAML is read from libyaml's events, not from PyYAML's objects: the tree keeps the written form of every
scalar (so that `3.10` is not 3.1 and `on` is not True), an alias bomb costs nothing, and the depth is
limited before Python's stack is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeGuard

import yaml

from provision.documents.source import Source, unprintable
from provision.messages import Text, message
from provision.model.finding import Finding, ProvisionError

MAX_DEPTH = 60
MAX_NODES = 200_000
#: The C parser is thirty times faster; a PyYAML that was built without it still works.
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(slots=True)
class Node:
    """A piece of a document: `start` and `end` are offsets in `source`, `size` counts the nodes in it."""

    source: Source
    start: int
    end: int
    size: int = 1


@dataclass(slots=True)
class Scalar(Node):
    """`plain` is true where the text stands without quotes, so that it may mean a number or null."""

    text: str = ""
    plain: bool = False


@dataclass(slots=True)
class Listing(Node):
    items: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class Table(Node):
    """Key nodes and values by key, in written order; a duplicate key has been reported and left out."""

    entries: dict[str, tuple[Scalar, Node]] = field(default_factory=dict)

    def get(self, key: str) -> Node | None:
        entry = self.entries.get(key)
        return entry and entry[1]


#: The root, and what is wrong in the document without making it unreadable.
Composed = tuple[Node, list[Finding]]


class TreeError(Exception):
    """The text has no tree: the finding says why. Never leaves this package."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.summary)
        self.finding = finding


def compose_yaml(source: Source, error: type[ProvisionError], max_nodes: int = MAX_NODES) -> Composed:
    """The one document in a YAML text.

    Raises `error` for text that is no YAML, is empty, holds several documents, or grows past the limits.
    """
    if bad := unprintable(source):
        raise error(bad)
    try:
        return _Composer(source, max_nodes).compose()
    except TreeError as fault:
        raise error(fault.finding) from None
    except yaml.YAMLError as problem:
        raise error(syntax_finding(source, problem)) from None


class _Composer:
    """One pass over the events with a stack of open collections."""

    def __init__(self, source: Source, max_nodes: int) -> None:
        self.source = source
        self.max_nodes = max_nodes
        self.findings: list[Finding] = []
        self.anchors: dict[str, Node] = {}
        self.open: list[Node] = []
        #: The key that waits for its value, one entry for each open collection.
        self.keys: list[Node | None] = []
        self.total = 0
        self.root: Node | None = None

    def compose(self) -> tuple[Node, list[Finding]]:
        documents = 0
        for event in yaml.parse(self.source.text, Loader=LOADER):
            kind = type(event)
            if kind is yaml.DocumentStartEvent:
                documents += 1
                if documents > 1:
                    what = message("documents.compose.second-document-begins")
                    raise self.fault(
                        "several-documents", event, what, message("documents.compose.keep-one-document-file")
                    )
            elif kind in _HANDLERS:
                _HANDLERS[kind](self, event)
        if self.root is None or (is_null(self.root) and not self.root.text):
            raise TreeError(self.source.plain_finding("empty", message("documents.common.file-is-empty")))
        return self.root, self.findings

    def fault(self, code: str, event: Any, summary: str, hint: str = "") -> TreeError:
        return TreeError(self.source.finding(code, summary, *_span(event), hint=hint))

    def report(self, code: str, node: Node, summary: str, hint: str = "") -> None:
        self.findings.append(self.source.finding(code, summary, node.start, node.end, hint=hint))

    def scalar(self, event: Any) -> None:
        start, end = _span(event)
        self.place(Scalar(self.source, start, end, 1, event.value, event.style in (None, "")), event)

    def begin(self, event: Any) -> None:
        if len(self.open) >= MAX_DEPTH:
            raise self.fault(
                "too-deep", event, message("documents.begin.more-than-levels-nesting", max_depth=MAX_DEPTH)
            )
        start, end = _span(event)
        made: Node = (
            Table(self.source, start, end)
            if type(event) is yaml.MappingStartEvent
            else Listing(self.source, start, end)
        )
        self.check_tag(event, made)
        if event.anchor:
            self.anchors[event.anchor] = made
        self.open.append(made)
        self.keys.append(None)

    def finish(self, event: Any) -> None:
        node = self.open.pop()
        self.keys.pop()
        node.end = max(node.start + 1, _span(event)[1])
        self.attach(node)

    def alias(self, event: Any) -> None:
        node = self.anchors.get(event.anchor)
        if node is None:
            raise self.fault(
                "unknown-alias",
                event,
                message("documents.alias.no-anchor-stands-before-this", anchor=event.anchor),
            )
        if any(node is parent for parent in self.open):
            what = message("documents.alias.contains-itself", anchor=event.anchor)
            raise self.fault("recursive-alias", event, what, message("documents.alias.write-values-out"))
        self.count(node.size, event)
        self.attach(node)

    def place(self, node: Scalar, event: Any) -> None:
        self.count(1, event)
        self.check_tag(event, node)
        if event.anchor:
            self.anchors[event.anchor] = node
        self.attach(node)

    def check_tag(self, event: Any, node: Node) -> None:
        if event.tag is None or event.tag == "!":
            return
        tag = event.tag.replace("tag:yaml.org,2002:", "!!")
        hint = message("documents.common.remove-it")
        if tag == "!!str" and isinstance(node, Scalar):
            node.plain = False
            hint = message("documents.syntax.quote")
        self.report("tag", node, message("documents.check-tag.tag-has-no-meaning-here", tag=tag), hint)

    def count(self, nodes: int, event: Any) -> None:
        self.total += nodes
        if self.total > self.max_nodes:
            what = message("documents.count.document-grows-to-more-than", max_nodes=f"{self.max_nodes:,}")
            raise self.fault(
                "too-large", event, what, message("documents.count.write-values-out-instead-nesting")
            )

    def attach(self, node: Node) -> None:
        """Give a complete node to the collection that is open, or make it the root."""
        if not self.open:
            self.root = node
            return
        parent, key = self.open[-1], self.keys[-1]
        parent.size += node.size
        if isinstance(parent, Listing):
            parent.items.append(node)
        elif key is None:
            self.keys[-1] = node
        else:
            self.keys[-1] = None
            self.pair(parent, key, node)

    def pair(self, table: Node, key: Node, value: Node) -> None:
        assert isinstance(table, Table)
        if not isinstance(key, Scalar):
            self.report("wrong-type", key, message("documents.pair.key-must-be-word-not"))
        elif key.plain and key.text == "<<":
            self.report(
                "merge-key",
                key,
                message("documents.pair.merge-keys-are-not-read"),
                message("documents.pair.write-keys-out-or-use"),
            )
        elif key.text in table.entries:
            line = self.source.position(table.entries[key.text][0].start)[0]
            self.report(
                "duplicate-key",
                key,
                message("documents.pair.duplicate-key", text=key.text),
                message("documents.pair.line-has-it-already", line=line),
            )
        else:
            table.entries[key.text] = key, value


_HANDLERS: dict[type, Any] = {
    yaml.ScalarEvent: _Composer.scalar,
    yaml.AliasEvent: _Composer.alias,
    yaml.MappingStartEvent: _Composer.begin,
    yaml.SequenceStartEvent: _Composer.begin,
    yaml.MappingEndEvent: _Composer.finish,
    yaml.SequenceEndEvent: _Composer.finish,
}


def _span(event: Any) -> tuple[int, int]:
    return event.start_mark.index, event.end_mark.index


# --- what a plain scalar means (YAML 1.2 core schema) and what YAML 1.1 readers would make of it

NULL = re.compile(r"|~|null|Null|NULL")
BOOL = re.compile(r"true|True|TRUE|false|False|FALSE")
INT = re.compile(r"[-+]?[0-9]+")
FLOAT = re.compile(
    r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.([Nn]a[Nn]|NAN)"
)
#: Read as something else than text by one YAML reader or another: booleans, octals, sexagesimals, dates not
#: (a date has one text form, and the nouns keep it as text).
AMBIGUOUS = re.compile(
    r"(?i:y|n|yes|no|on|off|true|false|null|~|)|=|<<|[-+]?\.(?i:inf|nan)"
    r"|[-+]?[0-9][0-9_]*([eE][-+]?[0-9]+)?"
    r"|[-+]?(\.[0-9][0-9_]*|[0-9][0-9_]*\.[0-9_]*)([eE][-+]?[0-9]+)?"
    r"|[-+]?0[xob][0-9a-fA-F_]+|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?"
)


def is_null(node: Node) -> TypeGuard[Scalar]:
    return isinstance(node, Scalar) and node.plain and NULL.fullmatch(node.text) is not None


def plain_value(node: Node) -> Any:
    """The node as dicts, lists, text, numbers, booleans and None."""
    if isinstance(node, Table):
        return {key: plain_value(value) for key, (_, value) in node.entries.items()}
    if isinstance(node, Listing):
        return [plain_value(item) for item in node.items]
    assert isinstance(node, Scalar)
    return scalar_value(node)


def scalar_value(node: Scalar) -> str | int | float | bool | None:
    text = node.text
    if not node.plain:
        return text
    if NULL.fullmatch(text):
        return None
    if BOOL.fullmatch(text):
        return text.lower() == "true"
    if INT.fullmatch(text):
        # Python refuses to read integers of more than 4,300 digits; nobody means one.
        return int(text) if len(text) < 100 else float(text)
    if FLOAT.fullmatch(text):
        return float(_SPECIAL.sub(r"\1\2", text))
    return text


_SPECIAL = re.compile(r"^([-+]?)\.(inf|nan)$", re.IGNORECASE)


# --- syntax errors in words that help

#: What libyaml says -> what it means, what to do: keys of messages. The first row that is contained in its words counts.
_SYNTAX = {
    "mapping values are not allowed": ("documents.syntax.colon", "documents.syntax.quote-or-indent"),
    "could not find expected ':'": ("documents.syntax.no-colon", "documents.syntax.write-pair"),
    "found unexpected end of stream": ("documents.syntax.open-quote", "documents.syntax.close-quote"),
    "did not find expected ',' or ']'": ("documents.syntax.open-list", "documents.syntax.write-list"),
    "did not find expected ',' or '}'": ("documents.syntax.open-mapping", "documents.syntax.write-mapping"),
    "did not find expected '-'": ("documents.syntax.no-item", "documents.syntax.indent"),
    "did not find expected key": ("documents.syntax.no-key", "documents.syntax.indent-or-quotes"),
    "did not find expected node content": ("documents.syntax.no-value", ""),
    "block sequence entries are not allowed": ("documents.syntax.list-here", "documents.syntax.next-line"),
    "exceeded maximum nesting depth": ("documents.syntax.too-deep", ""),
    "found unknown escape": ("documents.syntax.escape", "documents.syntax.single-quotes"),
    "found a tab character": ("documents.syntax.tab", "documents.syntax.spaces"),
    "found undefined tag handle": ("documents.syntax.tag", "documents.common.remove-it"),
}


def syntax_finding(source: Source, problem: yaml.YAMLError) -> Finding:
    """libyaml's complaint as a finding: where, what, how to mend it."""
    words = getattr(problem, "problem", None) or message("documents.syntax.no-yaml")
    mark = _mark(problem, words)
    offset = min(mark.index, len(source.text)) if mark is not None else 0
    known = next((row for key, row in _SYNTAX.items() if key in words), None)
    what, hint = (message(known[0]), known[1] and message(known[1])) if known else (_other(words), "")
    if "cannot start any token" in words:
        what, hint = _bad_token(source.text[offset : offset + 1])
    context = getattr(problem, "context", None)
    detail = f"{context}: {words}" if context else words
    code = "too-deep" if "nesting depth" in words else "yaml-syntax"
    return source.finding(code, what, offset, hint=hint, detail=detail)


def _other(words: str) -> str:
    return words if isinstance(words, Text) else message("documents.syntax.other", words=words)


def _mark(problem: Any, words: str) -> Any:
    """Where to point. An unclosed thing is mended where it begins, not where the reader gave up."""
    mark: Any = getattr(problem, "problem_mark", None)
    begin: Any = getattr(problem, "context_mark", None)
    if begin is None or not any(sign in words for sign in ("':'", "']'", "'}'", "end of stream")):
        return mark
    return begin if begin.line < mark.line or "end of stream" in words else mark


def _bad_token(character: str) -> tuple[str, str]:
    if character == "\t":
        return message("documents.syntax.tab"), message("documents.syntax.spaces")
    return message("documents.syntax.bad-begin", character=character), message("documents.syntax.quote")


# --- JSON

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]|[^\s{}\[\],:"]+')


def compose_json(source: Source, error: type[ProvisionError]) -> Composed:
    """The tree of a JSON text. The syntax is the standard library's business, the places are found here."""
    if not source.text.strip():
        raise error(source.plain_finding("empty", message("documents.common.file-is-empty")))
    try:
        json.loads(source.text, parse_constant=float)
    except json.JSONDecodeError as problem:
        offset = min(problem.pos, len(source.text))
        what = message("documents.compose-json.this-is-no-json", problem=problem.msg.lower())
        raise error(source.finding("json-syntax", what, offset)) from None
    except RecursionError:
        raise error(source.plain_finding("too-deep", message("documents.syntax.too-deep"))) from None
    composer = _Composer(source, MAX_NODES)
    try:
        for event in _json_events(source.text):
            _HANDLERS[type(event)](composer, event)
    except TreeError as fault:
        raise error(fault.finding) from None
    assert composer.root is not None
    return composer.root, composer.findings


@dataclass(slots=True)
class _Mark:
    index: int


def _json_events(text: str) -> Iterator[Any]:
    """Tokens of a valid JSON text as the events that libyaml would give."""
    for match in _TOKEN.finditer(text):
        word = match[0]
        start: Any = _Mark(match.start())
        end: Any = _Mark(match.end())
        if word == "{":
            yield yaml.MappingStartEvent(None, None, True, start, end)
        elif word == "[":
            yield yaml.SequenceStartEvent(None, None, True, start, end)
        elif word == "}":
            yield yaml.MappingEndEvent(start, end)
        elif word == "]":
            yield yaml.SequenceEndEvent(start, end)
        elif word[0] == '"':
            yield yaml.ScalarEvent(None, None, (False, True), json.loads(word), start, end, '"')
        else:
            yield yaml.ScalarEvent(None, None, (True, False), word, start, end, "")
