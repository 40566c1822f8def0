"""history, rollback, gc and recover, over the loopback index."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import profile, provision
from tests.support.index import LoopbackIndex


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "项目 two"
    path.mkdir()
    return path


@pytest.fixture
def three(index: LoopbackIndex, folder: Path) -> Path:
    """A folder whose environment has generations 1 and 2 proven, 3 failed; 2 is current."""
    index.wheel("alpha", "1.0")
    index.wheel("alpha", "2.0")
    index.wheel("gamma", "1.0", files={"gamma/__init__.py": "raise RuntimeError('no')\n"})
    for number, packages in enumerate(("alpha==1.0", "alpha==2.0", "gamma"), 1):
        path = profile(folder, f"packages: ['{packages}']\n")
        assert provision(folder, "apply", path.name, "--yes").code == (6 if number == 3 else 0)
    return folder


def version(folder: Path) -> str:
    code = "import alpha; print(alpha.__version__)"
    return subprocess.run(
        [folder / ".venv" / "bin" / "python", "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_there_and_back(three: Path) -> None:
    """One environment, all the ways: each of its generations costs an apply."""
    there_and_back(three)
    a_failed_generation_is_gone_to_only_when_named_and_confirmed(three)
    a_killed_rollback_is_taken_back_or_completed(three)
    gc_keeps_what_is_used(three)


def there_and_back(three: Path) -> None:
    document = provision(three, "history", "--json").document
    assert document["generation"] == 2
    assert [(g["number"], g["outcome"], g["current"]) for g in document["generations"]] == [
        (1, "proven", False), (2, "proven", True), (3, "failed", False),
    ]  # fmt: skip
    assert "<- current" in provision(three, "history", "team.yaml").out

    ran = provision(three, "rollback", "--json")
    assert (ran.code, ran.document["outcome"], ran.document["generation"], ran.document["former"]) == (
        0,
        "changed",
        1,
        2,
    )
    assert version(three) == "1.0"
    assert provision(three, "status").code == 0
    again = provision(three, "rollback", ".venv", "--json")
    assert (again.code, again.codes) == (2, ["no-generation"]), "there is nothing before the first one"

    assert provision(three, "rollback", "team.yaml", "--to", "2").code == 0
    assert version(three) == "2.0"
    assert provision(three, "rollback", "--to", "2", "--json").document["outcome"] == "unchanged"
    assert provision(three, "rollback", "--to", "7", "--json").codes == ["no-generation"]


def a_failed_generation_is_gone_to_only_when_named_and_confirmed(three: Path) -> None:
    refused = provision(three, "rollback", "--to", "3", "--json")
    assert (refused.code, refused.codes) == (5, ["generation-not-proven"])
    assert os.readlink(three / ".venv").endswith("/2")
    assert provision(three, "rollback", "--to", "3", "--yes").code == 0
    assert os.readlink(three / ".venv").endswith("/3")
    assert provision(three, "rollback").code == 0
    assert os.readlink(three / ".venv").endswith("/2"), "the last proven one, past the failed one"


def gc_keeps_what_is_used(three: Path) -> None:
    shown = provision(three, "gc", "--keep", "1", "--dry-run", "--json").document
    assert (shown["outcome"], shown["removed"]) == ("unchanged", [1, 3])
    ran = provision(three, "gc", "--json")
    assert (ran.code, ran.document["removed"]) == (0, [3]), "two proven ones stay by default"
    assert provision(three, "rollback").code == 0
    ran = provision(three, "gc", "--keep", "1", "--json")
    assert (ran.document["generation"], ran.document["removed"]) == (1, [2])
    assert version(three) == "1.0"
    state = three / ".provision" / ".venv"
    assert [p.name for p in (state / "generations").iterdir()] == ["1"]
    assert [p.name for p in (state / "records").iterdir()] == ["1.json"]
    assert [p.name for p in (state / "receipts").iterdir()] == ["1.json"]
    assert provision(three, "gc", "--json").document["removed"] == []
    assert provision(three, "recover", "--json").document["outcome"] == "unchanged"


def a_killed_rollback_is_taken_back_or_completed(three: Path) -> None:
    """As the journal stands when the power goes: before the pointer moves, and after `committing`."""
    journal = three / ".provision" / ".venv" / "journal.jsonl"
    assert provision(three, "rollback").code == 0
    lines = journal.read_text().splitlines(keepends=True)
    assert [json.loads(line)["phase"] for line in lines] == [
        "started",
        "begun",
        "done",
        "committing",
        "committed",
    ]
    journal.write_text("".join(lines[:2]))
    ran = provision(three, "recover", ".venv", "--json")
    assert ran.document["recovered"] == {"what": "undone", "verb": "rollback", "generation": 1}
    assert os.readlink(three / ".venv").endswith("/2")
    assert provision(three, "rollback").code == 0
    journal.write_text("".join(lines[:4]))
    assert provision(three, "rollback", "--to", "2", "--json").document["recovered"]["what"] == "finished"
    assert provision(three, "recover").out == "Nothing to recover: no run was interrupted.\n"


def test_nothing_is_made_where_there_is_nothing(folder: Path, isolated_home: Path) -> None:
    for words in (["history"], ["rollback"], ["gc"], ["recover"]):
        ran = provision(folder, *words, "--json")
        assert (ran.code, ran.codes) == (2, ["which-environment"])
    for words in (["rollback", ".venv"], ["gc", "--environment", "x"]):
        assert provision(folder, *words).code == 2
    assert not list(folder.iterdir())


@pytest.mark.parametrize("verb", ["rollback", "history", "status", "recover"])
def test_quick_verbs_load_nothing_heavy(verb: str) -> None:
    code = f"import sys, provision.cli.verb_{verb}, provision.pipeline.returning, provision.world.mutex\n"
    code += "import provision.cli.group, provision.pipeline.places, provision.applying.recovery, provision.inspecting\n"
    code += "from provision.cli.showing import show_status\n" if verb == "status" else ""
    code += "heavy = {'pydantic', 'yaml', 'rich', 'httpx', 'packaging', 'filelock', 'psutil', 'hashlib', 'shutil',\n"
    code += "    'provision.ports', 'provision.knowledge', 'provision.pipeline.environments', 'rattler'}\n"
    code += "print(sorted(heavy & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_saved_plan_is_applied_exactly_or_not_at_all(index: LoopbackIndex, folder: Path) -> None:
    index.wheel("alpha", "1.0")
    index.wheel("alpha", "2.0")
    path = profile(folder, "packages: ['alpha==1.0']\n")
    shown = provision(folder, "plan", path.name, "--out", "the.plan", "--json")
    assert shown.code == 0
    assert shown.document["sizes"]["write"] > 0
    assert not (folder / ".venv").exists()
    ran = provision(folder, "apply", "the.plan", "--json")
    assert (ran.code, ran.document["generation"]) == (0, 1), ran
    assert version(folder) == "1.0"
    again = provision(folder, "apply", "the.plan", "--json")
    assert (again.code, again.codes) == (5, ["stale-plan"]), "the environment is another one now"

    assert provision(folder, "plan", path.name, "--reinstall", "--out", "next.plan").code == 0
    profile(folder, "packages: ['alpha==2.0']\n")
    stale = provision(folder, "apply", "next.plan", "--json")
    assert (stale.code, stale.codes) == (5, ["stale-plan"])
    assert "team.yaml" in stale.document["findings"][0]["summary"]
    assert os.readlink(folder / ".venv").endswith("/1")
