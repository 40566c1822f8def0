"""provision export: the tools that the files are for take them, and take what the lock says."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from provision.world.uv import binary, read_toml
from tests.cli.conftest import Here
from tests.support.command import running_python
from tests.support.golden import golden
from tests.support.index import LoopbackIndex
from tests.support.wheels import make_wheel

TARGET = "linux-x86_64"


@pytest.fixture
def lock(tmp_path: Path, tiny_tensorflow: LoopbackIndex, tiny: Here) -> Path:
    """A lock with packages of the default index, one of a named index, one that is a source, and variables."""
    tiny_tensorflow.sdist("gamma", "1.0")
    text = f"""\
schema: 1
name: team
targets: [{TARGET}]
python: "3.10"
frameworks: {{torch: "*"}}
packages: [keras, gamma]
variables: {{A: "1 'x'"}}
indexes:
- {{name: pytorch-cpu, url: "{tiny_tensorflow.url("pytorch-cpu")}", packages: [torch]}}
"""
    (tmp_path / "team.yaml").write_text(text)
    ran = tiny("lock", "team.yaml")
    assert ran.code == 0, ran
    return tmp_path / "locks" / "team" / f"{TARGET}-py310.lock.yaml"


def installed(folder: Path, *words: str) -> dict[str, str]:
    """What uv installs into a folder of its own."""
    place = folder / "installed"
    command = [binary(), "pip", "install", "--target", str(place), "--python", sys.executable, *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    pairs = (re.match(r"(.+)-(.+)\.dist-info", path.name) for path in place.glob("*.dist-info"))
    return {match[1].replace("_", "-"): match[2] for match in pairs if match}


def locked(lock: Path) -> dict[str, str]:
    return {p["name"]: p["version"] for p in yaml.safe_load(lock.read_text())["packages"]}


def export(tiny: Here, form: str, *words: str) -> str:
    ran = tiny("export", "team.yaml", "--format", form, *words)
    assert (ran.code, ran.err) == (0, ""), ran
    return ran.out


def test_requirements(lock: Path, tiny: Here, tmp_path: Path) -> None:
    text = export(tiny, "requirements")
    golden("export-requirements", re.sub(r"(?<=lock )\w{6}|(?<=sha256:)\w+|127\.0\.0\.1:\d+", "…", text))
    Path("requirements.txt").write_text(text)
    assert installed(
        lock.parent, "--no-deps", "--require-hashes", "-r", str(Path("requirements.txt").resolve())
    ) == locked(lock)
    first = yaml.safe_load(lock.read_text())["packages"][0]["sha256"]
    Path("wrong.txt").write_text(text.replace(first, "0" * 64))
    with pytest.raises(AssertionError, match=r"Hash mismatch"):
        installed(
            tmp_path, "--no-deps", "--require-hashes", "--reinstall", "-r", str(Path("wrong.txt").resolve())
        )


def test_pip_takes_the_requirements_too(lock: Path, tiny: Here) -> None:
    pytest.importorskip("pip")
    Path("requirements.txt").write_text(export(tiny, "requirements").replace(" \\\n", " "))
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--no-deps", "--no-build-isolation",
               "--require-hashes", "--ignore-installed", "--report", "-", "-r", "requirements.txt"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert {r["metadata"]["name"]: r["metadata"]["version"] for r in report["install"]} == locked(lock)


def test_pylock(lock: Path, tiny: Here) -> None:
    text = export(tiny, "pylock")
    document = read_toml(text)
    assert {p["name"]: p["version"] for p in document["packages"]} == locked(lock)
    assert (document["lock-version"], document["requires-python"]) == ("1.0", "==3.10.*")
    files = [
        *(w for p in document["packages"] for w in p.get("wheels", ())),
        *(p["sdist"] for p in document["packages"] if "sdist" in p),
    ]
    assert {f["hashes"]["sha256"] for f in files} == {
        p["sha256"] for p in yaml.safe_load(lock.read_text())["packages"]
    }
    Path("pylock.toml").write_text(text.replace("==3.10.*", f"=={running_python()}.*"))
    assert installed(lock.parent, "-r", str(Path("pylock.toml").resolve())) == locked(lock)
    offline = tiny("export", "team.yaml", "--format", "pylock", "--offline", "--json")
    assert (offline.code, offline.codes) == (2, ["no-address"])


def test_pylock_is_of_the_form_that_packaging_reads(lock: Path, tiny: Here) -> None:
    pylock = pytest.importorskip("packaging.pylock")
    read = pylock.Pylock.from_dict(read_toml(export(tiny, "pylock")))
    assert [str(p.name) for p in read.packages] == sorted(locked(lock))


def test_environment(lock: Path, tiny: Here) -> None:
    document = yaml.safe_load(export(tiny, "environment"))
    assert (document["name"], document["variables"]) == ("team", {"A": "1 'x'"})
    python, pip, packages = document["dependencies"]
    assert (python, pip) == ("python=3.10", "pip")
    Path("requirements.txt").write_text("\n".join(packages["pip"]))
    assert installed(
        lock.parent, "--require-hashes", "-r", str(Path("requirements.txt").resolve())
    ) == locked(lock)


def test_dockerfile(lock: Path, tiny: Here) -> None:
    text = export(tiny, "dockerfile")
    golden("export-dockerfile", re.sub(r"(?<=lock )\w{6}|(?<=sha256:)\w+|127\.0\.0\.1:\d+", "…", text))
    (inside,) = re.findall(r"^COPY <<'REQUIREMENTS' .*?\n(.*?)^REQUIREMENTS$", text, re.MULTILINE | re.DOTALL)
    assert inside == export(tiny, "requirements")


def test_no_folder_and_no_credential_of_this_machine(
    lock: Path, tiny: Here, tiny_tensorflow: LoopbackIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROVISION_INDEX_PYTORCH_CPU", str(tiny_tensorflow.root / "pytorch-cpu" / "torch"))
    text = export(tiny, "requirements")
    assert "torch==2.13.0+cpu" in text
    assert f"--extra-index-url {tiny_tensorflow.url('pytorch-cpu')}" in text
    assert "file:" not in text
    host = tiny_tensorflow.address().removeprefix("http://")
    monkeypatch.setenv("PROVISION_INDEX_PYTORCH_CPU", f"http://me:secret@{host}/pytorch-cpu")
    text = export(tiny, "requirements")
    assert "torch @ http://" in text
    assert "secret" not in text
    monkeypatch.setenv("UV_DEFAULT_INDEX", f"http://me:secret@{host}/simple")
    assert "secret" not in export(tiny, "pylock")


def test_by_lock_file_target_and_python(lock: Path, tiny: Here) -> None:
    relative = str(lock.relative_to(Path.cwd()))
    assert tiny("export", relative, "--format", "requirements").out == export(tiny, "requirements")
    ran = tiny("export", "team.yaml", "--format", "requirements", "--target", "windows-x86_64", "--json")
    assert (ran.code, ran.codes) == (4, ["lock-missing"])
    ran = tiny("export", "team.yaml", "--format", "requirements", "-o", "sub/requirements.txt", "--json")
    assert ran.document["path"] == "sub/requirements.txt"
    assert Path("sub/requirements.txt").read_text() == ran.document["text"] == export(tiny, "requirements")


def test_no_container_for_windows(tmp_path: Path, tiny_tensorflow: LoopbackIndex, tiny: Here) -> None:
    (tmp_path / "win.yaml").write_text(
        "schema: 1\nname: win\ntargets: [windows-x86_64]\npython: '3.10'\npackages: [keras]\n"
    )
    assert tiny("lock", "win.yaml").code == 0
    ran = tiny("export", "win.yaml", "--format", "dockerfile", "--json")
    assert (ran.code, ran.codes) == (2, ["no-container"])


def test_files_that_no_index_serves(tmp_path: Path, tiny_tensorflow: LoopbackIndex, tiny: Here) -> None:
    wheel = make_wheel(tmp_path / "vendor", "torch_card", "1.0")
    text = "schema: 1\nname: team\ntargets: [linux-x86_64]\npython: '3.10'\npackages: [keras, torch-card]\n"
    text += "wheels: {files: [{name: torch-card, version: '1.0', tags: py3-none-any, where: the maker}]}\n"
    (tmp_path / "team.yaml").write_text(text)
    assert tiny("lock", "team.yaml").code == 0
    (path,) = (tmp_path / "locks").rglob("*.lock.yaml")
    Path("requirements.txt").write_text(export(tiny, "requirements"))
    command = ("--no-deps", "--require-hashes", "-r", str(Path("requirements.txt").resolve()))
    assert installed(tmp_path, *command) == locked(path)
    Path("pylock.toml").write_text(export(tiny, "pylock").replace("==3.10.*", f"=={running_python()}.*"))
    assert f"./vendor/{wheel.name}" in Path("pylock.toml").read_text()
    shutil.rmtree(tmp_path / "installed")
    assert installed(tmp_path, "-r", "pylock.toml") == locked(path)
    assert "COPY ./vendor/ /tmp/vendor/" in export(tiny, "dockerfile")
    assert "--find-links ./vendor" in export(tiny, "environment")
