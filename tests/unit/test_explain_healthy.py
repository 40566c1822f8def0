"""Logs of trainings that went well, made on a machine without a GPU: no fault is reported on any."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from provision.diagnosing.explain import explain_bytes

HEALTHY = sorted((Path(__file__).parents[1] / "healthy").glob("*.log"))


def test_there_are_enough_of_them() -> None:
    assert len(HEALTHY) >= 40


@pytest.mark.parametrize("path", HEALTHY, ids=lambda p: p.stem)
def test_no_fault_is_reported(path: Path) -> None:
    said = explain_bytes(io.BytesIO(path.read_bytes()))
    assert said.verdict in ("harmless", "nothing"), [f.to_json() for f in said.findings]
    assert not said.findings
    assert not said.consequences


def test_together_they_show_no_fault_either() -> None:
    said = explain_bytes(io.BytesIO(b"".join(p.read_bytes() for p in HEALTHY)))
    assert said.verdict == "harmless"


def test_the_same_lines_are_a_fault_where_a_card_is_known() -> None:
    path = next(p for p in HEALTHY if b"Could not find cuda drivers" in p.read_bytes())
    said = explain_bytes(io.BytesIO(path.read_bytes()), facts={"gpu.vendor": "nvidia"})
    assert [f.code for f in said.findings] == ["tf-no-nvidia-driver"]
