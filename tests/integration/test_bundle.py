"""Files of locks carried to a machine without a network."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from provision.model.finding import ApplyError, LockError
from provision.world.bundles import Bundle
from provision.world.store import Wanted
from tests.support.command import profile, provision
from tests.support.index import LoopbackIndex


@pytest.fixture
def shop(index: LoopbackIndex) -> LoopbackIndex:
    index.wheel("alpha", "1.0", requires=["beta"])
    index.wheel("beta", "1.0")
    index.wheel("gamma", "1.0")
    return index


@pytest.fixture
def elsewhere(tmp_path: Path) -> dict[str, str]:
    """A machine that has nothing, and no way out."""
    nowhere = "http://127.0.0.1:9/simple"
    return {
        "PROVISION_CACHE": str(tmp_path / "other cache"),
        "UV_DEFAULT_INDEX": nowhere,
        "UV_INDEX_URL": nowhere,
    }


def test_it_is_carried_and_applied(shop: LoopbackIndex, folder: Path, elsewhere: dict[str, str]) -> None:
    path = profile(folder, "packages: [alpha]\n")
    missing = provision(folder, "bundle", path.name, "-o", "carry", "--json")
    assert (missing.code, missing.codes) == (4, ["lock-missing"])
    assert provision(folder, "lock", path.name).code == 0
    dry = provision(folder, "bundle", path.name, "-o", "carry", "--dry-run", "--json")
    assert (dry.code, dry.document["written"], dry.document["locks"][0]["files"]) == (0, False, 2)
    assert not (folder / "carry").exists()

    ran = provision(folder, "bundle", path.name, "-o", "carry", "--json")
    (lock,) = ran.document["locks"]
    assert (ran.code, lock["files"], lock["fresh"]) == (0, 2, 2), ran
    files = sorted(p.name for p in (folder / "carry/files/pypi").iterdir())
    assert files == ["alpha-1.0-py3-none-any.whl", "beta-1.0-py3-none-any.whl"]
    for line in (folder / "carry/SHA256SUMS").read_text().splitlines():
        digest, _, name = line.partition("  ")
        assert hashlib.sha256((folder / "carry" / name).read_bytes()).hexdigest() == digest
    again = provision(folder, "bundle", path.name, "-o", "carry", "--json")
    assert again.document["locks"][0]["fresh"] == 0

    asked = len(shop.requests)
    alone = provision(folder, "apply", path.name, "--offline", "--json", env=elsewhere)
    assert alone.code == 5, "without the bundle there is nothing"
    planned = provision(folder, "plan", path.name, "--bundle", "carry", "--json", env=elsewhere)
    assert (planned.code, [s for s in planned.document["steps"] if s["action"] == "fetch"]) == (0, [])
    applied = provision(folder, "apply", path.name, "--bundle", "carry", "--yes", "--json", env=elsewhere)
    assert (applied.code, applied.document["outcome"]) == (0, "changed"), applied
    assert len(shop.requests) == asked

    profile(folder, "packages: [alpha, gamma]\n")
    stale = provision(folder, "bundle", path.name, "-o", "carry", "--json")
    assert (stale.code, stale.codes) == (4, ["lock-stale"])


@pytest.mark.parametrize(("harm", "code"), [("altered", 4), ("cut", 5), ("gone", 5)])
def test_a_bundle_is_not_trusted(
    shop: LoopbackIndex, folder: Path, elsewhere: dict[str, str], harm: str, code: int
) -> None:
    path = profile(folder, "packages: [alpha]\n")
    assert provision(folder, "lock", path.name).code == 0
    assert provision(folder, "bundle", path.name, "-o", "carry").code == 0
    wheel = folder / "carry/files/pypi/beta-1.0-py3-none-any.whl"
    data = wheel.read_bytes()
    if harm == "gone":
        wheel.unlink()
    else:
        wheel.write_bytes(data[:-9] if harm == "cut" else data[:-9] + b"x" * 9)
    ran = provision(folder, "apply", path.name, "--bundle", "carry", "--yes", "--json", env=elsewhere)
    assert ran.code == code, ran
    assert (
        ran.codes
        == {"altered": ["hash-mismatch"], "cut": ["bundle-altered"], "gone": ["offline-missing"]}[harm]
    )
    planned = provision(folder, "plan", path.name, "--bundle", "carry", "--json", env=elsewhere)
    assert planned.code == (0 if harm == "altered" else 5), "what can be seen without reading it all"
    assert "beta-1.0-py3-none-any.whl" in ran.out
    assert not (folder / ".venv").exists()
    mended = provision(folder, "bundle", path.name, "-o", "carry", "--json")
    assert mended.document["locks"][0]["fresh"] == 1, "what is wrong in it is copied again"
    assert provision(folder, "apply", path.name, "--bundle", "carry", "--yes", env=elsewhere).code == 0


def test_licences_come_first(folder: Path, isolated_home: Path) -> None:
    words = (
        "bundle",
        "nvidia-cuda112-tf210",
        "--target",
        "windows-x86_64",
        "-o",
        "carry",
        "--dry-run",
        "--json",
    )
    ran = provision(folder, *words)
    assert (ran.code, ran.codes) == (5, ["licence-not-accepted"])
    taken = provision(folder, *words, "--accept-licence")
    assert (taken.code, taken.document["locks"][0]["target"]) == (0, "windows-x86_64"), taken


def wanted(text: bytes, name: str = "one.whl", index: str = "pypi") -> Wanted:
    return Wanted(
        filename=name, sha256=hashlib.sha256(text).hexdigest(), urls=(), size=len(text), index=index
    )


def test_two_files_of_one_name(tmp_path: Path) -> None:
    bundle = Bundle(tmp_path / "carry")
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_bytes(b"123")
    second.write_bytes(b"345")
    assert bundle.put(first, wanted(b"123"))
    assert bundle.put(second, wanted(b"345"))
    assert not bundle.put(second, wanted(b"345"))
    found = [bundle.find(wanted(text)) for text in (b"123", b"345")]
    assert [path.read_bytes() for path in found if path] == [b"123", b"345"]
    assert bundle.list_sums([wanted(b"123"), wanted(b"345")]).read_text().count("\n") == 2


def test_what_the_cache_holds_is_not_trusted_either(
    shop: LoopbackIndex, folder: Path, isolated_home: Path
) -> None:
    path = profile(folder, "packages: [alpha]\n")
    assert provision(folder, "lock", path.name).code == 0
    assert provision(folder, "bundle", path.name, "-o", "first").code == 0
    (cached,) = (p for p in isolated_home.rglob("beta-1.0-py3-none-any.whl") if "files" in p.parts)
    data = cached.read_bytes()
    cached.write_bytes(data[:-4] + b"xxxx")
    ran = provision(folder, "bundle", path.name, "-o", "carry", "--json")
    assert (ran.code, ran.codes) == (4, ["hash-mismatch"])
    assert not list((folder / "carry").rglob("beta*"))
    cached.unlink()
    assert provision(folder, "bundle", path.name, "-o", "carry", "--json").code == 0


def test_another_profile_does_not_call_right_what_was_altered(shop: LoopbackIndex, folder: Path) -> None:
    path = profile(folder, "packages: [alpha]\n")
    assert provision(folder, "lock", path.name).code == 0
    assert provision(folder, "bundle", path.name, "-o", "carry").code == 0
    wheel = folder / "carry/files/pypi/beta-1.0-py3-none-any.whl"
    right = wheel.read_bytes()
    wheel.write_bytes(right[:-4] + b"xxxx")
    other = folder / "other.yaml"
    other.write_text(path.read_text().replace("name: team", "name: other").replace("alpha", "gamma"))
    assert provision(folder, "lock", other.name).code == 0
    assert provision(folder, "bundle", other.name, "-o", "carry").code == 0
    sums = (folder / "carry/SHA256SUMS").read_text()
    assert hashlib.sha256(right).hexdigest() in sums
    assert sums.count("\n") == 3
    assert provision(folder, "bundle", path.name, "-o", "carry").code == 0
    assert wheel.read_bytes() == right


def test_a_folder_that_cannot_be_written(shop: LoopbackIndex, folder: Path) -> None:
    path = profile(folder, "packages: [alpha]\n")
    assert provision(folder, "lock", path.name).code == 0
    (folder / "afile").write_text("")
    ran = provision(folder, "bundle", path.name, "-o", "afile/x", "--json")
    assert (ran.code, ran.codes) == (6, ["bundle-not-written"])


def test_room_is_looked_at_before_anything_is_fetched(tmp_path: Path) -> None:
    bundle = Bundle(tmp_path / "carry")
    bundle.check_room([wanted(b"12")])
    with pytest.raises(ApplyError, match="cannot be written"):
        bundle.check_room([wanted(b"12"), replace(wanted(b"345"), size=1 << 60)])


@pytest.mark.parametrize("name", ["../one.whl", "/one.whl", "..", "a/b", "nul", "C:one"])
def test_no_name_leads_out_of_it(tmp_path: Path, name: str) -> None:
    with pytest.raises(LockError):
        Bundle(tmp_path).find(wanted(b"", name))
    with pytest.raises(LockError):
        Bundle(tmp_path).put(tmp_path / "x", wanted(b"", "one.whl", index=name))
