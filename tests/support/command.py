"""`provision` as a person runs it: a process of its own, its exit code, its two streams."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


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
    done = subprocess.run(
        command(*words), cwd=folder, env={**os.environ, **(env or {})}, capture_output=True, text=True,
        encoding="utf-8", timeout=timeout, check=False, input=stdin or "",
    )  # fmt: skip
    # A smoke job's own traceback may stand in a finding's evidence, indented; ours never shows.
    assert not any(line.startswith("Traceback") for line in done.stderr.splitlines()), done.stderr
    return Ran(done.returncode, done.stdout, done.stderr)


def profile(folder: Path, text: str, name: str = "team") -> Path:
    """Write a profile `name` with the given further lines."""
    path = folder / f"{name}.yaml"
    path.write_text(f"schema: 1\nname: {name}\npython: '{running_python()}'\n{text}", encoding="utf-8")
    return path


def running_python() -> str:
    """The Python of the tests: the one interpreter that is surely there."""
    return f"{sys.version_info[0]}.{sys.version_info[1]}"
