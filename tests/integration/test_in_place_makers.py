"""`--in-place` on environments of every maker (venv, virtualenv, uv, conda), through the command: named, changed, known."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from provision.world.conda import RattlerEngine
from tests.integration.test_faults import mount, mounted
from tests.integration.test_in_place import hashes
from tests.support.channels import Channel
from tests.support.command import command, profile, provision, running_python
from tests.support.conda_lines import locked, write
from tests.support.index import LoopbackIndex

LIBRARY = f"lib/python{running_python()}/site-packages"
TEAM = "packages: [keras, alpha, beta]\nabsent: [unwanted]\n"


@pytest.fixture
def shop(index: LoopbackIndex) -> LoopbackIndex:
    """keras and keras-nightly write the same folder; alpha has a script and needs beta; mine is the person's own."""
    index.wheel(
        "keras", "3.0", files={"keras/__init__.py": "V = 3\n", "keras/layers.py": "", "keras/new.py": ""}
    )
    nightly = {"keras/__init__.py": "V = 4\n", "keras/layers.py": "", "keras/nightly.py": ""}
    index.wheel("keras-nightly", "4.0", files=nightly)
    script = {"alpha/__init__.py": "def main():\n    import sys; print(sys.prefix)\n"}
    entry = {"console_scripts": {"alpha": "alpha:main"}}
    index.wheel("alpha", "1.0", requires=["beta"], files=script, entry_points=entry)
    index.wheel("beta", "1.0", files={"beta/__init__.py": "V = 1\n", "beta/old.py": ""})
    index.wheel("beta", "2.0", files={"beta/__init__.py": "V = 2\n", "beta/lost.py": ""})
    index.wheel("mine", "1.0")
    index.wheel("unwanted", "1.0")
    return index


def made_by_venv(folder: Path) -> Path:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / ".venv"], check=True)
    return folder / ".venv"


def made_by_virtualenv(folder: Path) -> Path:
    pytest.importorskip("virtualenv")
    words = [sys.executable, "-m", "virtualenv", "-q", "--no-seed", "--python", sys.executable]
    subprocess.run([*words, folder / ".venv"], check=True)
    return folder / ".venv"


def made_by_uv(folder: Path) -> Path:
    words = [sys.executable, "-m", "uv", "venv", "-q", "--python", sys.executable]
    subprocess.run([*words, folder / ".venv"], check=True)
    return folder / ".venv"


def made_by_conda(folder: Path) -> Path:
    """Linked by rattler from a channel of tiny packages: a Python, and `kept`, which is conda's."""
    pytest.importorskip("rattler", reason="the extra conda is not installed")
    channel = Channel(folder.parent / "channel")
    channel.python()
    channel.library("kept", "1.0")
    channel.index().condarc(Path.home() / ".condarc")
    made, findings = locked(write(folder.parent, "packages: [kept]\n", "theirs"))
    assert made is not None, findings
    from provision.world.channels import ChannelConfig
    from provision.world.indexes import IndexConfig

    places = ChannelConfig(custom={"tiny": channel.root.as_uri()})
    engine = RattlerEngine(places, IndexConfig(), folder.parent / "cache")
    prefix = folder / ".venv"
    engine.install(str(prefix), str(prefix), made.conda, engine.fetch(made.conda, lambda n: None), ["kept"])
    return prefix


MAKERS: dict[str, tuple[Callable[[Path], Path], str]] = {
    "venv": (made_by_venv, "a virtual environment, Python"),
    "virtualenv": (made_by_virtualenv, "a virtual environment made by virtualenv, Python"),
    "uv": (made_by_uv, "a virtual environment made by uv, Python"),
    "conda": (made_by_conda, "a conda environment"),
}


def put(environment: Path, *packages: str) -> None:
    words = [sys.executable, "-m", "uv", "pip", "install", "-q", "--python", environment / "bin" / "python"]
    subprocess.run([*words, *packages], check=True)


def spoil(environment: Path) -> Path:
    """As environments of years look: rivals, half an uninstall, a broken distribution, notes of the person's own."""
    put(environment, "keras==3.0", "beta==1.0", "mine", "unwanted")
    put(environment, "keras-nightly")
    packages = environment / LIBRARY
    (packages / "~eras" / "engine").mkdir(parents=True)
    (packages / "~eras" / "engine" / "rest.py").write_text("")
    (packages / "beta-1.0.dist-info" / "METADATA").unlink()
    (packages / "beta" / "notes.txt").write_text("written by a person")
    return packages


