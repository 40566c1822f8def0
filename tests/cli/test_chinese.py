"""The screens in Chinese: said, aligned, and never in a document for programs."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from provision.applying.recovery import Recovered
from provision.cli.common import make_session
from provision.cli.language import speak
from provision.cli.machine_screen import show_machine
from provision.cli.rendering import LABEL, print_findings, width
from provision.cli.showing import job_line, show_plan, show_status
from provision.detecting import detect
from provision.messages import message
from provision.model.finding import Finding, Remedy
from provision.model.lock import Artifact, Digests, Lock
from provision.model.plan import Plan, Sizes
from provision.model.receipt import JobResult
from provision.model.stack import Choice, Need, Patch
from provision.model.state import EnvState, Record
from provision.pipeline.places import recovered_text
from provision.planning import Request
from provision.planning.steps import steps
from tests.cli.conftest import Here
from tests.cli.test_lint import PROFILE, REQUIREMENTS
from tests.cli.test_why import WINDOWS
from tests.support import machines
from tests.support.golden import golden

HEXES = "ab" * 32


@pytest.fixture
def chinese(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("NO_COLOR", "1")
    speak("zh")
    yield
    speak("en")


def columns(text: str, label: str) -> int:
    """Where the text behind a label begins, in columns of a terminal."""
    (found,) = re.findall(rf"^( *(?:[+>-] )?{label}\s+)\S", text, re.MULTILINE)
    return width(found)


def plan(folder: Path) -> Any:
    lock = Lock(
        profile="team", target="linux-x86_64", python="3.10", digests=Digests(profile="", knowledge=""),
        frameworks=("torch",), hardware="nvidia",
        stack=(
            Choice(axis="torch", value="torch==2.0.1+cu118", confidence="tested", because="tested with cuda 11.8"),
            Choice(axis="cuda", value="11.8"),
        ),
        needs=(Need(what="driver.nvidia", value=">=450.80.02"), Need(what="glibc", value=">=2.17")),
        patches=(Patch(requirement="numpy<2", because="built against numpy 1", rule="no-such-rule"),),
        packages=(Artifact(name="torch", version="2.0.1", index="pytorch-cu118", file="t.whl", size=9, sha256=HEXES),),
    )  # fmt: skip
    environment = str(folder / ".venv")
    state = EnvState(kind="ours", environment=environment, generation=2, generations=(1, 2))
    machine = detect(machines.fake(machines.record("nvidia-unlike-cards")))[0]
    request = Request(jobs=("torch",), proof_device="cuda", fetchable_python="cpython-3.10.13")
    note = Finding(
        "not-checked", "note", message("planning.not-checked.summary", what=message("planning.what.libc"), wanted="glibc"),
        remedies=(Remedy(message("planning.no-device.way-3"), "provision detect"),),
    )  # fmt: skip
    made = Plan(
        profile="team", target="linux-x86_64", python="3.10", environment=environment, generation=3, lock=HEXES, state="",
        steps=tuple(steps(lock, state, machine, request, 3)), notes=(note,),
        sizes=Sizes(fetch=2_900_000_000, cached=1_100_000_000, write=6_000_000_000, free=81_000_000_000),
    )  # fmt: skip
    path = folder / "locks" / "team.lock.yaml"
    source = SimpleNamespace(path=folder / "team.yaml")
    return SimpleNamespace(plan=made, lock=lock, lock_path=path, source=source, in_place=None)


def test_a_plan(
    tmp_path: Path, chinese: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    show_plan(plan(tmp_path), "provision apply team.yaml")
    out = capsys.readouterr().out
    golden("plan-zh", out)
    assert {columns(out, label) for label in ("技术栈", "可信度", "需求", "试试")} == {LABEL + 2}
    assert len({columns(out, label) for label in ("新建", "下载", "安装", "验证", "切换")}) == 1


def test_states(
    tmp_path: Path, chinese: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    proven = {"date": "2026-11-28T10:00:00Z", "jobs": ("torch", "dual"), "device": "cuda"}
    record = Record(
        generation=3, profile="team", lock=HEXES, python="3.10", created="2026-11-28T10:00:00Z",
        outcome="proven", proven=proven, snapshot="a",
    )  # fmt: skip
    environment = str(tmp_path / ".venv")
    for state in (
        EnvState(kind="ours", environment=environment, generation=3, generations=(1, 3), record=record, snapshot="a"),
        EnvState(kind="ours", environment=environment, generation=3, generations=(1, 3), record=record, snapshot="b"),
        EnvState(kind="absent", environment=environment),
        EnvState(kind="broken", environment=environment, generation=4),
    ):  # fmt: skip
        show_status(state)
    golden("status-zh", capsys.readouterr().out)


def test_a_job_and_a_recovery(chinese: None) -> None:
    done = JobResult(
        job="torch", framework="torch", version="2.0.1", verdict="passed", device="cuda:0", device_name="RTX 3060",
        losses=(2.31, 0.42), seconds=3.0,
    )  # fmt: skip
    assert job_line(done).startswith("torch 2.0.1  损失 2.31 -> 0.42，2 步，在 cuda:0 (RTX 3060) 上  ")
    failed = JobResult(
        job="torch", framework="torch", verdict="failed",
        findings=(Finding("smoke-import", "error", message("verifying.import.summary", module="torch", where="")),),
    )  # fmt: skip
    assert job_line(failed) == "torch：`import torch` 失败。"
    told = recovered_text(Recovered(what="undone", verb="apply", generation=4))
    assert cast(Any, told).said("zh") == "被中断的 apply（第 4 代）已撤销"


def test_a_machine(chinese: None, capsys: pytest.CaptureFixture[str]) -> None:
    machine, findings = detect(machines.fake(machines.record("nvidia-unlike-cards")))
    show_machine(machine)
    print_findings(findings, err=False)
    out = capsys.readouterr().out
    golden("detect-zh", out)
    first = out.split("\n\n")[0]
    assert len({columns(first, label) for label in ("系统", "内核", "CPU 指令集", "驱动 cuda")}) == 1


def test_lint(tmp_path: Path, tiny: Here) -> None:
    (tmp_path / "requirements.txt").write_text(REQUIREMENTS)
    (tmp_path / "team.yaml").write_text(PROFILE)
    ran = tiny("lint", "requirements.txt", "team.yaml", "--lang", "zh")
    golden("lint-zh", ran.out)
    for file in ran.out.split("team.yaml\n"):
        assert len({width(head) for head in re.findall(r"^(  \d+:\d+\s+\S+\s+)\S", file, re.MULTILINE)}) == 1


def test_why(tmp_path: Path, tiny: Here) -> None:
    (tmp_path / "win.yaml").write_text(WINDOWS)
    golden("why-zh", tiny("why", "win.yaml", "--lang", "zh").out)
    golden("why-not-zh", tiny("why-not", "win.yaml", "tensorflow==2.11", "--offline", "--lang", "zh").out)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("typed", "answer"), [("是\n", True), ("y\n", True), ("\n", False), ("什么\n否\n", False)]
)
def test_a_question(
    typed: str,
    answer: bool,
    chinese: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    session = make_session(quiet=True, as_json=False)
    question = message("pipeline.switch.question", environment=".venv", generation=1, number=2)
    assert session.confirm(question) is answer
    asked = capsys.readouterr().err
    assert asked.startswith(".venv 当前是第 1 代。要建立第 2 代并切换过去吗？ [y/N]：")
    assert asked.count("请输入 y 或 n。") == typed.count("什么")


VERBS = (
    "detect", "profiles", "knowledge list patch", "knowledge show tf28x-211-numpy", "knowledge list x",
    "lint requirements.txt team.yaml", "why win.yaml", "why win.yaml nothing", "status", "history", "gc", "recover",
    "why-not win.yaml tensorflow==2.11 --offline", "rollback", "receipt list", "receipt show", "doctor", "report",
    "explain requirements.txt", "explain family-conflict", "explain no-such-code", "lock --check win.yaml",
    "lock nothing.yaml", "lock diff a b", "export win.yaml --format pylock", "import none.yml", "inspect none.whl",
    "plan missing.yaml", "apply win.yaml --locked", "verify", "init", "init -f nothing", "completion bash", "schema",
    "run --json -- nothing-of-that-name", "gc --keep 0", "plan --nothing", "nothing",
)  # fmt: skip


@pytest.mark.parametrize("words", VERBS)
def test_documents_are_the_same_in_both_languages(words: str, here: Here, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(REQUIREMENTS)
    (tmp_path / "team.yaml").write_text(PROFILE)
    (tmp_path / "win.yaml").write_text(WINDOWS)
    own = words.split() if "--json" in words else [*words.split(), "--json"]
    english, chinese = here("--lang", "en", *own), here("--lang", "zh", *own)
    assert english.code == chinese.code
    assert steady(english.out) == steady(chinese.out)
    assert english.out.startswith("{")


def steady(text: str) -> str:
    """Without what differs from run to run: room on disks, names of files made for one run, sizes of bundles."""
    text = re.sub(r'"(size|seconds)": [\d.]+', r'"\1": 0', text)
    return re.sub(r'(disks": \{)[^}]*|provision-bug-\w+', r"\1", text)
