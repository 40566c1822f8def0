"""The paths of the npu, mlu, musa and supa jobs, run for real on an accelerator that is none (`accelerator/`).

Proven: the jobs load the vendor's plugin, find and name the device, put model and data there, read back where everything
was and agree with the CPU; the judge passes that, and fails a run that stayed on the CPU without a word.
Not proven: anything of the vendors' own plugins, drivers, kernels or speed. The fake computes on the CPU.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.command import provision

from provision.documents import read_lock
from provision.model.lock import Lock
from provision.model.profile import Level
from provision.model.receipt import JobResult
from provision.ports import JobRequest
from provision.verifying import demand, judge
from provision.world.smoke import ProcessSmokeRunner

HERE = Path(__file__).parent
PROFILES = HERE.parents[1] / "profiles"
#: Device word -> the vendor's module for torch.
PLUGINS = {"npu": "torch_npu", "mlu": "torch_mlu", "musa": "torch_musa", "supa": "torch_supa"}
#: TensorFlow's module for Ascend, with an `open` that opens nothing.
NPU_DEVICE = """class _Opened:
    def as_default(self):
        return self


def open():
    return _Opened()
"""

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="paths of POSIX")]


def made(profile: str, python: str, folder: Path) -> tuple[Lock, Path]:
    """The environment of a profile of this repository: its lock and its site-packages."""
    path = PROFILES / f"{profile}.yaml"
    ran = provision(folder, "apply", str(path), "--locked", "--python", python, "--json", timeout=1500)
    if ran.code == 6 and {"file-gone", "download-failed"} & set(ran.codes):
        pytest.skip(
            "the packages of this profile cannot be had here (PROVISION_INDEX_PYTORCH_CPU names a mirror)"
        )
    assert ran.code == 0, ran.err
    lock = next((PROFILES / "locks" / profile).glob(f"linux-x86_64-py{python.replace('.', '')}.lock.yaml"))
    packages = next((folder / ".venv" / "lib").glob("python*/site-packages"))
    return read_lock(lock.read_text(encoding="utf-8"), str(lock)), packages


@pytest.fixture(scope="module")
def torch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Lock, Path]]:
    folder = tmp_path_factory.mktemp("torch")
    lock, packages = made("cpu-torch", "3.11", folder)
    shutil.copy(HERE / "accelerator" / "fake_accelerator.py", packages)
    for device, module in PLUGINS.items():
        (packages / module).mkdir()
        text = f"import fake_accelerator\n\nfake_accelerator.register({device!r})\n"
        (packages / module / "__init__.py").write_text(text)
    yield lock, packages
    shutil.rmtree(folder)


def ran(
    job: str, device: str, lock: Lock, packages: Path, level: Level = "train", **variables: str
) -> JobResult:
    request = JobRequest(
        job=job, python=packages.parents[2] / "bin" / "python", variables=variables, time_limit=600,
        arguments=("--device", device, "--level", level),
    )  # fmt: skip
    return judge(request, ProcessSmokeRunner().run(request), demand(lock, device=device, level=level))


@pytest.mark.parametrize("device", PLUGINS)
def test_it_trains_on_the_device(torch: tuple[Lock, Path], device: str) -> None:
    lock, packages = torch
    level: Level = "train" if device == "npu" else "quick"  # One way through the code for all; one trains.
    result = ran("torch", device, lock, packages, level)
    assert (result.verdict, result.findings) == ("passed", ())
    assert (result.device, result.device_name) == (f"{device}:0", "Fake accelerator")
    if level == "train":
        assert result.losses[-1] < result.losses[0] / 2
        assert result.cpu_difference is not None
        assert result.cpu_difference < 0.02


@pytest.mark.parametrize("level", ["quick", "train"])
def test_a_run_that_stayed_on_the_cpu_without_a_word_fails(torch: tuple[Lock, Path], level: Level) -> None:
    """The plugin says yes to all, and nothing moves: on the CPU it would have passed."""
    lock, packages = torch
    result = ran("torch", "npu", lock, packages, level, FAKE_SILENT="1")
    assert (result.verdict, result.device) == ("failed", "cpu")
    assert {finding.code for finding in result.findings} == {"smoke-device"}


def test_a_device_that_is_not_there_is_said(torch: tuple[Lock, Path]) -> None:
    lock, packages = torch
    result = ran("torch", "mlu", lock, packages, "quick", FAKE_ABSENT="1")
    assert (result.verdict, [finding.code for finding in result.findings]) == ("failed", ["smoke-device"])
    assert "torch.mlu.is_available() is False" in str(result.findings[0])


def test_tensorflow_that_stayed_on_the_cpu_fails(tmp_path: Path) -> None:
    """Ascend's module for TensorFlow makes its device the default; one that does not leaves all on the CPU."""
    lock, packages = made("cpu-tensorflow", "3.11", tmp_path)
    (packages / "npu_device").mkdir()
    (packages / "npu_device" / "__init__.py").write_text(NPU_DEVICE)
    result = ran("tensorflow", "npu", lock, packages)
    assert result.verdict == "failed"
    assert {finding.code for finding in result.findings} == {"smoke-device"}
    shutil.rmtree(tmp_path / ".provision")
