"""Reports from people: the first broken link is the right one, and the wrong advice is not given."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support import machines

from provision.detecting import detect
from provision.diagnosing.case import Case
from provision.diagnosing.doctor import LAYERS, Examination, examine
from provision.diagnosing.environments import of_list
from provision.diagnosing.facts import installed_facts
from provision.diagnosing.saying import Speaker
from provision.knowledge import load_knowledge
from provision.model.finding import Finding
from provision.model.machine import Device, Software

SCENARIOS = Path(__file__).parents[1] / "scenarios" / "doctor"
KNOWLEDGE = load_knowledge()


def scenarios() -> list[Any]:
    rows = [
        row for path in sorted(SCENARIOS.glob("*.yaml")) for row in yaml.safe_load(path.read_text("utf-8"))
    ]
    return [pytest.param(row, id=row["name"].replace(" ", "-")) for row in rows]


def case(row: dict[str, Any], lang: Any = "en") -> Case:
    found = {k.removeprefix("installed."): v for k, v in installed_facts(row["installed"]).items()}
    machine, findings = (None, ())
    if "machine" in row:
        machine, findings = detect(machines.fake(machines.record(row["machine"])))
        machine = replace(
            machine,
            devices=(*machine.devices, *(Device(**d) for d in row.get("devices", ()))),
            software=(*machine.software, *(Software(**s) for s in row.get("software", ()))),
            drivers={**machine.drivers, **row.get("drivers", {})},
        )
    target = row.get("target") or (machine.target if machine else "")
    return Case(
        knowledge=KNOWLEDGE,
        speaker=Speaker(lang),
        reference=row["name"],
        machine=machine,
        machine_findings=findings,
        environment=of_list(found, target, row.get("python", "")),
        variables=row.get("variables", dict(machine.environment) if machine else {}),
        demanded=row.get("demanded", ""),
    )


def told(finding: Finding) -> str:
    ways = [f"{r.text}\n{r.command}" for r in finding.remedies]
    return "\n".join([finding.summary, finding.detail, *(e.text for e in finding.evidence), *ways])


@pytest.mark.parametrize("row", scenarios())
def test_the_first_broken_link_is_found(row: dict[str, Any]) -> None:
    found = examine(case(row))
    assert (found.cause.code if found.cause else "") == row["cause"], found
    said = "\n".join(told(f) for f in found.findings)
    for words in row.get("says", ()):
        assert words in said
    for words in row.get("never", ()):
        assert words not in said
    _check_weights(row, found)
    _check_order(row, found)


def _check_weights(row: dict[str, Any], found: Examination) -> None:
    for severity, key in (("warning", "warns"), ("note", "notes")):
        codes = [f.code for f in found.findings if f.severity == severity]
        assert set(row.get(key, ())) <= set(codes), found


def _check_order(row: dict[str, Any], found: Examination) -> None:
    """What comes after the first broken link is not reached, and nothing is said about it."""
    assert tuple(layer.name for layer in found.layers) == LAYERS
    verdicts = {layer.name: layer.verdict for layer in found.layers}
    if not row["cause"]:
        assert "broken" not in verdicts.values()
        assert "not-reached" not in verdicts.values()
        return
    at = LAYERS.index(row["layer"])
    assert verdicts[row["layer"]] == "broken"
    assert "broken" not in [verdicts[name] for name in LAYERS[:at]]
    assert all(verdicts[name] == "not-reached" for name in LAYERS[at + 1 :])
    assert not any(layer.findings for layer in found.layers[at + 1 :])


@pytest.mark.parametrize("row", scenarios())
def test_the_chinese_answer_has_the_same_codes(row: dict[str, Any]) -> None:
    english, chinese = examine(case(row)), examine(case(row, "zh"))
    assert [f.code for f in chinese.findings] == [f.code for f in english.findings]
