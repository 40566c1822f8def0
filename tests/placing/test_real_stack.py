"""TensorFlow 2.10.1 with NVIDIA's wheels, for real: about 5 GB. No GPU is needed for what is shown here.

Proven: the placed files are found by TensorFlow's own loader, by cuDNN's own version call, and before another copy.
Not proven: that they compute; that takes a card.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from provision.applying.placing import PlaceLibraries
from provision.documents import read_lock
from provision.model.lock import Lock
from provision.pipeline.filechecks import read
from provision.pipeline.session import Quiet, Session
from provision.ports import JobRequest
from provision.verifying import demand, judge
from provision.verifying.files import check_files
from provision.world import uv
from provision.world.files import HostFiles
from provision.world.smoke import ProcessSmokeRunner
from provision.world.unpacking import HostPlacer
from tests.support.command import provision

PROFILE = """schema: 1
name: nv
targets: [linux-x86_64]
hardware: {vendor: nvidia}
python: "3.10"
frameworks: {tensorflow: "==2.10.1"}
accelerator: {cuda: "11.8", cudnn: "8.6"}
"""
NEEDED = 15 << 30

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="Linux libraries"),
    pytest.mark.skipif(shutil.disk_usage("/").free < NEEDED, reason="needs 15 GB of free disk"),
]


def install(lock: Lock, prefix: Path, cache: Path) -> None:
    """As the engine does it, but without keeping the wheels: half the disk."""
    listed = prefix.parent / "requirements.txt"
    listed.write_text("".join(f"{a.name}=={a.version} --hash=sha256:{a.sha256}\n" for a in lock.packages))
    python = Session().interpreters.get("3.10", "3.10")
    env = {**os.environ, "UV_CACHE_DIR": str(cache)}
    for words in (
        ["venv", "--quiet", "--python", python, str(prefix)],
        [
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--require-hashes",
            "--python",
            str(prefix),
            "-r",
            str(listed),
        ],
    ):
        subprocess.run([uv.binary(), *words], check=True, env=env)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("real")
    try:
        (folder / "nv.yaml").write_text(PROFILE)
        ran = provision(folder, "lock", "nv.yaml")
        assert ran.code == 0, ran.err
        path = next((folder / "locks" / "nv").glob("*.lock.yaml"))
        lock = read_lock(path.read_text(), str(path))
        prefix = folder / "generation"
        install(lock, prefix, folder / "cache")
        effects = SimpleNamespace(files=HostFiles(), placer=HostPlacer(), reporter=Quiet(), given={})
        context: Any = SimpleNamespace(effects=effects, folder=str(prefix), lock=lock, wheels={"": None})
        handler = PlaceLibraries()
        handler.do(context, ())
        assert handler.holds(context, ())
        yield lock, prefix
    finally:
        shutil.rmtree(folder)


def loaded(prefix: Path, *words: str, **env: str) -> list[str]:
    script = Path(__file__).with_name("tf_loader.py")
    ran = subprocess.run(
        [prefix / "bin" / "python", script, *words],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[str] = json.loads(ran.stdout)
    return found


def test_tensorflows_own_loader_finds_all_of_them_here(stack: tuple[Lock, Path]) -> None:
    _, prefix = stack
    paths = loaded(prefix)
    names = {Path(path).name for path in paths}
    assert names >= {
        "libcudart.so.11.0", "libcublas.so.11", "libcublasLt.so.11", "libcufft.so.10", "libcurand.so.10",
        "libcusolver.so.11", "libcusparse.so.11", "libcudnn.so.8", "libcupti.so.11.8",
    }  # fmt: skip
    assert all(path.startswith(str(prefix.resolve())) for path in paths)


def test_another_copy_on_the_search_path_does_not_win(stack: tuple[Lock, Path], tmp_path: Path) -> None:
    _, prefix = stack
    ours = next(prefix.glob("lib/python*/site-packages/nvidia/cudnn/lib/libcudnn.so.8"))
    shutil.copy(ours, tmp_path / "libcudnn.so.8")
    without = [
        p for p in loaded(prefix, "--no-hook", LD_LIBRARY_PATH=str(tmp_path)) if p.endswith("libcudnn.so.8")
    ]
    assert without == [str(tmp_path / "libcudnn.so.8")], "the trap is real"
    hooked = [p for p in loaded(prefix, LD_LIBRARY_PATH=str(tmp_path)) if p.endswith("libcudnn.so.8")]
    assert hooked == [str(ours)]


def test_the_versions_are_read_back(stack: tuple[Lock, Path]) -> None:
    lock, prefix = stack
    request = JobRequest(
        job="libraries",
        python=prefix / "bin" / "python",
        arguments=("--device", "cpu"),
        variables={},
        time_limit=300,
    )
    result = judge(
        request, ProcessSmokeRunner().run(request), demand(lock, device="cpu", vendor=lock.hardware)
    )
    assert result.verdict == "passed", result.findings
    answers = result.facts["libraries"]
    assert (answers["asked"], answers["loaded"], answers["versions"]["cudnn"]) == (14, 14, 8600)


def test_its_files_are_what_was_installed(stack: tuple[Lock, Path]) -> None:
    lock, prefix = stack
    assert check_files(read(Session(), str(prefix)), lock) == ()
