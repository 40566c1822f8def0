"""`provision` itself on Windows: it applies, switches, goes back, and recovers what a kill left."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import Ran
from tests.support.index import LoopbackIndex
from tests.wine.machine import Windows

pytestmark = pytest.mark.wine

PROFILE = "schema: 1\nname: team\npython: '3.11'\nhardware: {{vendor: cpu}}\npackages: ['alpha=={version}']\n"


class Team:
    """A folder with a profile, on a Windows whose package index is the loopback one."""

    def __init__(self, windows: Windows, index: LoopbackIndex, folder: Path) -> None:
        self.windows, self.folder = windows, folder
        self.settings = {
            "UV_DEFAULT_INDEX": index.url(),
            "PROVISION_CACHE": "C:\\cache",
            "UV_PYTHON_DOWNLOADS": "never",
        }

    def wants(self, version: str) -> None:
        (self.folder / "team.yaml").write_text(PROFILE.format(version=version))

    def provision(self, *words: str) -> Ran:
        return self.windows.provision(self.folder, *words, **self.settings)

    def answers(self) -> str:
        code = "import alpha, sys; print(alpha.__version__, sys.platform)"
        return self.windows.run(self.folder / ".venv" / "Scripts" / "python.exe", "-c", code).out.strip()


@pytest.fixture
def team(windows: Windows, index: LoopbackIndex, tmp_path: Path) -> Team:
    if not windows.uv_starts:
        pytest.skip("uv.exe does not start under this Wine (it needs Wine 9 or later)")
    for version in ("1.0", "2.0"):
        index.wheel(
            "alpha",
            version,
            entry_points={"console_scripts": {"alpha": "alpha:main"}},
            files={"alpha.py": f"__version__ = '{version}'\ndef main(): print('alpha', __version__)\n"},
        )
    folder = tmp_path / "项目 one"
    folder.mkdir()
    return Team(windows, index, folder)


def test_it_applies_switches_and_goes_back(team: Team) -> None:
    team.wants("1.0")
    first = team.provision("apply", "team.yaml", "--json")
    assert first.code == 0, first.err
    assert (first.document["outcome"], first.document["receipt"]["verdict"]) == ("changed", "passed")
    assert team.answers() == "1.0 win32"

    again = team.provision("apply", "team.yaml", "--json")
    assert (again.code, again.document["outcome"]) == (0, "unchanged")

    team.wants("2.0")
    second = team.provision("apply", "team.yaml", "--yes", "--json")
    assert (second.code, second.document["outcome"]) == (0, "changed"), second.err
    assert team.answers() == "2.0 win32"
    assert team.windows.run(team.folder / ".venv" / "Scripts" / "alpha.exe").out.split() == ["alpha", "2.0"]

    sound = team.provision("verify", "--files", "--json")
    assert (sound.code, sound.document["findings"]) == (0, [])
    back = team.provision("rollback", "--json")
    assert (back.code, back.document["generation"]) == (0, 1)
    assert team.answers() == "1.0 win32"
    listed = team.provision("history", "--json").document
    assert [(g["number"], g["current"]) for g in listed["generations"]] == [(1, True), (2, False)]
    assert team.provision("status", "--json").code == 0


KILLED = """
import os, sys
from provision.world import files
step = getattr(files.HostFiles, {method!r})
def dies(self, *words):
    if words and str(words[0]).endswith(".venv"):
        {before}
        os._exit(9)
    return step(self, *words)
files.HostFiles.{method} = dies
from provision.__main__ import main
sys.argv = ["provision", *{words!r}]
main()
"""
#: Where the run dies while it moves the pointer: before, between the old junction and the new one, after.
MOMENTS = {
    "before": "",
    "between": "os.rmdir(words[0]) if os.path.isdir(words[0]) else None",
    "after": "step(self, *words)",
}


def test_what_a_kill_at_the_switch_left_is_made_whole(team: Team) -> None:
    team.wants("1.0")
    assert team.provision("apply", "team.yaml", "--json").code == 0
    team.wants("2.0")
    for moment, before in MOMENTS.items():
        text = KILLED.format(method="point", before=before or "pass", words=["apply", "team.yaml", "--yes"])
        script = team.folder / "killed.py"
        script.write_text(text, encoding="utf-8")
        ran = team.windows.python_run(script, cwd=team.folder, **team.settings)
        assert ran.code == 9, ran.err
        recovered = team.provision("recover", ".venv", "--json")
        assert (recovered.code, recovered.document["outcome"]) == (0, "undone"), (moment, recovered.err)
        assert team.answers() == "1.0 win32", f"{moment}: the transaction was open, so it is taken back"
        assert not list(team.folder.glob(".venv.*")), moment
    done = team.provision("apply", "team.yaml", "--yes", "--json")
    assert (done.code, done.document["outcome"]) == (0, "changed"), done.err
    assert team.answers() == "2.0 win32"
