"""The whole line over the loopback index: lock, plan, apply, verify, status, run; real processes, real installs."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from tests.support import index as faults
from tests.support.command import command, profile, provision, running_python
from tests.support.index import LoopbackIndex

PACKAGES = "packages: [alpha, beta]\n"


@pytest.fixture
def shop(index: LoopbackIndex) -> LoopbackIndex:
    """alpha (with a console script) needs beta; beta has two versions."""
    entry = {"console_scripts": {"alpha": "alpha:main"}}
    body = {
        "alpha/__init__.py": "__version__ = '1.0'\ndef main():\n    import sys; print('alpha', sys.prefix)\n"
    }
    index.wheel("alpha", "1.0", requires=["beta"], entry_points=entry, files=body)
    index.wheel("beta", "1.0")
    index.wheel("beta", "2.0")
    return index


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project folder with a space and non-ASCII characters in its path."""
    path = tmp_path / "项目 one ✨"
    path.mkdir()
    return path


def test_from_profile_to_proven_environment(shop: LoopbackIndex, folder: Path) -> None:
    path = profile(folder, PACKAGES)
    ran = provision(folder, "apply", path.name, "--json")
    assert ran.code == 0, ran.err
    document = ran.document
    assert document["outcome"] == "changed"
    assert document["profile"] == "team"
    assert document["generation"] == 1
    assert document["receipt"]["verdict"] == "passed"
    assert [job["framework"] for job in document["receipt"]["jobs"]]
    environment = Path(document["environment"])
    assert environment == folder / ".venv"
    assert environment.is_symlink()
    assert (folder / ".provision" / ".gitignore").read_text() == "*\n"

    script = subprocess.run([environment / "bin" / "alpha"], capture_output=True, text=True, check=True)
    assert script.stdout.split(maxsplit=1)[1].strip() == str(environment), "a script goes through the pointer"

    status = provision(folder, "status", "--json")
    assert (status.code, status.document["kind"], status.document["drifted"]) == (0, "ours", False)
    verify = provision(folder, "verify", "--json")
    assert (verify.code, verify.document["verdict"]) == (0, "passed")
    ran = provision(
        folder, "run", "--", "python", "-c", "import alpha, sys; print(alpha.__version__); sys.exit(3)"
    )
    assert (ran.code, ran.out.strip()) == (3, "1.0")


def test_a_second_apply_does_nothing_and_asks_no_one(shop: LoopbackIndex, folder: Path) -> None:
    path = profile(folder, PACKAGES)
    assert provision(folder, "apply", path.name).code == 0
    asked = len(shop.paths())
    before = sorted(p.stat().st_mtime_ns for p in (folder / ".provision").rglob("*") if p.is_file())
    ran = provision(folder, "apply", path.name, "--json")
    assert (ran.code, ran.document["outcome"], ran.document["generation"]) == (0, "unchanged", 1)
    assert ran.document["receipt"]["verdict"] == "passed"
    assert "Nothing to do" in provision(folder, "apply", path.name).out
    assert len(shop.paths()) == asked
    assert sorted(p.stat().st_mtime_ns for p in (folder / ".provision").rglob("*") if p.is_file()) == before


def test_drift_is_seen_and_mended(shop: LoopbackIndex, folder: Path) -> None:
    path = profile(folder, PACKAGES)
    assert provision(folder, "apply", path.name).code == 0
    packages = next((folder / ".venv" / "lib").glob("python*/site-packages"))
    shutil.rmtree(next(packages.glob("beta-*.dist-info")))
    assert provision(folder, "status").code == 1
    assert provision(folder, "plan", path.name, "--exit-code").code == 2
    ran = provision(folder, "apply", path.name, "--yes", "--json")
    assert (ran.document["outcome"], ran.document["generation"]) == ("changed", 2)
    assert provision(folder, "status").code == 0


