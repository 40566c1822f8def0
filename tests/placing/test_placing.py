"""From a profile to libraries that are found without activation: tiny wheels and archives, real links and loads."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import profile, provision, running_python
from tests.support.index import LoopbackIndex

CUDA = {
    "nvidia-cuda-runtime-cu11": ("11.8.89", "cuda_runtime", ["libcudart.so.11.0"]),
    "nvidia-cublas-cu11": ("11.11.3.6", "cublas", ["libcublas.so.11", "libcublasLt.so.11"]),
    "nvidia-cufft-cu11": ("10.9.0.58", "cufft", ["libcufft.so.10"]),
    "nvidia-curand-cu11": ("10.3.0.86", "curand", ["libcurand.so.10"]),
    "nvidia-cusolver-cu11": ("11.4.1.48", "cusolver", ["libcusolver.so.11"]),
    "nvidia-cusparse-cu11": ("11.7.5.86", "cusparse", ["libcusparse.so.11"]),
    "nvidia-cuda-cupti-cu11": ("11.8.87", "cuda_cupti", ["libcupti.so.11.8"]),
}
COMPILERS = {
    "nvidia/__init__.py": "",
    "nvidia/cuda_nvcc/bin/ptxas": "#!/bin/sh\necho Cuda compilation tools, release 11.8, V11.8.89\n",
    "nvidia/cuda_nvcc/nvvm/libdevice/libdevice.10.bc": "code",
}
PARTS = ["ops_infer", "ops_train", "cnn_infer", "cnn_train", "adv_infer", "adv_train"]
CUDNN = ["libcudnn.so.8", *(f"libcudnn_{part}.so.8" for part in PARTS)]
TEXT = """hardware: {vendor: nvidia}
targets: [linux-x86_64]
frameworks: {tensorflow: "==2.12.1"}
accelerator: {cuda: "11.8", cudnn: "8.6"}
packages: [alpha]
smoke: {jobs: [imports]}
"""

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="builds shared libraries for Linux"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler"),
    pytest.mark.skipif(
        running_python() not in ("3.10", "3.11"), reason="TensorFlow 2.12 is for Python up to 3.11"
    ),
]


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Name -> a real shared library; the one called cuDNN says that it is 8.6.0."""
    folder = tmp_path_factory.mktemp("libraries")
    (folder / "cudnn.c").write_text("unsigned long cudnnGetVersion(void) { return 8600; }\n")
    (folder / "plain.c").write_text("int provision_test(void) { return 1; }\n")
    made = {}
    for name in (*CUDNN, *(one for _, _, names in CUDA.values() for one in names)):
        source = folder / ("cudnn.c" if name == "libcudnn.so.8" else "plain.c")
        command = ["cc", "-shared", "-fPIC", f"-Wl,-soname,{name}", "-o", str(folder / name), str(source)]
        subprocess.run(command, check=True)
        made[name] = (folder / name).read_bytes()
    return made


@pytest.fixture
def shop(index: LoopbackIndex, libraries: dict[str, bytes]) -> LoopbackIndex:
    """TensorFlow 2.12.1 and NVIDIA's wheels in small."""
    for name, (version, folder, names) in CUDA.items():
        files = {f"nvidia/{folder}/lib/{one}": libraries[one] for one in names}
        index.wheel(name, version, files={"nvidia/__init__.py": "", **files})
    index.wheel("nvidia-cuda-nvcc-cu11", "11.8.89", files=COMPILERS)
    files = {f"nvidia/cudnn/lib/{one}": libraries[one] for one in CUDNN}
    index.wheel("nvidia-cudnn-cu11", "8.6.0.163", files={"nvidia/__init__.py": "", **files})
    index.wheel("tensorflow", "2.12.1", files={"tensorflow/__init__.py": "__version__ = '2.12.1'\n"})
    for name, version in (("alpha", "1.0"), ("numpy", "1.26.4"), ("setuptools", "81.0.0")):
        index.wheel(name, version)
    return index


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "项目 cuda"
    path.mkdir()
    return path


def apply(folder: Path, *words: str, **more: str) -> tuple[int, dict]:  # type: ignore[type-arg]
    ran = provision(folder, "apply", "team.yaml", "--device", "cpu", "--json", *words, env=more)
    return ran.code, json.loads(ran.out) if ran.out else {"err": ran.err}


def packages(folder: Path) -> Path:
    return next((folder / ".venv" / "lib").glob("python*/site-packages"))


