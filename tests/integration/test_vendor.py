"""Wheels that no index serves: named by the profile, fetched by hand, pinned by the lock, found again by apply."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml

from tests.support import wheels
from tests.support.command import profile, provision, running_python
from tests.support.index import LoopbackIndex

TAG = "py3-none-any"
WHERE = "https://maker.invalid/releases"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "team"
    path.mkdir()
    return path


@pytest.fixture
def shop(index: LoopbackIndex) -> LoopbackIndex:
    """The default index has the vendor's name too, in a higher version: it must never be asked for it."""
    index.wheel("beta", "1.0")
    index.wheel("gamma", "1.0")
    index.wheel("plugin", "9.0")
    return index


def described(folder: Path, more: str = "", packages: str = "gamma, plugin") -> Path:
    return profile(
        folder,
        f"packages: [{packages}]\nwheels:\n  folder: ./vendor\n  files:\n"
        f"  - {{name: Plug_In, version: '1.0', tags: {TAG}, where: '{WHERE}'{more}}}\n".replace("Plug_In", "plugin"),
    )


def lock_of(folder: Path) -> dict[str, object]:
    (path,) = (folder / "locks" / "team").glob("*.lock.yaml")
    document: dict[str, object] = yaml.safe_load(path.read_text())
    return document


def test_without_the_file_nothing_is_locked_and_the_rest_is_shown(shop: LoopbackIndex, folder: Path) -> None:
    path = described(folder)
    ran = provision(folder, "lock", path.name, "--json")
    assert (ran.code, ran.codes) == (3, ["vendor-files-missing"])
    (finding,) = ran.document["findings"]
    assert f"plugin-1.0-{TAG}.whl from {WHERE}" in finding["summary"]
    assert not (folder / "locks").exists()
    plan = provision(folder, "plan", path.name, "--json")
    assert (plan.code, plan.codes) == (5, ["vendor-files-missing"])
    assert {s["subject"] for s in plan.document["steps"] if s["kind"] == "package"} >= {"gamma-1.0-py3-none-any.whl"}
    assert not (folder / "locks").exists()
    assert provision(folder, "apply", path.name, "--yes", "--json").code == 3
    assert not [p for p in shop.paths() if "plugin" in p]
    checked = provision(folder, "lock", "--check", path.name, "--json")
    assert (checked.code, [f["severity"] for f in checked.document["findings"]]) == (0, ["warning"])


def test_the_file_is_pinned_and_applied(shop: LoopbackIndex, folder: Path) -> None:
    file = wheels.make_wheel(folder / "vendor", "plugin", "1.0+maker", tag=TAG, requires=["beta"])
    wheels.make_wheel(folder / "vendor", "plugin", "2.0", tag=TAG)
    path = described(folder, packages="gamma, plugin==1.0")
    ran = provision(folder, "lock", path.name)
    assert ran.code == 0, ran.err
    lock = lock_of(folder)
    packages = {p["name"]: p for p in lock["packages"]}  # type: ignore[attr-defined]
    assert set(packages) == {"beta", "gamma", "plugin"}
    assert packages["plugin"] == {
        "name": "plugin", "version": "1.0+maker", "index": "vendor", "file": file.name,
        "size": file.stat().st_size, "sha256": wheels.sha256(file), "where": WHERE,
    }  # fmt: skip
    assert lock["wheels"] == "./vendor"
    assert "indexes" not in lock
    assert str(folder) not in json.dumps(lock)
    assert not [p for p in shop.paths() if "plugin" in p]
    applied = provision(folder, "apply", path.name, "--locked", "--json")
    assert (applied.code, applied.document["outcome"]) == (0, "changed"), applied.err


def test_apply_elsewhere_says_what_to_fetch(shop: LoopbackIndex, folder: Path) -> None:
    wheels.make_wheel(folder / "vendor", "plugin", "1.0", tag=TAG)
    path = described(folder)
    assert provision(folder, "lock", path.name).code == 0
    shutil.rmtree(folder / "vendor")
    ran = provision(folder, "apply", path.name, "--locked", "--json")
    assert (ran.code, ran.codes) == (5, ["vendor-files-missing"])
    assert WHERE in json.dumps(ran.document["findings"])


def test_a_stated_hash_refuses_another_file(shop: LoopbackIndex, folder: Path) -> None:
    wheels.make_wheel(folder / "vendor", "plugin", "1.0", tag=TAG)
    ran = provision(folder, "lock", described(folder, f", sha256: '{'0' * 64}'").name, "--json")
    assert (ran.code, ran.codes) == (3, ["hash-mismatch"])
    assert not (folder / "locks").exists()


def test_files_for_another_python_or_target_are_not_asked_for(shop: LoopbackIndex, folder: Path) -> None:
    wheels.make_wheel(folder / "vendor", "plugin", "1.0", tag=TAG)
    path = described(folder)
    more = "  - {name: other, version: '1.0', tags: cp36-cp36m-win_amd64, where: nowhere}\n"
    path.write_text(path.read_text() + more)
    assert provision(folder, "lock", path.name).code == 0, running_python()


def test_a_vendor_file_and_an_index_for_one_package_contradict(folder: Path) -> None:
    path = described(folder)
    path.write_text(path.read_text() + "indexes: [{name: other, url: 'https://x.invalid/', packages: [plugin]}]\n")
    ran = provision(folder, "lock", path.name, "--json")
    assert (ran.code, ran.codes) == (2, ["repeated"])
    assert "team.yaml:8" in ran.document["findings"][0]["summary"]
