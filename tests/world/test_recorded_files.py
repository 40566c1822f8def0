"""The format of a recorded catalogue, and what the real catalog says where an index cannot be asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from provision.model.artifact import ArtifactError
from provision.model.finding import ApplyError, UsageError
from provision.model.profile import Index
from provision.world.catalog import HostCatalog
from provision.world.indexes import IndexConfig
from provision.world.ranges import wheel_metadata
from provision.world.recorded_files import (
    Catalogue,
    Described,
    RecordedFile,
    RecordedPage,
    Recorder,
    described,
    fitting,
    merge,
    read_page,
    write_page,
)
from tests.support import index as faults
from tests.support import wheels
from tests.support.index import LoopbackIndex

LINUX = "torch-2.0.1+cu118-cp310-cp310-linux_x86_64.whl"
WINDOWS = "torch-2.0.1+cu118-cp310-cp310-win_amd64.whl"
NEEDS = Described(
    requires_dist=("filelock", "triton==2.0.0 ; sys_platform == 'linux'"), requires_python=">=3.8"
)
PAGE = RecordedPage(
    index="pytorch-cu118",
    project="torch",
    source="somebody",
    files=(
        RecordedFile(
            name=LINUX, url="https://x.invalid/a%2Bb", sha256="ab" * 32, size=7, described=NEEDS, source="he"
        ),
        RecordedFile(name=WINDOWS, sha256="cd" * 32, yanked="", uploaded="2023-05-08", described=Described()),
        RecordedFile(name="torch-1.0.tar.gz"),
    ),
)


def test_a_page_is_written_and_read() -> None:
    text = write_page(PAGE)
    assert set(read_page(text).files) == set(PAGE.files)
    assert write_page(read_page(text)) == text
    assert '"2.0.1+cu118/2"' in text, "a second metadata of one version has a key of its own"
    shuffled = RecordedPage(index=PAGE.index, project="torch", source="somebody", files=PAGE.files[::-1])
    assert write_page(shuffled) == text


def test_metadata_comes_back_from_its_text() -> None:
    text = NEEDS.text("torch", "2.0.1+cu118")
    assert described(text) == NEEDS
    folded = "Name: a\nRequires-Dist: b (>=1) ;\n  extra == 'x'\nProvides-Extra: x\n\nRequires-Dist: no\n"
    assert described(folded) == Described(requires_dist=("b (>=1) ; extra == 'x'",), provides_extra=("x",))


@pytest.mark.parametrize(
    "text",
    [
        '{"catalog": 2, "files": []}',
        "[]",
        '{"catalog": 1}',
        "{",
        '{"catalog": 1, "index": "i", "project": "p", "files": 1}',
    ],
)
def test_what_is_no_page_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "i").mkdir()
    (tmp_path / "i" / "p.json").write_text(text)
    with pytest.raises(UsageError, match=r"p\.json is no page"):
        Catalogue(tmp_path).page("i", "p")


def test_a_page_under_another_name_and_a_false_hash_are_refused(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    path = tmp_path / "other" / "torch.json"
    path.write_text(write_page(PAGE))
    with pytest.raises(UsageError):
        Catalogue(tmp_path).page("other", "torch")
    path.write_text(write_page(PAGE).replace("ab" * 32, "AB" * 31).replace("pytorch-cu118", "other"))
    with pytest.raises(UsageError):
        Catalogue(tmp_path).page("other", "torch")
    with pytest.raises(UsageError):
        Catalogue(tmp_path / "nowhere").indexes()


def test_recording_again_keeps_what_was_there(tmp_path: Path) -> None:
    for file in PAGE.files:
        recorder = Recorder(tmp_path)
        recorder.put(RecordedPage(index=PAGE.index, project="torch", source="somebody", files=(file,)))
        recorder.save()
    page = Catalogue(tmp_path).page(PAGE.index, "Torch")
    assert page is not None
    assert set(page.files) == set(PAGE.files)
    plain = RecordedPage(
        index=PAGE.index, project="torch", files=(RecordedFile(name=LINUX, sha256="ab" * 32),)
    )
    assert merge(page, plain).file(LINUX).described == NEEDS  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("python", "target", "kept"),
    [
        (
            "3.10",
            "linux-x86_64",
            {LINUX, "a-1-py3-none-any.whl", "a-1-cp38-abi3-manylinux_2_17_x86_64.whl", "a-1.tar.gz"},
        ),
        ("3.10", "windows-x86_64", {WINDOWS, "a-1-py3-none-any.whl", "a-1.tar.gz"}),
        (
            "3.11",
            "linux-aarch64",
            {"a-1-py3-none-any.whl", "a-1.tar.gz", "a-1-cp311-cp311-manylinux2014_aarch64.whl"},
        ),
        (
            "3.12",
            "macos-arm64",
            {"a-1-py3-none-any.whl", "a-1.tar.gz", "a-1-cp312-cp312-macosx_11_0_universal2.whl"},
        ),
    ],
)
def test_wheels_that_can_never_be_chosen_are_left_out(python: str, target: str, kept: set[str]) -> None:
    names = [
        LINUX, WINDOWS, "a-1-py3-none-any.whl", "a-1-cp38-abi3-manylinux_2_17_x86_64.whl", "a-1.tar.gz",
        "a-1-cp311-cp311-manylinux2014_aarch64.whl", "a-1-cp312-cp312-macosx_11_0_universal2.whl",
        "a-1-cp27-cp27mu-manylinux1_x86_64.whl", "a-1-pp39-pypy39_pp73-manylinux_2_17_x86_64.whl",
    ]  # fmt: skip
    files = [RecordedFile(name=name) for name in names]
    assert {file.name for file in fitting(files, python, target)} == kept


def test_metadata_out_of_a_wheel(index: LoopbackIndex, tmp_path: Path) -> None:
    path = index.wheel("alpha", "1.0", requires=["beta"])
    for url in (path.as_uri(), index.file_url(path)):
        assert described(wheel_metadata(url)).requires_dist == ("beta",)
    broken = tmp_path / "broken-1-py3-none-any.whl"
    broken.write_bytes(b"no archive")
    empty = wheels.make_wheel(tmp_path, "empty", "1.0")
    empty.write_bytes(empty.read_bytes().replace(b"METADATA", b"METADATX"))
    for path in (broken, empty, tmp_path / "absent-1-py3-none-any.whl"):
        with pytest.raises(ArtifactError):
            wheel_metadata(path.as_uri())


def test_releases_of_an_index_that_cannot_be_asked_are_none(index: LoopbackIndex, tmp_path: Path) -> None:
    index.wheel("alpha", "1.0")
    index.fail("/away/*", faults.status(403))
    away = Index(name="away", url=index.url("away"), packages=("alpha",))
    catalog = HostCatalog(IndexConfig(default_url=index.url()), tmp_path / "cache")
    assert [r.version for r in catalog.releases("alpha") or ()] == ["1.0"]
    assert catalog.releases("nothing") is None
    assert catalog.releases("alpha", away) is None
    with pytest.raises(ApplyError):
        catalog.listing("alpha", away)
    offline = HostCatalog(IndexConfig(default_url=index.url()), tmp_path / "other", offline=True)
    assert offline.releases("alpha") is None
