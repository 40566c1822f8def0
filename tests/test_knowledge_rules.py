"""Every rule of the knowledge base holds where it should, and not beside it."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from provision.knowledge import load_knowledge
from provision.knowledge.rules import meets

KNOWLEDGE = load_knowledge()
DATA = Path(__file__).parent / "data"
TRIALS: dict[str, Any] = yaml.safe_load((DATA / "knowledge_rules.yaml").read_text("utf-8"))


def ids(facts: dict[str, Any]) -> set[str]:
    return {rule.id for rule in KNOWLEDGE.rules(facts)}


def test_every_rule_has_a_trial() -> None:
    assert {rule.id for rule in KNOWLEDGE.rules()} == set(TRIALS)


@pytest.mark.parametrize("rule", TRIALS)
def test_rule_holds_and_does_not(rule: str) -> None:
    assert rule in ids(TRIALS[rule]["hit"])
    assert rule not in ids(TRIALS[rule]["miss"])


def test_a_rejection_says_why_and_names_a_way_out() -> None:
    for rule in KNOWLEDGE.rules():
        assert rule.because, rule.id
        if rule.then == "reject":
            assert rule.instead, rule.id
            assert rule.code, rule.id


def test_wrong_advice_never_stands_among_the_ways_out() -> None:
    for rule in KNOWLEDGE.rules():
        assert not set(rule.never) & set(rule.instead), rule.id


@pytest.mark.parametrize(
    ("when", "facts", "expected"),
    [
        ({"a": "x"}, {"a": "x"}, True),
        ({"a": "x"}, {"a": "y"}, False),
        ({"a": "x"}, {}, False),
        ({"a": ">=2"}, {"a": "2.1"}, True),
        ({"a": ">=2"}, {"a": "not a version"}, False),
        ({"a": ["x", "y"]}, {"a": "y"}, True),
        ({"a": "x"}, {"a": ("x", "y")}, True),
        ({"a": True}, {"a": ""}, False),
        ({"a": False}, {}, True),
        ({"a": {"b": ">=2"}}, {"a": {"b": "3"}}, True),
        ({"a": {"b": ">=2"}}, {"a": {}}, False),
        ({"a": "x", "not": {"b": "y"}}, {"a": "x"}, True),
        ({"a": "x", "not": {"b": "y"}}, {"a": "x", "b": "y"}, False),
        ({}, {"a": "x"}, True),
    ],
)
def test_conditions(when: dict[str, Any], facts: dict[str, Any], expected: bool) -> None:
    assert meets(when, facts) is expected
