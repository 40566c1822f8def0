"""One writer: the owner is named; a dead owner's lock is free; its children are waited for, then ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from provision.model.finding import ApplyError, BlockedError
from provision.world.mutex import hold, inherited

NOW = "2026-01-01T00:10:00Z"
CODE = """
import subprocess, sys, time
from provision.world.mutex import hold, inherited
with hold(sys.argv[1], "2026-01-01T00:00:00Z"):
    child = None
    if sys.argv[2] != "0":
        child = subprocess.Popen(["sleep", sys.argv[2]], pass_fds=inherited())
    print(child.pid if child else 0, flush=True)
    time.sleep(60)
"""


def other(path: Path, child: str = "0") -> tuple[subprocess.Popen[str], int]:
    running = subprocess.Popen(
        [sys.executable, "-c", CODE, str(path), child], stdout=subprocess.PIPE, text=True
    )
    assert running.stdout is not None
    return running, int(running.stdout.readline())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".provision" / ".venv" / "mutex"


def test_the_owner_is_named_and_its_end_frees_the_lock(path: Path) -> None:
    running, _ = other(path)
    with pytest.raises(BlockedError) as error, hold(str(path), NOW):
        pass
    summary = error.value.findings[0].summary
    assert f"process {running.pid} on " in summary
    assert "(10 min ago)" in summary
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert path.with_name("mutex.owner").exists(), "a dead owner leaves its note"
    with hold(str(path), NOW):
        assert json.loads(path.with_name("mutex.owner").read_text())["pid"] == os.getpid()
        assert inherited()
    assert not path.with_name("mutex.owner").exists()
    assert not inherited()


def test_children_of_a_dead_owner_are_waited_for(path: Path) -> None:
    running, _ = other(path, "1")
    running.kill()
    running.wait()
    with hold(str(path), NOW, patience=30):
        pass


def test_children_that_stay_are_ended(path: Path) -> None:
    running, child = other(path, "600")
    running.kill()
    running.wait()
    begin = time.monotonic()
    with hold(str(path), NOW, patience=0.3):
        assert time.monotonic() - begin < 60
    deadline = time.monotonic() + 30
    while alive(child):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not (status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z")


def test_an_error_inside_frees_the_lock(path: Path) -> None:
    with pytest.raises(RuntimeError), hold(str(path), NOW):
        raise RuntimeError
    with hold(str(path), NOW):
        pass


def test_a_lock_that_is_a_link_is_not_followed(path: Path, tmp_path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ApplyError) as error, hold(str(path), NOW):
        pass
    assert error.value.findings[0].code == "cannot-lock"
    assert not (tmp_path / "elsewhere").exists()
