"""The rows of doctor: bilingual, placed in layers that exist, and each with its page."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pytest

from provision.diagnosing.explain import codes
from provision.diagnosing.facts import places
from provision.diagnosing.layers import LAYERS
from provision.diagnosing.pages import all_codes, index, markdown
from provision.diagnosing.products import product_page
from provision.diagnosing.saying import check_codes
from provision.knowledge.checks import Check, load_checks
from provision.knowledge.symptoms import Text

ROOT = Path(__file__).parents[2]
CHECKS = load_checks()


def texts(row: Check) -> list[Text]:
    detail = [row.detail] if row.detail.en or row.detail.zh else []
    return [row.summary, *detail, *(w.text for w in row.ways)]


def chinese(text: str) -> bool:
    return any("一" <= c <= "鿿" for c in text)


@pytest.mark.parametrize("row", CHECKS.rows.values(), ids=lambda r: r.code)
def test_a_check_is_said_in_both_languages(row: Check) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", row.code)
    assert row.layer in LAYERS
    assert row.severity in ("error", "warning", "note")
    for text in texts(row):
        bare = re.sub(r"\{[^{}]*\}", "", text.en + text.zh).strip()
        assert chinese(text.zh) or not bare
        assert not chinese(text.en)
    assert places([row.summary.en]) == places([row.summary.zh])
    assert places([w.text.en for w in row.ways]) == places([w.text.zh for w in row.ways])


def test_every_word_has_both_languages() -> None:
    for name, text in CHECKS.words.items():
        assert text.en, name
        assert chinese(text.zh), name
        assert places([text.en]) == places([text.zh])
    assert set(LAYERS) <= set(CHECKS.words)


def test_layers_and_codes_are_known() -> None:
    assert {s.layer for s in (*CHECKS.machine.values(), *CHECKS.rules.values())} <= set(LAYERS)
    assert not set(check_codes()) & set(codes()), "one code means one thing"
    told = (ROOT / "docs" / "detection.md").read_text(encoding="utf-8")
    assert set(CHECKS.machine) == set(re.findall(r"^\| `([a-z0-9-]+)` \|", told, re.MULTILINE)), (
        "knowledge/checks/checks.yaml says of every code of detection which layer it belongs to"
    )


@pytest.mark.parametrize("code", check_codes())
def test_the_page_of_a_check_is_the_one_that_is_made(code: str) -> None:
    page = ROOT / "docs" / "codes" / f"{code}.md"
    assert page.read_text(encoding="utf-8") == markdown(code), "run: python docs/codes/make.py"


def test_every_code_has_a_page() -> None:
    listed = index()
    for code in all_codes():
        assert markdown(code).startswith(f"# {code}\n")
        assert f"[{code}]({code}.md)" in listed


@pytest.mark.slow
def test_all_pages_are_the_ones_that_are_made() -> None:
    there = {p.stem: p.read_text(encoding="utf-8") for p in (ROOT / "docs" / "codes").glob("*.md")}
    assert there == {"README": index(), **{c: markdown(c) for c in all_codes()}}, (
        "run: python docs/codes/make.py"
    )


def test_the_codes_of_the_source_are_those_that_are_listed() -> None:
    """`docs/codes/scan.py` is no package: it is loaded by its path, as `make.py` finds it beside itself."""
    spec = importlib.util.spec_from_file_location("scan", ROOT / "docs" / "codes" / "scan.py")
    assert spec is not None
    assert spec.loader is not None
    scan = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(scan)
    listed = (ROOT / "installer" / "provision" / "messages" / "codes.json").read_text(encoding="utf-8")
    assert json.loads(listed) == scan.scan(), "run: python docs/codes/make.py"


@pytest.mark.parametrize(
    "path", sorted((ROOT / "installer" / "provision").rglob("*.py")), ids=lambda p: p.stem
)
def test_a_code_that_stands_in_the_source_has_a_page(path: Path) -> None:
    if "diagnosing" in path.parts:
        return
    codes = re.findall(r'Finding\(\s*"([a-z0-9-]+)"', path.read_text(encoding="utf-8"))
    assert set(codes) <= set(all_codes())


@pytest.mark.parametrize("code", ["disk-full", "silent-cpu", "dead-name", "lock-missing"])
def test_a_code_of_the_product_is_told_in_both_languages(code: str) -> None:
    english, chinese = product_page(code, "en"), product_page(code, "zh")
    assert english is not None
    assert chinese is not None
    assert not re.search("[\u4e00-\u9fff]", str(english))
    assert re.search("[\u4e00-\u9fff]", chinese["meaning"])
    assert len(english["remedies"]) == len(chinese["remedies"])
