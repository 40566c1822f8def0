"""The runner over real processes: tiny jobs that crash, hang, shout and leave children behind."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

import provision
from provision.ports import JobOutput, JobRequest
from provision.verifying import Demand, judge
from provision.world.smoke import JOBS, BoundedLog, ProcessSmokeRunner, read_report

posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")

HEAD = "import json, os, sys, time\nreport = sys.argv[sys.argv.index('--report') + 1]\n"


def request(limit: float = 30.0, **variables: str) -> JobRequest:
    return JobRequest("tiny", Path(sys.executable), ("--device", "cpu"), variables, limit)


def run(folder: Path, body: str, asked: JobRequest | None = None, **environ: str) -> JobOutput:
    jobs = folder / "jobs 岗位 🧪"
    jobs.mkdir()
    (jobs / "tiny_job.py").write_text(HEAD + textwrap.dedent(body), encoding="utf-8")
    runner = ProcessSmokeRunner(jobs, {**os.environ, **environ} if environ else None)
    return runner.run(asked or request())


def codes(output: JobOutput) -> list[str]:
    wanted = Demand(level="train", device="cpu", demanded="cpu")
    return [finding.code for finding in judge(request(), output, wanted).findings]


def gone(pid: int) -> bool:
    """True once no process (or only a dead one that nobody has waited for) bears the number."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


