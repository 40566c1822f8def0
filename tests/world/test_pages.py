"""What indexes list: JSON and HTML alike, folders, pages kept between runs, and indexes that fail."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import uv

from provision.model.finding import ApplyError, BlockedError, Finding, ProvisionError
from provision.world.indexes import IndexConfig
from provision.world.pages import IndexClient, IndexFile
from provision.world.web import Limits
from tests.support import index as faults
from tests.support.index import Details, LoopbackIndex

QUICK = Limits(attempts=3, pause=0.01, longest_pause=0.02, stall=5)


@pytest.fixture
def client(index: LoopbackIndex, tmp_path: Path) -> IndexClient:
    return again(index, tmp_path)


def again(index: LoopbackIndex, tmp_path: Path, offline: bool = False) -> IndexClient:
    """A client as the next run would have it: same cache, empty memory."""
    config = IndexConfig(default_url=index.url())
    return IndexClient(config, cache=tmp_path / "cache", offline=offline, limits=QUICK)


def failure(
    client: IndexClient, kind: type[ProvisionError], name: str = "numpy", place: str | None = None
) -> Finding:
    with pytest.raises(kind) as error:
        client.project(name, place)
    (finding,) = error.value.findings
    return finding


def names(listing: tuple[IndexFile, ...] | None) -> list[str]:
    assert listing is not None
    return [file.name for file in listing]


def fill(index: LoopbackIndex) -> Path:
    """A plain wheel, a yanked one, one for other Pythons, an sdist."""
    plain = index.wheel("Nice.Thing", "1.0", details=Details(uploaded="2024-01-01T00:00:00Z"))
    index.wheel("Nice.Thing", "2.0", details=Details(yanked="it breaks < & >"))
    index.wheel("Nice.Thing", "2.1", details=Details(yanked=""))
    index.wheel("Nice.Thing", "3.0", requires_python=">=3.12,<4", tag="cp312-abi3-win_amd64")
    index.sdist("Nice.Thing", "1.0", details=Details(hashed=False))
    return plain


def test_json_says_all(index: LoopbackIndex, client: IndexClient) -> None:
    plain = fill(index)
    listing = client.project("nice_thing")
    assert listing is not None
    assert listing[0] == IndexFile(
        name=plain.name,
        url=index.file_url(plain),
        sha256=hashlib.sha256(plain.read_bytes()).hexdigest(),
        size=plain.stat().st_size,
        uploaded="2024-01-01T00:00:00Z",
    )
    assert [file.yanked for file in listing] == [None, None, "it breaks < & >", "", None]
    assert listing[4].requires_python == ">=3.12,<4"
    assert listing[1].sha256 is None


def test_html_says_the_same_but_for_sizes_and_times(
    index: LoopbackIndex, client: IndexClient, tmp_path: Path
) -> None:
    fill(index)
    index.metadata = True
    from_json = client.project("nice-thing")
    assert from_json is not None
    assert [file.metadata for file in from_json] == [True, False, True, True, True]
    index.json = False
    shutil.rmtree(tmp_path / "cache")
    from_html = again(index, tmp_path).project("nice-thing")
    assert from_html == tuple(replace(file, size=None, uploaded=None) for file in from_json)


def test_an_unknown_project_and_another_index(tiny_tensorflow: LoopbackIndex, client: IndexClient) -> None:
    assert client.project("tf-estimator") is None
    assert names(client.project("torch", tiny_tensorflow.url("pytorch-cpu") + "/")) == [
        "torch-2.0.1+cpu-py3-none-any.whl",
        "torch-2.13.0+cpu-py3-none-any.whl",
    ]


def test_many_at_once_and_each_only_once(tiny_tensorflow: LoopbackIndex, client: IndexClient) -> None:
    asked = ["numpy", "torch", "keras", "tf-estimator", "NumPy"]
    found = client.projects(asked)
    assert list(found) == asked
    assert found["numpy"] == found["NumPy"]
    assert found["tf-estimator"] is None
    before = len(tiny_tensorflow.requests)
    client.projects(asked)
    assert len(tiny_tensorflow.requests) == before


def test_a_kept_page_is_asked_for_by_its_tag(
    index: LoopbackIndex, client: IndexClient, tmp_path: Path
) -> None:
    index.wheel("numpy", "1.0")
    first = client.project("numpy")
    assert again(index, tmp_path).project("numpy") == first
    assert [r.status for r in index.requests] == [200, 304]
    index.wheel("numpy", "2.0")
    assert len(names(again(index, tmp_path).project("numpy"))) == 2
    assert again(index, tmp_path, offline=True).project("numpy") == again(index, tmp_path).project("numpy")


def test_offline(index: LoopbackIndex, client: IndexClient, tmp_path: Path) -> None:
    index.wheel("numpy", "1.0")
    assert failure(again(index, tmp_path, offline=True), BlockedError).code == "offline-missing"
    client.project("numpy")
    before = len(index.requests)
    assert names(again(index, tmp_path, offline=True).project("numpy"))
    assert len(index.requests) == before


def test_a_spoilt_cache_is_no_trouble(index: LoopbackIndex, client: IndexClient, tmp_path: Path) -> None:
    index.wheel("numpy", "1.0")
    first = client.project("numpy")
    for path in (tmp_path / "cache/pages").iterdir():
        for text in ("", "{", "[]", '{"url": 1}'):
            path.write_text(text)
            assert again(index, tmp_path).project("numpy") == first
    shutil.rmtree(tmp_path / "cache")
    (tmp_path / "cache").write_text("in the way")
    assert again(index, tmp_path).project("numpy") == first


def test_logins_are_used_and_not_kept(index: LoopbackIndex, tmp_path: Path) -> None:
    index.fail("/simple/*", faults.requires_login("me", "secret"))
    index.wheel("numpy", "1.0")
    assert failure(again(index, tmp_path), ApplyError).code == "unauthorized"
    url = index.url().replace("://", "://me:secret@")
    listing = IndexClient(IndexConfig(default_url=url), cache=tmp_path / "cache").project("numpy")
    assert listing is not None
    assert "secret" not in listing[0].url
    (kept,) = (tmp_path / "cache/pages").iterdir()
    assert "secret" not in kept.read_text() + kept.name


def test_passing_trouble_is_outlived(index: LoopbackIndex, client: IndexClient) -> None:
    index.wheel("numpy", "1.0")
    index.fail("/simple/*", faults.status(503), times=1)
    index.fail("/simple/*", faults.reset(0.5), times=1)
    assert names(client.project("numpy")) == ["numpy-1.0-py3-none-any.whl"]


def test_an_index_that_cannot_be_asked(index: LoopbackIndex, client: IndexClient, tmp_path: Path) -> None:
    index.fail("/simple/*", faults.status(500))
    finding = failure(client, ApplyError)
    assert (finding.code, f"127.0.0.1:{index.port}" in finding.summary) == ("network", True)
    assert failure(client, ApplyError, place="http://127.0.0.1:9/simple").code == "index-unreachable"
    assert failure(client, BlockedError, place="http://mirror.example/simple").code == "insecure-index"
    assert failure(client, ApplyError, place=str(tmp_path / "none")).code == "index-unreachable"


@pytest.mark.parametrize("body", ["{", "[]", '{"files": [1]}', '{"files": [{"filename": "x"}]}', "\x00"])
def test_what_is_no_page_of_an_index(index: LoopbackIndex, client: IndexClient, body: str) -> None:
    class Broken(LoopbackIndex):
        def respond(self, path: str, accept: str) -> tuple[str, bytes] | None:
            return faults.JSON_TYPE, body.encode()

    with Broken(index.root) as broken:
        finding = failure(client, ApplyError, place=broken.url())
    assert finding.code == "bad-index"


# Places on the disk.


def as_index(index: LoopbackIndex, folder: Path) -> Path:
    """The loopback index written out as pages, as one serves them from a disk."""
    for project in (index.root / "simple").iterdir():
        (folder / "simple" / project.name).mkdir(parents=True)
        (folder / "files").mkdir(exist_ok=True)
        links = []
        for path in sorted(project.iterdir()):
            shutil.copy(path, folder / "files")
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            links.append(f'<a href="../../files/{path.name}#sha256={digest}">{path.name}</a>')
        (folder / "simple" / project.name / "index.html").write_text("\n".join(links))
    return folder / "simple"


@pytest.mark.parametrize("as_url", [True, False])
def test_an_index_on_the_disk(
    tiny_tensorflow: LoopbackIndex, client: IndexClient, tmp_path: Path, as_url: bool
) -> None:
    folder = as_index(tiny_tensorflow, tmp_path / "中文 disk")
    place = folder.as_uri() if as_url else str(folder)
    on_disk, served = client.project("numpy", place), client.project("numpy")
    assert names(on_disk) == names(served)
    assert on_disk is not None
    assert served is not None
    assert [(f.sha256, f.size) for f in on_disk] == [(f.sha256, f.size) for f in served]
    assert on_disk[0].url == (folder.parent / "files" / on_disk[0].name).as_uri()
    assert client.project("tf-estimator", place) is None


def test_flat_folders(tiny_tensorflow: LoopbackIndex, client: IndexClient, tmp_path: Path) -> None:
    flat = tmp_path / "flat"
    flat.mkdir()
    for path in (tiny_tensorflow.root / "simple").glob("*/*"):
        shutil.copy(path, flat)
    (flat / "README.txt").touch()
    listing = client.project("tensorflow_cpu", str(flat))
    assert names(listing) == sorted(
        p.name for p in (tiny_tensorflow.root / "simple/tensorflow-cpu").iterdir()
    )
    assert names(client.project("gast", flat.as_uri())) == ["gast-0.2.2.tar.gz"]
    assert client.project("readme", str(flat)) is None
    by_project = str(tiny_tensorflow.root / "simple")
    assert names(client.project("tensorflow-cpu", by_project)) == names(listing)


def test_a_page_of_links(tiny_tensorflow: LoopbackIndex, client: IndexClient) -> None:
    folder = tiny_tensorflow.root / "pages"
    folder.mkdir()
    links = '<base href="/files/"><a href="simple/numpy/numpy-1.26.4-py3-none-any.whl">x</a><a>none</a><a href="up/">'
    (folder / "links.html").write_text(links + '<a href="torch-2.0.1%2Bcpu-py3-none-any.whl">')
    place = tiny_tensorflow.address("/files/pages/links.html")
    (numpy,) = client.project("numpy", place) or ()
    assert numpy.url == tiny_tensorflow.address("/files/simple/numpy/numpy-1.26.4-py3-none-any.whl")
    assert names(client.project("torch", place)) == ["torch-2.0.1+cpu-py3-none-any.whl"]
    assert client.project("keras", place) is None
    assert names(client.project("torch", str(folder / "links.html"))) == ["torch-2.0.1+cpu-py3-none-any.whl"]


def test_the_engine_names_its_default_index(isolated_home: Path) -> None:
    address = IndexClient().default()
    assert address.startswith("https://")
    assert address.encode() in Path(uv.find_uv_bin()).read_bytes()
