"""Real stacks from the real index, really trained on the CPU, from the committed locks of this repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from provision.world.interpreters import HostInterpreters
from tests.support.command import provision

PROFILES = Path(__file__).parents[2] / "profiles"


def apply(name: str, folder: Path, *pythons: str) -> dict[str, object]:
    """Apply a profile of this repository with its committed lock; the test is skipped where no Python fits."""
    here = {".".join(p.version.split(".")[:2]) for p in HostInterpreters().find()}
    if not here & set(pythons):
        pytest.skip(f"none of Python {', '.join(pythons)} is on this machine")
    ran = provision(folder, "apply", str(PROFILES / f"{name}.yaml"), "--locked", "--json", timeout=1500)
    assert ran.code == 0, ran.err
    return ran.document


def check(document: dict[str, object], *frameworks: str) -> None:
    receipt = document["receipt"]
    assert isinstance(receipt, dict)
    assert (document["outcome"], receipt["verdict"]) == ("changed", "passed")
    for framework in frameworks:
        job = next(job for job in receipt["jobs"] if job["job"] == framework)
        assert job["verdict"] == "passed"
        assert job["losses"][-1] < job["losses"][0] / 2
        assert "cpu" in job["device"].lower()


def test_cpu_tensorflow_trains(tmp_path: Path) -> None:
    document = apply("cpu-tensorflow", tmp_path, "3.10", "3.11", "3.12", "3.13")
    check(document, "tensorflow")
    again = provision(tmp_path, "apply", str(PROFILES / "cpu-tensorflow.yaml"), "--json")
    assert again.document["outcome"] == "unchanged"


def test_cpu_tf210_trains_although_its_metadata_is_wrong(tmp_path: Path) -> None:
    check(apply("cpu-tf210", tmp_path, "3.10"), "tensorflow")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "python"), [("cpu-tf26", "3.9"), ("cpu-tf21", "3.7")])
def test_older_tensorflow_trains(name: str, python: str, tmp_path: Path) -> None:
    check(apply(name, tmp_path, python), "tensorflow")


@pytest.mark.slow
def test_both_frameworks_train_in_one_process(tmp_path: Path) -> None:
    check(apply("cpu-dual", tmp_path, "3.11"), "torch", "tensorflow", "dual")
