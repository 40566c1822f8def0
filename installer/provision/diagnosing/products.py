"""The pages of the codes that provision's own findings carry: what they say, from the catalogues and the knowledge.

`messages/codes.json` says which messages stand under a code; `docs/codes/make.py` reads it out of the source text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import provision.messages
from provision.knowledge import Knowledge, LintRow, RuleRow, load_knowledge
from provision.knowledge.symptoms import Lang
from provision.messages import catalogue, said, template

Row = LintRow | RuleRow
#: The kind of these pages: beside it stand cases, not causes.
OURS = "provision"


def product_codes() -> tuple[str, ...]:
    """All codes of findings that verbs other than `explain` and `doctor` give."""
    return tuple(sorted({*_said(), *_rows(), *(key.partition(".")[2] for key in catalogue("codes", "en"))}))


def product_page(code: str, lang: Lang = "en") -> dict[str, Any] | None:
    """What a code of a finding means, in the form that `explain CODE` shows; None if it is none."""
    says = [_words(key, lang) for key in _said().get(code, {}).get("says", ())]
    rows = _rows().get(code, ())
    says += [said(row.because, lang) for row in rows]
    told = catalogue("codes", "en").get(f"codes.{code}")
    meaning = _words(f"codes.{code}", lang) if told else (says[0] if says else "")
    if not meaning:
        return None
    ways = [_words(key, lang) for key in _said().get(code, {}).get("ways", ())]
    ways += [said(way, lang) for row in rows for way in row.instead]
    return {
        "code": code,
        "kind": OURS,
        "framework": "",
        "vendor": "",
        "meaning": meaning,
        "causes": [
            {"text": text, "when": {}, "remedies": []} for text in dict.fromkeys(says) if text != meaning
        ],
        "remedies": [{"text": text, "command": ""} for text in dict.fromkeys(ways)],
        "never": [],
        "explains": [],
        "examples": [],
        "source": list(dict.fromkeys(row.source for row in rows)),
        "evidence": "",
    }


@cache
def _said() -> Mapping[str, Mapping[str, list[str]]]:
    path = Path(provision.messages.__file__).parent / "codes.json"
    found: dict[str, dict[str, list[str]]] = json.loads(path.read_text(encoding="utf-8"))
    return found


@cache
def _rows() -> Mapping[str, tuple[Row, ...]]:
    """The rules and lints under each code, in the order of the knowledge base."""
    found: dict[str, tuple[Row, ...]] = {}
    for row in _coded(load_knowledge()):
        found[row.code] = (*found.get(row.code, ()), row)
    return found


def _coded(knowledge: Knowledge) -> Iterator[Row]:
    yield from (row for row in knowledge.rows(RuleRow) if row.code)
    yield from knowledge.rows(LintRow)


def _words(key: str, lang: Lang) -> str:
    """A template as it stands; of one that a count changes, the form for many."""
    text = template(key, lang)
    form = text if isinstance(text, str) else text["other"]
    return form.replace("{{", "{").replace("}}", "}")
