"""Contract: the real installers accept the loopback index, and it fails in the ways it is told to."""

from __future__ import annotations

import ensurepip
import http.client
import importlib.util
import json
import subprocess
import sys
import urllib.request
import zipfile
from pathlib import Path

import pytest
import uv

from tests.support import index as faults
from tests.support import wheels
from tests.support.index import Details, LoopbackIndex


def run(*command: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=120)


def uv_run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return run(uv.find_uv_bin(), *arguments)


def pip_run(*arguments: object) -> subprocess.CompletedProcess[str]:
    if importlib.util.find_spec("pip"):
        return run(sys.executable, "-m", "pip", *arguments)
    bundled = next((Path(ensurepip.__file__).parent / "_bundled").glob("pip-*.whl"))
    return run(sys.executable, bundled / "pip", *arguments)


def compile_requirements(tmp_path: Path, text: str, *options: object) -> subprocess.CompletedProcess[str]:
    (tmp_path / "in.txt").write_text(text)
    return uv_run("pip", "compile", tmp_path / "in.txt", "--no-header", "--no-annotate", *options)


def test_uv_resolves_and_installs(tiny_tensorflow: LoopbackIndex, tmp_path: Path) -> None:
    target = tmp_path / "site"
    done = uv_run("pip", "install", "--python", sys.executable, "--target", target, "tensorflow-cpu==2.10.1")
    assert done.returncode == 0, done.stderr
    assert {p.name for p in target.glob("*.dist-info")} >= {
        "tensorflow_cpu-2.10.1.dist-info", "numpy-2.2.6.dist-info", "protobuf-3.19.6.dist-info",
    }  # fmt: skip
    code = f"import sys; sys.path.insert(0, {str(target)!r}); import tensorflow_cpu"
    assert run(sys.executable, "-c", code).returncode == 0


def test_pip_resolves_and_installs(tiny_tensorflow: LoopbackIndex, tmp_path: Path) -> None:
    target = tmp_path / "site"
    done = pip_run("install", "--no-compile", "--target", target, "keras==3.12.0", "numpy<2")
    assert done.returncode == 0, done.stderr
    assert (target / "numpy-1.26.4.dist-info").is_dir()


@pytest.mark.parametrize("as_json", [True, False])
def test_metadata_differs_by_platform(tiny_tensorflow: LoopbackIndex, tmp_path: Path, as_json: bool) -> None:
    tiny_tensorflow.json = as_json
    python = ("--python", sys.executable, "--python-version", "3.10", "--python-platform")
    windows = compile_requirements(tmp_path, "tensorflow-cpu==2.10.0", *python, "windows")
    linux = compile_requirements(tmp_path, "tensorflow-cpu==2.10.0", *python, "linux")
    assert "tensorflow-intel==2.10.0" in windows.stdout, windows.stderr
    assert "tensorflow-cpu==2.10.0" in linux.stdout, linux.stderr
    assert "tensorflow-intel" not in linux.stdout


def test_upload_times_allow_time_travel(tiny_tensorflow: LoopbackIndex, tmp_path: Path) -> None:
    done = compile_requirements(tmp_path, "numpy", "--exclude-newer", "2024-06-01")
    assert done.stdout.split() == ["numpy==1.26.4"], done.stderr


def test_a_second_index_holds_other_builds(tiny_tensorflow: LoopbackIndex, tmp_path: Path) -> None:
    done = compile_requirements(tmp_path, "torch==2.13.0", "--index", tiny_tensorflow.url("pytorch-cpu"))
    assert "torch==2.13.0+cpu" in done.stdout, done.stderr


def test_yanked_and_unfit_files_are_passed_over(index: LoopbackIndex, tmp_path: Path) -> None:
    index.wheel("numpy", "1.0")
    index.wheel("numpy", "2.0", details=Details(yanked="broken"))
    index.wheel("numpy", "3.0", requires_python=">=99")
    for as_json in (True, False):
        index.json = as_json
        done = compile_requirements(tmp_path, "numpy", "--no-cache")
        assert done.stdout.split() == ["numpy==1.0"], done.stderr


def test_metadata_files_are_served_beside_wheels(index: LoopbackIndex, tmp_path: Path) -> None:
    index.metadata = True
    index.wheel("keras", "2.10.0", requires=["numpy"])
    index.wheel("numpy", "1.26.4")
    assert compile_requirements(tmp_path, "keras").returncode == 0
    assert [p for p in index.paths() if p.endswith(".whl.metadata")]
    assert not [p for p in index.paths() if p.endswith(".whl")]


def test_sdists_build_without_a_network(index: LoopbackIndex, tmp_path: Path) -> None:
    index.sdist("gast", "0.2.2", requires=["numpy"])
    index.wheel("numpy", "1.26.4")
    done = uv_run("pip", "install", "--python", sys.executable, "--target", tmp_path / "site", "gast")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site/gast/__init__.py").read_text() == '__version__ = "0.2.2"\n'


def test_a_failing_sdist_says_why(index: LoopbackIndex, tmp_path: Path) -> None:
    index.sdist("gast", "0.2.2", fails="no compiler here")
    done = uv_run("pip", "install", "--python", sys.executable, "--target", tmp_path / "site", "gast")
    assert done.returncode != 0
    assert "no compiler here" in done.stderr


