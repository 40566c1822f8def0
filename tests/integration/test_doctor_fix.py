"""`doctor --fix`: one of ours is rebuilt; of others' the least change is shown, agreed to, proven, or taken back."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.test_in_place import hashes, python
from tests.support.command import Ran, profile, provision
from tests.support.index import LoopbackIndex

#: Fails where its numpy is of version 2, as the real one does; the row of the knowledge says so too.
TENSORFLOW = (
    "import numpy\n__version__ = '2.10.1'\n"
    "if numpy.__version__[0] == '2':\n    raise TypeError('Unable to convert function return value')\n"
)


def made(index: LoopbackIndex, folder: Path, *installed: str) -> Path:
    """A venv with these installed one by one, requirements or not; its package folder."""
    shutil.rmtree(folder / ".venv", ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / ".venv"], check=True)
    command = [
        sys.executable,
        "-m",
        "uv",
        "pip",
        "install",
        "-q",
        "--no-deps",
        "--python",
        folder / ".venv/bin/python",
    ]
    for one in installed:
        subprocess.run([*command, one], check=True)
    return next((folder / ".venv/lib").glob("python*/site-packages"))


@pytest.fixture
def shop(index: LoopbackIndex) -> LoopbackIndex:
    index.wheel(
        "tensorflow", "2.10.1", files={"tensorflow/__init__.py": TENSORFLOW}, requires=["numpy>=1.20"]
    )
    for version in ("1.26.4", "2.2.6"):
        index.wheel("numpy", version)
    index.wheel("vision", "1.0", requires=["numpy"])
    index.wheel("vision", "2.0", requires=["numpy>=2"])
    for name in ("opencv-python", "opencv-python-headless"):
        index.wheel(name, "4.11.0", files={"cv2/__init__.py": f"NAME = {name!r}\n"})
    index.wheel("sight", "1.0", requires=["opencv-python-headless"])
    index.wheel("alpha", "1.0", files={"alpha/__init__.py": "", "alpha/more.py": ""})
    index.wheel("mine", "1.0")
    return index


def changes(ran: Ran) -> list[tuple[str, str]]:
    steps = ran.document["fixes"]["plan"]["steps"]
    return [(s["action"], s["subject"]) for s in steps if s["action"] in ("remove", "install")]


def test_the_least_change_is_shown_then_made(shop: LoopbackIndex, folder: Path) -> None:
    packages = made(
        shop, folder, "tensorflow", "numpy==2.2.6", "vision==2.0", "opencv-python", "opencv-python-headless", "sight",
        "alpha", "mine",
    )  # fmt: skip
    (packages / "alpha" / "more.py").unlink()
    (packages / "~umpy").mkdir()
    before = hashes(folder)

    shown = provision(folder, "doctor", ".venv", "--fix", "--json")
    assert (shown.code, shown.document["fixes"]["mended"]) == (1, False)
    assert {f["kind"] for f in shown.document["fixes"]["fixes"]} == {"change"}
    assert [c for c in changes(shown) if c[0] == "install"] == [
        ("install", "alpha 1.0"), ("install", "numpy 1.26.4"), ("install", "opencv-python-headless 4.11.0"),
        ("install", "vision 1.0"),
    ]  # fmt: skip
    gone = [subject for action, subject in changes(shown) if action == "remove"]
    assert "opencv-python 4.11.0" in gone, "the other one is required by sight"
    assert not {"tensorflow 2.10.1", "mine 1.0", "sight 1.0"} & set(gone)
    assert hashes(folder) == before
    assert "provision doctor .venv --fix" in provision(folder, "doctor", ".venv").out
    people = provision(folder, "doctor", ".venv", "--fix")
    assert "+ replace   numpy 2.2.6 -> 1.26.4   (tensorflow 2.10.1: " in people.out
    assert "+ replace   vision 2.0 -> 1.0   (it goes along with numpy)" in people.out
    assert "provision doctor .venv --fix --yes" in people.out
    assert hashes(folder) == before

    ran = provision(folder, "doctor", ".venv", "--fix", "--yes", "--json")
    assert (ran.code, ran.document["fixes"]["mended"], ran.document["cause"]) == (0, True, None), ran
    assert (
        python(folder, "import tensorflow, cv2, alpha.more, mine, vision; print(cv2.NAME)")
        == "opencv-python-headless"
    )
    assert not (packages / "~umpy").exists()
    status = provision(folder, "status", ".venv")
    assert (status.code, "changed in place" in status.out) == (0, True), status
    assert provision(folder, "verify", "--environment", ".venv").code == 0
    again = provision(folder, "doctor", ".venv", "--fix", "--json")
    assert (again.code, again.document["fixes"]) == (
        0,
        {"mended": False, "fixes": [], "plan": None, "findings": []},
    )


def test_a_change_that_does_not_prove_itself_is_taken_back(shop: LoopbackIndex, folder: Path) -> None:
    files = {"gamma/__init__.py": "import gamma.lost\n", "gamma/lost.py": "raise RuntimeError('gamma')\n"}
    shop.wheel("gamma", "1.0", files=files)
    packages = made(shop, folder, "gamma", "mine")
    (packages / "gamma" / "lost.py").unlink()
    before = hashes(folder)
    ran = provision(folder, "doctor", ".venv", "--fix", "--yes", "--json")
    assert (ran.code, ran.document["fixes"]["mended"]) == (1, False), ran
    assert ran.document["fixes"]["findings"], ran
    assert {f["kind"] for f in ran.document["fixes"]["fixes"]} == {"foreign"}, "then it is for a person"
    assert hashes(folder) == before
    people = provision(folder, "doctor", ".venv", "--fix", "--yes")
    assert "taken back" in people.out
    assert "RuntimeError: gamma" in people.out
    assert hashes(folder) == before
    assert not list((folder / ".provision").rglob("mend-*"))


def test_what_cannot_be_had_is_said_with_what_a_person_can_do(shop: LoopbackIndex, folder: Path) -> None:
    shop.wheel("needy", "1.0", requires=["nowhere>=3"])
    made(shop, folder, "needy", "mine")
    before = hashes(folder)
    ran = provision(folder, "doctor", ".venv", "--fix", "--yes", "--json")
    assert (ran.code, ran.document["fixes"]["plan"]) == (1, None)
    assert "nowhere" in ran.document["fixes"]["findings"][0]["summary"]
    assert ran.document["fixes"]["fixes"] == [], "who types the same by hand gets the same"
    assert hashes(folder) == before
    nowhere = {"UV_DEFAULT_INDEX": "http://127.0.0.1:9/simple", "UV_INDEX_URL": "http://127.0.0.1:9/simple"}
    away = provision(
        folder, "doctor", ".venv", "--fix", "--yes", "--json", env={**nowhere, "UV_HTTP_RETRIES": "0"}
    )
    assert [f["code"] for f in away.document["fixes"]["findings"]] == ["index-unreachable"]
    assert [f["kind"] for f in away.document["fixes"]["fixes"]] == ["foreign"], "another day it is right"


def test_a_family_member_that_stands_in_is_enough(shop: LoopbackIndex, folder: Path) -> None:
    """sight wants the headless one; the full one has all that it has, and both together would break."""
    packages = made(shop, folder, "sight", "opencv-python", "alpha")
    (packages / "alpha" / "more.py").unlink()
    ran = provision(folder, "doctor", ".venv", "--fix", "--json")
    assert changes(ran) == [("remove", "alpha 1.0"), ("install", "alpha 1.0")]


def test_remains_alone_need_no_index(isolated_home: Path, folder: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / ".venv"], check=True)
    packages = next((folder / ".venv/lib").glob("python*/site-packages"))
    (packages / "~umpy").mkdir()
    refused = provision(folder, "doctor", ".venv", "--fix", "--json")
    assert (refused.code, refused.document["fixes"]["mended"]) == (1, False)
    assert (packages / "~umpy").is_dir()
    ran = provision(folder, "doctor", ".venv", "--fix", "--yes", "--json")
    assert (ran.code, ran.document["fixes"]["mended"], ran.document["cause"]) == (0, True, None), ran
    assert not (packages / "~umpy").exists()
    assert "not proven" in provision(folder, "status", ".venv").out, "nothing came, so nothing was proven"


def test_what_conda_manages_is_for_conda(shop: LoopbackIndex, folder: Path) -> None:
    packages = made(shop, folder, "alpha", "mine")
    (packages / "alpha" / "more.py").unlink()
    (folder / ".venv" / "conda-meta").mkdir()
    owned = packages.relative_to(folder / ".venv") / "alpha-1.0.dist-info" / "METADATA"
    record = {"name": "alpha", "version": "1.0", "build": "0", "files": [owned.as_posix()]}
    (folder / ".venv" / "conda-meta" / "alpha-1.0-0.json").write_text(json.dumps(record))
    ran = provision(folder, "doctor", ".venv", "--fix", "--yes", "--json")
    assert (ran.code, ran.document["fixes"]["mended"]) == (1, False)
    assert [f["code"] for f in ran.document["fixes"]["findings"]] == ["conda-managed"]
    assert not (packages / "alpha" / "more.py").exists()


def test_an_environment_of_ours_is_built_again(index: LoopbackIndex, tmp_path: Path) -> None:
    index.wheel("alpha", "1.0")
    folder = tmp_path / "项目 two"
    folder.mkdir()
    path = profile(folder, "packages: [alpha]\n")
    assert provision(folder, "apply", path.name).code == 0
    # Where the tests run from a working copy its folder stands on PYTHONPATH, which doctor rightly notes.
    assert set(provision(folder, "doctor", "--json").codes) <= {"pythonpath-set"}

    packages = next((folder / ".venv" / "lib").glob("python*/site-packages"))
    (packages / "alpha" / "__init__.py").unlink()
    (packages / "~lpha").mkdir()
    ran = provision(folder, "doctor", path.name, "--json")
    assert (ran.code, ran.document["cause"]) == (1, "files-missing")
    assert {"files-missing", "litter", "environment-drifted"} <= set(ran.codes)

    refused = provision(folder, "doctor", "--fix", "--json")
    assert (refused.code, refused.document["fixes"]["mended"]) == (1, False)
    assert [s["subject"] for s in refused.document["fixes"]["plan"]["steps"] if s["action"] == "install"] == [
        "alpha 1.0"
    ]
    people = provision(folder, "doctor", ".venv", "--fix")
    assert "Built again from its lock:" in people.out
    assert "provision doctor .venv --fix --yes" in people.out
    assert os.readlink(folder / ".venv").endswith("1")
    mended = provision(folder, "doctor", "--fix", "--yes", "--json")
    assert (mended.code, mended.document["cause"], mended.document["fixes"]["mended"]) == (0, None, True)
    assert os.readlink(folder / ".venv").endswith("2")


def test_an_index_is_not_asked_for_what_came_from_a_file(shop: LoopbackIndex, folder: Path) -> None:
    """Whoever has the name there may be somebody else."""
    files = {"own/__init__.py": "", "own/part.py": ""}
    wheel = shutil.move(shop.wheel("own", "1.0", files=files, requires=["numpy>=2"]), folder)
    shop.wheel("own", "9.0", files={"own/__init__.py": "raise SystemExit('of a stranger')\n"})
    packages = made(shop, folder, str(wheel), "tensorflow", "numpy==2.2.6", "alpha")
    (packages / "own" / "part.py").unlink()
    (packages / "alpha" / "more.py").unlink()
    ran = provision(folder, "doctor", ".venv", "--fix", "--yes", "--json")
    assert changes(ran) == [("remove", "alpha 1.0"), ("install", "alpha 1.0")]
    notes = {note["code"]: note["summary"] for note in ran.document["fixes"]["plan"]["notes"]}
    assert "own" in notes["not-from-an-index"]
    assert "numpy" in notes["conflict"], "own keeps numpy 2, tensorflow wants numpy 1"

    packages = made(shop, folder, str(wheel), "numpy==2.2.6", "alpha")
    (packages / "own" / "part.py").unlink()
    (packages / "alpha" / "more.py").unlink()
    mended = provision(folder, "doctor", ".venv", "--fix", "--yes", "--json")
    assert changes(mended) == [("remove", "alpha 1.0"), ("install", "alpha 1.0")]
    assert mended.document["fixes"]["mended"] is True
    assert mended.code == 1, "own is still damaged"
    left = provision(folder, "doctor", ".venv", "--fix", "--yes", "--json")
    assert ([f["kind"] for f in left.document["fixes"]["fixes"]], left.code) == (["foreign"], 1)
    assert python(folder, "import own; print('mine')") == "mine"


def test_a_missing_requirement_comes_with_its_extra(shop: LoopbackIndex, folder: Path) -> None:
    shop.wheel("beta", "1.0", extras={"fast": ["gamma"]})
    shop.wheel("beta", "2.0", extras={"fast": ["gamma"]})
    shop.wheel("gamma", "1.0")
    shop.wheel(
        "wants", "1.0", requires=["beta[fast]<2", "far @ https://example.invalid/far-1.0-py3-none-any.whl"]
    )
    made(shop, folder, "wants")
    ran = provision(folder, "doctor", ".venv", "--fix", "--yes", "--json")
    assert changes(ran) == [("install", "beta 1.0"), ("install", "gamma 1.0")], ran
    assert ran.document["fixes"]["mended"] is True


def test_one_that_cannot_be_had_does_not_keep_the_others_from_it(shop: LoopbackIndex, folder: Path) -> None:
    """bb 2 needs a newer cc; ours came from an index that is not configured any more, and a stranger has its name."""
    for version in ("1.0", "2.0"):
        shop.wheel("bb", version, requires=["cc" if version == "1.0" else "cc>=2"])
        shop.wheel("cc", version)
    shop.wheel("aa", "1.0", requires=["bb>=2"])
    wheel = shop.wheel("ours", "1.0", files={"ours/__init__.py": "", "ours/part.py": ""})
    packages = made(shop, folder, "aa", "bb==1.0", "cc==1.0", "ours")
    wheel.unlink()
    shop.wheel("ours", "9.0")
    (packages / "ours" / "part.py").unlink()
    ran = provision(folder, "doctor", ".venv", "--fix", "--yes", "--json")
    assert changes(ran) == [
        ("remove", "bb 1.0"), ("remove", "cc 1.0"), ("install", "bb 2.0"), ("install", "cc 2.0"),
    ]  # fmt: skip
    assert ran.document["fixes"]["mended"] is True
    (note,) = ran.document["fixes"]["plan"]["notes"]
    assert (note["code"], "ours" in note["summary"]) == ("not-from-an-index", True)


def test_what_was_changed_by_a_profile_stays_that_profiles(shop: LoopbackIndex, folder: Path) -> None:
    path = profile(folder, "packages: [alpha]\nsmoke: {jobs: [imports]}\n")
    packages = made(shop, folder, "mine")
    words = ("apply", path.name, "--in-place", "--environment", ".venv", "--yes")
    assert provision(folder, *words).code == 0
    (packages / "alpha" / "more.py").unlink()
    (packages / "~lpha").mkdir()
    ran = provision(folder, "doctor", ".venv", "--fix", "--yes", "--json")
    assert (ran.code, ran.document["fixes"]["mended"]) == (0, True), ran
    assert ran.document["fixes"]["plan"]["profile"] == "team"
    assert provision(folder, *words, "--json").document["outcome"] == "unchanged"
    shutil.rmtree(packages / "alpha")
    assert provision(folder, "verify", "--environment", ".venv").code == 1


def test_a_generation_of_another_lock_is_not_made_another(shop: LoopbackIndex, folder: Path) -> None:
    path = profile(folder, "packages: [alpha, mine]\nsmoke: {jobs: [imports]}\n")
    assert provision(folder, "apply", path.name).code == 0
    profile(folder, "packages: [mine]\nsmoke: {jobs: [imports]}\n")
    assert provision(folder, "apply", path.name, "--yes").code == 0
    assert provision(folder, "rollback", ".venv").code == 0
    packages = next((folder / ".venv/lib").glob("python*/site-packages"))
    (packages / "alpha" / "more.py").unlink()
    ran = provision(folder, "doctor", ".venv", "--fix", "--yes", "--json")
    assert (ran.code, [f["code"] for f in ran.document["fixes"]["findings"]]) == (
        1,
        ["made-from-another-lock"],
    )
    assert os.readlink(folder / ".venv").endswith("1")


def test_an_interrupted_run_is_named_and_made_whole(shop: LoopbackIndex, folder: Path) -> None:
    packages = made(shop, folder, "alpha", "mine")
    (packages / "alpha" / "more.py").unlink()
    assert provision(folder, "doctor", ".venv", "--fix", "--yes").code == 0
    journal = folder / ".provision" / ".venv" / "journal.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[:-2]), encoding="utf-8")
    ran = provision(folder, "doctor", ".venv", "--json")
    assert (ran.code, ran.document["cause"]) == (1, "run-interrupted")
    fixed = provision(folder, "doctor", ".venv", "--fix", "--json")
    assert "run-interrupted" not in fixed.codes
    assert "run-interrupted" not in provision(folder, "doctor", ".venv", "--json").codes


def test_a_link_to_an_environment_is_that_environment(shop: LoopbackIndex, folder: Path) -> None:
    packages = made(shop, folder, "alpha")
    (packages / "alpha" / "more.py").unlink()
    (folder / "linked").symlink_to(".venv")
    ran = provision(folder, "doctor", "linked", "--fix", "--yes", "--json")
    assert (ran.code, ran.document["fixes"]["mended"]) == (0, True), ran


def test_a_file_where_a_package_should_be(shop: LoopbackIndex, folder: Path) -> None:
    packages = made(shop, folder, "alpha", "mine")
    shutil.rmtree(packages / "alpha")
    (packages / "alpha").write_text("hi")
    before = hashes(folder)
    ran = provision(folder, "doctor", ".venv", "--fix", "--yes", "--json")
    assert ran.code == 6, ran
    assert hashes(folder) == before


def test_what_python_does_not_see_of_an_environment(shop: LoopbackIndex, folder: Path) -> None:
    packages = made(shop, folder, "alpha")
    (packages / "alpha-1.0.dist-info" / "RECORD").write_text("garbage\n")
    assert provision(folder, "doctor", ".venv", "--json").document["cause"] == "distribution-broken"
    assert provision(folder, "doctor", ".venv", "--fix", "--yes").code == 0
    settings = (folder / ".venv/pyvenv.cfg").read_text()
    (folder / ".venv/pyvenv.cfg").write_text("garbage\n")
    ran = provision(folder, "doctor", ".venv", "--json")
    assert (ran.code, ran.document["cause"], len(ran.codes)) == (1, "pyvenv-damaged", 1)
    command = [sys.executable, "-m", "venv", "--without-pip", "--upgrade", folder / ".venv"]
    subprocess.run(command, check=True)
    assert "home = " in settings
    assert provision(folder, "doctor", ".venv").code == 0, "as the way out says"


def test_a_file_is_not_started_to_see_what_it_is(folder: Path, isolated_home: Path) -> None:
    script = folder / "train.sh"
    script.write_text("#!/bin/sh\ntouch ran\n")
    script.chmod(0o755)
    ran = provision(folder, "doctor", "./train.sh", "--json")
    assert (ran.code, ran.codes) == (2, ["no-such-interpreter"])
    assert not (folder / "ran").exists()
    assert provision(folder, "status", "nothing", "--json").codes == ["no-such-environment"]
