"""doctor on a real TensorFlow that is broken as people break theirs: the right link, and `--fix` makes it whole."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import uv

from tests.integration.test_training import apply
from tests.support.command import Ran, provision

pytestmark = pytest.mark.slow
Break = Callable[[Path], None]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """TensorFlow 2.10 for the CPU, made by provision."""
    folder = tmp_path_factory.mktemp("real")
    apply("cpu-tf210", folder, "3.10")
    return folder


def packages(folder: Path) -> Path:
    return next((folder / ".venv" / "lib").glob("python*/site-packages"))


def install(*arguments: str) -> Break:
    def run(folder: Path) -> None:
        python = folder / ".venv" / "bin" / "python"
        command = [uv.find_uv_bin(), "pip", "install", "--quiet", "--python", str(python), *arguments]
        subprocess.run(command, check=True)

    return run


def delete(folder: Path) -> None:
    (packages(folder) / "tensorflow" / "python" / "eager" / "context.py").unlink()


def edit(folder: Path) -> None:
    # The file may share its content with the cache: it is replaced, not written into.
    path = packages(folder) / "h5py" / "_hl" / "files.py"
    path.unlink()
    path.write_text("x = 1\n")


def codes(ran: Ran) -> set[str]:
    return {f["code"] for f in ran.document["findings"] if f["severity"] != "note"}


@pytest.mark.parametrize(
    ("damage", "cause"),
    [
        (install("numpy==2.0.2"), "version-conflict"),
        (install("--no-deps", "tensorflow==2.10.1"), "family-conflict"),
        (delete, "files-missing"),
        (edit, "files-changed"),
    ],
    ids=["numpy 2", "two TensorFlows", "a file deleted", "a file edited"],
)
def test_an_environment_of_ours_is_made_whole(folder: Path, damage: Break, cause: str) -> None:
    damage(folder)
    ran = provision(folder, "doctor", "--json", timeout=300)
    assert cause in codes(ran)
    assert ran.document["cause"] in (cause, None)
    mended = provision(folder, "doctor", "--fix", "--yes", "--json", timeout=1500)
    assert (mended.document["cause"], mended.document["fixes"]["mended"]) == (None, True)


def test_it_trains_and_nothing_is_written(folder: Path) -> None:
    def tree() -> dict[str, Any]:
        there = (folder / ".venv").resolve()
        return {str(p): p.lstat().st_mtime_ns for p in there.rglob("*") if not p.is_dir()}

    before = tree()
    ran = provision(folder, "doctor", "--train", "--files", "--json", timeout=600)
    training = next(layer for layer in ran.document["layers"] if layer["layer"] == "training")
    assert (training["verdict"], len(training["read"])) == ("ok", 1)
    assert tree() == before


def test_the_printed_command_mends_what_others_made(folder: Path, tmp_path: Path) -> None:
    env = tmp_path / "foreign"
    python = (folder / ".venv" / "bin" / "python").resolve()
    subprocess.run([uv.find_uv_bin(), "venv", "--quiet", "--python", str(python), str(env)], check=True)
    wanted = ["tensorflow-cpu==2.10.1", "numpy==2.0.2"]
    command = [
        uv.find_uv_bin(),
        "pip",
        "install",
        "--quiet",
        "--python",
        str(env / "bin" / "python"),
        *wanted,
    ]
    subprocess.run(command, check=True)
    ran = provision(tmp_path, "doctor", "foreign", "--fix", "--json", timeout=300)
    assert ran.document["cause"] == "version-conflict"
    path = f"{Path(uv.find_uv_bin()).parent}{os.pathsep}{os.environ['PATH']}"
    for fix in ran.document["fixes"]["fixes"]:
        for line in fix["lines"]:
            subprocess.run(line, shell=True, check=True, env={**os.environ, "PATH": path})
    assert provision(tmp_path, "doctor", "foreign", "--json", timeout=300).document["cause"] is None
