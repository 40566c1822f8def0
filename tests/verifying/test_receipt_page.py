"""The page of a receipt: whole by itself, safe, and with everything that was proven on it."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.support.command import provision

from provision.documents import dump_json
from provision.messages import said as in_language
from provision.model.finding import Evidence, Finding, Remedy
from provision.model.lock import Digests, Lock
from provision.model.receipt import JobResult, Receipt
from provision.model.stack import Choice, Patch
from provision.verifying.comparing import compare
from provision.verifying.curves import bars, curve
from provision.verifying.page import page
from provision.verifying.receipts import remembered

JOB = JobResult(
    job="torch", framework="torch", version="2.0.1+cu118", verdict="passed", device="cuda:0", device_name="RTX 3060",
    losses=tuple(2.1 * math.exp(-n / 6) + 0.004 for n in range(40)), seconds=41.3, cpu_difference=0.0004,
    facts={
        "accuracy": 0.985, "images_per_second": 5120.4,
        "full": {
            "mixed-precision": {"done": True, "seconds": 2.31, "dtype": "float16", "losses": [2.0, 0.1]},
            "save-load": {"done": True, "seconds": 0.4, "difference": 0.0},
            "data-parallel": {"supported": False, "error": "one device", "seconds": 0.0},
            "throughput": {"done": True, "seconds": 6.2, "table": [
                {"batch": n, "images_per_second": 900 * n ** 0.6} for n in (16, 32, 64, 128, 256)]},
        },
    },
)  # fmt: skip
LIBRARIES = JobResult(
    job="libraries", framework="libraries", verdict="passed", device="cpu", seconds=2.2,
    facts={"libraries": {"asked": 14, "loaded": 14, "versions": {"cudnn": 8600}}},
)  # fmt: skip
RECEIPT = Receipt(
    verdict="passed", profile="实验室 <team>", lock="ab" * 32, generation=3, level="full", device_demanded="cuda",
    device_used="cuda:0", proves="On cuda (RTX 3060): it trains.", date="2026-11-30T10:00:00Z", seconds=43.5,
    machine={"target": "linux-x86_64", "cpu": "AMD EPYC", "drivers": {"nvidia": "535.104"},
             "devices": [{"vendor": "nvidia", "name": "RTX 3060", "capability": "8.6"}]},
    jobs=(LIBRARIES, JOB),
)  # fmt: skip
LOCK = Lock(
    profile="team", target="linux-x86_64", python="3.10", digests=Digests(profile="", knowledge=""), frameworks=("torch",),
    stack=(
        Choice(axis="torch", value="torch==2.0.1+cu118", confidence="tested", because="tested with cuda 11.8"),
        Choice(axis="cudnn", value="8.7.0.84", because="it comes inside the wheel"),
    ),
    patches=(Patch(requirement="numpy<2", because="built against numpy 1"),),
)  # fmt: skip
FAILED = replace(
    RECEIPT, verdict="failed", proves="Nothing: torch failed.", jobs=(replace(
        JOB, verdict="failed", losses=(2.0, math.nan), facts={},
        findings=(Finding("smoke-nan", "error", "The loss is <not> a number.", "At step 2.",
                          (Evidence("job log", "<script>alert(1)</script>"),), (Remedy("Look.", "provision doctor"),)),)),),
)  # fmt: skip


class Check(HTMLParser):
    """Every tag is closed, and nothing is fetched from anywhere."""

    VOID = ("meta", "br", "circle", "line", "rect", "path")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        assert not {"src", "href", "srcset", "onload"} & {name for name, _ in attrs}
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("receipt", [RECEIPT, FAILED, replace(RECEIPT, jobs=(), machine={})])
def test_the_page_is_whole_and_needs_nothing_else(receipt: Receipt) -> None:
    text = page(receipt, LOCK)
    seen = Check(text).seen
    assert not {"script", "link", "img", "iframe", "object"} & set(seen)
    assert "http" not in text.lower().replace("http-equiv", "")
    assert "url(" not in text
    assert "prefers-color-scheme: dark" in text


def test_everything_that_was_proven_is_on_it() -> None:
    text = page(RECEIPT, LOCK)
    assert "实验室 &lt;team&gt;" in text
    for word in (
        "Passed",
        "RTX 3060",
        "535.104",
        "numpy&lt;2",
        "98.5%",
        "14 of 14 loaded; cudnn says 8600",
        "one device",
    ):
        assert word in text, word
    assert text.count("<svg") == 3, "losses, losses on a logarithmic scale, throughput"


def test_what_a_log_says_is_text() -> None:
    text = page(FAILED)
    assert "<script>" not in text
    assert "&lt;script&gt;alert(1)" in text
    assert "<svg" not in text, "one point is no curve"


@pytest.mark.parametrize("values", [[], [1.0], [math.nan, 1.0], [math.inf, math.nan]])
def test_too_little_for_a_curve(values: list[float]) -> None:
    assert curve(values, "t", "step") == ""


@pytest.mark.parametrize("values", [[0.0, 0.0], [5.0, 5.0], [1e-9, 1e9], [-1.0, 2.0], [3.0] * 1000])
def test_curves_stay_inside(values: list[float]) -> None:
    svg = curve(values, "t", "step")
    path = svg.partition(' d="M')[2].partition('"')[0]
    points = [tuple(map(float, pair.split(","))) for pair in path.split(" L")]
    assert len(points) == len(values)
    assert all(0 <= x <= 640 and -1 <= y <= 221 for x, y in points)


def test_bars() -> None:
    assert bars([("16", 100.0), ("32", math.nan)], "t", "batch").count("<rect") == 1
    assert bars([], "t", "batch") == ""


def test_two_receipts_side_by_side() -> None:
    slower = replace(
        RECEIPT,
        machine={**RECEIPT.machine, "drivers": {"nvidia": "470.82"}},
        jobs=(replace(JOB, seconds=82.6),),
    )
    found = {d.what: d for d in compare(RECEIPT, slower)}
    assert (found["machine: drivers"].first, found["machine: drivers"].second) == (
        "nvidia 535.104",
        "nvidia 470.82",
    )
    assert found["torch: time"].change == 2.0
    assert found["libraries"].second == "did not run"
    assert "verdict" not in found


def test_the_verb(tmp_path: Path) -> None:
    folder = tmp_path / ".provision" / ".venv"
    (folder / "receipts").mkdir(parents=True)
    (folder / "generations" / "3").mkdir(parents=True)
    (folder / "receipts" / "3.json").write_text(dump_json(RECEIPT))
    (folder / "receipts" / "3-2.json").write_text(dump_json(replace(FAILED, date="2026-12-01T10:00:00Z")))
    listed = provision(tmp_path, "receipt", "list", "--json")
    assert [(r["name"], r["verdict"]) for r in listed.document["receipts"]] == [
        ("3", "passed"),
        ("3-2", "failed"),
    ]
    assert "smoke-nan" in provision(tmp_path, "receipt", "show").out
    shown = provision(tmp_path, "receipt", "show", "3", "--html", "out.html")
    assert shown.code == 0, shown.err
    assert (tmp_path / "out.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert "verdict" in provision(tmp_path, "receipt", "compare", "3", "3-2").out
    gone = provision(tmp_path, "receipt", "show", "9", "--environment", ".venv")
    assert (gone.code, "There are: 3, 3-2" in gone.err) == (2, True)


def test_the_page_in_chinese() -> None:
    """A receipt keeps English; on the page its texts are said in the reader's language again."""
    text = page(remembered(RECEIPT), LOCK, "zh")
    Check(text)
    assert '<html lang="zh-CN">' in text
    assert "<b>通过</b><p>在 cuda（RTX 3060）上：能够训练。</p>" in text
    assert re.search(r"已加载 14/14；cudnn 自报 8600", text)
    left = re.findall(r"<(?:h2|h3|th|figcaption|b|title)>([^<]*)<", text)
    assert [heading for heading in left if re.fullmatch(r"[A-Z][a-z]+( [a-z]+)*", heading)] == []


