"""Run a tool to its end or to a time limit, without a shell, and read what it said in any encoding."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from provision.ports import Output

#: Seconds to wait for the pipes of a killed process group to close.
_GRACE = 1.0
#: What Windows calls the code page of console programs when no console is attached.
_FALLBACK_CODE_PAGES = ("utf-8",)


def run(
    command: Sequence[str],
    timeout: float = 10.0,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Output | None:
    """Run a command; None if it cannot be started. At the time limit its whole process group is killed and
    the output so far comes back with `code` None."""
    begin = time.monotonic()
    try:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=None if env is None else dict(env),
            cwd=cwd,
            **_own_group(),
        )
    except (OSError, ValueError):
        return None
    code, out, err = _collect(process, timeout)
    pages = code_pages()
    return Output(code, decode(out, pages), decode(err, pages), time.monotonic() - begin)


def _own_group() -> dict[str, Any]:
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
    return {"start_new_session": True}


def _collect(process: subprocess.Popen[bytes], timeout: float) -> tuple[int | None, bytes, bytes]:
    try:
        out, err = process.communicate(timeout=timeout)
        return process.returncode, out, err
    except subprocess.TimeoutExpired:
        kill_group(process)
        with contextlib.suppress(subprocess.TimeoutExpired):
            out, err = process.communicate(timeout=_GRACE)
            return None, out, err
        return None, b"", b""
    except BaseException:
        kill_group(process)
        raise


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process started by `run` with everything that it started."""
    if sys.platform == "win32":
        with contextlib.suppress(OSError):
            subprocess.run(
                ["taskkill", "/F", "/T", "/PID", str(process.pid)],
                capture_output=True,
                check=False,
                timeout=10,
            )
    else:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(OSError):
        process.kill()


def code_pages() -> tuple[str, ...]:
    """The encodings that console tools here may write in, likeliest first (Windows: OEM, then ANSI page)."""
    if sys.platform != "win32":
        return _FALLBACK_CODE_PAGES
    import ctypes

    kernel = ctypes.windll.kernel32
    return (f"cp{kernel.GetOEMCP()}", f"cp{kernel.GetACP()}")


def decode(data: bytes, pages: Sequence[str] = _FALLBACK_CODE_PAGES) -> str:
    """Text of a tool: UTF-16 if it looks so (PowerShell, wsl.exe), else UTF-8, else the first code page that
    knows all bytes, else UTF-8 with replacement. Line ends become plain newlines."""
    return _decode(data, pages).replace("\r\n", "\n")


def _decode(data: bytes, pages: Sequence[str]) -> str:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    if len(data) >= 4 and data[1:8:2].count(0) == len(data[1:8:2]):
        return data.decode("utf-16-le", "replace")
    for page in ("utf-8-sig", *pages):
        with contextlib.suppress(UnicodeDecodeError, LookupError):
            return data.decode(page)
    return data.decode("utf-8", "replace")
