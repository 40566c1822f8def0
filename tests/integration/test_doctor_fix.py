"""doctor on an environment that provision made: what was damaged is seen, and a rebuild mends it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import profile, provision
from tests.support.index import LoopbackIndex


def test_damage_is_found_and_mended(
    index: LoopbackIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    assert (refused.code, refused.codes) == (5, ["not-confirmed"])
    mended = provision(folder, "doctor", "--fix", "--yes", "--json")
    assert (mended.code, mended.document["cause"], mended.document["fixes"]["mended"]) == (0, None, True)
    assert os.readlink(folder / ".venv").endswith("2")


@pytest.mark.skipif(sys.platform == "win32", reason="the tree is that of POSIX")
def test_an_environment_of_others_is_not_changed(isolated_home: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")], check=True)
    packages = next((tmp_path / "env" / "lib").glob("python*/site-packages"))
    (packages / "~umpy").mkdir()
    ran = provision(tmp_path, "doctor", "env", "--fix", "--yes", "--json")
    fixes = ran.document["fixes"]
    assert (ran.code, fixes["mended"], [f["kind"] for f in fixes["fixes"]]) == (1, False, ["foreign"])
    assert fixes["fixes"][0]["lines"] == [f"rm -r '{packages / '~umpy'}'"]
    assert (packages / "~umpy").is_dir()
    assert "did not make this environment" in provision(tmp_path, "doctor", "env", "--fix").out
    shutil.rmtree(tmp_path / "env")
