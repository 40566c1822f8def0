"""Variables that hide devices, vendor by vendor."""

from __future__ import annotations

import pytest

from provision.detecting import visible
from provision.model.machine import Device
from tests.support.fake_reader import FakeReader


@pytest.mark.parametrize(
    ("vendor", "variable", "value", "severity"),
    [
        ("nvidia", "CUDA_VISIBLE_DEVICES", "-1", "warning"),
        ("nvidia", "CUDA_VISIBLE_DEVICES", "1", "note"),
        ("nvidia", "CUDA_VISIBLE_DEVICES", "0,1", None),
        ("amd", "HIP_VISIBLE_DEVICES", "-1", "warning"),
        ("amd", "ROCR_VISIBLE_DEVICES", "-1", "warning"),
        ("amd", "CUDA_VISIBLE_DEVICES", "", "warning"),
        ("ascend", "ASCEND_RT_VISIBLE_DEVICES", "0", "note"),
        ("moorethreads", "MUSA_VISIBLE_DEVICES", "-1", "warning"),
        ("nvidia", "HIP_VISIBLE_DEVICES", "-1", None),
    ],
)
def test_what_a_variable_hides(vendor: str, variable: str, value: str, severity: str | None) -> None:
    cards = tuple(Device(vendor=vendor, name="one", pci=f"0000:0{at}:00.0") for at in (1, 2))
    reader = FakeReader(variables={variable: value})
    found = visible.probe(reader, cards).findings
    assert [f.severity for f in found] == ([severity] if severity else [])
    assert all(f.evidence[0].source == f"${variable}" for f in found)
    hidden = [card.facts.get("hidden") for card in visible.marked(reader, cards)]
    assert hidden.count(variable) == {"warning": 2, "note": 1, None: 0}[severity]
