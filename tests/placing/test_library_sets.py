"""Which library sets a stack asks for: the rule, the sources, what stays open."""

from __future__ import annotations

from typing import Any

import pytest

from provision.knowledge import LibraryRow, load_knowledge
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


@pytest.mark.parametrize(
    ("python", "version", "cudnn"), [("3.7", "==2.0.4", "7.6.5.32"), ("3.7", "==2.1.0", "7.6.5.32")]
)
@pytest.mark.parametrize("target", ["linux-x86_64", "windows-x86_64"])
def test_older_lines_get_their_cudnn_and_say_that_cuda_is_the_machines(
    python: str, version: str, cudnn: str, target: str
) -> None:
    """No archive or wheel of CUDA 10.0, 10.1 and 11.0 has a recorded hash."""
    found = stack(target, python, version)
    assert versions(found) == {"cudnn": cudnn}
    assert any("the machine must have it" in note.because for note in found.notes)


@pytest.mark.parametrize("version", ["8.9.7.29", "9.3.0.75"])
def test_cudnn_for_cuda_12_is_known_as_an_archive(version: str) -> None:
    """TensorFlow from 2.14 on brings it as a wheel; this is for a machine's own CUDA 12."""
    row = next(r for r in KNOWLEDGE.rows(LibraryRow) if r.id == f"cudnn-{version}-cuda12")
    assert {file.target for file in row.files} == {"linux-x86_64", "windows-x86_64"}
    assert all(len(file.sha256) == 64 and file.size for file in row.files)


def test_tensorflow_2_4_gets_its_cudnn_too() -> None:
    """CUDA 11.0: on Linux by a wheel of the same major that is newer, on Windows by the archive that was made for it."""
    assert versions(stack("linux-x86_64", "3.8", "==2.4.4")) == {"cudnn": "8.6.0.163"}
    found = stack("windows-x86_64", "3.8", "==2.4.4")
    assert versions(found) == {"cudnn": "8.0.5.39"}
    assert any("the machine must have it" in note.because for note in found.notes)
