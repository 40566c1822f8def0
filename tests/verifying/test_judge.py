"""The judge over reports that real jobs left (reports/*.json), as they are and with one thing changed."""

from __future__ import annotations

import copy
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from provision.model.receipt import JobResult
from provision.ports import JobOutput, JobRequest
from provision.verifying import Demand, judge

REPORTS = Path(__file__).parent / "reports"


def recorded(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((REPORTS / f"{name}.json").read_text(encoding="utf-8"))
    return loaded


def judged(record: dict[str, Any], **demand: Any) -> JobResult:
    arguments = record["arguments"]
    device = arguments[arguments.index("--device") + 1]
    level = arguments[arguments.index("--level") + 1]
    wanted = {"device": device, "demanded": device, "level": level, **demand}
    request = JobRequest(record["job"], Path("env/bin/python"), tuple(arguments), {}, record["limit"])
    output = JobOutput(record["code"], tuple(record["report"]), record["log"], record["seconds"])
    return judge(request, output, Demand(**wanted))


def codes(result: JobResult) -> list[str]:
    return [finding.code for finding in result.findings]


def change(record: dict[str, Any], event: str, **facts: Any) -> dict[str, Any]:
    """A copy in which all events of a name have other facts."""
    record = copy.deepcopy(record)
    matched = [one for one in record["report"] if one["event"] == event]
    assert matched
    for one in matched:
        one.update(facts)
    return record


@pytest.mark.parametrize(
    ("name", "version", "device"),
    [
        ("tensorflow-2.1.0-cpu", "2.1.0", "/CPU:0"),
        ("tensorflow-2.10.1-cpu", "2.10.1", "/CPU:0"),
        ("tensorflow-2.21.0-cpu", "2.21.0", "/CPU:0"),
        ("torch-1.8.1-cpu", "1.8.1+cu102", "cpu"),
    ],
)
def test_real_training_passes(name: str, version: str, device: str) -> None:
    result = judged(recorded(name))
    assert result.findings == ()
    assert (result.verdict, result.version, result.device) == ("passed", version, device)
    assert len(result.losses) == 40
    assert result.losses[-1] < 0.2 < 1.0 < result.losses[0]
    assert result.facts["accuracy"] > 0.9
    assert result.cpu_difference is None


def test_dual_names_both_and_keeps_every_run() -> None:
    result = judged(recorded("dual-cpu"))
    assert result.verdict == "passed"
    assert (result.framework, result.version) == ("torch+tensorflow", "torch 2.13.0+cpu, tensorflow 2.21.0")
    runs = [(run["order"], run["framework"]) for run in result.facts["runs"]]
    assert runs == [
        ("torch-tensorflow", "torch"), ("torch-tensorflow", "tensorflow"),
        ("tensorflow-torch", "tensorflow"), ("tensorflow-torch", "torch"),
    ]  # fmt: skip
    assert all(len(run["losses"]) == 40 for run in result.facts["runs"])


@pytest.mark.parametrize(
    ("name", "expected", "words"),
    [
        ("tensorflow-2.1.0-protobuf4", "smoke-import", "Descriptors cannot not be created directly"),
        ("tensorflow-2.10.1-numpy2", "smoke-import", "Unable to convert function return value"),
        ("tensorflow-2.6.5-cuda-absent", "smoke-device", "lists no device of type GPU"),
        ("tensorflow-2.21.0-directml-absent", "smoke-device", "tensorflow-directml-plugin is not installed"),
        ("torch-1.8.1-cuda-absent", "smoke-device", "Found no NVIDIA driver"),
        ("torch-2.13.0-directml-absent", "smoke-import", "No module named 'torch_directml'"),
        ("torch-2.13.0-limit", "smoke-timeout", "It was at the stage train of torch"),
        ("imports", "smoke-missing", ""),
    ],
)
def test_real_failures_say_why(name: str, expected: str, words: str) -> None:
    result = judged(recorded(name))
    assert result.verdict == "failed"
    assert codes(result) == [expected]
    assert words in result.findings[0].detail


def test_import_failure_shows_the_last_lines_of_the_log() -> None:
    finding = judged(recorded("tensorflow-2.10.1-numpy2")).findings[0]
    text = finding.evidence[0].text
    assert "TypeError: Unable to convert function return value to a Python type!" in text
    assert "cpu_feature_guard" not in text
    assert len(text.splitlines()) <= 12


def test_missing_device_shows_which_library_the_framework_missed() -> None:
    finding = judged(recorded("tensorflow-2.6.5-cuda-absent")).findings[0]
    assert "Could not load dynamic library" in finding.evidence[-1].text


def test_half_proof_of_a_cpu_run_passes() -> None:
    assert judged(recorded("torch-1.8.1-cpu"), demanded="cuda").verdict == "passed"


@pytest.mark.parametrize(
    ("event", "facts", "expected"),
    [
        ("result", {"losses": [1.4, 1.3, 1.4, 1.35, 1.36, 1.4, 1.3, 1.38, 1.4, 1.33]}, "smoke-loss"),
        ("result", {"losses": [1.4]}, "smoke-loss"),
        ("result", {"losses": [1.4, 1.0, "nan", "nan"]}, "smoke-nan"),
        ("result", {"losses": [1.4, "inf"]}, "smoke-nan"),
        ("result", {"accuracy": 0.25}, "smoke-accuracy"),
        ("result", {"accuracy": "nan"}, "smoke-accuracy"),
        ("matmul", {"difference": 0.4}, "smoke-matmul"),
        ("matmul", {"gradient_difference": "nan"}, "smoke-matmul"),
        ("numpy", {"bridge": False, "error": "RuntimeError: Numpy is not available"}, "smoke-numpy"),
        ("imported", {"version": "1.9.0"}, "smoke-version"),
        ("device", {"used": "cuda:0"}, "smoke-device"),
        ("device", {"variables": ["cpu", "cuda:0"]}, "smoke-device"),
    ],
)
def test_one_wrong_fact_fails_the_job(event: str, facts: dict[str, Any], expected: str) -> None:
    record = recorded("torch-1.8.1-cpu")
    locked = {"torch": "1.8.1"}
    assert judged(record, versions=locked).verdict == "passed"
    result = judged(change(record, event, **facts), versions=locked)
    assert codes(result) == [expected]
    assert result.verdict == "failed"


GPU = {"used": "cuda:0", "loss_device": "cuda:0", "variables": ["cuda:0"], "gradients": ["cuda:0"]}


def on_cuda(record: dict[str, Any], difference: float) -> dict[str, Any]:
    """A CPU recording dressed as one from a card, with its comparison to the CPU."""
    record = change(record, "device", **GPU, demanded="cuda", name="NVIDIA RTX A4000")
    record = change(record, "result", cpu_difference=difference)
    event = {"event": "agreement", "framework": "torch", "steps": 5, "difference": difference}
    record["report"].insert(-2, {**event, "losses": [1.0, 0.9], "cpu_losses": [1.0, 0.9]})
    return record


def test_card_that_agrees_passes() -> None:
    result = judged(on_cuda(recorded("torch-1.8.1-cpu"), 2e-4), device="cuda", demanded="cuda")
    assert (result.verdict, result.device, result.device_name) == ("passed", "cuda:0", "NVIDIA RTX A4000")
    assert result.cpu_difference == 2e-4


@pytest.mark.parametrize("difference", [0.3, "nan"])
def test_card_that_computes_something_else_fails(difference: Any) -> None:
    result = judged(on_cuda(recorded("torch-1.8.1-cpu"), difference), device="cuda", demanded="cuda")
    assert codes(result) == ["smoke-agreement"]


def test_silent_cpu_fails_and_names_both() -> None:
    result = judged(recorded("torch-1.8.1-cpu"), device="cuda", demanded="cuda")
    assert codes(result) == ["smoke-device"]
    assert result.findings[0].summary == "torch ran on cpu; cuda was demanded."


@pytest.mark.parametrize(
    ("device", "plugins", "build", "verdict"),
    [
        ("cuda", [], {"cuda": True}, "passed"),
        ("cuda", [], {"cuda": False}, "failed"),
        ("directml", ["tfdml_plugin.dll"], {"cuda": False}, "passed"),
        ("directml", [], {"cuda": True}, "failed"),
        ("mps", ["libmetal_plugin.dylib"], {}, "passed"),
        ("rocm", [], {"rocm": False}, "failed"),
        ("xpu", [], {}, "failed"),
    ],
)
def test_what_tensorflow_calls_gpu_must_be_of_the_right_make(
    device: str, plugins: list[str], build: dict[str, bool], verdict: str
) -> None:
    place = "/job:localhost/replica:0/task:0/device:GPU:0"
    record = change(recorded("tensorflow-2.10.1-cpu"), "devices", plugins=plugins)
    record = change(record, "imported", build=build)
    record = change(record, "device", used=place, loss_device=place, variables=[place])
    assert judged(record, device=device, demanded=device).verdict == verdict


def cut(record: dict[str, Any], event: str, code: int | None) -> dict[str, Any]:
    """The same job, dead right after the first event of a name."""
    record = copy.deepcopy(record)
    names = [one["event"] for one in record["report"]]
    record["report"] = record["report"][: names.index(event) + 1]
    record["code"] = code
    return record


@pytest.mark.parametrize(
    ("event", "code", "summary"),
    [
        ("importing", -4, "The torch job crashed (SIGILL) while importing torch."),
        ("importing", 132, "The torch job crashed (SIGILL) while importing torch."),
        ("importing", 0xC000001D, "The torch job crashed (SIGILL) while importing torch."),
        ("importing", 0xC0000005 - (1 << 32), "The torch job crashed (SIGSEGV) while importing torch."),
        ("step", -11, "The torch job crashed (SIGSEGV) while training torch (step 1 was done)."),
        ("step", -9, "The torch job crashed (SIGKILL) while training torch (step 1 was done)."),
        ("result", -6, "The torch job crashed (SIGABRT) while shutting down, with its work done."),
        ("result", -31, "The torch job crashed (signal 31) while shutting down, with its work done."),
    ],
)
def test_crash_names_the_signal_and_the_moment(event: str, code: int, summary: str) -> None:
    result = judged(cut(recorded("torch-1.8.1-cpu"), event, code))
    assert codes(result) == ["smoke-signal"]
    assert result.findings[0].summary == summary


def test_illegal_instruction_is_traced_to_missing_avx() -> None:
    finding = judged(cut(recorded("tensorflow-2.1.0-cpu"), "importing", -4)).findings[0]
    assert "AVX" in finding.detail
    assert any("crash-illegal-instruction" in one.text for one in finding.evidence)


@pytest.mark.parametrize(("code", "expected"), [(0, "smoke-incomplete"), (3, "smoke-exit")])
def test_early_exit_is_no_success(code: int, expected: str) -> None:
    assert codes(judged(cut(recorded("torch-1.8.1-cpu"), "step", code))) == [expected]


def test_crash_in_one_import_order_names_the_order() -> None:
    record = recorded("dual-cpu")
    events = record["report"]
    second = next(
        i for i, one in enumerate(events) if one["event"] == "order" and one["order"].startswith("tens")
    )
    importing = next(i for i, one in enumerate(events) if i > second and one["event"] == "importing")
    ended = {"event": "order-ended", "order": "tensorflow-torch", "code": -11}
    record["report"] = [*events[: importing + 1], ended, {"event": "result"}, {"event": "end"}]
    result = judged(record)
    assert codes(result) == ["smoke-signal"]
    assert result.findings[0].summary == (
        "The order tensorflow, then torch crashed (SIGSEGV) while importing tensorflow."
    )


def test_second_training_that_learns_nothing_fails() -> None:
    record = change(recorded("dual-cpu"), "again", losses=[1.4] * 10)
    assert codes(judged(record)) == ["smoke-loss", "smoke-loss"]


def test_quick_level_asks_for_no_training() -> None:
    record = recorded("tensorflow-2.21.0-directml-absent")
    record = change(record, "device", problem="")
    assert judged(record, device="cpu", demanded="cpu", level="quick").verdict == "passed"


@pytest.mark.parametrize(
    ("name", "done"),
    [
        ("torch-1.8.1-full", {"replicas", "throughput", "save"}),
        ("torch-2.13.0-full", {"mixed", "replicas", "throughput", "save"}),
        ("tensorflow-2.10.1-full", {"mixed", "replicas", "throughput", "save", "serve"}),
    ],
)
def test_real_full_level_passes_and_names_what_was_done(name: str, done: set[str]) -> None:
    result = judged(recorded(name))
    assert (result.verdict, result.findings) == ("passed", ())
    parts = result.facts["full"]
    assert {what for what, part in parts.items() if part["done"]} == done
    assert all(part["supported"] is False for what, part in parts.items() if what not in done)


@pytest.mark.parametrize(
    ("what", "facts", "expected"),
    [
        ("mixed", {"losses": [1.4] * 20}, "smoke-mixed"),
        ("mixed", {"losses": [1.4, "nan"]}, "smoke-mixed"),
        ("mixed", {"dtypes": {"wanted": "float16", "trunk": "float32", "head": "float32"}}, "smoke-mixed"),
        ("mixed", {"dtypes": {"wanted": "float16", "trunk": "float16", "head": "float16"}}, "smoke-mixed"),
        ("mixed", {"done": False, "error": "InternalError: x"}, "smoke-mixed"),
        ("replicas", {"losses": [1.4, 1.4, 1.4]}, "smoke-replicas"),
        ("throughput", {"done": False, "error": "RuntimeError: x"}, "smoke-throughput"),
        ("save", {"difference": 0.5}, "smoke-save"),
        ("serve", {"difference": "nan"}, "smoke-serve"),
    ],
)
def test_part_of_the_full_level_that_went_wrong(what: str, facts: dict[str, Any], expected: str) -> None:
    record = recorded("tensorflow-2.10.1-full")
    (part,) = (one for one in record["report"] if one.get("what") == what)
    part.update(facts)
    result = judged(record)
    assert (result.verdict, codes(result)) == ("failed", [expected])


def test_slower_than_the_cpu_is_a_warning_only() -> None:
    record = recorded("tensorflow-2.10.1-full")
    (part,) = (one for one in record["report"] if one.get("what") == "speed-up")
    part.update(done=True, supported=True, times=0.5)
    result = judged(record)
    assert (result.verdict, codes(result)) == ("passed", ["smoke-slow"])


def test_device_that_took_no_memory_did_nothing() -> None:
    record = change(recorded("torch-1.8.1-cpu"), "device", **GPU, memory=0)
    assert codes(judged(record, device="cuda", demanded="cuda")) == ["smoke-device"]
    record = change(record, "device", memory=1 << 20)
    assert judged(record, device="cuda", demanded="cuda").verdict == "passed"


def test_exit_in_the_middle_of_the_full_level_is_no_success() -> None:
    assert codes(judged(cut(recorded("torch-2.13.0-full"), "full", 0))) == ["smoke-incomplete"]


WORDS = st.sampled_from(
    [
        *("start", "importing", "imported", "import-failed", "devices", "matmul", "numpy", "device", "step"),
        *("fit", "agreement", "result", "again", "order", "order-ended", "package-ended", "missing", "error"),
        *("stage", "full", "end"),
    ]
)
KEYS = (
    *("package", "module", "version", "losses", "cpu_losses", "loss", "used", "variables", "difference"),
    *("plugins", "build", "code", "accuracy", "chance", "cpu_difference", "devices", "problem", "modules"),
    *("bridge", "again", "what", "done", "supported", "dtypes", "table", "memory", "times"),
)
PLAIN = (None, True, -11, 0, 10**400, 0.5, math.nan, math.inf, "", "nan", "torch", "x", "device:GPU:0")
VALUES = st.sampled_from([*PLAIN, *([one] for one in PLAIN), *({"cuda": one} for one in PLAIN), [[]], [{}]])
COMMON = {
    "event": WORDS,
    "framework": st.sampled_from(["torch", "tensorflow", "jax", None]),
    "order": st.sampled_from(["", "torch-tensorflow", None]),
}
EVENTS = st.fixed_dictionaries(COMMON, optional=dict.fromkeys(KEYS, VALUES))


@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(EVENTS, max_size=12))
def test_no_report_makes_the_judge_stumble(report: list[dict[str, Any]]) -> None:
    request = JobRequest("torch", Path("python"), (), {}, 60.0)
    result = judge(
        request, JobOutput(0, tuple(report), "", 1.0), Demand(level="train", device="cuda", demanded="cuda")
    )
    assert result.verdict == "failed" or any(event["event"] == "result" for event in report)
