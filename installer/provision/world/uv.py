"""uv as the engine: closures of Python packages, environments, installs. Called as a process.

uv is a wheel of the package index and comes with provision, so its path is known without a search.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, is_normalized_name

from provision.model.lock import PYPI
from provision.model.profile import Index
from provision.ports import CatalogFailure, ClosedPackage, ClosureRequest, ListedFile, Output
from provision.world.mutex import inherited, marks

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
    return {**kept, "UV_NO_PROGRESS": "1", "NO_COLOR": "1", **marks(), **(extra or {})}


def _pip_bundle(env: Mapping[str, str]) -> str | None:
    """A CA bundle set for other tools serves uv too."""
    return env.get("PIP_CERT") or env.get("REQUESTS_CA_BUNDLE") or env.get("CURL_CA_BUNDLE")


def run(
    arguments: Sequence[str], cwd: str | Path | None = None, extra: Mapping[str, str] | None = None
) -> Output:
    """Run uv to its end. Ctrl-C reaches uv too (same process group) and is raised here after it ended."""
    done = subprocess.run(
        [binary(), *arguments], cwd=cwd, env=environment(extra), capture_output=True, encoding="utf-8",
        errors="replace", stdin=subprocess.DEVNULL, check=False, pass_fds=inherited(),
    )  # fmt: skip
    return Output(done.returncode, done.stdout, done.stderr)


def temporary_folder(parent: Path | None) -> tempfile.TemporaryDirectory[str]:
    """A new folder below `parent`, which is made; without one in the system's place for such."""
    if parent is not None:
        parent.mkdir(parents=True, exist_ok=True)
    return tempfile.TemporaryDirectory(prefix="provision-", dir=parent, ignore_cleanup_errors=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an index is on this machine: an index URL, or a flat folder (or page) of files."""

    url: str
    flat: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UvResolver:
    """Closures through `uv pip compile`, one Python and platform at a time (never universal).

    `places` maps an index name (also `pypi`) to where this machine keeps it; an index that is not in it is
    where the profile says, and the default index is what uv's own configuration says. `sealed`: the places are
    all there is; uv's own configuration and cache do not count.
    """

    places: Mapping[str, Place] = field(default_factory=dict)
    offline: bool = False
    sealed: bool = False
    #: `major.minor` -> interpreter, so that sdists are asked for their metadata by the right Python.
    interpreters: Mapping[str, str] = field(default_factory=dict)
    #: Where temporary files go, made if it is absent; None is the system's folder, which may be small.
    scratch: Path | None = None

    def close(self, request: ClosureRequest) -> tuple[ClosedPackage, ...] | CatalogFailure:
        """uv binds only what is required by name to an index. A bound package that is somebody's dependency is
        first met as an empty stub, so that no other index is asked for its name, and is then required by name."""
        # What an environment says of itself becomes the name of a file here.
        provided = {n: v for n, v in request.provided.items() if is_normalized_name(n)}
        request = replace(request, provided=provided)
        named = _names(request.requirements)
        while True:
            bound = frozenset(_bound(request.indexes)) - named - frozenset(request.provided)
            stubs = bound if request.dependencies else frozenset()
            answer = self._close(request, stubs, named)
            if isinstance(answer, CatalogFailure):
                return answer
            slipped = {package.name for package in answer} & stubs
            if not slipped:
                return answer
            named |= slipped

    def _close(
        self, request: ClosureRequest, stubs: frozenset[str], named: frozenset[str]
    ) -> tuple[ClosedPackage, ...] | CatalogFailure:
        with temporary_folder(self.scratch) as folder:
            more = sorted(named - _names(request.requirements))
            overrides = [*request.overrides, *(_stub(Path(folder, "stubs"), name) for name in sorted(stubs))]
            Path(folder, "pyproject.toml").write_text(self._project(request, more), encoding="utf-8")
            Path(folder, "constraints.txt").write_text("\n".join(request.constraints), encoding="utf-8")
            Path(folder, "overrides.txt").write_text("\n".join(overrides), encoding="utf-8")
            for name, version in request.provided.items():
                _stub(Path(folder, _PROVIDED), name, version)
            lock = Path(folder, "pylock.toml")
            if request.preferences:
                lock.write_text(_preferences(request.preferences), encoding="utf-8")
            done = run(self._command(request, bool(overrides)), cwd=folder, extra=self._environment())
            if done.code != 0:
                return CatalogFailure(done.stderr.strip(), unreachable=_unreachable(done.stderr))
            closed = _read_pylock(lock.read_text(encoding="utf-8"), request.indexes)
            return tuple(p for p in closed if p.name not in request.provided)

    def _environment(self) -> dict[str, str]:
        """Variables for uv beside the user's own: an address on the loopback interface needs no proxy."""
        direct = ",".join(
            filter(None, (os.environ.get("NO_PROXY") or os.environ.get("no_proxy"), "127.0.0.1"))
        )
        sealed = dict.fromkeys(("UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS"), "") if self.sealed else {}
        room = {"TMPDIR": str(self.scratch)} if self.scratch else {}
        return {"NO_PROXY": direct, "no_proxy": direct, **sealed, **room}

    def _command(self, request: ClosureRequest, overridden: bool) -> list[str]:
        command = [
            "pip", "compile", "pyproject.toml", "--quiet", "--format", "pylock.toml", "--output-file", "pylock.toml",
            "--python-version", request.python, "--python-platform", _PLATFORMS[request.target], "--no-header",
        ]  # fmt: skip
        # As files, not as [tool.uv] settings: a machine may have switched settings off (UV_NO_CONFIG).
        if request.constraints:
            command += ["--constraints", "constraints.txt"]
        if overridden:
            command += ["--overrides", "overrides.txt"]
        if interpreter := self.interpreters.get(request.python):
            command += ["--python", interpreter]
        if not request.dependencies:
            command += ["--no-deps"]
        if request.as_of:
            command += ["--exclude-newer", request.as_of]
        if self.offline:
            command += ["--offline"]
        if self.sealed:
            command += ["--no-config", "--no-cache", "--no-python-downloads"]
        default = self.places.get(PYPI)
        if default is not None:
            command += ["--no-index", "--find-links"] if default.flat else ["--default-index"]
            command.append(default.url)
        return command

    def _project(self, request: ClosureRequest, more: Sequence[str]) -> str:
        lines = [
            "[project]",
            'name = "the-profile"',
            'version = "0"',
            f'requires-python = ">={request.python}"',
            f"dependencies = {_array([*request.requirements, *more, *_pins(request.provided)])}",
        ]
        if request.provided:
            lines += [
                "[[tool.uv.index]]",
                f"name = {_quoted(_PROVIDED)}",
                f"url = {_quoted('./' + _PROVIDED)}",
            ]
            lines += ["explicit = true", 'format = "flat"']
        for index in request.indexes:
            place = self.places.get(index.name, Place(url=index.url))
            lines += ["[[tool.uv.index]]", f"name = {_quoted(index.name)}", f"url = {_quoted(place.url)}"]
            lines += ["explicit = true", *(['format = "flat"'] if place.flat else [])]
        if request.indexes or request.provided:
            lines += ["[tool.uv.sources]", *_sources(request)]
        return "\n".join(lines) + "\n"


def _names(requirements: Sequence[str]) -> frozenset[str]:
    return frozenset(canonicalize_name(Requirement(text).name) for text in requirements)


def _bound(indexes: Sequence[Index]) -> dict[str, str]:
    """Package -> the index that it is bound to."""
    return {canonicalize_name(name): index.name for index in indexes for name in index.packages}


def _stub(folder: Path, name: str, version: str = "0") -> str:
    """Make an empty wheel and return the requirement that takes it in the place of any wish for that package."""
    folder.mkdir(exist_ok=True)
    stem = f"{name.replace('-', '_')}-{version}"
    path = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(
            f"{stem}.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
        wheel.writestr(f"{stem}.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{stem}.dist-info/RECORD", "")
    return f"{name} @ {path.as_uri()}"


def _sources(request: ClosureRequest) -> list[str]:
    bound = [(name, index.name) for index in request.indexes for name in index.packages]
    bound = [(name, index) for name, index in bound if name not in request.provided]
    bound += [(name, _PROVIDED) for name in request.provided]
    return [f"{_quoted(name)} = {{ index = {_quoted(index)} }}" for name, index in bound]


#: The folder of empty wheels that stand for distributions which an environment has already: the resolver counts with
#: them, what they need is there too, and their versions cannot move.
_PROVIDED = "provided"


def _pins(provided: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(f"{name}=={version}" for name, version in provided.items())


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
    bound = _bound(indexes)
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
