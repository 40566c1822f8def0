"""TensorFlow 2.10.1 with NVIDIA's wheels, for real and through the command: about 8 GB. No GPU is needed for what is shown.

Proven: it locks, installs, places and trains on the CPU; the placed files are found by TensorFlow's own loader and XLA's
own assembler, answer with their versions, and win over another copy.
Not proven: that they compute; that takes a card.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from provision.world.interpreters import HostInterpreters
from tests.support.command import provision

PROFILE = """schema: 1
name: nv
targets: [linux-x86_64]
hardware: {vendor: nvidia}
python: "3.10"
frameworks: {tensorflow: "==2.10.1"}
accelerator: {cuda: "11.8", cudnn: "8.6"}
"""
NEEDED = 10 << 30

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="Linux libraries"),
    pytest.mark.skipif(shutil.disk_usage("/").free < NEEDED, reason="needs 10 GB of free disk"),
    pytest.mark.skipif(
        not any(p.version.startswith("3.10.") for p in HostInterpreters().find()), reason="needs Python 3.10"
    ),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A project with the environment in it; caches of its own, so that all of it goes again."""
    place = tmp_path_factory.mktemp("real stack")
    (place / "nv.yaml").write_text(PROFILE)
    yield place
    shutil.rmtree(place)


@pytest.fixture(scope="module")
def applied(folder: Path) -> dict[str, Any]:
    # Hard links: half the disk, and nothing else uses this cache.
    settings = {"PROVISION_CACHE": str(folder / "cache"), "UV_LINK_MODE": "hardlink"}
    ran = provision(folder, "lock", "nv.yaml", env=settings)
    assert ran.code == 0, ran.err
    words = ("apply", "nv.yaml", "--locked", "--device", "cpu", "--accept-licence", "--json")
    ran = provision(folder, *words, env=settings, timeout=1500)
    assert ran.code == 0, ran.err
    return ran.document


@pytest.fixture
def prefix(applied: dict[str, Any], folder: Path) -> Path:
    return (folder / ".venv").resolve()


def asked(prefix: Path, script: str, *words: str, **env: str) -> Any:
    ran = subprocess.run(
        [prefix / "bin" / "python", Path(__file__).with_name(script), *words],
        env={**os.environ, **env}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(ran.stdout)


def test_it_is_proven_and_says_what_of(applied: dict[str, Any]) -> None:
    receipt = applied["receipt"]
    assert (applied["outcome"], receipt["verdict"], applied["findings"]) == ("changed", "passed", [])
    assert receipt["proves"].startswith("The software half only")
    jobs = {job["job"]: job for job in receipt["jobs"]}
    told = jobs["libraries"]["facts"]["libraries"]
    assert (told["asked"], told["loaded"], told["ptxas"]) == (14, 14, "11.8")
    assert told["versions"]["cudnn"] == 8600
    assert jobs["tensorflow"]["facts"]["build"]["cuda"] is True
    assert jobs["tensorflow"]["losses"][-1] < jobs["tensorflow"]["losses"][0] / 2


def test_tensorflows_own_loader_finds_all_of_them_here(prefix: Path) -> None:
    paths = asked(prefix, "tf_loader.py")
    names = {Path(path).name for path in paths}
    assert names >= {
        "libcudart.so.11.0", "libcublas.so.11", "libcublasLt.so.11", "libcufft.so.10", "libcurand.so.10",
        "libcusolver.so.11", "libcusparse.so.11", "libcudnn.so.8", "libcupti.so.11.8",
    }  # fmt: skip
    assert all(path.startswith(str(prefix)) for path in paths)


def test_another_copy_on_the_search_path_does_not_win(prefix: Path, tmp_path: Path) -> None:
    ours = next(prefix.glob("lib/python*/site-packages/nvidia/cudnn/lib/libcudnn.so.8"))
    shutil.copy(ours, tmp_path / "libcudnn.so.8")
    env = {"LD_LIBRARY_PATH": str(tmp_path)}
    without = [p for p in asked(prefix, "tf_loader.py", "--no-hook", **env) if p.endswith("libcudnn.so.8")]
    assert without == [str(tmp_path / "libcudnn.so.8")], "the trap is real"
    hooked = [p for p in asked(prefix, "tf_loader.py", **env) if p.endswith("libcudnn.so.8")]
    assert hooked == [str(ours)]


def test_xlas_own_assembler_is_the_placed_one(prefix: Path, tmp_path: Path) -> None:
    """Another ptxas stands first on PATH, where TensorFlow looks first."""
    (tmp_path / "ptxas").write_text("#!/bin/sh\necho 'Cuda compilation tools, release 99.0, V99.0.1'\n")
    (tmp_path / "ptxas").chmod(0o755)
    search = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    assert asked(prefix, "tf_assembler.py", "--no-hook", PATH=search)["by"] != "11.8", "the trap is real"
    made = asked(prefix, "tf_assembler.py", PATH=search)
    assert (made["elf"], made["by"]) == (True, "11.8")
    assert str(prefix) in made["flags"], "libdevice is looked for there too"


def test_its_files_are_what_was_installed(applied: dict[str, Any], folder: Path) -> None:
    ran = provision(folder, "verify", "--files", "--json")
    assert (ran.code, ran.document["findings"]) == (0, [])
