"""The solver over data: what is chosen for a profile, or which findings refuse it (tests/scenarios/solve/README.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from provision.documents import read_machine
from provision.knowledge import load_knowledge
from provision.loading import load
from provision.model.finding import Finding, UnsatisfiableError
from provision.model.profile import Profile
from provision.model.stack import Stack
from provision.planning.needs import unmet
from provision.resolving import python_choices, pythons, resolve

KNOWLEDGE = load_knowledge()
FOLDER = Path(__file__).parents[1] / "scenarios" / "solve"
SCENARIOS = [
    pytest.param(scenario, id=f"{path.stem}: {scenario['name']}")
    for path in sorted(FOLDER.glob("*.yaml"))
    for scenario in yaml.safe_load(path.read_text(encoding="utf-8"))
]
KEYS = {
    "name", "case", "profile", "target", "python", "choose", "require", "absent", "indexes", "patches", "needs", "notes",
    "variables", "codes", "says", "ways", "never", "rules", "not-rules", "pythons", "machine", "unmet", "confidence",
}  # fmt: skip


def profile_of(scenario: Mapping[str, Any]) -> Profile:
    document = {"schema": 1, "name": "scenario", "targets": [scenario["target"]], **scenario["profile"]}
    if "python" in scenario:
        document["python"] = scenario["python"]
    return load(yaml.safe_dump(document), "scenario.yaml")


def outcome(scenario: Mapping[str, Any]) -> Stack | tuple[Finding, ...]:
    profile = profile_of(scenario)
    found = pythons(profile, scenario["target"], KNOWLEDGE) or python_choices(profile)
    try:
        return resolve(profile, scenario["target"], found[0], KNOWLEDGE)
    except UnsatisfiableError as error:
        return error.findings


def rejecting(scenario: Mapping[str, Any], result: Stack | tuple[Finding, ...]) -> set[str]:
    """The rules that spoke against something, in the search or in the refusal."""
    if isinstance(result, Stack):
        return {r.rule for r in result.rejected}
    texts = [e.text for f in result for e in f.evidence]
    return {match[1] for text in texts if (match := re.search(r"(?:rule|knowledge) (\S+)$", text))}


def words(result: Stack | tuple[Finding, ...]) -> str:
    """All that people read of an outcome."""
    if isinstance(result, Stack):
        said = [(n.because, *n.instead) for n in result.notes] + [(c.value, c.because) for c in result.choices]
        return "\n".join(text for texts in said for text in texts)
    said = [(f.summary, f.detail, *(e.text for e in f.evidence), *(r.text for r in f.remedies)) for f in result]
    return "\n".join(text for texts in said for text in texts)


def named(result: Stack) -> set[str]:
    return {canonicalize_name(Requirement(text).name) for text in result.requirements}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_scenario(scenario: dict[str, Any]) -> None:
    assert set(scenario) <= KEYS, set(scenario) - KEYS
    result = outcome(scenario)
    problems = list(_problems(scenario, result))
    assert problems == [], words(result)


def _problems(scenario: Mapping[str, Any], result: Stack | tuple[Finding, ...]) -> Iterator[str]:
    codes = [] if isinstance(result, Stack) else [f.code for f in result]
    if codes != scenario.get("codes", []):
        yield f"codes are {codes}"
    text = words(result)
    yield from (f"says nothing of {one!r}" for one in scenario.get("says", ()) if one not in text)
    yield from (f"says {one!r}" for one in scenario.get("never", ()) if one in text)
    spoke = rejecting(scenario, result)
    yield from (f"{rule} did not speak" for rule in scenario.get("rules", ()) if rule not in spoke)
    yield from (f"{rule} spoke" for rule in scenario.get("not-rules", ()) if rule in spoke)
    if isinstance(result, Stack):
        yield from _of_stack(scenario, result)
    else:
        ways = "\n".join(r.text for f in result for r in f.remedies)
        yield from (f"offers no {way!r}" for way in scenario.get("ways", ()) if way not in ways)
        if not ways or not all(f.evidence or f.detail for f in result):
            yield "a refusal without its fact or without a way out"


def _of_stack(scenario: Mapping[str, Any], stack: Stack) -> Iterator[str]:
    chosen = {c.axis: c.value for c in stack.choices}
    confident = {c.axis: c.confidence for c in stack.choices}
    places = {package: index.name for index in stack.indexes for package in index.packages}
    needs = {n.what: n.value for n in stack.needs}
    expected: tuple[tuple[str, Mapping[str, Any]], ...] = (
        ("choose", chosen), ("confidence", confident), ("indexes", places), ("needs", needs),
        ("variables", stack.variables),
    )  # fmt: skip
    for key, have in expected:
        for name, value in scenario.get(key, {}).items():
            if have.get(name) != value:
                yield f"{key} {name} is {have.get(name)!r}"
    held = {"require": stack.requirements, "patches": [p.requirement for p in stack.patches]}
    held["notes"] = [n.rule for n in stack.notes]
    for key, values in held.items():
        yield from (f"{key} lacks {one}" for one in scenario.get(key, ()) if one not in values)
    yield from (f"{one} is required" for one in scenario.get("absent", ()) if one in named(stack))
    if "pythons" in scenario:
        found = list(pythons(profile_of(scenario), scenario["target"], KNOWLEDGE))
        if found != scenario["pythons"]:
            yield f"pythons are {found}"
    if "machine" in scenario:
        machine = read_machine(yaml.safe_dump(scenario["machine"]), "machine.yaml")
        codes = [f.code for need in stack.needs if (f := unmet(need, machine)) is not None]
        if codes != scenario.get("unmet", []):
            yield f"unmet are {codes}"


#: Rules that ask what a profile does not say: files, channels, the flags of a CPU. Lint and the gate hold them.
ELSEWHERE = {"tf-avx", "torch-conda-channel"}


def test_every_rejecting_rule_speaks_in_one_scenario_and_not_in_another() -> None:
    rejecting_rules = {r.id for r in KNOWLEDGE.rules() if r.then == "reject" and "lint" not in r.when}
    listed = [scenario.values[0] for scenario in SCENARIOS]
    hit = {rule for scenario in listed for rule in scenario.get("rules", ())}
    missed = {rule for scenario in listed for rule in scenario.get("not-rules", ())}
    assert rejecting_rules - hit - ELSEWHERE == set()
    assert rejecting_rules - missed - ELSEWHERE == set()
    assert (hit | missed) - rejecting_rules - {"files", "one-cuda", "one-cudnn", "python", "version", "index"} == set()


def test_there_are_enough_scenarios() -> None:
    every = [*FOLDER.parent.rglob("*.yaml")]
    assert sum(len(yaml.safe_load(path.read_text("utf-8"))) for path in every) >= 120
