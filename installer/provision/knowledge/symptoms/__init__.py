"""What log lines mean: rows of symptoms, the facts that can be read from a log, and the words to say it in.

All rows live in the YAML files of this folder; `README.md` beside them says how a row is written.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from provision.knowledge.symptoms.anchors import anchors_of
from provision.parsed import parsed

Kind = Literal["fault", "consequence", "noise", "fact"]
Lang = Literal["en", "zh"]
#: Fact name -> what its value must be; all of them must hold. See `diagnosing/facts.py` for the operators.
When = Mapping[str, str | tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Text:
    """One thing to say, in both languages. `{name}` and `{name|otherwise}` stand for facts."""

    en: str
    zh: str

    def say(self, lang: str) -> str:
        return self.zh if lang.startswith("zh") else self.en


@dataclass(frozen=True, slots=True)
class Way:
    """A way out: words, and a command to paste where one exists."""

    text: Text
    run: str = ""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression and the literals of which a matching line holds at least one."""

    regex: str
    anchors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cause:
    """Why it happened, if the facts in `when` hold. An empty `when` is always possible, never proven."""

    id: str
    when: When
    text: Text
    ways: tuple[Way, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Symptom:
    """One row. `rank` says how near to the root such a fault lies: small ones come first."""

    code: str
    kind: Kind
    patterns: tuple[Pattern, ...]
    meaning: Text = Text("", "")
    framework: str = ""
    vendor: str = ""
    severity: str = ""
    rank: int = 50
    require: Literal["any", "all"] = "any"
    #: Conditions under which the line says nothing bad, and under which a noise line does.
    harmless: tuple[When, ...] = ()
    fault: tuple[When, ...] = ()
    causes: tuple[Cause, ...] = ()
    ways: tuple[Way, ...] = ()
    never: tuple[Text, ...] = ()
    #: Codes that follow from this one when both are in a log.
    explains: tuple[str, ...] = ()
    #: Group name -> fact name, for what the line tells about the machine or the environment.
    sets: Mapping[str, str] = field(default_factory=dict)
    source: tuple[str, ...] = ()
    evidence: str = ""
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """A fact that follows from the first known of other facts. `how`: see `diagnosing/facts.py`."""

    fact: str
    how: str
    of: tuple[str, ...]
    table: str = ""


@dataclass(frozen=True, slots=True)
class Sign:
    """A line that looks like an error though no row knows it. `weight` 2: an error; 1: worth a look."""

    regex: str
    anchors: tuple[str, ...]
    weight: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Symptoms:
    """Everything `explain` knows."""

    rows: tuple[Symptom, ...]
    rules: tuple[Rule, ...] = ()
    tables: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    phrases: Mapping[str, Text] = field(default_factory=dict)
    signs: tuple[Sign, ...] = ()

    def row(self, code: str) -> Symptom | None:
        return next((r for r in self.rows if r.code == code and r.kind != "fact"), None)


@functools.cache
def load_symptoms() -> Symptoms:
    """All rows that come with the product."""
    return read_symptoms(sorted(Path(__file__).parent.glob("*.yaml")))


def read_symptoms(files: Iterable[Path]) -> Symptoms:
    """Rows from YAML files. ValueError names the file and the row that is wrong."""
    documents = [(path.name, _yaml(path.read_text(encoding="utf-8"))) for path in files]
    rows = tuple(_row(name, raw) for name, doc in documents for raw in doc.get("symptoms", ()))
    codes = [r.code for r in rows]
    if twice := sorted({c for c in codes if codes.count(c) > 1}):
        raise ValueError(f"codes used twice: {', '.join(twice)}")
    return Symptoms(
        rows=rows,
        rules=tuple(_rule(raw) for _, doc in documents for raw in doc.get("derived", ())),
        tables={k: _table(v) for _, doc in documents for k, v in doc.get("tables", {}).items()},
        phrases={k: _text(v) for _, doc in documents for k, v in doc.get("phrases", {}).items()},
        signs=tuple(_sign(raw) for _, doc in documents for raw in doc.get("signs", ())),
    )


def _yaml(text: str) -> dict[str, Any]:
    return parsed(text) or {}


_KEYS = {
    "code", "kind", "patterns", "meaning", "framework", "vendor", "severity", "rank", "require", "harmless",
    "fault", "causes", "remedies", "never", "explains", "sets", "source", "evidence", "examples",
}  # fmt: skip


def _row(origin: str, raw: Mapping[str, Any]) -> Symptom:
    try:
        return _symptom(raw)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{origin}: row {raw.get('code')!r}: {error}") from error


def _symptom(raw: Mapping[str, Any]) -> Symptom:
    if unknown := set(raw) - _KEYS:
        raise ValueError(f"unknown keys {sorted(unknown)}")
    kind: Kind = raw.get("kind", "fault")
    return Symptom(
        code=raw["code"],
        kind=kind,
        patterns=tuple(_pattern(p) for p in raw["patterns"]),
        meaning=_text(raw["meaning"]) if kind != "fact" else Text("", ""),
        framework=raw.get("framework", ""),
        vendor=raw.get("vendor", ""),
        severity=raw.get("severity", "error" if kind == "fault" else "note"),
        rank=int(raw.get("rank", 50)),
        require=raw.get("require", "any"),
        harmless=tuple(_when(w) for w in raw.get("harmless", ())),
        fault=tuple(_when(w) for w in raw.get("fault", ())),
        causes=tuple(_cause(c) for c in raw.get("causes", ())),
        ways=_ways(raw.get("remedies", ())),
        never=tuple(_text(t) for t in raw.get("never", ())),
        explains=tuple(raw.get("explains", ())),
        sets=dict(raw.get("sets", {})),
        source=_strings(raw.get("source", ())),
        evidence=raw.get("evidence", ""),
        examples=tuple(raw.get("examples", ())),
    )


def _pattern(raw: str | Mapping[str, Any]) -> Pattern:
    if isinstance(raw, str):
        return Pattern(raw, anchors_of(raw))
    return Pattern(raw["regex"], _strings(raw["anchor"]))


def _sign(raw: Mapping[str, Any]) -> Sign:
    anchors = _strings(raw["anchor"]) if "anchor" in raw else anchors_of(raw["regex"])
    return Sign(raw["regex"], anchors, int(raw["weight"]))


def _cause(raw: Mapping[str, Any]) -> Cause:
    return Cause(raw["id"], _when(raw.get("when", {})), _text(raw), _ways(raw.get("remedies", ())))


def _rule(raw: Mapping[str, Any]) -> Rule:
    return Rule(raw["fact"], raw["how"], _strings(raw["of"]), raw.get("table", ""))


def _ways(raw: Iterable[Mapping[str, Any]]) -> tuple[Way, ...]:
    return tuple(Way(_text(r), r.get("run", "")) for r in raw)


def _text(raw: Mapping[str, Any]) -> Text:
    return Text(re.sub(r"\s*\n\s*", " ", raw["en"]), re.sub(r"\s*\n\s*", "", raw["zh"]))


def _when(raw: Mapping[str, Any]) -> When:
    return {k: tuple(map(str, v)) if isinstance(v, list) else str(v) for k, v in raw.items()}


def _table(raw: Mapping[Any, Any]) -> dict[str, str]:
    return {str(k): str(v) for k, v in raw.items() if k not in ("source", "evidence")}


def _strings(raw: str | Iterable[str]) -> tuple[str, ...]:
    return (raw,) if isinstance(raw, str) else tuple(raw)
