"""A process that has loaded `provision` and forks a child for each command line: what a start costs is paid once.

Each child is a process of its own, with its own folder, environment and streams, that runs `provision.__main__.main` and
ends as an interpreter ends. As a script it reads one JSON request a line and answers with the child's id, then its status.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

#: What an interpreter reads at its start; with another value of one of these a new one has to be started.
_AT_START = ("PYTHON", "LC_", "LANG", "MALLOC", "LD_")
_LEFT_OUT = ("jobs", "probes", "scripts", "hook")


def at_start(environ: Mapping[str, str]) -> dict[str, str]:
    return {k: v for k, v in environ.items() if k.startswith(_AT_START)}


class Zygote:
    """The parent's end. One request at a time."""

    def __init__(self) -> None:
        self.environ = at_start(os.environ)
        # Without a buffer: a line that waits in one is nothing that `select` sees.
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__))], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        atexit.register(self._process.kill)

    def run(self, request: Mapping[str, Any], timeout: float) -> int:
        """The exit code, negative for a signal. Raises TimeoutError; then the child was killed."""
        assert self._process.stdin is not None
        asked = memoryview(json.dumps(request).encode() + b"\n")
        while asked:
            asked = asked[self._process.stdin.write(asked) :]
        child = int(self._line(60))
        try:
            status = int(self._line(timeout))
        except TimeoutError:
            os.kill(child, signal.SIGKILL)
            self._line(60)
            raise
        return os.waitstatus_to_exitcode(status)

    def _line(self, timeout: float) -> bytes:
        stream = self._process.stdout
        assert stream is not None
        if not select.select([stream], [], [], timeout)[0]:
            raise TimeoutError(f"no answer in {timeout} s")
        return stream.readline()


def _load() -> None:
    """All of provision but what runs elsewhere, what it loads late, and the tables that it comes with."""
    import provision

    for found in pkgutil.walk_packages(provision.__path__, "provision."):
        parts = found.name.split(".")
        if not set(parts) & {*_LEFT_OUT, "__main__"}:
            importlib.import_module(found.name)
    from provision.knowledge import load_knowledge
    from provision.verifying.rows import rows

    load_knowledge().list()
    rows()
    for name in ("yaml", "httpx", "pydantic", "psutil", "filelock", "rich.progress", "packaging.specifiers"):
        importlib.import_module(name)


def _become(request: Mapping[str, Any]) -> int:
    """In the child: be a process that was started in that folder with these streams."""
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environ"])
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        opened = os.open(request[name], os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_TRUNC)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115
    sys.argv = ["provision", *request["words"]]
    from provision.__main__ import main

    try:
        return main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)


def _end(code: int) -> None:
    """As an interpreter ends: threads, exit handlers, streams. Only taking a thousand modules apart is left out."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _serve() -> int:
    _load()
    gc.freeze()  # What is loaded is never garbage: no child looks through it, and its memory stays shared.
    answers = os.dup(1)
    requests = os.fdopen(os.dup(0), "rb", buffering=0)
    for line in requests:
        child = os.fork()
        if child == 0:
            os.close(answers)
            try:
                code = _become(json.loads(line))
            except BaseException:
                traceback.print_exc()
                code = 1
            _end(code)
        os.write(answers, b"%d\n" % child)
        os.write(answers, b"%d\n" % os.waitpid(child, 0)[1])
    return 0


if __name__ == "__main__":
    sys.path.pop(0)
    sys.exit(_serve())