@pytest.mark.parametrize("maker", MAKERS)
def test_each_maker_is_told_apart_named_and_changed(shop: LoopbackIndex, folder: Path, maker: str) -> None:
    make, words = MAKERS[maker]
    environment = make(folder)
    packages = spoil(environment)
    path = profile(folder, TEAM)
    (folder / "shadow" / "beta-9.0.dist-info").mkdir(parents=True)

    seen = provision(folder, "status", "--environment", ".venv")
    assert seen.code == 1
    assert words in seen.out
    refused = provision(folder, "verify", "--environment", ".venv", "--json")
    assert (refused.code, refused.codes) == (1, ["environment-foreign"])
    assert words in refused.document["findings"][0]["summary"]
    assert "--in-place" in refused.document["findings"][0]["remedies"][0]["command"]

    env = {"PYTHONPATH": os.pathsep.join([str(folder / "shadow"), os.environ.get("PYTHONPATH", "")])}
    shown = provision(folder, "plan", path.name, "--in-place", "--json", env=env)
    assert shown.code == 0, shown
    steps = [(s["action"], s["subject"], s["reason"]) for s in shown.document["steps"]]
    assert [s for s in steps if s[0] in ("remove", "install")] == [
        ("remove", "beta 1.0", "its metadata is broken (no METADATA)"),
        ("remove", "keras 3.0", "shares 2 files with what is removed; it is installed again"),
        ("remove", "keras-nightly 4.0", "it writes the same folder `keras` as keras"),
        ("remove", "unwanted 1.0", "the lock says that it must be absent"),
        ("remove", f"{LIBRARY}/~eras", "what an interrupted install left"),
        ("install", "alpha 1.0", "the lock has it"),
        ("install", "beta 2.0", "the lock has it"),
        ("install", "keras 3.0", "the lock has it"),
    ]
    assert [n["code"] for n in shown.document["notes"]] == ["shadowed"]

    ran = provision(folder, "apply", path.name, "--in-place", "--yes", "--json")
    assert (ran.code, ran.document["outcome"]) == (0, "changed"), ran
    assert not (packages / "keras" / "nightly.py").exists()
    assert (packages / "keras" / "new.py").is_file()
    assert not list(packages.glob("~*"))
    assert (packages / "beta" / "notes.txt").read_text() == "written by a person"
    assert (packages / "mine" / "__init__.py").is_file()
    script = subprocess.run([environment / "bin" / "alpha"], capture_output=True, text=True, check=True)
    assert script.stdout.strip() == str(environment)
    status = provision(folder, "status", "--json")
    assert (status.code, status.document["kind"], status.document["drifted"]) == (0, "adopted", False)
    assert status.document["record"]["proven"]["verdict"] == "passed"


def test_what_was_changed_in_place_is_known(shop: LoopbackIndex, folder: Path) -> None:
    """Its lock, its proofs and its files; there is no way back, and a failed change leaves what is known as it was."""
    environment = made_by_uv(folder)
    packages = spoil(environment)
    path = profile(folder, TEAM)
    change = ("apply", path.name, "--in-place", "--yes", "--json")
    using = subprocess.Popen([environment / "bin" / "python", "-c", "import time; time.sleep(300)"])
    shown = provision(folder, "plan", path.name, "--in-place", "--json").document["notes"]
    using.kill()
    assert [(n["code"], f"process {using.pid}" in n["detail"]) for n in shown] == [("in-use", True)]
    assert provision(folder, *change).code == 0
    verify = provision(folder, "verify", "--json")
    assert (verify.code, verify.document["verdict"], verify.document["generation"]) == (0, "passed", 0)
    whole = provision(folder, "verify", "--files", "--json")
    assert (whole.code, whole.document["verdict"]) == (0, "passed"), whole
    assert ("package-foreign", "note") in {(f["code"], f["severity"]) for f in whole.document["findings"]}
    (packages / "beta" / "__init__.py").write_text("V = 0\n")
    whole = provision(folder, "verify", "--files", "--json")
    assert whole.code == 1
    assert whole.document["findings"][-1]["remedies"][0]["command"].endswith("--in-place --reinstall")
    assert provision(folder, *change, "--reinstall").code == 0
    assert (packages / "beta" / "__init__.py").read_text() == "V = 2\n"
    ran = provision(folder, "run", "--", "python", "-c", "import beta; print(beta.V)")
    assert (ran.code, ran.out.strip()) == (0, "2")
    history = provision(folder, "history", "--json").document["generations"]
    assert [(g["number"], g["outcome"], g["current"]) for g in history] == [(0, "proven", True)]
    back = provision(folder, "rollback", "--json")
    assert (back.code, back.codes) == (5, ["environment-adopted"])
    plain = provision(folder, "apply", path.name, "--yes", "--json")
    assert (plain.code, plain.codes) == (5, ["environment-foreign"])

    known, before = (folder / ".provision/.venv/records/0.json").read_text(), hashes(folder)
    shop.wheel("bad", "1.0", files={"bad/__init__.py": "raise RuntimeError('bad')\n"})
    profile(folder, TEAM.replace("beta]", "beta, bad]"))
    failed = provision(folder, *change)
    assert (failed.code, failed.document["outcome"]) == (6, "failed")
    assert hashes(folder) == before
    assert (folder / ".provision/.venv/records/0.json").read_text() == known
    assert provision(folder, "status").code == 0
    put(environment, "keras-nightly")
    assert provision(folder, "status", "--json").document["drifted"] is True


