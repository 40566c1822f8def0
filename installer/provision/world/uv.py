"""uv as the engine: closures of Python packages, environments, installs. Called as a process.

uv is a wheel of the package index and comes with provision, so its path is known without a search.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from provision.model.lock import PYPI
from provision.model.profile import Index
from provision.ports import CatalogFailure, ClosedPackage, ClosureRequest, ListedFile, Output

#: Targets -> uv's `--python-platform`; the glibc of Linux targets is that of locking.tags.GLIBC_CEILING.
_PLATFORMS = {
    "linux-x86_64": "x86_64-manylinux_2_28",
    "linux-aarch64": "aarch64-manylinux_2_28",
    "windows-x86_64": "x86_64-pc-windows-msvc",
    "macos-arm64": "aarch64-apple-darwin",
    "macos-x86_64": "x86_64-apple-darwin",
}


@lru_cache(maxsize=1)
def binary() -> str:
    """Path of the uv executable that came with provision."""
    from uv import find_uv_bin

    return str(find_uv_bin())


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The process environment for uv: the user's own, without what would point it at another environment."""
    dropped = {
        "VIRTUAL_ENV",
        "CONDA_PREFIX",
        "UV_PYTHON",
        "PYTHONHOME",
        "PYTHONPATH",
        "UV_PROJECT_ENVIRONMENT",
    }
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    if "SSL_CERT_FILE" not in kept and (bundle := _pip_bundle(kept)):
        kept["SSL_CERT_FILE"] = bundle
    return {**kept, "UV_NO_PROGRESS": "1", "NO_COLOR": "1", **(extra or {})}


def _pip_bundle(env: Mapping[str, str]) -> str | None:
    """A CA bundle set for other tools serves uv too."""
    return env.get("PIP_CERT") or env.get("REQUESTS_CA_BUNDLE") or env.get("CURL_CA_BUNDLE")


