"""The catalogues: both languages say the same messages with the same places, and code says nothing without them."""

from __future__ import annotations

import ast
import copy
import json
import pickle
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from provision.messages import (
    Text,
    areas,
    bilingual,
    catalogue,
    joined,
    message,
    places,
    said,
    sentence,
    stopped,
    unstopped,
)

ROOT = Path(__file__).parents[2] / "installer" / "provision"
#: `diagnosing` says its findings from knowledge rows, which hold both languages. Jobs run where provision is not.
FILES = sorted(
    p for p in ROOT.rglob("*.py") if not {"messages", "jobs", "diagnosing"} & set(p.relative_to(ROOT).parts)
)
#: Where a call takes words for people: the places of its arguments and their names.
SPEAKING = {"Finding": ((2, "summary"), (3, "detail")), "Remedy": ((0, "text"),)}

#: Areas whose Chinese is not whole yet.
NOT_YET = {"cli", "verifying"}
#: Areas whose code makes keys of messages out of parts.
COMPOSED = {"applying", "cli", "help", "pipeline", "planning", "usage", "verifying"}


def calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            yield getattr(node.func, "id", getattr(node.func, "attr", "")), node


def used() -> Iterator[tuple[str, str, frozenset[str] | None]]:
    """Where, key and names of the values (None where they are unpacked) of every message in the code."""
    for path in FILES:
        for name, node in calls(path):
            # A method called `word` is somebody else's.
            if (
                isinstance(node.func, ast.Name)
                and name in ("message", "word")
                and node.args
                and isinstance(node.args[0], ast.Constant)
                and "." in node.args[0].value  # Another's word has no area.
            ):
                names = frozenset(k.arg for k in node.keywords if k.arg)
                unpacked = any(k.arg is None for k in node.keywords)
                yield (
                    f"{path.relative_to(ROOT)}:{node.lineno}",
                    node.args[0].value,
                    None if unpacked else names,
                )


def test_code_says_what_the_catalogue_has() -> None:
    found = list(used())
    assert len(found) > 300
    for where, key, names in found:
        area = key.partition(".")[0]
        assert key in catalogue(area, "en"), f"{where}: no message {key}"
        if names is not None:
            assert places(catalogue(area, "en")[key]) <= names, f"{where}: {key} lacks a value"


@pytest.mark.parametrize("area", areas())
def test_both_languages_have_the_same_places(area: str) -> None:
    english, chinese = catalogue(area, "en"), catalogue(area, "zh")
    assert set(chinese) <= set(english)
    for key, text in chinese.items():
        assert places(text) == places(english[key]), key
        assert text, key


@pytest.mark.parametrize("area", sorted(set(areas()) - NOT_YET))
def test_every_message_is_in_both_languages(area: str) -> None:
    assert set(catalogue(area, "zh")) == set(catalogue(area, "en"))


@pytest.mark.parametrize("area", sorted(set(areas()) - COMPOSED))
def test_every_message_is_said_somewhere(area: str) -> None:
    assert set(catalogue(area, "en")) <= constants()


@cache
def constants() -> frozenset[object]:
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in FILES)
    return frozenset(n.value for tree in trees for n in ast.walk(tree) if isinstance(n, ast.Constant))


@pytest.mark.parametrize("area", areas())
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_catalogue_is_sorted_by_key(area: str, lang: str) -> None:
    """So that two people who add messages seldom meet on one line."""
    assert list(catalogue(area, lang)) == sorted(catalogue(area, lang))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_findings_say_nothing_but_messages(path: Path) -> None:
    for name, node in calls(path):
        for place, keyword in SPEAKING.get(name, ()):
            given = [k.value for k in node.keywords if k.arg == keyword] + node.args[place : place + 1]
            for value in given:
                words = isinstance(value, ast.Constant) and isinstance(value.value, str) and value.value
                # Places between marks only ("{path}: {text}") are no words.
                parts = value.values if isinstance(value, ast.JoinedStr) else []
                spelled = "".join(p.value for p in parts if isinstance(p, ast.Constant))
                said_here = words or any(c.isalpha() for c in spelled)
                assert not said_here, f"{path.name}:{node.lineno} {keyword}"


def test_a_message_is_english_until_it_is_said() -> None:
    text = message("cli.interrupted.summary")
    assert isinstance(text, str)
    assert json.loads(json.dumps({"text": text})) == {"text": str(text)}
    assert said(text, "en") == text
    for same in (copy.deepcopy(text), pickle.loads(pickle.dumps(text))):
        assert isinstance(same, Text)
        assert same.said("zh") == text.said("zh")


def test_joined_messages_are_each_said() -> None:
    one = message("cli.interrupted.summary")
    both = joined((one, "x"), ", ")
    assert both == f"{one}, x"
    assert both.said("zh") == f"{one.said('zh')}、x"
    assert (one + "!").said("zh") == one.said("zh") + "!"
    assert ("!" + one).said("zh") == "!" + one.said("zh")


def test_a_text_of_both_languages_is_said_in_each() -> None:
    text = bilingual({"en": "a builder", "zh": "构建者"})
    assert (text, said(text, "zh"), said(text, "en")) == ("a builder", "构建者", "a builder")
    for same in (copy.deepcopy(text), pickle.loads(pickle.dumps(text))):
        assert (same, said(same, "zh")) == ("a builder", "构建者")
    assert said(sentence(text), "zh") == "构建者。"
    assert sentence(text) == "A builder."
    assert said(unstopped(stopped(text)), "zh") == "构建者"
    assert bilingual("English alone") == said(bilingual("English alone"), "zh")


def test_a_key_that_no_catalogue_has_is_an_error() -> None:
    with pytest.raises(KeyError):
        message("cli.no-such-message")