def test_a_killed_change_is_taken_back(shop: LoopbackIndex, folder: Path) -> None:
    """Killed while it is being proven: all is moved and installed by then, and a job of it still runs."""
    environment = made_by_uv(folder)
    spoil(environment)
    before, begun = hashes(folder), folder / "begun"
    code = f"import pathlib, time\npathlib.Path({str(begun)!r}).touch()\ntime.sleep(600)\n"
    shop.wheel("slow", "1.0", files={"slow/__init__.py": code})
    path = profile(folder, TEAM.replace("beta]", "beta, slow]"))
    running = subprocess.Popen(command("apply", path.name, "--in-place", "--yes", "--quiet"), cwd=folder)
    deadline = time.monotonic() + 240
    while not begun.exists():
        assert time.monotonic() < deadline
        assert running.poll() is None
        time.sleep(0.05)
    assert not (environment / LIBRARY / "~eras").exists()
    running.kill()
    running.wait()
    recovered = provision(folder, "recover", ".venv", "--json").document["recovered"]
    assert (recovered["what"], recovered["verb"]) == ("undone", "in-place")
    assert {k: v for k, v in hashes(folder).items() if "__pycache__" not in k} == {
        k: v for k, v in before.items() if "__pycache__" not in k
    }
    assert provision(folder, "status", ".venv", "--json").document["kind"] == "foreign"


def test_what_is_condas_or_read_only_is_refused_with_the_way_out(shop: LoopbackIndex, folder: Path) -> None:
    environment = made_by_conda(folder)
    shop.wheel("kept", "2.0")
    path = profile(folder, "packages: [kept]\n")
    words = ("apply", path.name, "--in-place", "--yes", "--json")
    before = hashes(folder)
    ran = provision(folder, *words)
    assert (ran.code, ran.codes) == (5, ["conda-managed"])
    assert "conda remove kept" in [r["command"] for r in ran.document["findings"][0]["remedies"]]
    (environment / "condabin").mkdir()
    (environment / "condabin" / "conda").write_text("#!/bin/sh\n")
    ran = provision(folder, *words)
    assert (ran.code, ran.codes) == (5, ["conda-base"])
    shutil.rmtree(environment / "condabin")
    assert hashes(folder) == before
    shutil.move(made_by_uv(folder.parent), folder / "old")
    (folder / "old" / "bin" / "python").unlink()
    (folder / "old" / "bin" / "python").symlink_to(folder / "uninstalled")
    ran = provision(folder, *words, "--environment", "old")
    assert (ran.code, ran.codes) == (5, ["interpreter-gone"])
    with mounted(folder / "disk", "8m") as disk:
        shutil.move(made_by_uv(disk), disk / "theirs")
        mount("-o", "remount,ro", str(disk))
        ran = provision(folder, *words, "--environment", "disk/theirs")
        assert (ran.code, ran.codes) == (5, ["read-only"])
        assert ran.document["findings"][0]["remedies"]


@pytest.mark.slow
def test_a_real_tensorflow_is_mended_where_it_stands(tmp_path: Path) -> None:
    """tensorflow over tensorflow-cpu and keras-nightly over keras, as years of `pip install` leave it; then it trains."""
    if running_python() not in ("3.10", "3.11", "3.12", "3.13"):
        pytest.skip("the committed lock is for Python 3.10 to 3.13")
    environment = made_by_uv(tmp_path)
    put(environment, "tensorflow-cpu==2.21.0", "numpy<2.3")
    put(environment, "tensorflow==2.21.0", "keras-nightly", "numpy<2.3")
    (environment / LIBRARY / "~ensorflow").mkdir()
    profiles = Path(__file__).parents[2] / "profiles"
    words = (str(profiles / "cpu-tensorflow.yaml"), "--in-place", "--locked", "--json")
    shown = provision(tmp_path, "plan", *[w for w in words if w != "--locked"], timeout=600)
    removed = {
        s["subject"].split(" ")[0]: s["reason"] for s in shown.document["steps"] if s["action"] == "remove"
    }
    assert removed["tensorflow"] == "the lock says that it must be absent"
    assert "is installed again" in removed["tensorflow-cpu"]
    assert "the same folder `keras`" in removed["keras-nightly"]
    assert f"{LIBRARY}/~ensorflow" in removed
    ran = provision(tmp_path, "apply", *words, "--yes", timeout=1500)
    assert (ran.code, ran.document["outcome"]) == (0, "changed"), ran
    receipt = ran.document["receipt"]
    job = next(job for job in receipt["jobs"] if job["job"] == "tensorflow")
    assert (receipt["verdict"], job["verdict"]) == ("passed", "passed")
    assert job["losses"][-1] < job["losses"][0] / 2
    assert provision(tmp_path, "verify", "--files", "--json").document["verdict"] == "passed"
    assert provision(tmp_path, "status", "--json").document["kind"] == "adopted"
    again = provision(tmp_path, "apply", *words, "--yes")
    assert (again.code, again.document["outcome"]) == (0, "unchanged")
