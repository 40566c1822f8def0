"""A page for each finding code, in both languages, from the same rows that `explain CODE` prints."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from provision.diagnosing.explain import codes, symptom
from provision.diagnosing.products import OURS, product_codes, product_page
from provision.diagnosing.saying import PIP, check_codes, check_page
from provision.knowledge.symptoms import Lang

_WORDS: Mapping[Lang, Mapping[str, str]] = {
    "en": {
        "causes": "Causes",
        "cases": "Cases",
        "remedies": "Ways out",
        "never": "Not",
        "examples": "As it is printed",
        "source": "Source",
    },
    "zh": {
        "causes": "原因",
        "cases": "情形",
        "remedies": "解决办法",
        "never": "不要",
        "examples": "日志原文",
        "source": "来源",
    },
}
_PLACE = re.compile(r"\{([A-Za-z][\w.-]*)(?:\|[^{}]*)?\}")


def all_codes() -> tuple[str, ...]:
    """Every code that has a page."""
    return tuple(sorted({*codes(), *check_codes(), *product_codes()}))


def page(code: str, lang: Lang) -> dict[str, Any] | None:
    """What is known under a code; None if it is none. What a finding fills in stands as <name>."""
    found = symptom(code, lang) or check_page(code, lang) or product_page(code, lang)
    return named(found) if found else None


def named(value: Any) -> Any:
    """Places that a finding fills (`{name}`) as people write them: <name>."""
    if isinstance(value, dict):
        return {key: named(item) for key, item in value.items()}
    if isinstance(value, list):
        return [named(item) for item in value]
    return _PLACE.sub(_name, value) if isinstance(value, str) else value


def _name(match: re.Match[str]) -> str:
    return {**PIP, "index": ""}.get(match[1], f"<{match[1]}>")


def markdown(code: str) -> str:
    """The page of a code as a document."""
    lines = [f"# {code}"]
    for lang in _WORDS:
        found = page(code, lang)
        assert found is not None
        lines += ["", *_section(found, _WORDS[lang])]
    return "\n".join(lines) + "\n"


def index() -> str:
    """The list of all pages."""
    rows = [
        f"| [{code}]({code}.md) | {_cell(page(code, 'en'))} | {_cell(page(code, 'zh'))} |"
        for code in all_codes()
    ]
    head = ["# Codes of findings", "", "Made from the knowledge by `python docs/codes/make.py`.", ""]
    return "\n".join([*head, "| code | meaning | 含义 |", "|---|---|---|", *rows]) + "\n"


def _cell(found: Mapping[str, Any] | None) -> str:
    return _escaped(found["meaning"]) if found else ""


def _section(found: Mapping[str, Any], words: Mapping[str, str]) -> Iterator[str]:
    yield _escaped(found["meaning"])
    if found["examples"]:
        yield from ("", f"**{words['examples']}**", "", *(f"    {line}" for line in found["examples"][:2]))
    if found["causes"]:
        yield from ("", f"**{words['cases' if found['kind'] == OURS else 'causes']}**", "")
        for cause in found["causes"]:
            yield f"- {_escaped(cause['text'])}"
            yield from (f"  {line}" for way in cause["remedies"] for line in _way(way))
    if found["remedies"]:
        yield from (
            "",
            f"**{words['remedies']}**",
            "",
            *(line for way in found["remedies"] for line in _way(way)),
        )
    if found["never"]:
        yield from ("", f"**{words['never']}**", "", *(f"- {_escaped(text)}" for text in found["never"]))
    if found["source"]:
        yield from ("", f"{words['source']}: {_escaped(', '.join(found['source']))}")


def _way(way: Mapping[str, str]) -> Iterator[str]:
    yield f"- {_escaped(way['text'])}" + (f" `{way['command']}`" if way["command"] else "")


def _escaped(text: str) -> str:
    return text.replace("<", "&lt;").replace("|", "\\|").replace("*", "\\*").replace("_", "\\_")
