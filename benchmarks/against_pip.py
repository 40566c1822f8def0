#!/usr/bin/env python3
"""What pip makes of install lines that circulate, beside what provision makes of them: one table, one run.

    python benchmarks/against_pip.py [--only TEXT] [--json]

The lines come from tutorials and fault guides, some of them right and some wrong. pip resolves each for the system and
Python that the text is for, without installing (`pip install --dry-run --report`); provision locks a profile that asks
for the same, and what it refuses it says why. Nothing is installed; the indexes are asked over the network.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROVISION = [sys.executable, "-m", "provision"]
HERE = f"{platform.system().lower()}-{platform.machine()}"
#: Tags of a system in pip's words; a system accepts several.
PLATFORMS = {
    "windows-x86_64": ["win_amd64"],
    "linux-x86_64": [
        "manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64",
        "manylinux2010_x86_64", "manylinux1_x86_64", "linux_x86_64",
    ],
}  # fmt: skip
#: What a reader of the table wants to see of a resolution.
TELLING = (
    "tensorflow", "tensorflow-cpu", "tensorflow-gpu", "tensorflow-intel", "torch", "numpy", "protobuf", "keras",
    "nvidia-cudnn-cu11", "nvidia-cudnn-cu12", "nvidia-cudnn-cu13", "tensorflow-directml-plugin",
)  # fmt: skip


@dataclass(frozen=True)
class Line:
    words: str
    target: str
    python: str
    profile: str = ""
    """Further lines of the profile: what the text is about (the accelerator), which pip has no words for."""


LINES = (
    Line("tensorflow-cpu==2.10.0 tensorflow-directml-plugin==0.2.0.dev221012", "windows-x86_64", "3.10",
         "hardware: {vendor: amd}"),
    Line("tensorflow-cpu==2.10.0 tensorflow-directml-plugin==0.4.0.dev230202", "windows-x86_64", "3.10",
         "hardware: {vendor: amd}"),
    Line("tensorflow==2.6.0 tf-estimator==2.6.0", "linux-x86_64", "3.9"),
    Line("tensorflow==2.6.0", "linux-x86_64", "3.9"),
    Line("tensorflow==2.10.0 tf-estimator==2.10.0", "linux-x86_64", "3.10"),
    Line("tensorflow==2.8.0 tf-estimator==2.8.0", "linux-x86_64", "3.10"),
    Line("tensorflow-gpu==2.1.0", "windows-x86_64", "3.7"),
    Line("tensorflow==2.10.1", "linux-x86_64", "3.10"),
    Line("tensorflow-gpu==2.10.1 nvidia-cudnn-cu11==8.6.0", "linux-x86_64", "3.10"),
    Line("tensorflow==2.11.0", "windows-x86_64", "3.10", "hardware: {vendor: nvidia, compute-capability: '>=8.6'}"),
    Line("tensorflow-gpu==2.12.0", "linux-x86_64", "3.10"),
    Line("torch==2.0.1 tensorflow-gpu==2.10.1", "linux-x86_64", "3.10"),
    Line("torch==2.0.1+cu118", "linux-x86_64", "3.10"),
    Line("torch tensorflow[and-cuda]", "linux-x86_64", "3.12", "hardware: {vendor: nvidia, compute-capability: '>=8.6'}"),
)  # fmt: skip


#: Seconds after which a person would have given up.
PATIENCE = 300


def run(command: Sequence[str], folder: Path) -> tuple[int, str, str]:
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            encoding="utf-8",
            timeout=PATIENCE,
        )
    except subprocess.TimeoutExpired:
        return 1, "", f"ERROR: no answer within {PATIENCE} s"
    return done.returncode, done.stdout, done.stderr


def interpreter(version: str) -> str | None:
    """A Python of that version that answers; a name on PATH may be a shim that does not."""
    found = shutil.which(f"python{version}")
    return (
        found
        if found and subprocess.run([found, "-m", "pip", "--version"], capture_output=True).returncode == 0
        else None
    )


def by_pip(line: Line, folder: Path) -> str:
    """pip of that very Python for this system; for another one the pip of this process, told its tags."""
    own = interpreter(line.python) if line.target == HERE else None
    platforms = [word for tag in PLATFORMS[line.target] for word in ("--platform", tag)]
    alien = ["--target", "nowhere", "--only-binary", ":all:", "--python-version", line.python, *platforms]
    code, _, errors = run(
        [own or sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--dry-run",
         "--ignore-installed", "--report", "report.json", *([] if own else alien), *line.words.split()],
        folder,
    )  # fmt: skip
    if code:
        said = [text for text in errors.splitlines() if text.startswith("ERROR")]
        return "refused: " + (said[-1].removeprefix("ERROR: ") if said else errors[-160:])
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    chosen = {
        m["metadata"]["name"].lower().replace("_", "-"): m["metadata"]["version"] for m in report["install"]
    }
    return "accepted: " + " ".join(f"{name} {chosen[name]}" for name in TELLING if name in chosen)


def by_provision(line: Line, folder: Path) -> str:
    packages = ", ".join(f"'{word}'" for word in line.words.split())
    text = (
        f"schema: 1\nname: line\npython: '{line.python}'\ntargets: [{line.target}]\npackages: [{packages}]\n"
    )
    (folder / "line.yaml").write_text(f"{text}{line.profile}\n", encoding="utf-8")
    code, out, _ = run([*PROVISION, "lock", "line.yaml", "--json"], folder)
    document: dict[str, Any] = json.loads(out.replace(f"{folder}/", ""))
    findings = [*document.get("findings", [])]
    for lock in document.get("locks", []):
        findings += lock.get("findings", [])
    if code:
        first = next(f for f in findings if f["severity"] == "error")
        ways = [remedy["text"] for remedy in first["remedies"]]
        return f"refused (exit {code}, `{first['code']}`): {first['summary']}" + (
            f" Way out: {ways[0]}" if ways else ""
        )
    return "locked: " + chosen_by_lock(folder)


def chosen_by_lock(folder: Path) -> str:
    import yaml

    lock = yaml.safe_load(next(folder.glob("locks/line/*.yaml")).read_text(encoding="utf-8"))
    chosen = {p["name"]: p["version"] for p in lock["packages"]}
    held = [f"{patch['requirement']}" for patch in lock.get("patches", [])]
    return " ".join(f"{name} {chosen[name]}" for name in TELLING if name in chosen) + (
        f" (held by knowledge: {', '.join(held)})" if held else ""
    )


def cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def in_table(line: Line, pip: str, provision: str) -> str:
    return f"| `{line.words}` | {line.target}, Python {line.python} | {cell(pip)} | {cell(provision)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="lines that contain this")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = []
    if not options.json:
        print("| line | for | pip | provision |\n|---|---|---|---|")
    for line in (one for one in LINES if options.only in one.words):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            rows.append((line, by_pip(line, place), by_provision(line, place)))
            if not options.json:
                print(in_table(*rows[-1]), flush=True)
    if options.json:
        print(json.dumps([{"line": r[0].words, "pip": r[1], "provision": r[2]} for r in rows], indent=2))


if __name__ == "__main__":
    main()
