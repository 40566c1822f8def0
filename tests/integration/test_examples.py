"""examples/ and the hooks: what stands in them is run, in a project over the loopback index."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.command import provision, running_python
from tests.support.index import LoopbackIndex

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
#: What a CI service would put in the place of its expressions.
EXPRESSIONS = {"${{ github.base_ref }}": "main", "${{ runner.temp }}": "."}


def git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@example.org", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def project(index: LoopbackIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in git with two profiles and their locks; `provision` is on PATH."""
    index.wheel("alpha", "1.0", requires=["beta"])
    index.wheel("beta", "1.0")
    folder = tmp_path / "project"
    (folder / "profiles").mkdir(parents=True)
    for name in ("cpu", "other"):
        text = f"schema: 1\nname: {name}\npython: '{running_python()}'\npackages: [alpha]\n"
        text += f"environment: {{path: .venv-{name}}}\n"
        (folder / "profiles" / f"{name}.yaml").write_text(text)
    (folder / "requirements.txt").write_text("alpha\n")
    assert provision(folder, "lock", "--all").code == 0
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "locks")
    git(folder, "update-ref", "refs/remotes/origin/main", "HEAD")
    programs = tmp_path / "programs"
    programs.mkdir()
    script = programs / "provision"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m provision "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    return folder


def shell(folder: Path, command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command], cwd=folder, env={**os.environ, **variables},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def steps(job: dict[str, Any]) -> Iterator[str]:
    """The commands of a job that are ours."""
    for step in job.get("steps") or job["script"]:
        command = step.get("run", "") if isinstance(step, dict) else step
        if command.startswith("provision "):
            yield command


def upgrade(project: Path, index: LoopbackIndex) -> None:
    index.wheel("beta", "2.0")
    assert provision(project, "lock", "--all", "--upgrade").code == 0


@pytest.mark.parametrize("place", [".pre-commit-hooks.yaml", "examples/pre-commit/.pre-commit-config.yaml"])
def test_hooks(project: Path, place: str) -> None:
    document = yaml.safe_load((ROOT / place).read_text(encoding="utf-8"))
    hooks = {
        hook["id"]: hook
        for hook in (document if isinstance(document, list) else document["repos"][0]["hooks"])
    }

    def run(name: str) -> int:
        """As pre-commit does: the hook's command with the files of the commit that match."""
        hook = hooks[name]
        files = [f for f in git(project, "ls-files").splitlines() if re.search(hook["files"], f)]
        assert files
        words = files if hook.get("pass_filenames", True) else []
        return shell(project, shlex.join([*shlex.split(hook["entry"]), *words])).returncode

    assert [run(name) for name in ("provision-lint", "provision-lock-check")] == [0, 0]
    (project / "requirements.txt").write_text("tf-estimator\n")
    profile = project / "profiles" / "cpu.yaml"
    profile.write_text(profile.read_text().replace("[alpha]", "[beta]"))
    assert [run(name) for name in ("provision-lint", "provision-lock-check")] == [1, 4]


def test_github_review(project: Path, index: LoopbackIndex) -> None:
    document = yaml.safe_load((EXAMPLES / "ci" / "github-actions.yml").read_text(encoding="utf-8"))
    job = document["jobs"]["review"]
    variables = {key: EXPRESSIONS[value] for key, value in job["env"].items()}
    variables["GITHUB_STEP_SUMMARY"] = str(project / "summary.md")
    upgrade(project, index)
    commands = list(steps(job))
    assert [shlex.split(command)[1] for command in commands] == ["lint", "lock", "lock", "apply"]
    for command in commands:
        done = shell(project, command, **variables)
        assert done.returncode == 0, (command, done.stderr)
    assert "| up | `beta` | 1.0 -&gt; 2.0 |" in (project / "summary.md").read_text().replace("->", "-&gt;")
    assert (project / ".venv-cpu" / "pyvenv.cfg").is_file()


def test_github_renewal(project: Path, index: LoopbackIndex) -> None:
    document = yaml.safe_load((EXAMPLES / "ci" / "github-actions.yml").read_text(encoding="utf-8"))
    index.wheel("beta", "3.0")
    for command in steps(document["jobs"]["renew"]):
        done = shell(project, command, RUNNER_TEMP=str(project))
        assert done.returncode == 0, (command, done.stderr)
    assert (project / "changes.md").read_text().count("1.0 -> 3.0") == 1, "both locks share one part"
    assert "profiles/locks/cpu" in git(project, "status", "--short")


def test_gitlab(project: Path, index: LoopbackIndex) -> None:
    document = yaml.safe_load((EXAMPLES / "ci" / "gitlab-ci.yml").read_text(encoding="utf-8"))
    github = yaml.safe_load((EXAMPLES / "ci" / "github-actions.yml").read_text(encoding="utf-8"))
    base = git(project, "rev-parse", "HEAD").strip()
    upgrade(project, index)
    for command in steps(document["environments"]):
        if command in steps(github["jobs"]["review"]) and "apply" in command:
            continue  # It ran there.
        done = shell(project, command, CI_MERGE_REQUEST_DIFF_BASE_SHA=base)
        assert done.returncode == 0, (command, done.stderr)
    assert "1.0 -> 2.0" in (project / document["environments"]["artifacts"]["paths"][0]).read_text()


@pytest.mark.parametrize("path", sorted((EXAMPLES / "profiles").glob("*.yaml")), ids=lambda p: p.stem)
def test_profiles(path: Path, tmp_path: Path, isolated_home: Path) -> None:
    assert provision(path.parent, "lint", path.name, "--strict").code == 0
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    for target in document.get("targets", ["linux-x86_64"]):
        ran = provision(path.parent, "why", path.name, "--target", target, "--json")
        assert ran.code == 0, ran
        assert ran.document["lock"] is None


def test_every_example_is_told_of() -> None:
    told = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    files = [
        p.relative_to(EXAMPLES).as_posix()
        for p in EXAMPLES.rglob("*")
        if p.is_file() and p.name != "README.md"
    ]
    assert files
    assert [name for name in files if f"({name})" not in told] == []