def test_placed_found_proven_and_seen_when_gone(
    shop: LoopbackIndex, folder: Path, libraries: dict[str, bytes]
) -> None:
    profile(folder, TEXT)
    code, refused = apply(folder)
    assert (code, [f["code"] for f in refused["findings"]]) == (5, ["licence-not-accepted"])
    assert "cuDNN SLA" in json.dumps(refused)
    assert not os.path.lexists(folder / ".venv")
    code, done = apply(folder, "--accept-licence", "--library", "nccl=/nowhere/nccl.tar")
    assert (code, [f["code"] for f in done["findings"]]) == (2, ["library-not-placed"])

    code, done = apply(folder)
    assert (code, done.get("outcome")) == (0, "changed"), done
    job = done["receipt"]["jobs"][0]
    assert (job["job"], job["verdict"], job["facts"]["libraries"]["loaded"]) == ("libraries", "passed", 14)
    assert job["facts"]["libraries"]["versions"] == {"cudnn": 8600}
    assert job["facts"]["libraries"]["ptxas"] == "11.8"
    _hook_waits_for_a_framework(folder)
    _ours_win(folder, libraries)
    _xla_is_told(folder)

    link = packages(folder) / "tensorflow" / "libcudnn_ops_infer.so.8"
    assert os.readlink(link) == "../nvidia/cudnn/lib/libcudnn_ops_infer.so.8"
    assert link.resolve().is_file()
    assert provision(folder, "status").code == 0
    sound = provision(folder, "verify", "--files", "--json")
    assert (sound.code, sound.document["findings"]) == (0, [])
    link.unlink()
    (packages(folder) / "nvidia" / "cuda_nvcc" / "bin" / "ptxas").write_text("#!/bin/sh\nexit 1\n")
    (packages(folder) / "nvidia" / "cudnn" / "lib" / "libcudnn.so.8").unlink()
    (packages(folder) / "nvidia" / "cudnn" / "lib" / "libcudnn.so.8").write_bytes(b"another")
    assert provision(folder, "status").code == 1
    broken = provision(folder, "verify", "--files", "--json")
    assert (broken.code, sorted(broken.codes)) == (1, ["file-altered", "file-altered", "file-missing"])
    shown = provision(folder, "verify", "--device", "cpu", "--json")
    assert (shown.code, sorted(set(shown.codes))) == (1, ["library-assembler", "library-not-loaded"])


def _hook_waits_for_a_framework(folder: Path) -> None:
    code = (
        "import sys; print([n for n in ('ctypes', 'tensorflow', '_provision_libraries') if n in sys.modules])"
    )
    python = folder / ".venv" / "bin" / "python"
    ran = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "['_provision_libraries']"


def _xla_is_told(folder: Path) -> None:
    """ptxas by PATH and by XLA_FLAGS, libdevice by XLA_FLAGS; what the user has said in XLA_FLAGS is left to them."""
    code = "import os, shutil, tensorflow; print(shutil.which('ptxas')); print(os.environ['XLA_FLAGS'])"
    place = packages(folder) / "nvidia" / "cuda_nvcc"
    named = f'--xla_gpu_cuda_data_dir="{place}"'
    for given, flags in {
        "": named,
        "--xla_dump_to=/tmp/x": f"--xla_dump_to=/tmp/x {named}",
        "--xla_gpu_cuda_data_dir=/usr": "--xla_gpu_cuda_data_dir=/usr",
        "flags.txt": "flags.txt",
    }.items():
        ran = subprocess.run(
            [folder / ".venv" / "bin" / "python", "-c", code], env={**os.environ, "XLA_FLAGS": given},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert ran.stdout.splitlines() == [str(place / "bin" / "ptxas"), flags]


def _ours_win(folder: Path, libraries: dict[str, bytes]) -> None:
    """Another cuDNN on LD_LIBRARY_PATH is not taken, and is said."""
    other = folder / "other"
    other.mkdir()
    (other / "libcudnn.so.8").write_bytes(libraries["libcudnn.so.8"])
    code = (
        "import tensorflow; print([l.split()[-1] for l in open('/proc/self/maps') if 'libcudnn.so' in l][0])"
    )
    ran = subprocess.run(
        [folder / ".venv" / "bin" / "python", "-c", code], env={**os.environ, "LD_LIBRARY_PATH": str(other)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ran.stdout.strip().endswith("/nvidia/cudnn/lib/libcudnn.so.8")
    seen = provision(folder, "verify", "--device", "cpu", "--json", env={"LD_LIBRARY_PATH": str(other)})
    assert seen.code == 0
    assert [f["code"] for f in seen.document["findings"]] == ["library-shadowed"]
    assert str(other / "libcudnn.so.8") in json.dumps(seen.document["findings"], ensure_ascii=False)


def test_a_file_of_another_package_is_not_replaced(
    shop: LoopbackIndex, folder: Path, libraries: dict[str, bytes]
) -> None:
    shop.wheel("alpha", "2.0", files={"alpha.py": "", "tensorflow/libcudnn.so.8": libraries["libcudnn.so.8"]})
    profile(folder, TEXT)
    code, document = apply(folder, "--accept-licence")
    assert (code, [f["code"] for f in document["findings"]]) == (6, ["place-taken"])
    assert "alpha" in document["findings"][0]["summary"]
    assert not os.path.lexists(folder / ".venv")
    assert not list((folder / ".provision" / ".venv" / "generations").iterdir())


@pytest.mark.slow
def test_a_set_is_whole_or_not_placed(shop: LoopbackIndex, folder: Path, index: LoopbackIndex) -> None:
    index.wheel("nvidia-cufft-cu11", "10.9.0.58", files={"nvidia/__init__.py": ""})
    profile(folder, TEXT)
    code, document = apply(folder, "--accept-licence")
    assert (code, [f["code"] for f in document["findings"]]) == (6, ["library-incomplete"])
    assert "libcufft.so.10" in document["findings"][0]["summary"]
