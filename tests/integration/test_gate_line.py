"""The gate on the whole line: what blocks, what a reason overrides, what is built for another machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.support.command import profile, provision, running_python
from tests.support.index import LoopbackIndex

_FOR_A_CARD = "hardware: {vendor: nvidia, driver: '>=525'}\npackages: [alpha]\n"


@pytest.fixture
def folder(tmp_path: Path, index: LoopbackIndex) -> Path:
    index.wheel("alpha", "1.0")
    path = tmp_path / "project"
    path.mkdir()
    profile(path, _FOR_A_CARD)
    return path


def _machine(folder: Path, **facts: object) -> str:
    """This machine as `detect --save` writes it, with a card."""
    saved = folder / "here.yaml"
    assert provision(folder, "detect", "--save", str(saved)).code == 0
    told = {**yaml.safe_load(saved.read_text()), **facts}
    path = folder / "machine.yaml"
    path.write_text(yaml.safe_dump(told))
    return str(path)


_CARD = {
    "devices": [{"vendor": "nvidia", "name": "NVIDIA A100", "capability": "8.0"}],
    "drivers": {"nvidia": "535.54.03"},
}
_OLD = {**_CARD, "drivers": {"nvidia": "470.86"}}


def test_a_blocked_machine_changes_nothing_until_a_reason_is_given(folder: Path) -> None:
    machine = _machine(folder, **_OLD)
    blocked = provision(folder, "apply", "team.yaml", "--machine", machine, "--json")
    assert (blocked.code, blocked.codes) == (5, ["driver-too-old"])
    assert not (folder / ".venv").exists()
    assert not (folder / ".provision").exists()
    reason = "the driver is updated tonight"
    done = provision(folder, "apply", "team.yaml", "--machine", machine, "--force", reason, "--json")
    assert done.code == 0, done.err
    receipt = done.document["receipt"]
    assert receipt["override"]["reason"] == reason
    assert [f["code"] for f in receipt["override"]["findings"]] == ["driver-too-old"]
    assert reason in receipt["proves"]
    journal = [
        json.loads(line) for line in (folder / ".provision/.venv/journal.jsonl").read_text().splitlines()
    ]
    assert journal[0]["facts"]["override"] == receipt["override"]
    kept = json.loads((folder / ".provision/.venv/receipts/1.json").read_text())
    assert kept["override"]["reason"] == reason


def test_built_here_for_a_machine_with_a_card(folder: Path) -> None:
    machine = _machine(folder, **_CARD)
    planned = provision(folder, "plan", "team.yaml", "--for-machine", machine, "--json")
    assert planned.code == 0, planned.document
    prove = next(step for step in planned.document["steps"] if step["action"] == "prove")
    assert prove["args"]["device"] == "cpu"
    done = provision(folder, "apply", "team.yaml", "--for-machine", machine, "--json")
    assert done.code == 0, done.err
    receipt = done.document["receipt"]
    assert receipt["built_for"]["devices"][0]["name"] == "NVIDIA A100"
    assert receipt["machine"]["devices"] != receipt["built_for"]["devices"]
    assert "another machine" in receipt["proves"]
    blocked = provision(
        folder, "plan", "team.yaml", "--reinstall", "--for-machine", _machine(folder, **_OLD), "--json"
    )
    assert (blocked.code, blocked.codes) == (5, ["driver-too-old"])


def test_facts_are_stated_on_the_command_line(folder: Path) -> None:
    machine = _machine(folder, **_OLD)
    words = ("plan", "team.yaml", "--machine", machine, "--json")
    assert provision(folder, *words).code == 5
    assert provision(folder, *words, "--set", "drivers.nvidia=535.54.03").code == 0
    assert provision(folder, *words, "--set", "driver.nvidia=535").codes == ["bad-override"]
    assert provision(folder, *words, "--set", "nonsense").code == 2
    shown = provision(folder, "detect", "--machine", machine, "--set", "capability.nvidia=8.6", "--json")
    assert shown.document["devices"][0]["capability"] == "8.6"
    assert shown.document["target"].startswith("linux-")
    assert running_python() in {p["version"].rpartition(".")[0] for p in shown.document["pythons"]}