def test_a_legacy_sdist_asks_for_setuptools(index: LoopbackIndex, tmp_path: Path) -> None:
    index.add(wheels.make_legacy_sdist(tmp_path, "clang", "5.0"), "clang")
    done = uv_run("pip", "install", "--python", sys.executable, "--target", tmp_path / "site", "clang")
    assert done.returncode != 0
    assert "setuptools" in done.stderr


def test_wheels_are_the_same_bytes_each_time(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        scripts = {"console_scripts": {"tiny": "tiny_thing:main"}}
        extras = {"gpu": ["cupy"]}
        wheels.make_wheel(tmp_path / folder, "Tiny.Thing", "1.0", extras=extras, entry_points=scripts)
        wheels.make_sdist(tmp_path / folder, "Tiny.Thing", "1.0")
    left, right = (sorted((tmp_path / folder).iterdir()) for folder in ("a", "b"))
    assert [p.name for p in left] == ["tiny_thing-1.0-py3-none-any.whl", "tiny_thing-1.0.tar.gz"]
    assert [p.read_bytes() for p in left] == [p.read_bytes() for p in right]
    with zipfile.ZipFile(left[0]) as wheel:
        text = wheel.read("tiny_thing-1.0.dist-info/METADATA").decode()
    assert 'Requires-Dist: cupy ; extra == "gpu"' in text


def get(index: LoopbackIndex, path: str, timeout: float = 10, **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", index.port, timeout=timeout)
    try:
        connection.request("GET", path, headers={k.replace("_", "-"): v for k, v in headers.items()})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


@pytest.fixture
def path(index: LoopbackIndex) -> str:
    return "/files/simple/blob/" + index.add(_blob(index.root), "blob").name


def _blob(root: Path) -> Path:
    (root / "blob.bin").write_bytes(bytes(range(200)))
    return root / "blob.bin"


def test_ranges(index: LoopbackIndex, path: str) -> None:
    assert get(index, path, Range="bytes=10-19") == (206, bytes(range(10, 20)))
    assert get(index, path, Range="bytes=-5") == (206, bytes(range(195, 200)))
    assert get(index, path, Range="bytes=190-") == (206, bytes(range(190, 200)))
    assert get(index, path, Range="bytes=200-")[0] == 416
    assert get(index, path, Range="bytes=10-", If_Range='"old"')[0] == 200
    assert index.sent(path) == 10 + 5 + 10 + 0 + 200


def test_faults_strike_as_often_as_told(index: LoopbackIndex, path: str) -> None:
    index.fail(path, faults.status(503), times=2)
    assert [get(index, path)[0] for _ in range(3)] == [503, 503, 200]


def test_each_fault_is_what_it_says(index: LoopbackIndex, path: str) -> None:
    def strike(fault: faults.Fault, timeout: float = 10, **headers: str) -> tuple[int, bytes]:
        index.heal()
        index.fail(path, fault)
        return get(index, path, timeout, **headers)

    assert strike(faults.not_found())[0] == 404
    assert strike(faults.redirect("/x"))[0] == 302
    assert strike(faults.requires_login("me", "secret"))[0] == 401
    assert strike(faults.requires_login("me", "secret"), Authorization="Basic bWU6c2VjcmV0")[0] == 200
    assert strike(faults.no_ranges(), Range="bytes=10-") == (200, bytes(range(200)))
    assert strike(faults.shifted_range(3), Range="bytes=10-19") == (206, bytes(range(13, 20)))
    assert strike(faults.corrupt()) == (200, bytes(255 - n for n in range(200)))
    assert strike(faults.drip(50, 0.001)) == (200, bytes(range(200)))
    with pytest.raises(http.client.IncompleteRead) as short:
        strike(faults.truncated(0.7))
    assert len(short.value.partial) == 140
    with pytest.raises(ConnectionResetError):
        strike(faults.reset(0.5))
    with pytest.raises(TimeoutError):
        strike(faults.stalled(0.5), timeout=0.2)
    with pytest.raises(TimeoutError):
        strike(faults.mute(), timeout=0.2)
    with pytest.raises(http.client.IncompleteRead):
        strike(faults.wrong_length(300))


def test_a_listing_can_lie_or_be_silent_about_hashes(index: LoopbackIndex) -> None:
    index.wheel("a", "1.0", details=Details(sha256="0" * 64))
    index.wheel("a", "2.0", details=Details(hashed=False))
    request = urllib.request.Request(index.url() + "/a/", headers={"Accept": faults.JSON_TYPE})
    with urllib.request.urlopen(request) as answer:
        files = json.load(answer)["files"]
    assert [f["hashes"] for f in files] == [{"sha256": "0" * 64}, {}]


def test_unknown_projects_are_not_found(tiny_tensorflow: LoopbackIndex) -> None:
    assert get(tiny_tensorflow, "/simple/tf-estimator/")[0] == 404
    assert get(tiny_tensorflow, "/pytorch-cpu/numpy/")[0] == 404
    assert get(tiny_tensorflow, "/files/../conftest.py")[0] == 404
