"""A recorded catalogue: what it holds is replayed without the indexes, the rest is asked of them, nothing is faked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.support import index as faults
from tests.support.command import profile, provision
from tests.support.index import LoopbackIndex


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "work"
    path.mkdir()
    return path


@pytest.fixture
def shop(index: LoopbackIndex) -> LoopbackIndex:
    """A default index with an sdist in the closure, and a named index."""
    index.wheel("alpha", "1.0", requires=["beta[fast]>=1", "delta", "not-here ; python_version < '3'"])
    index.wheel("beta", "1.0", extras={"fast": ["gamma"]})
    index.wheel("beta", "2.0", requires_python=">=3.8", extras={"fast": ["gamma<2"]})
    index.wheel("gamma", "1.5")
    index.wheel("gamma", "2.0")
    index.sdist("delta", "1.0", metadata_version="2.2")
    index.wheel("torch", "2.0+cu1", index="cuda", requires=["gamma"])
    return index


def extended(folder: Path, shop: LoopbackIndex) -> Path:
    return profile(
        folder,
        "packages: [alpha, torch]\n"
        f"indexes: [{{name: cuda, url: '{shop.url('cuda')}', packages: [torch, torchvision]}}]\n",
    )


def lock_of(folder: Path) -> Path:
    (found,) = (folder / "locks" / "team").glob("*.lock.yaml")
    return found


@pytest.mark.parametrize("metadata_beside", [True, False])
def test_a_recorded_run_is_replayed_offline_to_the_same_bytes(
    shop: LoopbackIndex, folder: Path, metadata_beside: bool
) -> None:
    shop.metadata = metadata_beside
    path = extended(folder, shop)
    assert provision(folder, "lock", path.name).code == 0
    plain = lock_of(folder).read_bytes()
    lock_of(folder).unlink()
    ran = provision(folder, "lock", path.name, "--record", "recorded")
    assert ran.code == 0, ran.err
    assert lock_of(folder).read_bytes() == plain
    lock_of(folder).unlink()
    asked = len(shop.paths())
    shop.fail("*", faults.status(500))
    ran = provision(folder, "lock", path.name, "--catalog", "recorded", "--offline")
    assert ran.code == 0, ran.err
    assert lock_of(folder).read_bytes() == plain
    assert len(shop.paths()) == asked
    assert {p.stem for p in (folder / "recorded" / "pypi").glob("*.json")} == {
        "alpha",
        "beta",
        "delta",
        "gamma",
    }


def test_the_record_holds_upstream_facts_and_no_address_of_the_default_index(
    shop: LoopbackIndex, folder: Path
) -> None:
    path = extended(folder, shop)
    assert provision(folder, "lock", path.name, "--record", "recorded").code == 0
    first = {p: p.read_bytes() for p in (folder / "recorded").rglob("*") if p.is_file()}
    (torch,) = json.loads((folder / "recorded" / "cuda" / "torch.json").read_text())["files"]
    assert torch["url"].startswith(shop.address("/files/cuda/torch/"))
    assert torch["size"] == (shop.root / "cuda" / "torch" / torch["name"]).stat().st_size
    pages = [json.loads(data) for p, data in first.items() if p.suffix == ".json" and p.parent.name == "pypi"]
    assert all("url" not in file for page in pages for file in page["files"])
    beta = next(page for page in pages if page["project"] == "beta")
    assert beta["metadata"]["2.0"]["requires-dist"] == ['gamma<2 ; extra == "fast"']
    assert beta["metadata"]["2.0"]["provides-extra"] == ["fast"]
    assert provision(folder, "lock", path.name, "--record", "recorded").code == 0
    assert {p: p.read_bytes() for p in (folder / "recorded").rglob("*") if p.is_file()} == first


def test_what_a_catalogue_lacks_is_asked_of_the_index_unless_offline(
    shop: LoopbackIndex, folder: Path
) -> None:
    path = extended(folder, shop)
    assert provision(folder, "lock", path.name, "--record", "recorded").code == 0
    lock = lock_of(folder).read_bytes()
    (folder / "recorded" / "pypi" / "gamma.json").unlink()
    lock_of(folder).unlink()
    ran = provision(folder, "lock", path.name, "--catalog", "recorded", "--offline", "--json")
    assert (ran.code, ran.codes) == (3, ["offline-missing"])
    assert "gamma on the index 'pypi'" in ran.document["findings"][0]["summary"]
    assert provision(folder, "lock", path.name, "--catalog", "recorded").code == 0
    assert lock_of(folder).read_bytes() == lock


def test_a_catalogue_of_one_index_leaves_the_default_index_alone(shop: LoopbackIndex, folder: Path) -> None:
    """A catalogue written by hand, with one index: names, hashes and requirements without any file to be had."""
    page = {
        "catalog": 1,
        "index": "cuda",
        "project": "torch",
        "metadata": {"9.0+cu1": {"requires-dist": ["gamma<2"]}},
        "files": [
            {"name": "torch-9.0+cu1-py3-none-any.whl", "url": "https://wheels.invalid/torch-9.0%2Bcu1-py3-none-any.whl",
             "sha256": "ab" * 32, "metadata": "9.0+cu1"},
        ],
    }  # fmt: skip
    (folder / "made" / "cuda").mkdir(parents=True)
    (folder / "made" / "cuda" / "torch.json").write_text(json.dumps(page))
    path = extended(folder, shop)
    ran = provision(folder, "lock", path.name, "--catalog", "made")
    assert ran.code == 0, ran.err
    text = lock_of(folder).read_text()
    packages = {p["name"]: p for p in yaml.safe_load(text)["packages"]}
    assert packages["torch"] == {
        "name": "torch", "version": "9.0+cu1", "index": "cuda", "file": "torch-9.0+cu1-py3-none-any.whl",
        "size": None, "sha256": "ab" * 32,
    }  # fmt: skip
    assert packages["gamma"]["version"] == "1.5"
    assert "127.0.0.1" not in text.replace(shop.url("cuda"), "")
    page["files"][0].pop("sha256")
    (folder / "made" / "cuda" / "torch.json").write_text(json.dumps(page))
    ran = provision(folder, "lock", path.name, "--catalog", "made", "--json")
    assert (ran.code, ran.codes) == (3, ["no-hash"])
    assert "torch-9.0+cu1-py3-none-any.whl" in ran.document["findings"][0]["summary"]
    assert lock_of(folder).read_text() == text


def test_a_broken_or_missing_catalogue_says_so(shop: LoopbackIndex, folder: Path) -> None:
    path = extended(folder, shop)
    ran = provision(folder, "lock", path.name, "--catalog", "nowhere", "--json")
    assert (ran.code, ran.codes) == (3, ["no-such-catalogue"])
    (folder / "broken" / "cuda").mkdir(parents=True)
    (folder / "broken" / "cuda" / "torch.json").write_text('{"catalog": 7, "files": []}')
    ran = provision(folder, "lock", path.name, "--catalog", "broken", "--json")
    assert (ran.code, ran.codes) == (3, ["bad-catalogue"])


def test_a_bound_package_never_comes_from_the_default_index(index: LoopbackIndex, folder: Path) -> None:
    """The attack of December 2022: a higher version of a dependency's name on the default index, as a source that
    runs code when an installer asks it for its requirements."""
    index.wheel("torch", "2.0", index="nightly", requires=["torchtriton"])
    index.wheel("torchtriton", "2.0", index="nightly", requires=["inner"])
    index.wheel("inner", "1.0", index="nightly")
    index.sdist("torchtriton", "3.0", fails="it was run")
    index.wheel("inner", "9.0")
    path = profile(
        folder,
        "packages: [torch]\n"
        f"indexes: [{{name: nightly, url: '{index.url('nightly')}', packages: [torch, torchtriton, inner, other]}}]\n",
    )
    ran = provision(folder, "lock", path.name)
    assert ran.code == 0, ran.err
    packages = yaml.safe_load(lock_of(folder).read_text())["packages"]
    assert {(p["name"], p["version"], p["index"]) for p in packages} == {
        ("torch", "2.0", "nightly"), ("torchtriton", "2.0", "nightly"), ("inner", "1.0", "nightly"),
    }  # fmt: skip
    assert not [
        p for p in index.paths() if p.startswith(("/simple/torchtriton", "/simple/inner", "/files/simple"))
    ]


def test_an_unreachable_index_is_named_with_its_line(shop: LoopbackIndex, folder: Path) -> None:
    path = profile(
        folder,
        "packages: [alpha, torch]\nindexes:\n- name: cuda\n  url: http://127.0.0.1:9/cuda\n  packages: [torch]\n",
    )
    ran = provision(folder, "lock", path.name, "--json", env={"UV_HTTP_RETRIES": "0"})
    assert (ran.code, ran.codes) == (3, ["index-unreachable"])
    (finding,) = ran.document["findings"]
    assert "'cuda'" in finding["summary"]
    where = {"source": str(path) + ":6:9", "text": "- name: cuda"}
    assert finding["evidence"][0] == where
