"""Documents of nouns: the same bytes for the same value, the same value back, and a place for every fault."""

from __future__ import annotations

import contextlib
import json
import math
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import nouns

from provision.documents import (
    dump_json,
    dump_yaml,
    read_json,
    read_lock,
    read_machine,
    read_plan,
    read_receipt,
    read_yaml,
    to_json,
)
from provision.model.finding import Evidence, Finding, LockError, Remedy, UsageError
from provision.model.lock import Artifact, Digests, Lock
from provision.model.machine import Device, Interpreter, Machine
from provision.model.plan import Plan, Step
from provision.model.receipt import JobResult, Receipt
from provision.model.stack import Patch

LOCK = Lock(
    profile="cpu-tf210",
    target="linux-x86_64",
    python="3.10",
    digests=Digests(profile="a" * 64, knowledge="0123456789abcdef" * 4),
    patches=(Patch(requirement="numpy<2", because="built with numpy 1: it fails # always", rule="tf-numpy"),),
    variables={"TF_CPP_MIN_LOG_LEVEL": "1", "EMPTY": ""},
    frameworks=("tensorflow",),
    packages=(
        Artifact(
            name="absl-py", version="2.1.0", index="pypi", file="absl_py-2.1.0-py3-none-any.whl",
            size=133706, sha256="526a04eadab8b4ee719ce68f204172ead1027549089702d99b9059f129ff2308",
        ),
        Artifact(
            name="gast", version="0.2", index="pypi", file="gast-0.2.tar.gz", size=None,
            sha256="f" * 64, kind="sdist",
        ),
    ),
)  # fmt: skip
LOCK_TEXT = """\
# yaml-language-server: $schema=../../../schemas/lock.schema.json
schema: 1
profile: cpu-tf210
target: linux-x86_64
python: "3.10"
digests:
  profile: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
  knowledge: "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
patches:
- requirement: numpy<2
  because: "built with numpy 1: it fails # always"
  rule: tf-numpy
variables:
  TF_CPP_MIN_LOG_LEVEL: "1"
  EMPTY: ""
frameworks:
- tensorflow
packages:
- name: absl-py
  version: "2.1.0"
  index: pypi
  file: absl_py-2.1.0-py3-none-any.whl
  size: 133706
  sha256: "526a04eadab8b4ee719ce68f204172ead1027549089702d99b9059f129ff2308"
- name: gast
  version: "0.2"
  index: pypi
  file: gast-0.2.tar.gz
  size: null
  sha256: "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
  kind: sdist
"""


def test_the_bytes_of_a_lock():
    assert dump_yaml(LOCK) == LOCK_TEXT
    assert read_lock(LOCK_TEXT, "a.lock.yaml") == LOCK


def test_another_reader_reads_the_same():
    """YAML 1.1 readers (PyYAML) must not see a number or a boolean where text was meant."""
    data = yaml.safe_load(LOCK_TEXT)
    assert data["python"] == "3.10"
    assert data["packages"][1] == {
        "name": "gast", "version": "0.2", "index": "pypi", "file": "gast-0.2.tar.gz", "size": None,
        "sha256": "f" * 64, "kind": "sdist",
    }  # fmt: skip


@settings(max_examples=40)
@given(nouns(Lock))
def test_locks_round_trip(lock: Lock):
    text = dump_yaml(lock)
    assert read_lock(text, "a") == lock
    assert read_lock(text.encode(), "a") == lock


@settings(max_examples=25)
@given(nouns(Plan), nouns(Receipt), nouns(Machine))
def test_json_documents_round_trip(plan: Plan, receipt: Receipt, machine: Machine):
    assert read_plan(dump_json(plan), "a") == plan
    assert read_receipt(dump_json(receipt), "a") == receipt
    assert read_machine(dump_json(machine), "a") == machine
    assert read_machine(dump_yaml(machine), "a") == machine


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8"))))
def test_every_text_survives_in_both_readers(variables: dict[str, str]):
    text = dump_yaml(Lock(profile="a", target="b", python="c", digests=LOCK.digests, variables=variables))
    assert read_lock(text, "a").variables == variables
    assert yaml.safe_load(text).get("variables", {}) == variables


