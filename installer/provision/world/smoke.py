"""Run smoke jobs for real: a process group each, a time limit that ends all of it, a log that cannot grow."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from provision.ports import JobOutput, JobRequest
from provision.world.mutex import inherited, marks
from provision.world.uv import temporary_folder

#: The stand-alone scripts; they are copied out before they run, so that nothing is written beside them.
JOBS = Path(__file__).resolve().parents[1] / "verifying" / "jobs"

_REPORT_LIMIT = 16 << 20


class BoundedLog:
    """Keeps the first and the last `keep` bytes of what is written to it, and counts the rest."""

    def __init__(self, keep: int = 1 << 16) -> None:
        self._keep = keep
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._held = 0
        self._dropped = 0

    def write(self, data: bytes) -> None:
        room = self._keep - len(self._head)
        self._head += data[:room]
        if rest := data[room:]:
            self._tail.append(rest)
            self._held += len(rest)
        while self._tail and self._held - len(self._tail[0]) >= self._keep:
            self._held -= len(self._tail[0])
            self._dropped += len(self._tail.popleft())

    def text(self) -> str:
        """The log as text; bytes that are no UTF-8 are replaced."""
        tail = b"".join(self._tail)
        gap = f"\n... {self._dropped} bytes left out ...\n".encode() if self._dropped else b""
        return (bytes(self._head) + gap + tail).decode("utf-8", "replace").replace("\r\n", "\n")


class ProcessSmokeRunner:
    """ports.SmokeRunner over real processes. `environ` stands in for os.environ; reports and the jobs' working folder
    lie below `scratch`, without it in the system's place for temporary files, which may be small."""

    def __init__(
        self, jobs: Path = JOBS, environ: Mapping[str, str] | None = None, scratch: Path | None = None
    ) -> None:
        self._jobs = jobs
        self._environ = environ
        self._scratch = scratch

    def run(self, request: JobRequest) -> JobOutput:
        """Run one job to its end or to its time limit. KeyboardInterrupt ends its group, and goes on."""
        with temporary_folder(self._scratch) as folder:
            scripts, work = Path(folder) / "jobs", Path(folder) / "work"
            shutil.copytree(self._jobs, scripts, ignore=shutil.ignore_patterns("__pycache__"))
            work.mkdir()
            report = Path(folder) / "report.jsonl"
            command = [
                str(request.python), str(scripts / f"{request.job}_job.py"),
                "--report", str(report), "--limit", f"{request.time_limit:g}", *request.arguments,
            ]  # fmt: skip
            started = time.monotonic()
            try:
                process = _start(command, work, self._variables(request))
            except OSError as error:
                event = {"event": "not-started", "error": f"{type(error).__name__}: {error}"}
                return JobOutput(127, (event,), "", 0.0)
            code, log = _follow(process, request.time_limit)
            return JobOutput(code, read_report(report), log, round(time.monotonic() - started, 3))

    def _variables(self, request: JobRequest) -> dict[str, str]:
        base = os.environ if self._environ is None else self._environ
        # Whatever else is named so would let code from outside in, or change how the interpreter runs.
        found = {name: value for name, value in base.items() if not name.upper().startswith("PYTHON")}
        found.update(PYTHONNOUSERSITE="1", PYTHONUNBUFFERED="1", PYTHONIOENCODING="utf-8")
        found.update(request.variables)
        found.update(marks())
        return found


def _start(command: list[str], cwd: Path, env: dict[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, pass_fds=inherited(), **_own_group(),
    )  # fmt: skip


def _follow(process: subprocess.Popen[bytes], limit: float) -> tuple[int | None, str]:
    """Exit code (None at the time limit) and log; nothing of the process is left running."""
    log = BoundedLog()
    reader = threading.Thread(target=_drain, args=(process.stdout, log), daemon=True)
    reader.start()
    code: int | None = None
    try:
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = process.wait(limit)
    finally:
        end_group(process)
        reader.join(5)
    return code, log.text()


def _drain(stream: IO[bytes], log: BoundedLog) -> None:
    with contextlib.suppress(OSError, ValueError):
        while data := os.read(stream.fileno(), 1 << 16):
            log.write(data)
    stream.close()


def _own_group() -> dict[str, Any]:
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End a process that `_own_group` started and all that it started, and wait for it."""
    if sys.platform == "win32":
        _end_tree(process)
    else:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(10)


def _end_tree(process: subprocess.Popen[bytes]) -> None:
    """Windows has no group to kill: walk the children while their parent still stands."""
    import psutil

    with contextlib.suppress(psutil.Error):
        for child in psutil.Process(process.pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                child.kill()
    process.kill()


def read_report(path: Path) -> tuple[dict[str, Any], ...]:
    """The events of a report; a torn or foreign line is left out, and nothing is read beyond 16 MiB."""
    try:
        with path.open("rb") as stream:
            lines = stream.read(_REPORT_LIMIT).splitlines()
    except OSError:
        return ()
    events = []
    for line in lines:
        with contextlib.suppress(ValueError):
            event = json.loads(line)
            if isinstance(event, dict):
                events.append(event)
    return tuple(events)
