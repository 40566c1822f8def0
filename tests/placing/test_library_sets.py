"""Which library sets a stack asks for: the rule, the sources, what stays open."""

from __future__ import annotations

from typing import Any

import pytest

from provision.knowledge import load_knowledge
from provision.model.profile import Environment, Framework, Hardware, Profile
from provision.model.stack import Stack
from provision.resolving import resolve
from provision.resolving.libraries import not_below

KNOWLEDGE = load_knowledge()


def stack(
    target: str = "linux-x86_64", python: str = "3.10", version: str = "==2.10.1", **more: Any
) -> Stack:
    asked: dict[str, Any] = {
        "name": "team", "hardware": Hardware(vendor="nvidia"), "targets": (target,), "python": python,
        "frameworks": {"tensorflow": Framework(version=version)}, **more,
    }  # fmt: skip
    return resolve(Profile(**asked), target, python, KNOWLEDGE)


def versions(found: Stack) -> dict[str, str]:
    return {one.library: one.version for one in found.libraries}


def test_linux_takes_nvidias_wheels() -> None:
    found = stack()
    assert versions(found) == {"cuda": "11.8", "cudnn": "8.6.0.163"}
    assert "nvidia-cudnn-cu11==8.6.0.163" in found.requirements
    assert "nvidia-cuda-runtime-cu11==11.8.89" in found.requirements
    assert all(
        one.packages and one.archive is None and one.reach == ("tensorflow",) for one in found.libraries
    )
    assert {c.axis: c.value for c in found.choices}["cudnn"] == "8.6.0.163"


def test_windows_takes_what_needs_no_further_file() -> None:
    found = stack("windows-x86_64")
    cudnn = next(one for one in found.libraries if one.library == "cudnn")
    assert cudnn.archive is not None
    assert (cudnn.version, cudnn.needs, cudnn.reach) == ("8.1.0.77", (), ())
    assert cudnn.archive.folder == "cuda/bin"


def test_a_cudnn_that_is_asked_for_says_what_it_lacks_on_windows() -> None:
    found = stack("windows-x86_64", accelerator={"cuda": "11.8", "cudnn": "8.6"})
    assert versions(found)["cudnn"] == "8.6.0.163"
    assert any("zlibwapi.dll" in note.because for note in found.notes)


def test_a_companion_built_with_a_newer_cudnn_raises_the_floor() -> None:
    frameworks = {"torch": Framework(version="==2.0.1"), "tensorflow": Framework(version="==2.10.1")}
    found = stack(frameworks=frameworks, accelerator={"cuda": "11.8"})
    assert any("torch==2.0.1+cu118" in text for text in found.requirements)
    assert not_below(versions(found)["cudnn"], ["8.7"])


def test_old_cuda_is_left_to_the_machine_and_said() -> None:
    found = stack(python="3.7", version="==2.1.0")
    assert versions(found) == {"cudnn": "7.6.5.32"}
    assert any("CUDA 10.1" in note.because for note in found.notes)
    assert found.libraries[0].reach == ("tensorflow_core",)


@pytest.mark.parametrize(
    "more",
    [
        {"accelerator": {"libraries": "system"}},
        {"environment": Environment(manager="conda")},
        {"hardware": Hardware(vendor="cpu")},
    ],
)
def test_no_set_is_placed(more: dict[str, Any]) -> None:
    assert stack(**more).libraries == ()


@pytest.mark.parametrize(
    ("version", "built", "good"),
    [("8.6.0.163", "8.1", True), ("8.0.5", "8.1", False), ("9.1.0", "8.1", False), ("8.10.0", "8.9.7", True)],
)
def test_the_rule(version: str, built: str, good: bool) -> None:
    assert not_below(version, [built]) is good