@pytest.mark.parametrize(
    ("proves", "said"),
    [
        ("Nothing: torch, tensorflow failed.", "什么也没证明：torch、tensorflow 失败。"),
        (
            "The software half only: on the CPU it trains. The profile demands cuda, and no cuda device was tried.",
            "只证明了软件部分：在 CPU 上能够训练。配置文件要求 cuda，而没有试过任何 cuda 设备。",
        ),
        (
            "On cpu: it trains. Built for another machine (linux-x86_64): nothing was tried there. "
            "Applied although the machine does not meet the lock's needs: because",
            "在 cpu 上：能够训练。为另一台机器（linux-x86_64）建立：没有在那台机器上试过。"
            "机器不满足锁文件的需求，仍然应用：because",
        ),
        ("Something that an older version said.", "Something that an older version said."),
    ],
)
def test_a_kept_receipt_is_said_in_chinese(proves: str, said: str) -> None:
    built_for = {"target": "linux-x86_64"} if "Built" in proves else {}
    override = {"reason": "because"} if "Applied" in proves else {}
    kept = remembered(replace(RECEIPT, proves=proves, built_for=built_for, override=override))
    assert kept.proves == proves
    assert in_language(kept.proves, "zh") == said


def test_what_a_job_found_is_said_in_chinese() -> None:
    summary = "Training torch in the order torch, then tensorflow did not lower the loss."
    job = replace(
        JOB, findings=(Finding("smoke-loss", "error", summary, evidence=(Evidence("job log", "x"),)),)
    )
    (finding,) = remembered(replace(RECEIPT, jobs=(job,))).jobs[0].findings
    assert finding.summary == summary
    assert in_language(finding.summary, "zh") == "训练 torch 没有使损失下降（顺序：先 torch 后 tensorflow）。"
    assert in_language(finding.evidence[0].source, "zh") == "任务日志"
