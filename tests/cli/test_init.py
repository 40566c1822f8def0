"""provision init: a first profile, solved and loaded before it is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from provision.loading import load
from provision.resolving import resolve
from tests.cli.conftest import KNOWLEDGE, Here
from tests.support.golden import golden

CARD = """\
os: linux
arch: x86_64
libc: glibc 2.31
cpu-flags: [avx]
drivers: {nvidia: "DRIVER"}
devices:
- {vendor: nvidia, name: NVIDIA GeForce RTX 3090, capability: "8.6", source: nvidia-smi}
pythons:
- {path: /usr/bin/python3.10, version: 3.10.12}
"""
PLAIN = (
    "os: linux\narch: x86_64\nlibc: glibc 2.36\npythons:\n- {path: /usr/bin/python3.10, version: 3.10.12}\n"
)


@pytest.fixture
def card(tmp_path: Path) -> str:
    (tmp_path / "card.yaml").write_text(CARD.replace("DRIVER", "535.154.05"))
    return "card.yaml"


@pytest.fixture
def plain(tmp_path: Path) -> str:
    (tmp_path / "plain.yaml").write_text(PLAIN)
    return "plain.yaml"


def test_as_people_see_it(card: str, tiny: Here) -> None:
    ran = tiny("init", "team", "--framework", "torch", "--package", "jupyterlab", "--machine", card)
    assert (ran.code, ran.err) == (0, "")
    golden("init", ran.out)
    golden("init-profile", Path("profiles/team.yaml").read_text())
    assert tiny("lint", "profiles/team.yaml", "--strict").code == 0


def test_a_file_that_is_there_is_not_written_over(plain: str, tiny: Here) -> None:
    words = ("init", "team", "-f", "tensorflow", "--machine", plain)
    assert tiny(*words).code == 0
    path = Path("profiles/team.yaml")
    path.write_text("mine")
    ran = tiny(*words, "--json")
    assert (ran.code, ran.codes, path.read_text()) == (5, ["file-exists"], "mine")
    assert tiny(*words, "--yes").code == 0
    assert path.read_text().startswith("schema: 1\n")
    ran = tiny(*words, "--output", "-")
    assert (ran.code, ran.out) == (0, path.read_text())
    assert tiny(*words, "-o", "sub/other.yaml").code == 0
    assert Path("sub/other.yaml").read_text() == path.read_text()


@pytest.mark.parametrize(
    ("words", "stack"),
    [
        (["-f", "tensorflow", "--vendor", "nvidia"], "tensorflow==2.11.0"),
        (
            ["-f", "tensorflow==2.10.0", "--vendor", "nvidia", "--target", "windows-x86_64"],
            "tensorflow==2.10.0",
        ),
        (["-f", "tensorflow"], "tensorflow-cpu==2.21.0"),
        (["-f", "tensorflow", "--python", "3.9"], "tensorflow-cpu==2.10.1"),
        (["-f", "tensorflow-cpu<2.20"], "tensorflow-cpu==2.10.1"),
        (["-f", "torch", "-f", "tensorflow", "--vendor", "cpu"], "torch==2.13.0+cpu tensorflow-cpu==2.21.0"),
    ],
)
def test_wishes(plain: str, tiny: Here, words: list[str], stack: str) -> None:
    document = tiny("init", *words, "--machine", plain, "-o", "-", "--json").document
    for chosen in document["stacks"].values():
        frameworks = [chosen[axis] for axis in ("torch", "tensorflow") if axis in chosen]
        assert " ".join(frameworks) == stack
    assert document["path"] is None


@pytest.mark.parametrize(
    ("driver", "cuda", "codes"),
    [
        ("590.10", "13", []),
        ("535.154.05", "12", []),
        ("470.82.01", "11", []),
        ("390.10", "", ["driver-too-old"]),
    ],
)
def test_the_stack_is_one_that_the_driver_can_run(
    tmp_path: Path, here: Here, driver: str, cuda: str, codes: list[str]
) -> None:
    (tmp_path / "card.yaml").write_text(CARD.replace("DRIVER", driver))
    ran = here("init", "-f", "torch", "--machine", "card.yaml", "-o", "-", "--json")
    assert (ran.code, ran.codes) == (0, codes)
    chosen = ran.document["stacks"]["linux-x86_64"]
    assert chosen["cuda"].startswith(cuda)
    # What is written says so by itself: nothing of the machine is asked again.
    profile = load(ran.document["text"], "nvidia-torch.yaml")
    stack = resolve(profile, "linux-x86_64", chosen["python"], KNOWLEDGE)
    assert {c.axis: c.value for c in stack.choices} == chosen


def test_several_targets_have_one_python(plain: str, here: Here) -> None:
    words = ["--target", "windows-x86_64", "--target", "linux-x86_64", "--machine", plain]
    document = here(
        "init", "-f", "tensorflow==2.10.1", "--vendor", "nvidia", *words, "-o", "-", "--json"
    ).document
    assert {chosen["python"] for chosen in document["stacks"].values()} == {"3.10"}
    ran = here("init", "-f", "tensorflow==2.15.*", "--vendor", "nvidia", *words, "--json")
    assert (ran.code, ran.codes) == (3, ["tf-no-windows-gpu"])
    assert not Path("profiles").exists()


@pytest.mark.parametrize("vendor", ["amd", "intel", "ascend", "cambricon", "moorethreads"])
def test_other_makers(plain: str, here: Here, vendor: str) -> None:
    ran = here("init", "-f", "torch", "--vendor", vendor, "--machine", plain, "-o", "-", "--json")
    assert ran.code == 0, ran
    assert f"vendor: {vendor}" in ran.document["text"]


def test_a_device_without_a_stack_is_told(tmp_path: Path, tiny: Here) -> None:
    (tmp_path / "amd.yaml").write_text(
        PLAIN + "devices:\n- {vendor: amd, name: Radeon, capability: gfx1010}\n"
    )
    ran = tiny("init", "-f", "tensorflow", "--machine", "amd.yaml", "-o", "-", "--json")
    assert (ran.code, ran.codes) == (0, ["no-build"])
    assert ran.document["findings"][0]["severity"] == "note"
    assert "vendor: cpu" in ran.document["text"]
    assert tiny("init", "-f", "tensorflow", "--vendor", "amd", "--machine", "amd.yaml").code == 3


def test_usage(plain: str, tiny: Here) -> None:
    for words, code in (
        (["init"], "usage"), (["init", "-f", "jax"], "no-such-framework"), (["init", "-f", "torch 2"], "usage"),
        (["init", "a b", "-f", "torch", "-o", "-"], "bad-value"),
    ):  # fmt: skip
        ran = tiny(*words, "--machine", plain, "--json")
        assert (ran.code, ran.codes) == (2, [code])
