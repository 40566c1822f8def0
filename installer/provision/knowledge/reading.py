"""YAML text -> rows. A file holds rows by kind (`patches:`, `names:` ...), and helps for short rows:

`verified-on` for all rows of the file; `sources:` (key -> {text, evidence}) that a row's `source` may name;
`defaults:` (kind -> keys of every row of that kind); `templates:` (name -> keys) that a row's `like` names.
What stands in the row itself wins.
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from provision.knowledge.rows import EVIDENCE, KINDS, Row
from provision.messages import LANGUAGES, bilingual, message, said
from provision.model.finding import Evidence, Finding, Remedy, UsageError
from provision.parsed import NotYaml, parsed

_HEADER = ("schema", "verified-on", "sources", "defaults", "templates")
#: Keys whose list may be written as one text.
_ONE_OR_MORE = ("versions", "packages", "pythons")
#: The shape of a text that may be written in both languages.
_BILINGUAL = object()
_RANGE = re.compile(r"(\d+)\.(\d+)-(\d+)\.(\d+)$")


class KnowledgeError(UsageError):
    """A row or a file of rows cannot be read: the findings name the file and the row."""


def read_rows(text: str, origin: str) -> Iterator[Row]:
    """All rows of one file, in its order.

    Raises KnowledgeError for text that is no YAML, an unknown kind or key, a missing key, or a row without
    evidence.
    """
    document = _document(text, origin)
    common = {"verified-on": str(document.get("verified-on", "")), "origin": origin}
    sources, templates = document.get("sources") or {}, document.get("templates") or {}
    for kind, items in document.items():
        if kind in _HEADER:
            continue
        if kind not in KINDS:
            raise _refuse(
                origin,
                kind,
                message("knowledge.read-rows.is-no-kind-row", kind=kind),
                message("knowledge.hint.kinds", kinds=tuple(KINDS)),
            )
        defaults = common | (document.get("defaults") or {}).get(kind, {})
        for item in items or ():
            yield _row(KINDS[kind], _filled(_like(item, templates, origin), defaults, sources), origin)


def expand_pythons(text: str) -> tuple[str, ...]:
    """`3.7-3.10` -> 3.7, 3.8, 3.9, 3.10; a single version stays as it is."""
    match = _RANGE.match(_text(text))
    if not match:
        return (text,)
    major, low, _, high = (int(part) for part in match.groups())
    return tuple(f"{major}.{minor}" for minor in range(low, high + 1))


def _document(text: str, origin: str) -> dict[str, Any]:
    try:
        document = parsed(text)
    except NotYaml as error:
        raise _refuse(
            origin,
            "",
            message("knowledge.document.this-is-not-yaml"),
            message("knowledge.document.parser-says", error=error),
        ) from error
    if not isinstance(document, dict):
        words = message("knowledge.hint.kinds", kinds=tuple(KINDS))
        raise _refuse(origin, "", message("knowledge.document.knowledge-file-is-mapping-kinds"), words)
    return document


def _like(item: dict[str, Any], templates: Mapping[str, Any], origin: str) -> dict[str, Any]:
    """The row with the keys of the templates it names, which it may overrule."""
    names = item.get("like", ())
    filled: dict[str, Any] = {}
    for name in [names] if isinstance(names, str) else names:
        if name not in templates:
            words = message("knowledge.hint.templates", templates=tuple(templates))
            raise _refuse(
                origin, str(item.get("id")), message("knowledge.like.no-template", name=name), words
            )
        filled |= templates[name]
    return filled | {key: value for key, value in item.items() if key != "like"}


def _filled(
    item: Mapping[str, Any], defaults: Mapping[str, Any], sources: Mapping[str, Any]
) -> dict[str, Any]:
    """The row with the file's defaults, and the text and evidence of the source that it names by key."""
    filled = {**defaults, **item}
    named = sources.get(str(filled.get("source")))
    if named:
        filled["source"] = named["text"]
        filled.setdefault("evidence", named["evidence"])
    tested = filled.get("tested")
    if isinstance(tested, Mapping) and tested.get("source") in sources:
        filled["tested"] = {**tested, "source": sources[tested["source"]]["text"]}
    return filled


