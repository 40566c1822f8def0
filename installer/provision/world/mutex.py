"""One writer per environment. The operating system frees the lock when its owner dies, however it dies.

The lock belongs to an open file, and what the owner starts (uv, a smoke job) inherits that file: after a kill the
environment stays locked until those have ended too, so nobody builds where an orphan still writes.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from provision.messages import message
from provision.model.finding import ApplyError, BlockedError, Evidence, Finding, Remedy

#: Seconds that children of a dead owner get to end by themselves (uv needs a moment), before they are ended.
PATIENCE = 5.0
_HELD: list[int] = []
_MARK = "PROVISION_RUN"


def marks() -> dict[str, str]:
    """Variables for what a run starts: by them, and by nothing less, it is known as this run's."""
    return {_MARK: str(os.getpid())}


def inherited() -> tuple[int, ...]:
    """Descriptors that a child process must keep open, so that the environment stays locked while it runs."""
    return tuple(_HELD) if os.name != "nt" else ()


@contextmanager
def hold(path: str, now: str, patience: float = PATIENCE) -> Iterator[None]:
    """Hold the lock at `path` or raise BlockedError that names the owner (process, host, since when, age).

    A lock that only children of a dead owner hold is waited for `patience` seconds; then they are ended.
    """
    descriptor = _open(path)
    owner = Path(f"{path}.owner")
    try:
        _acquire(descriptor, path, owner, now, patience)
        _write_owner(owner, now)
        _HELD.append(descriptor)
        try:
            yield
        finally:
            _HELD.remove(descriptor)
            with contextlib.suppress(OSError):
                owner.unlink()
    finally:
        os.close(descriptor)


def _open(path: str) -> int:
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        return os.open(
            path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0), 0o666
        )
    except OSError as error:
        raise ApplyError(_unusable(path, error)) from error


def _acquire(descriptor: int, path: str, owner: Path, now: str, patience: float) -> None:
    if _try(descriptor):
        return
    if not _is_dead(_read_owner(owner)):
        raise BlockedError(_held(owner, now))
    end = time.monotonic() + patience
    ended = False
    while not _try(descriptor):
        if not _is_dead(_read_owner(owner)):  # Another run was quicker: it is no orphan.
            raise BlockedError(_held(owner, now))
        if time.monotonic() > end:
            if ended or not _end_orphans(path, _read_owner(owner)):
                raise BlockedError(_held(owner, now))
            ended, end = True, time.monotonic() + patience
        time.sleep(0.05)


if sys.platform == "win32":

    def _try(descriptor: int) -> bool:
        import msvcrt

        try:
            os.lseek(descriptor, 0, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:

    def _try(descriptor: int) -> bool:
        import fcntl

        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            raise ApplyError(_unusable(message("world.try.environments-folder"), error)) from error
        return True


def _host() -> str:
    """Without the socket module, whose import `rollback` would pay for."""
    return os.uname().nodename if sys.platform != "win32" else os.environ.get("COMPUTERNAME", "")


def _write_owner(owner: Path, now: str) -> None:
    """For people only: the lock itself is the operating system's. Not being able to say so stops nothing."""
    facts = {"pid": os.getpid(), "host": _host(), "since": now}
    with contextlib.suppress(OSError):
        owner.unlink(missing_ok=True)
        owner.write_text(json.dumps(facts), encoding="utf-8")


def _read_owner(owner: Path) -> dict[str, object]:
    try:
        found = json.loads(owner.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _is_dead(who: dict[str, object]) -> bool:
    """True if the owner was a process of this host that is gone."""
    pid = who.get("pid")
    if who.get("host") != _host() or not isinstance(pid, int) or pid <= 0:
        return False
    import psutil

    return not psutil.pid_exists(pid)


def _end_orphans(path: str, who: dict[str, object]) -> bool:
    """End what a dead owner has left running: processes that it started and that still have its lock file open."""
    import psutil

    found = [p for p in psutil.process_iter() if _is_child_of(p, who) and _has_open(p, path)]
    for process in found:
        with contextlib.suppress(psutil.Error):
            process.kill()
    return bool(found)


def _is_child_of(process: object, who: dict[str, object]) -> bool:
    import psutil

    assert isinstance(process, psutil.Process)
    with contextlib.suppress(psutil.Error, OSError):
        return process.pid != os.getpid() and process.environ().get(_MARK) == str(who.get("pid"))
    return False


def _has_open(process: object, path: str) -> bool:
    import psutil

    assert isinstance(process, psutil.Process)
    with contextlib.suppress(psutil.Error, OSError):
        return any(file.path == path for file in process.open_files())
    return False


def _held(owner: Path, now: str) -> Finding:
    who = _read_owner(owner)
    by = message("world.held.another-process")
    if who:
        by = message(
            "world.held.process-on-since",
            pid=who.get("pid"),
            host=who.get("host"),
            since=who.get("since"),
            age=_age(who.get("since"), now),
        )
    return Finding(
        "environment-in-use",
        "error",
        message("world.environment-in-use.summary", by=by),
        remedies=(Remedy(message("world.environment-in-use.way")),),
    )


def _age(since: object, now: str) -> str:
    try:
        begun = datetime.fromisoformat(str(since).replace("Z", "+00:00"))
        seconds = int((datetime.fromisoformat(now.replace("Z", "+00:00")) - begun).total_seconds())
    except (ValueError, TypeError):
        return ""
    if seconds < 0:
        return ""
    return (
        message("world.age.s-ago", seconds=seconds)
        if seconds < 120
        else message("world.age.min-ago", minutes=seconds // 60)
    )


def _unusable(path: str, error: OSError) -> Finding:
    said = error.strerror or str(error)
    return Finding(
        "cannot-lock",
        "error",
        message("world.cannot-lock.summary", said=said),
        evidence=(Evidence(path, said),),
        remedies=(
            Remedy(
                message("world.cannot-lock.way"),
                "provision apply PROFILE --environment PATH",
            ),
        ),
    )
