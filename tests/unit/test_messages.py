"""The catalogues: both languages say the same messages with the same places, and code says nothing without them."""

from __future__ import annotations

import ast
import copy
import json
import pickle
import re
from collections.abc import Iterator, Mapping
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
SPEAKING = {
    "Finding": ((2, "summary"), (3, "detail")),
    "Remedy": ((0, "text"),),
    "Step": ((2, "subject"), (3, "reason")),
    "held": ((2, "summary"),),
    "fault": ((1, "summary"), (2, "detail")),
    "stage": ((0, "title"), (1, "text")),
    "confirm": ((0, "question"),),
    "UsageError": ((0, "message"),),
    "BadParameter": ((0, "message"),),
}
#: The same in the command line, whose screens are made of calls of these.
SCREENS = {
    "say": ((0, "text"),),
    "echo": ((0, "message"),),
    "row": ((0, "label"), (1, "text")),
    "block": ((0, "label"), (1, "text")),
    "_step": ((2, "text"),),
    "print": ((0, ""),),
}
#: Commands to type and names of products stay what they are in every language.
NAMES = re.compile(r"provision \w+|python train\.py|Python|CUDA|cuDNN|ROCm|source|bin/activate|--")


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
    assert set(chinese) == set(english)
    for key, text in chinese.items():
        assert places(text) == places(english[key]), key
        assert text, key


@pytest.mark.parametrize("area", areas())
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_catalogue_is_sorted_by_key(area: str, lang: str) -> None:
    """So that two people who add messages seldom meet on one line."""
    assert list(catalogue(area, lang)) == sorted(catalogue(area, lang))


@pytest.mark.parametrize("area", areas())
def test_chinese_is_chinese(area: str) -> None:
    """Marks beside Chinese are full-width, and what has English words has Chinese ones."""
    for key, text in catalogue(area, "zh").items():
        for form in (text,) if isinstance(text, str) else text.values():
            assert not re.search(r"[\u4e00-\u9fff][,;:?!](?!\w)", form), f"{key}: {form}"
            english = str(catalogue(area, "en")[key])
            words = re.findall(r"(?<![\w{/.-])[a-z]{3,}(?![\w}/.=-])", re.sub(r"`[^`]*`|\bthe ", "", english))
            same = form.lower() == english.lower() or not words
            assert same or re.search("[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]", form), f"{key}: {form}"


def test_no_message_is_left_over() -> None:
    """Help and codes have tests of their own; of `usage` the texts are click's, which says them itself."""
    literal: set[str] = set()
    patterns: set[str] = set()
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                literal.add(node.value)
            elif isinstance(node, ast.JoinedStr):
                parts = [
                    re.escape(str(p.value)) if isinstance(p, ast.Constant) else r"[\w-]+" for p in node.values
                ]
                patterns.add("".join(parts))
    keyed = [re.compile(p) for p in patterns if re.match(rf"({'|'.join(areas())})\\\.", p)]
    for area in set(areas()) - {"codes", "help", "usage"}:
        for key in catalogue(area, "en"):
            assert key in literal or any(p.fullmatch(key) for p in keyed), key


def words_in(value: ast.expr) -> str:
    """The words that a literal, or any of the pieces that a text is put together from, says."""
    if isinstance(value, ast.Constant):
        return value.value if isinstance(value.value, str) else ""
    if isinstance(value, ast.JoinedStr):
        # Places between marks only ("{path}: {text}") are no words.
        return " ".join(p.value for p in value.values if isinstance(p, ast.Constant))
    if isinstance(value, ast.IfExp):
        return f"{words_in(value.body)} {words_in(value.orelse)}"
    if isinstance(value, ast.BinOp):
        return f"{words_in(value.left)} {words_in(value.right)}"
    return " ".join(map(words_in, value.values)) if isinstance(value, ast.BoolOp) else ""


def said_in(path: Path, speaking: Mapping[str, tuple[tuple[int, str], ...]]) -> Iterator[tuple[str, str]]:
    for name, node in calls(path):
        for place, keyword in speaking.get(name, ()):
            given = [k.value for k in node.keywords if k.arg == keyword] + node.args[place : place + 1]
            yield from ((f"{path.name}:{node.lineno} {keyword}", words_in(value)) for value in given)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_findings_say_nothing_but_messages(path: Path) -> None:
    for where, words in said_in(path, SPEAKING):
        assert not any(c.isalpha() for c in words), f"{where}: {words}"


@pytest.mark.parametrize("path", sorted((ROOT / "cli").glob("*.py")), ids=lambda p: p.name)
def test_screens_say_nothing_but_messages(path: Path) -> None:
    for where, words in said_in(path, SCREENS):
        assert not any(c.isalpha() for c in NAMES.sub("", words)), f"{where}: {words}"


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
