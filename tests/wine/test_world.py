"""What provision's own adapters see and do on Windows: files and junctions, the machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.wine.machine import ROOT, Windows

pytestmark = pytest.mark.wine


def test_the_file_system_keeps_its_contract(windows: Windows, tmp_path: Path) -> None:
    """The suite that holds the real file system and the one in memory to the same, run by Windows' Python."""
    words = (
        "-m",
        "pytest",
        "-q",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        "-k",
        "real",
        "tests/world/test_files_contract.py",
    )
    ran = windows.python_run(*words, f"--basetemp=C:\\contract-{tmp_path.name}", cwd=ROOT)
    assert ran.code == 0, ran.out
    assert "6 passed" in ran.out


def test_a_file_system_without_junctions_is_said_and_left_clean(windows: Windows, tmp_path: Path) -> None:
    """What Wine before 10.19 answers is what Windows answers on FAT: not supported, and a folder is left behind."""
    if windows.has_junctions:
        pytest.skip("this Wine has junctions")
    code = (
        "from provision.world.files import HostFiles as F; import os; os.mkdir('one')\n"
        "try: F().point('env', os.path.abspath('one'))\n"
        "except OSError as e: print(e.winerror, os.listdir('.'))"
    )
    ran = windows.python_run("-c", code, cwd=tmp_path, PROVISION_STAND_IN="")
    assert ran.out.strip() == "50 ['one']", ran.err


def test_the_machine_is_seen(windows: Windows, tmp_path: Path) -> None:
    ran = windows.provision(tmp_path, "detect", "--json")
    assert ran.code == 0, ran.err
    machine = ran.document
    assert (machine["os"], machine["arch"], machine["target"]) == ("windows", "x86_64", "windows-x86_64")
    assert machine["os_version"].startswith("10.0."), machine["os_version"]
    assert machine["evidence"]["os_version"].startswith("HKEY_LOCAL_MACHINE")
    assert machine["memory"] > 1 << 30
    assert {"sse4_2", "avx2"} & set(machine["cpu_flags"])
    assert "msvc" in [one["name"] for one in machine["software"]]
    assert any(p["path"].lower().endswith("python-3.11\\python.exe") for p in machine["pythons"])
