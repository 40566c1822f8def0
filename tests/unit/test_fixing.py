"""What mends a finding, and who does it."""

from __future__ import annotations

from typing import Any

import pytest

from provision.diagnosing.case import Case
from provision.diagnosing.doctor import examine
from provision.diagnosing.environments import of_list
from provision.diagnosing.fixing import Fix, fixes
from provision.knowledge import load_knowledge

KNOWLEDGE = load_knowledge()
NUMPY2 = {"tensorflow-cpu": "2.10.1", "numpy": "2.0.2", "keras": "2.10.0"}


def of(installed: dict[str, str], **more: Any) -> tuple[Fix, ...]:
    case = Case(knowledge=KNOWLEDGE, environment=of_list(installed, "linux-x86_64", "3.10.13"), **more)
    return fixes(case, examine(case), "team")


@pytest.mark.parametrize(
    ("more", "kind", "line"),
    [
        ({}, "foreign", "pip install 'numpy<2'"),
        ({"ours": True}, "profile", "packages: ['numpy<2']"),
        ({"ours": True, "drifted": True}, "rebuild", "provision apply team --reinstall"),
    ],
)
def test_a_wrong_version_is_mended_by_whoever_put_it_there(
    more: dict[str, Any], kind: str, line: str
) -> None:
    (fix,) = [f for f in of(NUMPY2, **more) if f.code == "version-conflict"]
    assert (fix.kind, fix.lines) == (kind, (line,))


def test_one_rebuild_mends_all_that_was_changed_since_the_proof() -> None:
    found = of({**NUMPY2, "tensorflow": "2.10.1"}, ours=True, drifted=True)
    assert [f.kind for f in found] == ["rebuild"]


def test_what_no_program_can_do_is_said() -> None:
    found = of({"torch": "2.6.0"}, demanded="nvidia", needs=())
    assert found == ()
