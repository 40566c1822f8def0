"""One writer per environment. The operating system frees the lock when its owner dies, however it dies."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from provision.model.finding import BlockedError, Finding, Remedy


@contextmanager
def hold(path: str, now: str) -> Iterator[None]:
    """Hold the lock at `path` or raise BlockedError that names the owner (process, host, since when)."""
    from filelock import FileLock, Timeout

    Path(path).parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path, timeout=0)
    owner = Path(f"{path}.owner")
    try:
        with lock:
            owner.write_text(
                json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": now}), encoding="utf-8"
            )
            yield
            owner.unlink(missing_ok=True)
    except Timeout:
        raise BlockedError(_held(owner)) from None


def _held(owner: Path) -> Finding:
    try:
        who = json.loads(owner.read_text(encoding="utf-8"))
        by = f"process {who['pid']} on {who['host']} since {who['since']}"
    except (OSError, ValueError, KeyError):
        by = "another process"
    return Finding(
        "environment-in-use",
        "error",
        f"Another run is changing this environment: {by}.",
        remedies=(
            Remedy("Wait for it to end, then try again. A run that died frees the environment by itself."),
        ),
    )