def run(
    arguments: Sequence[str], cwd: str | Path | None = None, extra: Mapping[str, str] | None = None
) -> Output:
    """Run uv to its end. Ctrl-C reaches uv too (same process group) and is raised here after it ended."""
    done = subprocess.run(
        [binary(), *arguments], cwd=cwd, env=environment(extra), capture_output=True, encoding="utf-8",
        errors="replace", stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    return Output(done.returncode, done.stdout, done.stderr)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an index is on this machine: an index URL, or a flat folder (or page) of files."""

    url: str
    flat: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UvResolver:
    """Closures through `uv pip compile`, one Python and platform at a time (never universal).

    `places` maps an index name (also `pypi`) to where this machine keeps it; an index that is not in it is
    where the profile says, and the default index is what uv's own configuration says.
    """

    places: Mapping[str, Place] = field(default_factory=dict)
    offline: bool = False
    #: `major.minor` -> interpreter, so that sdists are asked for their metadata by the right Python.
    interpreters: Mapping[str, str] = field(default_factory=dict)

    def close(self, request: ClosureRequest) -> tuple[ClosedPackage, ...] | CatalogFailure:
        with tempfile.TemporaryDirectory(prefix="provision-") as folder:
            Path(folder, "pyproject.toml").write_text(self._project(request), encoding="utf-8")
            Path(folder, "constraints.txt").write_text("\n".join(request.constraints), encoding="utf-8")
            Path(folder, "overrides.txt").write_text("\n".join(request.overrides), encoding="utf-8")
            if request.provided:
                write_stand_ins(Path(folder, _PROVIDED), request.provided)
            lock = Path(folder, "pylock.toml")
            if request.preferences:
                lock.write_text(_preferences(request.preferences), encoding="utf-8")
            done = run(self._command(request), cwd=folder)
            if done.code != 0:
                return CatalogFailure(done.stderr.strip(), unreachable=_unreachable(done.stderr))
            closed = _read_pylock(lock.read_text(encoding="utf-8"), request.indexes)
            return tuple(p for p in closed if p.name not in request.provided)

    def _command(self, request: ClosureRequest) -> list[str]:
        command = [
            "pip", "compile", "pyproject.toml", "--quiet", "--format", "pylock.toml", "--output-file", "pylock.toml",
            "--python-version", request.python, "--python-platform", _PLATFORMS[request.target], "--no-header",
        ]  # fmt: skip
        # As files, not as [tool.uv] settings: a machine may have switched settings off (UV_NO_CONFIG).
        if request.constraints:
            command += ["--constraints", "constraints.txt"]
        if request.overrides:
            command += ["--overrides", "overrides.txt"]
        if interpreter := self.interpreters.get(request.python):
            command += ["--python", interpreter]
        if not request.dependencies:
            command += ["--no-deps"]
        if request.as_of:
            command += ["--exclude-newer", request.as_of]
        if self.offline:
            command += ["--offline"]
        if default := self.places.get(PYPI):
            command += ["--default-index", default.url]
        return command

    def _project(self, request: ClosureRequest) -> str:
        lines = [
            "[project]",
            'name = "the-profile"',
            'version = "0"',
            f'requires-python = ">={request.python}"',
            f"dependencies = {_array((*request.requirements, *_pins(request.provided)))}",
        ]
        if request.provided:
            lines += ["[[tool.uv.index]]", f"name = {_quoted(_PROVIDED)}", f"url = {_quoted('./' + _PROVIDED)}"]
            lines += ["explicit = true", 'format = "flat"']
        for index in request.indexes:
            place = self.places.get(index.name, Place(url=index.url))
            lines += ["[[tool.uv.index]]", f"name = {_quoted(index.name)}", f"url = {_quoted(place.url)}"]
            lines += ["explicit = true", *(['format = "flat"'] if place.flat else [])]
        if request.indexes or request.provided:
            lines += ["[tool.uv.sources]", *_sources(request)]
        return "\n".join(lines) + "\n"


def _sources(request: ClosureRequest) -> list[str]:
    bound = [(name, index.name) for index in request.indexes for name in index.packages]
    bound = [(name, index) for name, index in bound if name not in request.provided]
    bound += [(name, _PROVIDED) for name in request.provided]
    return [f"{_quoted(name)} = {{ index = {_quoted(index)} }}" for name, index in bound]


#: The folder of stand-ins for distributions that an environment has already.
_PROVIDED = "provided"


def _pins(provided: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(f"{name}=={version}" for name, version in provided.items())


def write_stand_ins(folder: Path, provided: Mapping[str, str]) -> None:
    """Empty wheels of the distributions that are there already, so that the resolver counts with them: what they
    need is there too, and their versions cannot move."""
    import zipfile

    folder.mkdir()
    for name, version in provided.items():
        stem = f"{name.replace('-', '_')}-{version}"
        with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as wheel:
            info = f"{stem}.dist-info"
            wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")


def _quoted(text: str) -> str:
    import json

    return json.dumps(text, ensure_ascii=False)


def _array(items: Sequence[str]) -> str:
    return "[" + ", ".join(_quoted(item) for item in items) + "]"


def _preferences(pins: Mapping[str, str]) -> str:
    """A former lock in the form uv reads back: versions to keep where they still fit."""
    lines = ['lock-version = "1.0"', 'created-by = "provision"']
    for name, version in sorted(pins.items()):
        lines += ["[[packages]]", f"name = {_quoted(name)}", f"version = {_quoted(version)}"]
    return "\n".join(lines) + "\n"


def _unreachable(text: str) -> bool:
    return "Failed to fetch" in text or "error sending request" in text


def _read_pylock(text: str, indexes: Sequence[Index]) -> tuple[ClosedPackage, ...]:
    bound = {name: index.name for index in indexes for name in index.packages}
    packages = read_toml(text).get("packages", [])
    return tuple(_package(entry, bound.get(entry["name"], PYPI)) for entry in packages)


def _package(entry: Mapping[str, Any], index: str) -> ClosedPackage:
    return ClosedPackage(
        name=entry["name"],
        version=entry.get("version", "0"),
        index=index,
        wheels=tuple(_listed(wheel) for wheel in entry.get("wheels", ())),
        sdist=_listed(entry["sdist"]) if "sdist" in entry else None,
    )


def _listed(entry: Mapping[str, Any]) -> ListedFile:
    url = str(entry.get("url") or entry.get("path"))
    name = entry.get("name") or unquote(urlsplit(url).path.rsplit("/", 1)[-1])
    size = entry.get("size") or _local_size(url)
    return ListedFile(name=str(name), url=url, sha256=entry.get("hashes", {}).get("sha256"), size=size)


def _local_size(url: str) -> int | None:
    parts = urlsplit(url)
    path = Path(unquote(parts.path if parts.scheme == "file" else url))
    return path.stat().st_size if parts.scheme in ("file", "") and path.is_file() else None


def read_toml(text: str) -> dict[str, Any]:
    import sys

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib.loads(text)