def test_a_change_is_asked_for(shop: LoopbackIndex, folder: Path) -> None:
    path = profile(folder, PACKAGES)
    assert provision(folder, "apply", path.name).code == 0
    profile(folder, "packages: [alpha, beta==1.0]\n")
    refused = provision(folder, "apply", path.name, "--json")
    assert (refused.code, refused.document["outcome"], refused.codes) == (5, "blocked", ["not-confirmed"])
    assert os.readlink(folder / ".venv").endswith("/1")
    assert provision(folder, "apply", path.name, "--yes").code == 0
    assert os.readlink(folder / ".venv").endswith("/2")


def test_a_failed_proof_leaves_the_old_environment(shop: LoopbackIndex, folder: Path) -> None:
    path = profile(folder, PACKAGES)
    assert provision(folder, "apply", path.name).code == 0
    shop.wheel(
        "gamma", "1.0", files={"gamma/__init__.py": "raise RuntimeError('gamma cannot be imported')\n"}
    )
    profile(folder, "packages: [alpha, gamma]\n")
    ran = provision(folder, "apply", path.name, "--yes", "--json")
    assert (ran.code, ran.document["outcome"]) == (6, "failed")
    assert ran.document["receipt"]["verdict"] == "failed"
    assert "gamma cannot be imported" in json.dumps(ran.document["findings"])
    assert os.readlink(folder / ".venv").endswith("/1")
    assert (folder / ".provision" / ".venv" / "generations" / "2").is_dir(), "kept for a look"
    text = provision(folder, "apply", path.name, "--yes")
    assert "still generation 1" in text.err
    assert provision(folder, "status").code == 0


