"""The rows themselves: sourced, bilingual, exemplified, and every example really read as that row."""

from __future__ import annotations

import io
import re

import pytest

from provision.diagnosing.explain import codes, explain_bytes, symptom
from provision.diagnosing.facts import UNKNOWN, places
from provision.diagnosing.reading import Line, lines
from provision.knowledge.symptoms import Symptom, Text, load_symptoms
from provision.knowledge.symptoms.anchors import anchors_of

ROWS = load_symptoms().rows
EXAMPLES = [
    pytest.param(row, text, id=f"{row.code}-{i}") for row in ROWS for i, text in enumerate(row.examples)
]


def texts(row: Symptom) -> list[Text]:
    ways = [*row.ways, *(w for c in row.causes for w in c.ways)]
    return [row.meaning, *(c.text for c in row.causes), *(w.text for w in ways), *row.never]


@pytest.mark.parametrize("row", ROWS, ids=lambda r: r.code)
def test_a_row_is_sourced_and_written_in_both_languages(row: Symptom) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", row.code)
    assert row.source
    assert row.examples
    if row.kind == "fact":
        return
    assert row.evidence in ("maintainer", "reported", "measured", "artifact", "docs")
    for text in texts(row):
        assert text.en
        assert text.zh
        assert any("一" <= c <= "鿿" for c in text.zh)
        assert not any("一" <= c <= "鿿" for c in text.en)
        assert places([text.en]) == places([text.zh])


@pytest.mark.parametrize("row", ROWS, ids=lambda r: r.code)
def test_a_fault_says_a_cause_or_a_way_out(row: Symptom) -> None:
    if row.kind == "fault":
        assert row.ways or any(c.ways for c in row.causes)
    for code in row.explains:
        assert load_symptoms().row(code), f"{row.code} explains an unknown code {code}"


@pytest.mark.parametrize(("row", "example"), EXAMPLES)
def test_an_example_is_read_as_its_row(row: Symptom, example: str) -> None:
    said = explain_bytes(io.BytesIO(example.encode() + b"\n"))
    if row.kind == "fact":
        assert set(row.sets.values()) & set(said.facts) or f"seen.{row.code}" in said.facts
        return
    if row.require == "all":
        said = explain_bytes(io.BytesIO("\n".join(row.examples).encode()))
    found = [f.code for f in (*said.findings, *said.consequences, *said.noise)]
    assert row.code in found


@pytest.mark.parametrize("row", ROWS, ids=lambda r: r.code)
def test_the_examples_of_a_row_fill_its_text(row: Symptom) -> None:
    if row.kind == "fact":
        return
    said = explain_bytes(io.BytesIO("\n".join(row.examples).encode()))
    for finding in (*said.findings, *said.noise):
        assert UNKNOWN not in finding.summary + finding.detail + "".join(
            r.text + r.command for r in finding.remedies
        )


def test_a_code_can_be_asked_for() -> None:
    for code in codes():
        page = symptom(code, "zh")
        assert page
        assert page["meaning"]
    assert symptom("no-such-code") is None


@pytest.mark.parametrize(
    ("regex", "anchors"),
    [
        (r"driver version is (?P<v>\S+) on this", ("driver version is ",)),
        (r"cudnn_\w+64_\d+\.dll is missing", (".dll is missing",)),
        (r"[Ii]llegal instructions?", ("llegal instruction",)),
        (r"a \[thing\] of long", ("a [thing] of long",)),
    ],
)
def test_an_anchor_is_text_that_every_match_holds(regex: str, anchors: tuple[str, ...]) -> None:
    assert anchors_of(regex) == anchors


@pytest.mark.parametrize("regex", [r"\d+", r"first one|second one", r"(?i)some text", r"ab?cd"])
def test_a_pattern_without_sure_text_wants_an_anchor(regex: str) -> None:
    with pytest.raises(ValueError, match="anchor"):
        anchors_of(regex)


def test_lines_have_the_numbers_of_an_editor() -> None:
    assert list(lines(io.BytesIO(b"one\r\ntwo\n\nfour"))) == [Line(1, "one"), Line(2, "two"), Line(4, "four")]