def test_job_sees_its_variables_and_nothing_from_outside(tmp_path: Path) -> None:
    body = """
    print("said")
    print("warned", file=sys.stderr)
    names = ("MINE", "PYTHONPATH", "PYTHONNOUSERSITE", "PYTHONDONTWRITEBYTECODE", "PYTHONSAFEPATH")
    facts = {name: os.environ.get(name) for name in names}
    facts.update(event="result", cwd=os.getcwd(), argv=sys.argv[1:])
    with open(report, "a") as stream:
        stream.write(json.dumps(facts) + "\\n")
    """
    outside = {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONSAFEPATH": "1"}
    output = run(tmp_path, body, request(limit=20, MINE="1"), **outside)
    (event,) = output.report
    assert output.code == 0
    assert (event["MINE"], event["PYTHONNOUSERSITE"]) == ("1", "1")
    assert (event["PYTHONPATH"], event["PYTHONDONTWRITEBYTECODE"], event["PYTHONSAFEPATH"]) == (None,) * 3
    assert event["cwd"] != str(Path.cwd())
    assert not Path(event["cwd"]).exists()
    assert event["argv"][2:] == ["--limit", "20", "--device", "cpu"]
    assert output.log.split() == ["said", "warned"]


def test_variable_of_the_lock_wins_over_what_is_dropped(tmp_path: Path) -> None:
    output = run(
        tmp_path, "print(os.environ['PYTHONPATH'])", request(PYTHONPATH="/plugins"), PYTHONPATH="/mine"
    )
    assert output.log.strip() == "/plugins"


def test_exit_code_without_a_word(tmp_path: Path) -> None:
    output = run(tmp_path, "sys.exit(42)")
    assert output.code == 42
    assert codes(output) == ["smoke-exit"]


@posix
@pytest.mark.parametrize("name", ["SIGILL", "SIGSEGV", "SIGABRT", "SIGKILL"])
def test_crash_by_signal(tmp_path: Path, name: str) -> None:
    output = run(tmp_path, f"import signal; os.kill(os.getpid(), signal.{name})")
    assert output.code == -getattr(signal, name)
    assert codes(output) == ["smoke-signal"]


@posix
def test_segmentation_fault_leaves_its_stack_in_the_log(tmp_path: Path) -> None:
    output = run(tmp_path, "import ctypes, faulthandler; faulthandler.enable(); ctypes.string_at(0)")
    assert output.code == -signal.SIGSEGV
    assert "Fatal Python error: Segmentation fault" in output.log


@posix
def test_hang_ends_at_the_limit_with_all_its_children(tmp_path: Path) -> None:
    body = """
    import subprocess
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    with open(report, "a") as stream:
        stream.write(json.dumps({"event": "stage", "stage": "import", "child": child.pid}) + "\\n")
    time.sleep(600)
    """
    output = run(tmp_path, body, request(limit=2))
    assert output.code is None
    assert codes(output) == ["smoke-timeout"]
    assert gone(output.report[0]["child"])


@posix
def test_child_left_behind_does_not_hold_the_runner(tmp_path: Path) -> None:
    body = """
    import subprocess
    print(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid)
    """
    output = run(tmp_path, body)
    assert output.code == 0
    assert gone(int(output.log))


def test_huge_output_keeps_its_two_ends(tmp_path: Path) -> None:
    body = """
    print("the beginning")
    for _ in range(300):
        sys.stdout.write("x" * 100000)
    print()
    print("the end")
    """
    output = run(tmp_path, body)
    assert output.code == 0
    assert len(output.log) < 400_000
    assert output.log.startswith("the beginning")
    assert output.log.rstrip().endswith("the end")
    assert "bytes left out" in output.log


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    output = run(tmp_path, r"sys.stdout.buffer.write(b'\xff\xfe caf\xc3\xa9')")
    assert output.log == "\ufffd\ufffd café"


def test_missing_interpreter_is_a_finding(tmp_path: Path) -> None:
    asked = JobRequest("tiny", tmp_path / "no" / "python", (), {}, 5.0)
    assert codes(run(tmp_path, "", asked)) == ["smoke-start"]


def test_torn_and_foreign_lines_are_left_out(tmp_path: Path) -> None:
    report = tmp_path / "report"
    report.write_bytes(b'{"event": "start"}\n[1]\nnoise \xff\n\n{"event": "step", "lo')
    assert read_report(report) == ({"event": "start"},)
    assert read_report(tmp_path / "none") == ()


@pytest.mark.parametrize("sizes", [(5,), (10, 10, 10), (100,), (3, 3, 3, 3, 3), (0, 40, 1)])
def test_log_holds_head_and_tail(sizes: tuple[int, ...]) -> None:
    log = BoundedLog(keep=10)
    data = bytes(65 + number % 26 for number in range(sum(sizes)))
    start = 0
    for size in sizes:
        log.write(data[start : start + size])
        start += size
    text = log.text()
    assert text.startswith(data[:10].decode())
    assert text.endswith(data[-10:].decode())
    assert ("left out" in text) == (text.replace("\n", "") != data.decode())


@posix
def test_interrupt_ends_the_job_and_goes_on(tmp_path: Path) -> None:
    """Ctrl-C at the terminal reaches the tool alone: the job is in a group of its own."""
    jobs, pid_file = tmp_path / "jobs", tmp_path / "pid"
    jobs.mkdir()
    body = f"pathlib.Path({str(pid_file)!r}).write_text(str(os.getpid()))\ntime.sleep(600)\n"
    (jobs / "tiny_job.py").write_text(f"import os, pathlib, time\n{body}", encoding="utf-8")
    script = (
        "import pathlib, sys\n"
        "from provision.ports import JobRequest\n"
        "from provision.world.smoke import ProcessSmokeRunner\n"
        f"runner = ProcessSmokeRunner(pathlib.Path({str(jobs)!r}))\n"
        "try:\n"
        "    runner.run(JobRequest('tiny', pathlib.Path(sys.executable), (), {}, 600))\n"
        "except KeyboardInterrupt:\n"
        "    sys.exit(130)\n"
    )
    root = str(Path(provision.__file__).parents[1])
    tool = subprocess.Popen(
        [sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": root}, start_new_session=True
    )
    while not (pid_file.exists() and pid_file.read_text(encoding="utf-8")):
        assert tool.poll() is None
        time.sleep(0.05)
    tool.send_signal(signal.SIGINT)
    assert tool.wait(30) == 130
    assert gone(int(pid_file.read_text(encoding="utf-8")))


def test_imports_job_in_this_interpreter() -> None:
    asked = JobRequest(
        "imports",
        Path(sys.executable),
        ("--device", "cpu", "--", "PyYAML", "pytest", "no-such-thing"),
        {},
        60.0,
    )
    output = ProcessSmokeRunner().run(asked)
    result = judge(asked, output, Demand(level="train", device="cpu", demanded="cpu"))
    assert output.code == 0
    assert result.facts["packages"]["PyYAML"]["modules"] == ["yaml"]
    assert result.facts["packages"]["pytest"]["modules"] == ["pytest"]
    assert [finding.code for finding in result.findings] == ["smoke-missing"]
    assert result.findings[0].summary.startswith("no-such-thing")


@pytest.mark.parametrize("script", sorted(JOBS.glob("*.py")), ids=lambda path: path.name)
def test_job_scripts_speak_old_python_and_know_nothing_of_us(script: Path) -> None:
    tree = ast.parse(script.read_text(encoding="utf-8"), feature_version=(3, 6))
    names = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    assert not [name for name in names if name.partition(".")[0] == "provision"]
    assert "annotations" not in names
