"""The knowledge of devices: every row is sourced, and no two contradict."""

from __future__ import annotations

import re
from importlib import import_module
from itertools import pairwise
from typing import Any

import pytest

from provision.detecting import pci, rows
from provision.model.finding import Severity

_TABLES = ("pci_vendors", "pci_devices", "pci_ranges", "boards", "tools", "drivers", "sdks", "visible", "held_nodes",
           "libraries", "dll_lines", "library_sets", "troubles")  # fmt: skip
_EVIDENCE = {"official-table", "artifact", "metadata", "community", "observed"}
_VENDORS = {row["vendor"] for row in rows.table("pci_vendors")} | {"biren"}


def _all() -> list[Any]:
    return [row for name in _TABLES for row in rows.table(name)]


def test_no_table_is_unknown_or_empty() -> None:
    assert set(rows._document()) == {*_TABLES, "schema"}
    assert all(rows.table(name) for name in _TABLES)


def test_every_row_has_an_id_of_its_own_a_source_and_its_evidence() -> None:
    ids = [row["id"] for row in _all()]
    assert len(ids) == len(set(ids))
    assert all(row["source"] and row["evidence"] in _EVIDENCE for row in _all())
    assert all(re.fullmatch(r"[a-z0-9_-]+", name) for name in ids)


def test_vendors_are_known_ones() -> None:
    assert {row["vendor"] for row in _all() if "vendor" in row} <= _VENDORS


@pytest.mark.parametrize("vendor", ["nvidia", "amd"])
def test_no_device_id_belongs_to_two_chips(vendor: str) -> None:
    spans = sorted(
        (first, last, row["chip"])
        for row in rows.table("pci_ranges")
        if row["vendor"] == vendor
        for first, last in row["ranges"]
    )
    assert all(
        re.fullmatch(r"[0-9a-f]{4}", name) and first <= last
        for first, last, _ in spans
        for name in (first, last)
    )
    assert [(one, two) for one, two in pairwise(spans) if one[1] >= two[0]] == []


@pytest.mark.parametrize(
    ("vendor", "device", "expected"),
    [
        ("nvidia", "1381", ("", "5.0", "GM107")),
        ("nvidia", "1c8d", ("", "6.1", "GP107")),
        ("nvidia", "1db6", ("", "7.0", "GV100")),
        ("nvidia", "1e07", ("", "7.5", "TU102")),
        ("nvidia", "20b0", ("", "8.0", "GA100")),
        ("nvidia", "2204", ("", "8.6", "GA102")),
        ("nvidia", "2684", ("", "8.9", "AD102")),
        ("nvidia", "2330", ("", "9.0", "GH100")),
        ("nvidia", "2b85", ("", "12.0", "GB202")),
        ("nvidia", "0dc4", ("", "", "")),
        ("amd", "731f", ("", "gfx1010", "Navi 10")),
        ("amd", "73bf", ("", "gfx1030", "Navi 21")),
        ("amd", "744c", ("", "gfx1100", "Navi 31")),
        ("ascend", "d802", ("Ascend 910B", "910B", "")),
        ("moorethreads", "0201", ("MTT S80", "mp_21", "")),
    ],
)
def test_known_devices(vendor: str, device: str, expected: tuple[str, str, str]) -> None:
    assert pci.known(vendor, device) == expected


@pytest.mark.parametrize(
    ("ids", "kind", "vendor"),
    [
        ("10de:2684", "030000", "nvidia"),
        ("10de:22ba", "040300", ""),
        ("19e5:d802", "120000", "ascend"),
        ("19e5:1822", "020000", ""),
        ("19e5:1711", "030000", ""),
        ("1d94:1450", "060000", ""),
        ("1d94:6211", "0b4000", "hygon"),
        ("1002:73bf", "030000", "amd"),
        ("1022:1480", "060000", ""),
        ("8086:56a0", "030000", "intel"),
        ("8086:0d57", "060000", ""),
        ("1a03:2000", "030000", ""),
    ],
)
def test_whose_accelerator_a_function_is(ids: str, kind: str, vendor: str) -> None:
    maker, _, device = ids.partition(":")
    assert pci.vendor_of(pci.Function(address="", vendor=maker, device=device, kind=kind)) == vendor


def test_every_tool_has_a_parser_and_every_pattern_is_one() -> None:
    for row in rows.table("tools"):
        assert callable(import_module(f"provision.detecting.{row['parser']}").parse)
    for row in (*rows.table("drivers"), *rows.table("sdks")):
        assert re.compile(row["pattern"]).groups >= 1 or not row["pattern"]


def test_complaints_have_codes_severities_and_ways_out() -> None:
    tools = {row["tool"] for row in rows.table("tools")}
    for row in rows.table("troubles"):
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", row["code"])
        assert row["severity"] in Severity.__args__  # type: ignore[attr-defined]
        assert row["summary"]
        assert row["remedies"]
        assert set(row["tools"]) <= tools
