"""What files say before anything runs: scenarios as data, one for each rule and its neighbour on the other side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from provision.documents.source import Source
from provision.knowledge import load_knowledge
from provision.knowledge.rows import LintRow
from provision.linting import Document, lint
from provision.linting.places import holds_on, in_words
from provision.linting.requirements import logical_lines
from provision.model.finding import Finding

KNOWLEDGE = load_knowledge()
FOLDER = Path(__file__).parents[1] / "scenarios" / "lint"
SCENARIOS = [
    pytest.param(scenario, id=f"{path.stem}: {scenario['name']}")
    for path in sorted(FOLDER.glob("*.yaml"))
    for scenario in yaml.safe_load(path.read_text(encoding="utf-8"))
]


def run(scenario: dict[str, Any]) -> tuple[Finding, ...]:
    documents = [Document(name, text) for name, text in scenario["files"].items()]
    others: dict[str, str] = scenario.get("others", {})

    def read(path: str) -> str:
        if path not in others:
            raise FileNotFoundError(path)
        return others[path]

    return lint(documents, KNOWLEDGE, read, scenario.get("folder", ""))


def words(findings: tuple[Finding, ...]) -> str:
    return "\n".join(
        text
        for f in findings
        for text in (f.summary, f.detail, *(e.text for e in f.evidence), *(r.text for r in f.remedies))
    )


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_scenario(scenario: dict[str, Any]):
    findings = run(scenario)
    found = [(f.code, f.evidence[0].source) for f in findings]
    assert found == [(e["code"], e["at"]) for e in scenario["expect"]], words(findings)
    for finding, expected in zip(findings, scenario["expect"], strict=True):
        assert finding.severity == expected.get("severity", finding.severity)
        assert expected.get("says", "") in words((finding,))
        ways = "\n".join(remedy.text for remedy in finding.remedies)
        assert ways
        assert [way for way in expected.get("ways", []) if way not in ways] == []
    assert [word for word in scenario.get("never", []) if word in words(findings)] == []


def test_every_lint_row_speaks_in_a_scenario():
    told = {e.source for s in SCENARIOS for f in run(s.values[0]) for e in f.evidence}
    rows = {f"knowledge {row.id}" for row in KNOWLEDGE.rows(LintRow)}
    assert rows - told == {"knowledge lint-path-tensorflow", "knowledge lint-path-torch"}


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("pyproject.toml", "[project\nname = 1", "toml-syntax"),
        ("environment.yml", "dependencies: [a\n", "yaml-syntax"),
        ("environment.yml", "- a", "wrong-type"),
        ("requirements.txt", "中文".encode("gbk"), "not-utf8"),
        ("requirements.txt", "-r missing.txt", "unreadable"),
        ("requirements.txt", "what is this", "bad-requirement"),
    ],
)
def test_what_cannot_be_read_is_a_finding(name: str, text: str | bytes, code: str):
    def read(path: str) -> str:
        raise FileNotFoundError(path)

    assert [f.code for f in lint([Document(name, text)], KNOWLEDGE, read)] == [code]


def test_a_toml_error_has_its_place():
    (finding,) = lint([Document("a/pyproject.toml", "[project]\nname = \n")], KNOWLEDGE)
    assert finding.evidence[0].source.startswith("a/pyproject.toml:2:")


def test_logical_lines_keep_their_offsets():
    text = "# comment\n\n  numpy \\\n  ==1.26  # why\r\n--pre\nx @ https://e.org/a#egg=b\n"
    lines = list(logical_lines(text))
    assert [line.split() for _, line in lines] == [
        ["numpy", "==1.26"],
        ["--pre"],
        ["x", "@", "https://e.org/a#egg=b"],
    ]
    source = Source(text, "r.txt")
    assert [source.position(start) for start, _ in lines] == [(3, 3), (5, 1), (6, 1)]


def test_includes_in_a_circle_end():
    files = {"a.txt": "-r b.txt\nnumpy==2.4.0", "b.txt": "-r a.txt\n-r b.txt\n"}
    found = lint([Document("a.txt", files["a.txt"])], KNOWLEDGE, files.__getitem__)
    assert [f.code for f in found] == ["yanked"]


def test_markers_are_asked_for_the_target():
    assert holds_on('sys_platform == "win32"', "windows-x86_64", "3.10")
    assert not holds_on('sys_platform == "win32"', "linux-x86_64", "3.10")
    assert holds_on('platform_machine == "aarch64" and python_version < "3.11"', "linux-aarch64", "3.10")


def test_targets_in_words():
    assert in_words(("windows-x86_64",)) == "on Windows"
    assert (
        in_words(("linux-x86_64", "linux-aarch64", "macos-arm64", "macos-x86_64"))
        == "everywhere but on Windows"
    )


WORDS = (
    "torch tensorflow==2.10 +cu118 == >= , ; [ ] { } : = - -r -c -i --hash=x --pre :: pip dependencies channels "
    "frameworks packages # @ \\ https://a/b.whl ./x [project] name extras ' \" a.whl 1.2.* ^1 ~ $ ${A}"
)
PIECES = st.lists(st.sampled_from([*WORDS.split(" "), "\n", "\n- ", "\n  ", " "]), max_size=25).map("".join)


@pytest.mark.parametrize("name", ["r.txt", "e.yml", "pip.conf", ".condarc", "pyproject.toml", "profile.yaml"])
@settings(max_examples=60)
@given(text=st.text(max_size=80) | PIECES)
def test_nothing_is_raised(name: str, text: str):
    def read(path: str) -> str:
        raise FileNotFoundError(path)

    lint([Document(name, text)], KNOWLEDGE, read, "/home/a b")
