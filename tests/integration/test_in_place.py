"""`--in-place` on environments that venv and uv made, through the whole line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.command import profile, provision, running_python
from tests.support.index import LoopbackIndex


def python(folder: Path, code: str) -> str:
    done = subprocess.run(
        [folder / ".venv/bin/python", "-c", code], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def hashes(folder: Path) -> dict[str, bytes | str | None]:
    found: dict[str, bytes | str | None] = {}
    for path in sorted((folder / ".venv").rglob("*")):
        name = str(path.relative_to(folder))
        found[name] = (
            str(path.readlink()) if path.is_symlink() else None if path.is_dir() else path.read_bytes()
        )
    return found


def test_a_venv_is_mended_where_it_stands(index: LoopbackIndex, folder: Path) -> None:
    index.wheel("alpha", "1.0", requires=["beta"], entry_points={"console_scripts": {"alpha": "alpha:main"}})
    index.wheel("beta", "1.0")
    index.wheel("beta", "2.0")
    index.wheel("gamma", "1.0", files={"gamma/__init__.py": "raise RuntimeError('gamma')\n"})
    index.wheel("mine", "1.0")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / ".venv"], check=True)
    install = ["uv", "pip", "install", "-q", "--python", folder / ".venv/bin/python", "beta==1.0", "mine"]
    subprocess.run([sys.executable, "-m", *install], check=True)
    packages = next((folder / ".venv/lib").glob("python*/site-packages"))
    (packages / "~eta").mkdir()
    (packages / "~eta" / "rest.py").write_text("")
    before = hashes(folder)

    path = profile(folder, "packages: [alpha]\n")
    blocked = provision(folder, "apply", path.name, "--yes", "--json")
    assert (blocked.code, blocked.codes) == (5, ["environment-foreign"])
    shown = provision(folder, "plan", path.name, "--in-place", "--json")
    assert shown.code == 0, shown
    removed = [s["subject"] for s in shown.document["steps"] if s["action"] == "remove"]
    assert removed == ["beta 1.0", f"lib/python{running_python()}/site-packages/~eta"]
    assert hashes(folder) == before

    profile(folder, "packages: [alpha, gamma]\n")
    failed = provision(folder, "apply", path.name, "--in-place", "--yes", "--json")
    assert (failed.code, failed.document["outcome"]) == (6, "failed"), failed
    assert hashes(folder) == before

    profile(folder, "packages: [alpha]\n")
    refused = provision(folder, "apply", path.name, "--in-place", "--json")
    assert (refused.code, refused.codes) == (5, ["not-confirmed"])
    ran = provision(folder, "apply", path.name, "--in-place", "--yes", "--json")
    assert (ran.code, ran.document["outcome"]) == (0, "changed"), ran
    assert python(folder, "import alpha, beta, mine; print(beta.__version__)") == "2.0"
    assert (folder / ".venv/bin/alpha").is_file()
    assert not (packages / "~eta").exists()
    assert not (folder / ".venv").is_symlink()
    again = provision(folder, "apply", path.name, "--in-place", "--yes", "--json")
    assert (again.code, again.document["outcome"]) == (0, "unchanged"), again


def test_what_is_not_for_changing(index: LoopbackIndex, folder: Path) -> None:
    index.wheel("alpha", "1.0")
    path = profile(folder, "packages: [alpha]\n")
    nothing = provision(folder, "apply", path.name, "--in-place", "--yes", "--json")
    assert (nothing.code, nothing.codes) == (2, ["nothing-to-repair"])
    system = folder / "usr" / "lib" / f"python{running_python()}"
    (system / "site-packages").mkdir(parents=True)
    (system / "EXTERNALLY-MANAGED").write_text("[externally-managed]\nError=use apt\n")
    managed = provision(folder, "apply", path.name, "--in-place", "--environment", "usr", "--yes", "--json")
    assert (managed.code, managed.codes) == (5, ["externally-managed"])
    assert "provision apply" in managed.document["findings"][0]["remedies"][0]["command"]
    assert not (folder / ".provision").exists()
