"""provision lock diff: files, folders and revisions of git."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from provision.documents import dump_yaml
from tests.cli.conftest import Here
from tests.support.golden import golden
from tests.unit.test_lock_diff import OLD, artifact, replace

NEW = replace(
    OLD,
    packages=(artifact("numpy", "1.26.0"), artifact("tensorflow", "2.10.0", "1"), artifact("wrapt", "1.0")),
    variables={"A": "1"},
)


@pytest.fixture
def locks(tmp_path: Path) -> Path:
    """Locks in git; then one is changed, one goes, one comes."""
    folder = tmp_path / "profiles" / "locks" / "team"
    folder.mkdir(parents=True)
    for python in ("310", "311"):
        (folder / f"linux-x86_64-py{python}.lock.yaml").write_text(dump_yaml(OLD))
    (tmp_path / "old.lock.yaml").write_text(dump_yaml(OLD))
    git = ["git", "-C", str(tmp_path), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "locks"]):
        subprocess.run([*git, *words], check=True)
    (folder / "linux-x86_64-py310.lock.yaml").write_text(dump_yaml(NEW))
    (folder / "linux-x86_64-py311.lock.yaml").rename(folder / "linux-x86_64-py312.lock.yaml")
    (folder / "linux-x86_64-py312.lock.yaml").write_text(dump_yaml(replace(OLD, python="3.12")))
    return folder


def test_two_files(locks: Path, here: Here) -> None:
    words = ("lock", "diff", "old.lock.yaml", "profiles/locks/team/linux-x86_64-py310.lock.yaml")
    ran = here(*words)
    assert (ran.code, ran.err) == (0, "")
    golden("lock-diff", ran.out)
    golden("lock-diff-markdown", here(*words, "--format", "markdown").out)
    (document,) = here(*words, "--json").document["locks"]
    assert document["summary"] == "1 down, 1 other file, 1 added, 1 removed"
    assert document["packages"][0]["why"] == "numpy<2: it cannot be imported (tf-numpy)"
    assert here(*words, "--format", "json").document["locks"] == [document]


@pytest.mark.parametrize(
    ("inside", "old", "new"),
    [
        ("", "HEAD:profiles/locks", "profiles/locks"),
        ("profiles", "HEAD:locks", "locks"),
        ("profiles/locks", "HEAD:team", "team"),
    ],
)
def test_folders_at_a_revision(
    locks: Path, tmp_path: Path, here: Here, monkeypatch: pytest.MonkeyPatch, inside: str, old: str, new: str
) -> None:
    monkeypatch.chdir(tmp_path / inside)
    document = here("lock", "diff", old, new, "--json").document
    assert [(d["python"], d["change"]) for d in document["locks"]] == [
        ("3.10", "changed"), ("3.10", "removed"), ("3.12", "added"),
    ]  # fmt: skip


def test_a_file_at_a_revision(locks: Path, here: Here) -> None:
    name = "profiles/locks/team/linux-x86_64-py310.lock.yaml"
    assert "1 down" in here("lock", "diff", f"HEAD:{name}", name).out
    assert here("lock", "diff", f"HEAD:{name}", "old.lock.yaml").out == "No lock changed.\n"


@pytest.mark.parametrize("place", ["none.lock.yaml", "HEAD~7:profiles", "HEAD:none.lock.yaml"])
def test_what_is_not_there(locks: Path, here: Here, place: str) -> None:
    ran = here("lock", "diff", place, "old.lock.yaml", "--json")
    if place == "HEAD:none.lock.yaml":
        assert [d["change"] for d in ran.document["locks"]] == ["added"], "a new lock in a review"
    else:
        assert (ran.code, ran.codes) == (2, ["no-such-lock"])


def test_a_broken_lock_is_placed(locks: Path, here: Here) -> None:
    Path("bad.lock.yaml").write_text("schema: 1\nprofil: x\n")
    ran = here("lock", "diff", "old.lock.yaml", "bad.lock.yaml", "--json")
    assert ran.code == 4
    assert ran.document["findings"][0]["summary"].startswith("bad.lock.yaml:")