def test_an_interrupted_apply_leaves_nothing(shop: LoopbackIndex, folder: Path) -> None:
    path = profile(folder, PACKAGES)
    assert provision(folder, "lock", path.name).code == 0
    shop.fail("*/alpha-1.0-*", faults.stalled(0.5))
    before = shop.sent("*/alpha-1.0-*")
    running = subprocess.Popen(
        command("apply", path.name), cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while shop.sent("*/alpha-1.0-*") == before:
        assert time.monotonic() < deadline
        assert running.poll() is None
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 130, err
    assert "Traceback" not in err
    assert "Interrupted" in err
    assert not os.path.lexists(folder / ".venv")
    assert not any((folder / ".provision" / ".venv" / "generations").iterdir())
    shop.heal()
    assert provision(folder, "apply", path.name).code == 0


def test_a_killed_apply_is_recovered_by_the_next_one(shop: LoopbackIndex, folder: Path) -> None:
    path = profile(folder, PACKAGES)
    assert provision(folder, "apply", path.name).code == 0
    profile(folder, "packages: [alpha, beta==1.0]\n")
    assert provision(folder, "lock", path.name).code == 0
    shop.fail("*/beta-1.0-*", faults.stalled(0.5))
    before = shop.sent("*/beta-1.0-*")
    running = subprocess.Popen(command("apply", path.name, "--yes"), cwd=folder, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while shop.sent("*/beta-1.0-*") == before:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    running.kill()
    running.wait()
    assert os.readlink(folder / ".venv").endswith("/1")
    shop.heal()
    ran = provision(folder, "apply", path.name, "--yes")
    assert ran.code == 0, ran.err
    assert "Recovered" in ran.err
    assert not os.readlink(folder / ".venv").endswith("/1")


def test_lock_bytes_are_stable_and_name_no_host(shop: LoopbackIndex, folder: Path) -> None:
    path = profile(folder, PACKAGES)
    assert provision(folder, "lock", path.name).code == 0
    (lock,) = (folder / "locks" / "team").glob("*.lock.yaml")
    text = lock.read_text()
    assert "127.0.0.1" not in text
    assert str(folder) not in text
    for package in yaml.safe_load(text)["packages"]:
        assert set(package) == {"name", "version", "index", "file", "size", "sha256"}
        assert package["index"] == "pypi"
    lock.unlink()
    assert provision(folder, "lock", path.name).code == 0
    assert lock.read_text() == text
    assert provision(folder, "lock", "--check", path.name).code == 0


def test_pins_stay_until_upgrade(shop: LoopbackIndex, folder: Path) -> None:
    path = profile(folder, PACKAGES)
    assert provision(folder, "lock", path.name).code == 0
    (lock,) = (folder / "locks" / "team").glob("*.lock.yaml")
    shop.wheel("beta", "3.0")
    profile(folder, "packages: [alpha, beta]\nvariables: {A: '1'}\n")
    versions = {}
    for words in ((), ("--upgrade",)):
        assert provision(folder, "lock", path.name, *words).code == 0
        packages = yaml.safe_load(lock.read_text())["packages"]
        versions[words] = next(p["version"] for p in packages if p["name"] == "beta")
    assert versions == {(): "2.0", ("--upgrade",): "3.0"}


def test_a_stale_or_missing_lock(shop: LoopbackIndex, folder: Path) -> None:
    path = profile(folder, PACKAGES)
    missing = provision(folder, "lock", "--check", path.name, "--json")
    assert (missing.code, missing.codes) == (4, ["lock-missing"])
    assert provision(folder, "apply", "--locked", path.name).code == 4
    assert provision(folder, "lock", path.name).code == 0
    profile(folder, "packages: [beta]\n")
    stale = provision(folder, "lock", "--check", path.name, "--json")
    assert (stale.code, stale.codes) == (4, ["lock-stale"])
    assert provision(folder, "apply", "--locked", path.name).code == 4
    assert not os.path.lexists(folder / ".venv")


def test_a_changed_file_on_the_index_is_refused(shop: LoopbackIndex, folder: Path) -> None:
    path = profile(folder, PACKAGES)
    assert provision(folder, "lock", path.name).code == 0
    shop.fail("*/alpha-1.0-*", faults.corrupt())
    ran = provision(folder, "apply", path.name, "--json")
    assert (ran.code, ran.codes) == (4, ["hash-mismatch"])
    assert not os.path.lexists(folder / ".venv")
    assert not any((folder / ".provision" / ".venv" / "generations").iterdir())


def test_offline_works_from_the_caches(shop: LoopbackIndex, folder: Path) -> None:
    path = profile(folder, PACKAGES)
    nothing = provision(folder, "lock", path.name, "--offline")
    assert nothing.code == 3
    assert provision(folder, "apply", path.name).code == 0
    asked = len(shop.paths())
    ran = provision(folder, "apply", path.name, "--offline", "--reinstall", "--yes", "--json")
    assert (ran.code, ran.document["generation"]) == (0, 2), ran.err
    assert len(shop.paths()) == asked


def test_a_source_is_built_with_locked_tools(shop: LoopbackIndex, folder: Path) -> None:
    shop.sdist("delta", "1.0")
    path = profile(folder, "packages: [delta]\n")
    ran = provision(folder, "apply", path.name)
    assert ran.code == 0, ran.err
    (lock,) = (folder / "locks" / "team").glob("*.lock.yaml")
    (package,) = yaml.safe_load(lock.read_text())["packages"]
    assert (package["kind"], package["file"]) == ("sdist", "delta-1.0.tar.gz")


def test_what_the_index_does_not_have(tiny_tensorflow: LoopbackIndex, folder: Path) -> None:
    path = profile(folder, "packages: ['tensorflow-directml-plugin==0.3.0.dev221213']\n")
    ran = provision(folder, "lock", path.name, "--json")
    assert (ran.code, ran.codes) == (3, ["no-such-version"])
    (finding,) = ran.document["findings"]
    assert "0.3.0.dev221212" in finding["summary"]
    assert "0.4.0.dev230202" in finding["detail"]
    path = profile(folder, "packages: [tf-estimator]\n")
    ran = provision(folder, "lock", path.name, "--json")
    assert (ran.code, ran.codes) == (3, ["no-such-package"])
    assert "tensorflow-estimator" in json.dumps(ran.document)


def test_patches_reach_the_closure(tiny_tensorflow: LoopbackIndex, folder: Path) -> None:
    text = "schema: 1\nname: old\npython: '3.10'\ntargets: [linux-x86_64, windows-x86_64]\n"
    (folder / "old.yaml").write_text(text + "frameworks: {tensorflow: ==2.10.0}\n")
    ran = provision(folder, "lock", "old.yaml")
    assert ran.code == 0, ran.err
    held = {}
    for lock in (folder / "locks" / "old").glob("*.lock.yaml"):
        document = yaml.safe_load(lock.read_text())
        held[document["target"]] = {p["name"]: p["version"] for p in document["packages"]}
        assert {p["requirement"] for p in document["patches"]} >= {"numpy<2", "setuptools<82"}
    assert held["linux-x86_64"]["numpy"] == "1.26.4"
    assert "tensorflow-intel" in held["windows-x86_64"]
    assert "tensorflow-intel" not in held["linux-x86_64"]
    blocked = provision(
        folder, "plan", "old.yaml", "--machine", str(_machine(folder, "macos", "arm64")), "--json"
    )
    assert (blocked.code, [b["code"] for b in blocked.document["blockers"]]) == (5, ["wrong-target"])


def _machine(folder: Path, system: str, arch: str) -> Path:
    path = folder / "machine.yaml"
    path.write_text(f"os: {system}\narch: {arch}\n")
    return path


def test_a_foreign_environment_is_left_alone(shop: LoopbackIndex, folder: Path) -> None:
    path = profile(folder, PACKAGES)
    (folder / ".venv").mkdir()
    (folder / ".venv" / "mine.txt").write_text("mine")
    ran = provision(folder, "apply", path.name, "--yes", "--json")
    assert (ran.code, ran.codes) == (5, ["environment-foreign"])
    assert (folder / ".venv" / "mine.txt").read_text() == "mine"


def test_no_interpreter_says_which_to_install(shop: LoopbackIndex, folder: Path) -> None:
    path = profile(folder, PACKAGES)
    machine = folder / "machine.yaml"
    machine.write_text(f"os: linux\narch: {os.uname().machine}\n")
    ran = provision(folder, "plan", path.name, "--machine", str(machine), "--json")
    assert (ran.code, [b["code"] for b in ran.document["blockers"]]) == (5, ["no-interpreter"])
    assert running_python() in json.dumps(ran.document["blockers"])


def test_usage_errors_are_findings(folder: Path, isolated_home: Path) -> None:
    for words in (["apply"], ["aply", "x"], ["apply", "no-such-profile"], ["lock"], ["run"], ["status"]):
        ran = provision(folder, *words)
        assert ran.code == 2, (words, ran)
        assert ran.err.strip()
    assert "Did you mean 'apply'" in provision(folder, "aply", "x").err
    assert provision(folder, "apply", "cpu-tensorfow", "--json").codes == ["no-such-profile"]


def test_version_help_and_completion(folder: Path) -> None:
    assert provision(folder, "--version").out.startswith("provision ")
    assert "apply" in provision(folder, "--help").out
    for shell in ("bash", "zsh", "fish"):
        assert "provision" in provision(folder, "completion", shell).out


def test_a_team_adds_rows_of_its_own(tiny_tensorflow: LoopbackIndex, folder: Path) -> None:
    rows = "{id: ours, packages: [protobuf], versions: '>=3', constraints: ['numpy<2'], why: our code, source: our tests,"
    (folder / "facts").mkdir()
    (folder / "facts" / "ours.yaml").write_text(
        f"verified-on: 2026-11-30\npatches:\n- {rows} evidence: artifact}}\n"
    )
    path = profile(folder, "packages: [numpy, protobuf]\nknowledge: facts\n")
    ran = provision(folder, "lock", path.name)
    assert ran.code == 0, ran.err
    (lock,) = (folder / "locks" / "team").glob("*.lock.yaml")
    document = yaml.safe_load(lock.read_text())
    assert {p["name"]: p["version"] for p in document["packages"]}["numpy"] == "1.26.4"
    assert [p["rule"] for p in document["patches"]] == ["ours"]
    for outside in ("../facts", "/etc"):
        profile(folder, f"packages: [numpy]\nknowledge: {outside}\n")
        assert provision(folder, "lock", path.name, "--json").codes == ["bad-value"]


def test_as_of_a_day(tiny_tensorflow: LoopbackIndex, folder: Path) -> None:
    path = profile(folder, "packages: [numpy, protobuf]\nas-of: '2024-06-30'\n")
    assert provision(folder, "lock", path.name).code == 0
    (lock,) = (folder / "locks" / "team").glob("*.lock.yaml")
    held = {p["name"]: p["version"] for p in yaml.safe_load(lock.read_text())["packages"]}
    assert held == {"numpy": "1.26.4", "protobuf": "4.24.4"}


def test_the_whole_line_in_chinese(shop: LoopbackIndex, folder: Path) -> None:
    """Nothing that a person reads is English, and what is written down is."""
    path = profile(folder, PACKAGES)
    said = []
    for words, code in (
        (("lock", path.name), 0), (("plan", path.name), 0), (("apply", path.name), 0), (("apply", path.name), 0),
        (("status",), 0), (("history",), 0), (("verify",), 0), (("verify", "--files"), 0), (("receipt", "show"), 0),
        (("receipt", "list"), 0), (("receipt", "show", "--html", "page.html"), 0), (("gc",), 0), (("rollback",), 2),
        (("recover",), 0), (("plan", path.name, "--machine", "none.yaml"), 2), (("profiles", "--help"), 0),
    ):  # fmt: skip
        ran = provision(folder, *words, "--lang", "zh")
        assert ran.code == code, (words, ran.err)
        said += [*ran.out.splitlines(), *ran.err.splitlines()]
    english = [
        s for s in said if re.search(r"(?:\b[a-z]{2,}\b,? ){2,}[a-z]{2,}\b", re.sub(r"provision .*", "", s))
    ]
    assert english == []
    assert any(line.startswith("  已验证       ") for line in said)
    assert any(line.startswith("结论：通过。") for line in said)
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert '<html lang="zh-CN">' in page
    assert "列出的每个包都能导入" in page
    kept = json.loads((folder / ".provision" / ".venv" / "receipts" / "1.json").read_text())
    assert kept["proves"].startswith("Every named package imports")
    for words in (
        ("plan", path.name, "--reinstall", "--json"),
        ("receipt", "list", "--json"),
        ("history", "--json"),
    ):
        both = [provision(folder, *words, "--lang", lang).document for lang in ("en", "zh")]
        for document in both:
            document.get("sizes", {}).pop("free", None)
        assert both[0] == both[1]


def test_an_interpreter_that_no_search_finds_can_be_named(shop: LoopbackIndex, folder: Path) -> None:
    path = profile(folder, "packages: [beta]\n")
    odd = folder / "odd" / "python"
    odd.parent.mkdir()
    odd.symlink_to(sys.executable)
    ran = provision(folder, "apply", path.name, "--python", str(odd), "--json")
    assert (ran.code, ran.document["outcome"]) == (0, "changed"), ran.err
    none = folder / "odd" / "none"
    refused = provision(folder, "plan", path.name, "--python", str(none), "--json")
    assert (refused.code, refused.codes) == (2, ["no-such-interpreter"])
    assert str(none) in refused.document["findings"][0]["summary"]


def test_a_folder_of_wheels_is_the_default_index(shop: LoopbackIndex, folder: Path, tmp_path: Path) -> None:
    """As the way out of an unreachable index says."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    for name in ("alpha", "beta"):
        for wheel in (shop.root / "simple" / name).glob("*.whl"):
            shutil.copy(wheel, wheels)
    nowhere = "http://127.0.0.1:9/simple"
    env = {"PROVISION_INDEX_PYPI": str(wheels), "UV_DEFAULT_INDEX": nowhere, "PIP_INDEX_URL": nowhere}
    path = profile(folder, "packages: [alpha]\n")
    ran = provision(folder, "apply", path.name, "--yes", "--json", env=env)
    assert (ran.code, ran.document["outcome"]) == (0, "changed"), ran


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_output_that_cannot_be_written(folder: Path) -> None:
    """A full disk behind standard output is no fault of ours."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command("schema"), cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, "output-not-written" in done.stderr) == (1, True)


def test_formats_of_conda_are_for_conda(shop: LoopbackIndex, folder: Path) -> None:
    path = profile(folder, "packages: [alpha]\n")
    assert provision(folder, "lock", path.name).code == 0
    ran = provision(folder, "export", path.name, "--format", "explicit", "--json")
    assert (ran.code, ran.codes) == (2, ["usage"])
