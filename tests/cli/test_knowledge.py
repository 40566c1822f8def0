"""provision knowledge: rows as people and programs see them."""

from __future__ import annotations

from provision.cli.verb_knowledge import _HEADS, headline
from provision.knowledge import kind_of
from tests.cli.conftest import KNOWLEDGE, Here
from tests.support.golden import golden


def test_as_people_see_it(tiny: Here) -> None:
    golden("knowledge-list", tiny("knowledge", "list").out)
    golden(
        "knowledge-show",
        tiny("knowledge", "show", "tf-2.10-cuda").out + tiny("knowledge", "show", "name-tf-estimator").out,
    )


def test_lists_by_kind(tiny: Here) -> None:
    rows = tiny("knowledge", "list", "name", "--json").document["rows"]
    assert [(row["kind"], row["row"]["id"]) for row in rows] == [
        ("name", "name-tf-estimator"),
        ("name", "name-tensorflow-gpu-stub"),
    ]
    ran = tiny("knowledge", "list", "patches", "--json")
    assert (ran.code, ran.codes) == (2, ["no-such-kind"])
    assert "patch" in ran.document["findings"][0]["remedies"][0]["text"]


def test_search_wants_every_word_in_any_case(tiny: Here) -> None:
    assert [
        r["row"]["id"] for r in tiny("knowledge", "search", "NUMPY", "tensorflow", "--json").document["rows"]
    ] == ["tf210-numpy"]
    ran = tiny("knowledge", "search", "numpy estimator")
    assert (ran.code, ran.out, ran.err) == (0, "", "No row holds all of: numpy estimator.\n")


def test_show_by_id(tiny: Here) -> None:
    row = tiny("knowledge", "show", "tf210-numpy", "--json").document
    assert (row["kind"], row["row"]["constraints"], row["row"]["source"]) == (
        "patch",
        ["numpy<2"],
        "a run of our own",
    )
    ran = tiny("knowledge", "show", "tf21-numpy", "--json")
    assert (ran.code, ran.codes) == (2, ["no-such-row"])
    assert "tf210-numpy" in ran.document["findings"][0]["remedies"][0]["text"]


def test_usage(tiny: Here) -> None:
    assert tiny("knowledge").code == 2
    assert tiny("knowledge", "lst").code == 2
    assert "provision knowledge search" in tiny("knowledge", "--help").out


def test_every_kind_has_a_headline() -> None:
    rows = KNOWLEDGE.list()
    assert {kind_of(row) for row in rows} >= set(_HEADS)
    assert all(headline(row).strip() for row in rows)
    assert max(len(headline(row)) for row in rows) <= 110