def test_json_is_snake_case_and_complete():
    data = to_json(Machine(os="linux", arch="x86_64", devices=(Device(vendor="amd", facts={"a-b": "c"}),)))
    assert (data["os_version"], data["memory"]) == ("", None)
    assert data["devices"][0]["facts"] == {"a-b": "c"}
    assert to_json(LOCK)["schema"] == 1


def test_json_holds_no_number_that_is_none():
    job = JobResult(job="torch", framework="torch", verdict="failed", losses=(2.5, math.nan, math.inf))
    text = dump_json(job)
    assert json.loads(text, parse_constant=lambda name: pytest.fail(name))["losses"] == [2.5, None, None]
    first, *rest = read_json(text, "a", JobResult).losses
    assert first == 2.5
    assert all(math.isnan(loss) for loss in rest)


def test_findings_read_back():
    finding = Finding("a", "note", "b", "c", (Evidence("d", "e"),), (Remedy("f", "g"),))
    plan = Plan(
        profile="a", target="b", python="c", environment="d", generation=1, lock="e", state="f",
        steps=(Step(action="install", kind="package", subject="x", reason="y", args={"n": [1, {"z": 0.5}]}),),
        blockers=(finding,),
    )  # fmt: skip
    assert to_json(plan)["blockers"] == [finding.to_json()]
    assert read_plan(dump_json(plan), "a") == plan


def test_a_machine_may_be_written_by_hand():
    text = (
        "os: linux\narch: x86_64\npythons:\n- {path: /usr/bin/python3, version: 3.10.13}\ncpu-flags: [avx]\n"
    )
    machine = read_machine(text, "m.yaml")
    assert machine.pythons == (Interpreter(path="/usr/bin/python3", version="3.10.13"),)
    assert machine.cpu_flags == ("avx",)


# --- faults


def refused(read: Any, text: str | bytes) -> list[tuple[str, str]]:
    with pytest.raises(UsageError) as caught:
        read(text, "a.json")
    return [(f.code, f.evidence[0].source) for f in caught.value.findings]


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("", "empty", "a.json"),
        ("{", "json-syntax", "a.json:1:2"),
        ('{\n  "schema" 1\n}', "json-syntax", "a.json:2:12"),
        ("[" * 100_000, "too-deep", "a.json"),
        ("[]", "wrong-type", "a.json:1:1"),
        ('{"schema": 9}', "unknown-schema", "a.json:1:12"),
        (b'{"\xff": 1}', "not-utf8", "a.json:1:3"),
    ],
)
def test_bad_plans(text: str | bytes, code: str, place: str):
    assert refused(read_plan, text)[0] == (code, place)


def test_a_fault_inside_a_json_document_has_its_place():
    data = to_json(
        Plan(profile="a", target="b", python="c", environment="d", generation=1, lock="e", state="f")
    )
    data["steps"] = [{"action": "explode", "kind": "k", "subject": "\ud83d\ude00", "reason": 5}]
    text = json.dumps(data, indent=1)
    lines = text.splitlines()

    def place(word: str) -> str:
        row = next(n for n, line in enumerate(lines) if word in line)
        return f"a.json:{row + 1}:{lines[row].index(word) + 1}"

    assert refused(read_plan, text) == [("bad-value", place('"explode"')), ("wrong-type", place("5"))]


def test_duplicate_keys_in_json():
    assert ("duplicate-key", "a.json:1:13") in refused(read_machine, '{"os": "a", "os": "b", "arch": "c"}')


def test_a_bad_lock_is_a_lock_error():
    text = LOCK_TEXT.replace("size: 133706", "size: big").replace("kind: sdist", "sort: sdist")
    with pytest.raises(LockError) as caught:
        read_lock(text, "locks/a.lock.yaml")
    assert [(f.code, f.evidence[0].source) for f in caught.value.findings] == [
        ("wrong-type", "locks/a.lock.yaml:23:9"),
        ("unknown-key", "locks/a.lock.yaml:31:3"),
    ]
    assert caught.value.exit_code == 4


@given(st.text(st.characters(codec=None)) | st.binary())
def test_any_text_is_a_document_or_an_expected_error(text: str | bytes):
    for read, error in ((read_lock, LockError), (read_plan, UsageError), (read_machine, UsageError)):
        with contextlib.suppress(error):
            read(text, "a")


def test_unknown_keys_are_not_read():
    with pytest.raises(UsageError, match="unknown key 'os_version'"):
        read_yaml("os: a\narch: b\nos_version: c\n", "m.yaml", Machine)
