"""Reports from people: each gives the right cause and none of the wrong advice."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
import yaml

from provision.diagnosing.explain import Explanation, explain_bytes
from provision.diagnosing.facts import installed_facts
from provision.model.finding import Finding

SCENARIOS = Path(__file__).parents[1] / "scenarios" / "explain"


def scenarios() -> list[Any]:
    rows = [
        row for path in sorted(SCENARIOS.glob("*.yaml")) for row in yaml.safe_load(path.read_text("utf-8"))
    ]
    return [pytest.param(row, id=row["name"].replace(" ", "-")) for row in rows]


def run(row: dict[str, Any], lang: Any = "en") -> Explanation:
    facts = installed_facts(row.get("installed", "")) | {k: str(v) for k, v in row.get("facts", {}).items()}
    return explain_bytes(io.BytesIO(row["log"].encode()), facts=facts, lang=lang)


def told(findings: tuple[Finding, ...]) -> str:
    parts = [[f.summary, f.detail, *(e.text for e in f.evidence)] for f in findings]
    return "\n".join([*(x for p in parts for x in p), advice(findings)])


def advice(findings: tuple[Finding, ...]) -> str:
    return "\n".join(f"{r.text}\n{r.command}" for f in findings for r in f.remedies)


@pytest.mark.parametrize("row", scenarios())
def test_the_root_is_found_and_no_wrong_advice_is_given(row: dict[str, Any]) -> None:
    said = run(row)
    assert [f.code for f in said.findings][:1] == ([row["first"]] if row["first"] else [])
    for words in row.get("says", ()):
        assert words in told(said.findings)
    for words in row.get("never", ()):
        assert words not in advice(said.findings)
    for code in row.get("consequences", ()):
        assert code in [f.code for f in said.consequences]
    for code in row.get("noise", ()):
        assert code in [f.code for f in said.noise]
    for code in row.get("absent", ()):
        assert code not in [f.code for f in (*said.findings, *said.consequences)]
    if "verdict" in row:
        assert said.verdict == row["verdict"]


@pytest.mark.parametrize("row", scenarios())
def test_the_chinese_answer_has_the_same_codes_and_no_english_sentences(row: dict[str, Any]) -> None:
    english, chinese = run(row), run(row, "zh")
    assert [f.code for f in chinese.findings] == [f.code for f in english.findings]
    for finding in chinese.findings:
        assert any("一" <= c <= "鿿" for c in finding.summary)
