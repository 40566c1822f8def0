"""One suite over the file system in memory and the real one, so that the fake cannot lie to the transaction's tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from provision.ports import Files
from provision.world.files import HostFiles
from tests.support.memory import MemoryFiles


@pytest.fixture(params=["memory", "real"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Files:
    if request.param == "real":
        return HostFiles()
    memory = MemoryFiles()
    memory.make_folder(str(tmp_path))
    return memory


@pytest.fixture
def root(tmp_path: Path) -> str:
    return str(tmp_path)


def test_write_read_list_stat(files: Files, root: str) -> None:
    files.make_folder(f"{root}/a/b")
    files.write(f"{root}/a/b/one", "1\n")
    files.write(f"{root}/a/b/one", "新\n")
    assert files.read_text(f"{root}/a/b/one") == "新\n"
    assert files.read_text(f"{root}/a/b/two") is None
    assert files.read_text(f"{root}/a") is None
    assert files.listdir(f"{root}/a/b") == ("one",), "no temporary file stays"
    assert files.listdir(f"{root}/none") == ()
    found = files.stat(f"{root}/a/b/one")
    assert found is not None
    assert (found.size, found.is_dir, found.link) == (4, False, None)
    folder = files.stat(f"{root}/a")
    assert folder is not None
    assert folder.is_dir
    assert files.stat(f"{root}/none") is None
    with pytest.raises(OSError):
        files.write(f"{root}/none/one", "1")


def test_append_closes_a_torn_line(files: Files, root: str) -> None:
    files.append(f"{root}/log", "one")
    files.write(f"{root}/log", "one\ntw")
    files.append(f"{root}/log", "three")
    files.append(f"{root}/log", "four")
    assert files.read_text(f"{root}/log") == "one\ntw\nthree\nfour\n"


def test_the_pointer_moves_and_is_seen_through(files: Files, root: str) -> None:
    for number in "12":
        files.make_folder(f"{root}/.provision/{number}")
        files.write(f"{root}/.provision/{number}/n", number)
    assert files.pointed(f"{root}/env") is None
    for number in "121":
        files.point(f"{root}/env", f"{root}/.provision/{number}")
        assert files.pointed(f"{root}/env") == os.path.normpath(f"{root}/.provision/{number}")
        assert files.read_text(f"{root}/env/n") == number
        assert files.listdir(f"{root}/env") == ("n",)
    found = files.stat(f"{root}/env")
    assert found is not None
    assert (found.is_dir, found.link) == (False, os.path.normpath(f"{root}/.provision/1"))
    assert set(files.listdir(root)) == {".provision", "env"}


def test_the_pointer_never_replaces_a_folder(files: Files, root: str) -> None:
    files.make_folder(f"{root}/env")
    files.make_folder(f"{root}/1")
    with pytest.raises(OSError):
        files.point(f"{root}/env", f"{root}/1")
    found = files.stat(f"{root}/env")
    assert found is not None
    assert found.is_dir


def test_remove_takes_links_not_what_they_show(files: Files, root: str) -> None:
    files.make_folder(f"{root}/keep")
    files.write(f"{root}/keep/file", "kept")
    files.make_folder(f"{root}/gone/deep")
    files.write(f"{root}/gone/deep/file", "x")
    files.point(f"{root}/gone/link", f"{root}/keep")
    files.remove(f"{root}/gone")
    files.remove(f"{root}/gone")
    files.point(f"{root}/pointer", f"{root}/keep")
    files.remove(f"{root}/pointer")
    assert files.read_text(f"{root}/keep/file") == "kept"
    assert files.listdir(root) == ("keep",)


def test_rename_moves_a_tree_and_replaces_nothing_by_accident(files: Files, root: str) -> None:
    files.make_folder(f"{root}/a/b")
    files.write(f"{root}/a/b/one", "1")
    files.rename(f"{root}/a", f"{root}/c")
    assert files.read_text(f"{root}/c/b/one") == "1"
    assert files.stat(f"{root}/a") is None
    files.make_folder(f"{root}/d")
    files.write(f"{root}/d/two", "2")
    with pytest.raises(OSError):
        files.rename(f"{root}/c", f"{root}/d")
    with pytest.raises(OSError):
        files.rename(f"{root}/none", f"{root}/e")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_removing_does_not_widen_permissions_elsewhere(tmp_path: Path) -> None:
    """A hard link in a folder without write permission: the folder goes, the other name keeps its mode."""
    kept = tmp_path / "kept"
    kept.write_text("x")
    kept.chmod(0o400)
    (tmp_path / "gone" / "deep").mkdir(parents=True)
    os.link(kept, tmp_path / "gone" / "deep" / "name")
    (tmp_path / "gone" / "deep").chmod(0o500)
    before = tmp_path.stat().st_mode
    HostFiles().remove(str(tmp_path / "gone"))
    assert (kept.stat().st_mode & 0o777, kept.read_text()) == (0o400, "x")
    assert tmp_path.stat().st_mode == before
