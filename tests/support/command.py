"""`provision` as a person runs it: a process of its own, its exit code, its two streams.

The process is forked from one that has loaded everything, where that comes to the same.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.zygote import Zygote, at_start


@dataclass(frozen=True, slots=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The one JSON document that `--json` promises on stdout."""
        found: dict[str, Any] = json.loads(self.out)
        return found

    @property
    def codes(self) -> list[str]:
        return [finding["code"] for finding in self.document["findings"]]


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "provision", *words]


def provision(
    folder: Path,
    *words: str,
    env: Mapping[str, str] | None = None,
    timeout: float = 300,
    stdin: str | None = None,
) -> Ran:
    """Run the command in a folder; never raises for its exit code."""
    environ = {**os.environ, **(env or {})}
    run = _forked if hasattr(os, "fork") and at_start(environ) == _zygote().environ else _started
    ran = run(folder, words, environ, timeout, stdin or "")
    # A smoke job's own traceback may stand in a finding's evidence, indented; ours never shows.
    assert not any(line.startswith("Traceback") for line in ran.err.splitlines()), ran.err
    return ran


@cache
def _zygote() -> Zygote:
    return Zygote()


def _forked(folder: Path, words: Sequence[str], environ: Mapping[str, str], timeout: float, text: str) -> Ran:
    with tempfile.TemporaryDirectory(prefix="provision-command-") as place:
        streams = {name: Path(place, name) for name in ("stdin", "stdout", "stderr")}
        for path in streams.values():
            path.write_text(text if path.name == "stdin" else "", encoding="utf-8")
        request = {"folder": str(folder), "words": [str(word) for word in words], "environ": environ}
        code = _zygote().run({**request, **{n: str(p) for n, p in streams.items()}}, timeout)
        out, err = (streams[name].read_text(encoding="utf-8") for name in ("stdout", "stderr"))
        return Ran(code, out, err)


def _started(
    folder: Path, words: Sequence[str], environ: Mapping[str, str], timeout: float, text: str
) -> Ran:
    done = subprocess.run(
        command(*words), cwd=folder, env=environ, capture_output=True, text=True, encoding="utf-8",
        timeout=timeout, check=False, input=text,
    )  # fmt: skip
    return Ran(done.returncode, done.stdout, done.stderr)


def profile(folder: Path, text: str, name: str = "team") -> Path:
    """Write a profile `name` with the given further lines."""
    path = folder / f"{name}.yaml"
    path.write_text(f"schema: 1\nname: {name}\npython: '{running_python()}'\n{text}", encoding="utf-8")
    return path


def running_python() -> str:
    """The Python of the tests: the one interpreter that is surely there."""
    return f"{sys.version_info[0]}.{sys.version_info[1]}"
