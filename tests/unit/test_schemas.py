"""The committed JSON Schemas are those of the nouns, and they accept what the readers accept."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from strategies import nouns, profiles

from provision.documents import dump_yaml, to_json
from provision.loading import load
from provision.model.finding import ProfileError
from provision.model.lock import Lock
from provision.model.plan import Plan
from provision.model.profile import Profile
from provision.model.receipt import Receipt
from provision.schemas import FACETS, schemas, text

ROOT = Path(__file__).parent.parent.parent
MADE = schemas()


@pytest.mark.parametrize("name", MADE)
def test_the_committed_schema_has_not_drifted(name: str):
    committed = (ROOT / "schemas" / name).read_text(encoding="utf-8")
    assert committed == text(MADE[name]), "run: python -m provision.schemas schemas/"


def test_every_key_of_a_profile_is_described():
    profile = MADE["profile.schema.json"]
    for noun in (profile, *profile["definitions"].values()):
        assert noun["description"]
        assert [key for key, schema in noun["properties"].items() if not schema.get("description")] == []


def test_short_forms_are_accepted():
    frameworks = MADE["profile.schema.json"]["properties"]["frameworks"]
    kinds = [
        option.get("type") or option.get("$ref") for option in frameworks["properties"]["torch"]["anyOf"]
    ]
    assert kinds == ["string", "#/definitions/Framework", "null"]


def test_json_documents_have_snake_case_keys():
    assert "cpu_difference" in MADE["receipt.schema.json"]["definitions"]["JobResult"]["properties"]
    assert "time-limit" in MADE["lock.schema.json"]["definitions"]["Smoke"]["properties"]


def test_no_schema_names_a_host_that_is_not_there():
    for schema in MADE.values():
        assert set(re.findall(r"https?://([^/\"]+)", text(schema))) <= {"json-schema.org"}


def test_facets_belong_to_attributes():
    for cls, attribute in FACETS:
        assert attribute in cls.__dataclass_fields__


# --- an independent validator agrees with the readers


def valid(name: str, data: object) -> bool:
    jsonschema = pytest.importorskip("jsonschema")
    return bool(jsonschema.Draft7Validator(MADE[name]).is_valid(data))


@settings(max_examples=25)
@given(profiles(), nouns(Lock), nouns(Plan), nouns(Receipt))
def test_documents_are_valid(profile: Profile, lock: Lock, plan: Plan, receipt: Receipt):
    assert valid("profile.schema.json", yaml.safe_load(dump_yaml(profile)))
    assert valid("lock.schema.json", yaml.safe_load(dump_yaml(lock)))
    assert valid("plan.schema.json", to_json(plan))
    assert valid("receipt.schema.json", to_json(receipt))


@pytest.mark.parametrize(
    "written",
    [
        'frameworks: {torch: "==2.0.1", tensorflow: {package: tensorflow-cpu}}',
        "frameworks: {torch: null}",
        "packages: null",
        "environment: {pip: null, path: null}",
        "smoke: {device: null}",
        'variables: {A: null, B: "1"}',
        "hardware: {}",
    ],
)
def test_what_loads_is_valid(written: str):
    text = f"schema: 1\nname: a\n{written}\n"
    load(text, "p.yaml")
    assert valid("profile.schema.json", yaml.safe_load(text))


@pytest.mark.parametrize(
    "written",
    [
        "framework: {}",
        "python: 3.10",
        "targets: linux-x86_64",
        "targets: [linux]",
        "frameworks: {pytorch: '*'}",
        "frameworks: {torch: 2.0}",
        "smoke: {time-limit: -1}",
        "smoke: {time_limit: 5}",
        "environment: {pip: 1}",
        "schema: 2",
        "indexes: [{name: a}]",
    ],
)
def test_what_is_invalid_does_not_load(written: str):
    text = f"name: a\n{written}\n"
    assert not valid("profile.schema.json", yaml.safe_load(text))
    with pytest.raises(ProfileError):
        load(text, "p.yaml")
