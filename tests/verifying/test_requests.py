"""From a lock to job requests, and from judged jobs to a receipt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from provision.model.lock import Artifact, Digests, Lock
from provision.model.profile import Smoke
from provision.model.receipt import JobResult
from provision.model.stack import Choice
from provision.ports import JobOutput, JobRequest
from provision.verifying import Demand, demand, jobs, receipt, requests, verify

PYTHON = Path("env/bin/python")


def package(name: str, version: str) -> Artifact:
    return Artifact(name=name, version=version, index="pypi", file="f.whl", size=1, sha256="0" * 64)


def lock(**facts: Any) -> Lock:
    given = {
        "profile": "p",
        "target": "linux-x86_64",
        "python": "3.11",
        "digests": Digests(profile="", knowledge=""),
    }
    return Lock(**{**given, **facts})


@pytest.mark.parametrize(
    ("frameworks", "smoke", "expected"),
    [
        ((), (), ("imports",)),
        (("torch",), (), ("torch",)),
        (("tensorflow",), (), ("tensorflow",)),
        (("tensorflow", "torch"), (), ("torch", "tensorflow", "dual")),
        (("tensorflow", "torch"), ("dual",), ("dual",)),
    ],
)
def test_jobs_follow_the_frameworks_unless_named(
    frameworks: tuple[str, ...], smoke: Any, expected: tuple[str, ...]
) -> None:
    assert jobs(lock(frameworks=frameworks, smoke=Smoke(jobs=smoke))) == expected


def test_request_carries_device_level_variables_and_limit() -> None:
    wanted = lock(frameworks=("torch",), variables={"A": "1"}, smoke=Smoke(time_limit=60))
    assert requests(wanted, PYTHON, demand(wanted, level="full")) == (
        JobRequest("torch", PYTHON, ("--device", "cpu", "--level", "full"), {"A": "1"}, 60.0),
    )


def test_imports_are_those_the_profile_names_or_else_all() -> None:
    packages = (package("rich", "1"), package("six", "2"))
    named, unnamed = lock(packages=packages, imports=("rich",)), lock(packages=packages)
    assert requests(named, PYTHON, demand(named))[0].arguments[-2:] == ("--", "rich")
    assert requests(unnamed, PYTHON, demand(unnamed))[0].arguments[-3:] == ("--", "rich", "six")


@pytest.mark.parametrize(
    ("device", "vendor", "packages", "expected"),
    [
        (None, None, (), "cpu"),
        (None, "cpu", (), "cpu"),
        ("gpu", "nvidia", (), "cuda"),
        (None, "nvidia", (), "cuda"),
        ("gpu", "amd", (), "rocm"),
        ("gpu", "amd", ("tensorflow-directml-plugin",), "directml"),
        ("gpu", "intel", ("torch_directml",), "directml"),
        ("gpu", "intel", (), "xpu"),
        ("gpu", "ascend", (), "npu"),
        ("gpu", "cambricon", (), "mlu"),
        ("gpu", "moorethreads", (), "musa"),
        ("gpu", "biren", (), "supa"),
        ("gpu", "hygon", (), "cuda"),
        ("gpu", "apple", (), "mps"),
        ("gpu", None, (), "cuda"),
        ("npu", "nvidia", (), "npu"),
    ],
)
def test_gpu_is_what_the_vendors_card_is_called(
    device: Any, vendor: str | None, packages: tuple[str, ...], expected: str
) -> None:
    made = lock(smoke=Smoke(device=device), packages=tuple(package(name, "1") for name in packages))
    assert demand(made, vendor=vendor).demanded == expected


def test_vendor_may_stand_in_the_stack() -> None:
    made = lock(smoke=Smoke(device="gpu"), stack=(Choice(axis="vendor", value="cambricon"),))
    assert demand(made).device == "mlu"


def test_device_of_the_command_line_leaves_the_demand_as_it_is() -> None:
    wanted = demand(lock(smoke=Smoke(device="gpu")), device="cpu", vendor="nvidia")
    assert (wanted.device, wanted.demanded, wanted.half) == ("cpu", "cuda", True)


def test_versions_are_those_of_the_carrier() -> None:
    made = lock(
        frameworks=("torch", "tensorflow"),
        packages=(package("tensorflow-cpu", "2.21.0"), package("torch", "2.13.0+cpu")),
    )
    assert demand(made).versions == {"torch": "2.13.0+cpu", "tensorflow": "2.21.0"}


def result(verdict: Any = "passed", **facts: Any) -> JobResult:
    return JobResult(**{"job": "torch", "framework": "torch", "verdict": verdict, "device": "cpu", **facts})


def proven(wanted: Demand, *results: JobResult) -> Any:
    return receipt(lock(), wanted, results, digest="d", generation=3, date="2026-01-02T03:04:05Z")


CPU = Demand(level="train", device="cpu", demanded="cpu")
HALF = Demand(level="train", device="cpu", demanded="cuda")
CUDA = Demand(level="train", device="cuda", demanded="cuda")


def test_receipt_of_a_cpu_profile() -> None:
    made = proven(CPU, result(seconds=1.5), result(seconds=2.0))
    assert (made.verdict, made.seconds, made.lock, made.generation) == ("passed", 3.5, "d", 3)
    assert made.proves == "On cpu: it trains."


def test_receipt_says_when_only_the_software_half_was_proven() -> None:
    made = proven(HALF, result())
    assert (made.verdict, made.device_demanded, made.device_used) == ("passed", "cuda", "cpu")
    assert made.proves.startswith("The software half only")
    assert "no cuda device was tried" in made.proves


def test_receipt_names_the_card() -> None:
    made = proven(CUDA, result(device="cuda:0", device_name="NVIDIA RTX A4000"))
    assert made.proves == "On cuda (NVIDIA RTX A4000): it trains."


def test_receipt_of_the_full_level_names_what_could_not_be_had() -> None:
    parts = {"mixed": {"done": False, "supported": False}, "save": {"done": True}}
    wanted = Demand(level="full", device="cpu", demanded="cpu")
    made = proven(wanted, result(facts={"full": parts}))
    assert made.proves.endswith("the full level except what is not to be had here: mixed (torch).")


def test_one_failed_job_proves_nothing() -> None:
    made = proven(CUDA, result(), result("failed"))
    assert made.verdict == "failed"
    assert made.proves == "Nothing: torch failed."


def test_no_job_is_no_proof() -> None:
    assert proven(CPU).verdict == "failed"


def test_imports_alone_prove_imports() -> None:
    made = proven(CPU, result(job="imports", framework="packages"))
    assert made.proves.startswith("Every named package imports")


class Dead:
    """A runner whose jobs never start."""

    def run(self, request: JobRequest) -> JobOutput:
        return JobOutput(127, ({"event": "not-started", "error": "FileNotFoundError: gone"},), "", 0.0)


def test_verify_runs_every_job_and_tells_of_each() -> None:
    heard: list[JobResult] = []
    made = lock(frameworks=("torch", "tensorflow"))
    found = verify(made, PYTHON, demand(made), Dead(), lambda: "now", digest="d", heard=heard.append)
    assert [one.job for one in heard] == ["torch", "tensorflow", "dual"]
    assert found.jobs == tuple(heard)
    assert {finding.code for one in heard for finding in one.findings} == {"smoke-start"}
    assert (found.verdict, found.date, found.device_used) == ("failed", "now", "none")
