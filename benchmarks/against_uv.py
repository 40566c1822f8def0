#!/usr/bin/env python3
"""provision beside the engine underneath, on the same requirements, in one run.

    python benchmarks/against_uv.py [--profile profiles/cpu-tensorflow.yaml] [--repeat 3]

Lock, cold apply, warm apply and no-op apply beside `uv pip compile`, `uv venv` + `uv pip sync` cold, warm and again.
Cold means empty caches of both tools (in a temporary folder; the index is asked over the network). Verification is left
out of the comparison by a smoke job that only imports one small package, and its time is taken from the receipt.
Times are whole processes by the wall clock, in seconds: minimum and median. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from uv import find_uv_bin

UV = find_uv_bin()
PROVISION = [sys.executable, "-m", "provision"]
Step = Callable[[Path], tuple[float, float]]


def timed(command: Sequence[str], folder: Path, env: dict[str, str]) -> float:
    began = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    taken = time.perf_counter() - began
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return taken


def environment(folder: Path) -> dict[str, str]:
    """Caches of this run only."""
    return {
        **os.environ,
        "UV_CACHE_DIR": str(folder / "uv"),
        "PROVISION_CACHE": str(folder / "cache"),
        "UV_NO_PROGRESS": "1",
    }


def write_profile(folder: Path, python: str) -> None:
    text = f"schema: 1\nname: bench\npython: '{python}'\npackages: [tensorflow-cpu==2.21.0]\n"
    # The comparison is about making the environment: what proves it only imports a small module.
    (folder / "bench.yaml").write_text(text + "smoke: {jobs: [imports]}\n", encoding="utf-8")
    (folder / "requirements.in").write_text("tensorflow-cpu==2.21.0\n", encoding="utf-8")


def prove_seconds(folder: Path) -> float:
    receipts = sorted(
        (folder / ".provision" / ".venv" / "receipts").glob("*.json"), key=lambda p: p.stat().st_mtime
    )
    return float(json.loads(receipts[-1].read_text())["seconds"]) if receipts else 0.0


def rounds(folder: Path, python: str) -> dict[str, tuple[float, float]]:
    """One round of every step: name -> (provision, uv)."""
    ours, theirs = folder / "ours", folder / "theirs"
    for place in (ours, theirs):
        place.mkdir(parents=True)
        write_profile(place, python)
    mine, raw = environment(ours), environment(theirs)
    found: dict[str, tuple[float, float]] = {}
    compile_ = [
        UV,
        "pip",
        "compile",
        "requirements.in",
        "-o",
        "out.txt",
        "--generate-hashes",
        "--python-version",
        python,
        "-q",
    ]
    for name in ("lock, cold", "lock, warm"):
        extra = ["--upgrade"] if name.endswith("warm") else []
        found[name] = (
            timed([*PROVISION, "lock", "bench.yaml", *extra], ours, mine),
            timed([*compile_, *extra], theirs, raw),
        )
    found["apply, cold"] = (apply(ours, mine), sync(theirs, raw, python))
    shutil.rmtree(ours / ".provision")
    (ours / ".venv").unlink()
    found["apply, warm"] = (apply(ours, mine), sync(theirs, raw, python))
    again = [UV, "pip", "sync", "-q", "out.txt", "--python", ".venv/bin/python"]
    found["apply, no-op"] = (
        timed([*PROVISION, "apply", "bench.yaml"], ours, mine),
        timed(again, theirs, raw),
    )
    found["--version"] = (
        timed([*PROVISION, "--version"], ours, mine),
        timed([sys.executable, "-c", "pass"], theirs, raw),
    )
    return found


def apply(folder: Path, env: dict[str, str]) -> float:
    """An apply without the time of its proof."""
    taken = timed([*PROVISION, "apply", "bench.yaml", "--locked"], folder, env)
    return taken - prove_seconds(folder)


def sync(folder: Path, env: dict[str, str], python: str) -> float:
    shutil.rmtree(folder / ".venv", ignore_errors=True)
    made = timed([UV, "venv", "-q", "--python", python, ".venv"], folder, env)
    command = [UV, "pip", "sync", "-q", "--require-hashes", "out.txt", "--python", ".venv/bin/python"]
    return made + timed(command, folder, env)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--python", default="3.11")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    results: dict[str, list[tuple[float, float]]] = {}
    for _ in range(options.repeat):
        with tempfile.TemporaryDirectory(prefix="provision-bench-") as folder:
            for name, pair in rounds(Path(folder), options.python).items():
                results.setdefault(name, []).append(pair)
    print("| step | provision min / median | uv min / median | difference of minima |\n|---|---|---|---|")
    for name, pairs in results.items():
        ours, theirs = [p[0] for p in pairs], [p[1] for p in pairs]
        shown = [f"{min(v):.2f} / {statistics.median(v):.2f}" for v in (ours, theirs)]
        print(f"| {name} | {shown[0]} | {shown[1]} | {min(ours) - min(theirs):+.2f} |")


if __name__ == "__main__":
    main()
