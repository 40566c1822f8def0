"""The gate over data: recorded machines and written ones, with the packaged knowledge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from provision.model.finding import Finding
from provision.model.machine import Interpreter, Machine
from tests.support import gate

_CASES = yaml.safe_load((Path(__file__).parents[1] / "scenarios/gate/cases.yaml").read_text("utf-8"))


@pytest.mark.parametrize("case", _CASES, ids=[case["name"] for case in _CASES])
def test_case(case: Mapping[str, Any], tmp_path: Path) -> None:
    profile = yaml.safe_dump({"schema": 1, "name": "case", **case["profile"]})
    lock = gate.locked(profile, case["target"], case["python"])
    plan = gate.planned(lock, _machine(case), tmp_path, **case.get("asked", {}))
    assert [f.code for f in plan.blockers] == case.get("blocks", []), plan.blockers
    notes = [f.code for f in plan.notes if f.code not in ("not-checked", "gpu-code-unknown")]
    assert notes == case.get("notes", []), plan.notes
    text = "\n".join(_text(f) for f in (*plan.blockers, *plan.notes))
    assert [word for word in case.get("says", []) if word not in text] == [], text
    assert [word for word in case.get("never", []) if word in text] == [], text
    assert all(f.evidence and f.remedies for f in plan.blockers), "the fact, the evidence, the way out"


def _machine(case: Mapping[str, Any]) -> Machine:
    told = case["machine"]
    if isinstance(told, str):
        return gate.machine(told, case["python"])
    found = gate.written(yaml.safe_dump(told))
    python = Interpreter(path="/python", version=f"{case['python']}.1", arch=found.arch)
    return replace(found, pythons=found.pythons or (python,))


def _text(finding: Finding) -> str:
    evidence = "\n".join(f"{e.source}: {e.text}" for e in finding.evidence)
    ways = "\n".join(f"{r.text} {r.command}" for r in finding.remedies)
    return f"{finding.code}: {finding.summary}\n{finding.detail}\n{evidence}\n{ways}"