def _row(kind: type[Row], item: dict[str, Any], origin: str) -> Row:
    try:
        row: Row = _build(kind, item)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        text = error.args[0] if error.args and isinstance(error.args[0], str) else str(error)
        # What a row may hold is told by the row's own words, which are English.
        shape = bilingual({"en": kind.__doc__ or "", "zh": said(message("knowledge.refuse.shape"), "zh")})
        raise _refuse(origin, str(item.get("id", "?")), text, shape) from error
    if row.evidence not in EVIDENCE or not row.source or not row.verified_on:
        words = message("knowledge.hint.evidence", evidence=EVIDENCE)
        raise _refuse(origin, row.id, message("knowledge.row.row-needs-source-evidence-and"), words)
    return row


def _build(kind: Any, item: Mapping[str, Any]) -> Any:
    plan = _plan(kind)
    unknown = [key for key in item if key not in plan]
    if unknown:
        raise KeyError(message("knowledge.build.unknown-key-known", unknown=unknown[0], plan=tuple(plan)))
    values = {}
    for key, (name, shape, required) in plan.items():
        if key in item:
            values[name] = _value(shape, _listed(key, shape, item[key]))
        elif required:
            raise KeyError(message("knowledge.build.missing-key", what=key))
    return kind(**values)


def _listed(key: str, shape: Any, value: Any) -> Any:
    """One text where a list is meant becomes a list; a range of Pythons becomes its members."""
    if key not in _ONE_OR_MORE or not isinstance(shape, tuple):
        return value
    parts = [value] if isinstance(value, str) else value
    return [version for part in parts for version in expand_pythons(part)] if key == "pythons" else parts


@cache
def _plan(kind: Any) -> dict[str, tuple[str, Any, bool]]:
    """YAML key -> (attribute, shape, required) of a row's dataclass."""
    hints = get_type_hints(kind, include_extras=True)
    return {
        field.name.replace("_", "-"): (
            field.name,
            _shape(hints[field.name]),
            field.default is MISSING and field.default_factory is MISSING,
        )
        for field in fields(kind)
    }


def _shape(hint: Any) -> Any:
    """None for plain values, a dataclass, the allowed words, _BILINGUAL, or ("tuple" or "dict", shape of its items)."""
    if is_dataclass(hint):
        return hint
    if get_origin(hint) is Annotated:
        return _BILINGUAL
    if get_origin(hint) is Literal:
        return frozenset(get_args(hint))
    if get_origin(hint) is tuple:
        return ("tuple", _shape(get_args(hint)[0]))
    if get_origin(hint) is dict:
        return ("dict", _shape(get_args(hint)[1]))
    if hint is str:
        return str
    if get_origin(hint) is types.UnionType:
        return _shape(next(arg for arg in get_args(hint) if arg is not type(None)))
    return None


def _value(shape: Any, value: Any) -> Any:
    if shape is None or value is None:
        return value
    if shape is str:
        return _text(value)
    if shape is _BILINGUAL:
        return _both(value) if isinstance(value, Mapping) else _text(value)
    if isinstance(shape, frozenset):
        return _word(shape, value)
    if not isinstance(shape, tuple):
        return _build(shape, value)
    if shape[0] == "dict":
        return {str(key): _value(shape[1], item) for key, item in value.items()}
    if isinstance(value, str):
        raise TypeError(message("knowledge.value.should-be-list", value=value))
    return tuple(_value(shape[1], item) for item in value)


def _word(allowed: frozenset[str], value: Any) -> Any:
    if value not in allowed:
        raise ValueError(message("knowledge.word.is-none", value=value, what=sorted(allowed)))
    return value


def _both(value: Mapping[str, Any]) -> str:
    if set(value) != set(LANGUAGES):
        raise TypeError(message("knowledge.both.in-both-languages", languages=LANGUAGES, got=tuple(value)))
    return bilingual({lang: _text(value[lang]) for lang in LANGUAGES})


def _text(value: Any) -> str:
    """A text. A version like 12.10 that YAML read as a number has lost a digit: it must be quoted."""
    if isinstance(value, float | int) and not isinstance(value, bool):
        raise TypeError(message("knowledge.text.must-be-quoted-yaml-reads", value=value))
    return str(value)


def _refuse(origin: str, where: str, what: str, help_text: str) -> KnowledgeError:
    place = f"{origin}: {where}" if where else origin
    return KnowledgeError(
        Finding(
            code="bad-knowledge",
            severity="error",
            summary=f"{place}: " + what,
            evidence=(Evidence(source=origin, text=where),),
            remedies=(Remedy(text=help_text),),
        )
    )
