"""The screen of `detect` over recorded machines: each card with its own facts, each library with which copy wins."""

from __future__ import annotations

import pytest

from provision.cli.machine_screen import show_machine
from provision.cli.rendering import print_findings
from provision.detecting import detect
from tests.support import machines
from tests.support.golden import golden


@pytest.mark.parametrize("name", ["nvidia-unlike-cards", "nvidia-shadowed-cudnn", "ascend-910b4-not-sourced"])
def test_a_machine_as_people_see_it(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    machine, findings = detect(machines.fake(machines.record(name)))
    show_machine(machine)
    print_findings(findings, err=False)
    golden(f"detect-{name}", capsys.readouterr().out)
