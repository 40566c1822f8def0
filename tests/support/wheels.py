"""Tiny distributions, built in the test: same arguments, same bytes.

Members are stored, not compressed: compressed bytes would depend on the zlib of the machine.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import re
import tarfile
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

Files = Mapping[str, "str | bytes"]
EntryPoints = Mapping[str, Mapping[str, str]]

_EPOCH = (1980, 1, 1, 0, 0, 0)


def normalized(name: str) -> str:
    """The name of a project as PEP 503 spells it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def module_name(name: str) -> str:
    """The name of a distribution in its file names and of the module that it holds."""
    return normalized(name).replace("-", "_")


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def make_wheel(
    folder: Path,
    name: str,
    version: str,
    *,
    tag: str = "py3-none-any",
    build: str = "",
    requires: Iterable[str] = (),
    requires_python: str | None = None,
    extras: Mapping[str, Iterable[str]] | None = None,
    files: Files | None = None,
    entry_points: EntryPoints | None = None,
    headers: Iterable[str] = (),
    record: bool = True,
) -> Path:
    """Write a wheel into `folder` and return its path.

    `files` maps member names to contents; without it the wheel holds one module that knows its
    `__version__`. `headers` are further lines of METADATA. `record=False` leaves RECORD out.
    """
    info = f"{module_name(name)}-{version}.dist-info"
    members = _bytes(default_files(name, version) if files is None else files)
    members[f"{info}/METADATA"] = metadata(
        name, version, requires=requires, requires_python=requires_python, extras=extras, headers=headers
    ).encode()
    members[f"{info}/WHEEL"] = _wheel_file(tag).encode()
    if entry_points:
        members[f"{info}/entry_points.txt"] = _entry_points(entry_points).encode()
    if record:
        members[f"{info}/RECORD"] = _record(members, f"{info}/RECORD").encode()
    stem = "-".join(part for part in (module_name(name), version, build, tag) if part)
    path = folder / f"{stem}.whl"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_zip(members))
    return path


def make_sdist(
    folder: Path,
    name: str,
    version: str,
    *,
    requires: Iterable[str] = (),
    requires_python: str | None = None,
    files: Files | None = None,
    build_requires: Iterable[str] = (),
    fails: str = "",
    metadata_version: str = "2.1",
) -> Path:
    """Write an sdist that builds without a network: its PEP 517 backend lies in it.

    `build_requires` are what the backend says it needs. With `fails`, building ends with that message.
    A `metadata_version` of 2.2 or later lets an installer read the requirements without building.
    """
    text = metadata(
        name, version, requires=requires, requires_python=requires_python, metadata_version=metadata_version
    )
    wanted = ", ".join(f'"{r}"' for r in build_requires)
    tree = {f"src/{path}": data for path, data in _source(files, name, version).items()}
    stem = f"{module_name(name)}-{version}"
    backend = _BACKEND.format(stem=stem, metadata=text, wheel=_wheel_file("py3-none-any"), fails=fails)
    tree |= {
        "PKG-INFO": text.encode(),
        "pyproject.toml": (
            f'[build-system]\nrequires = [{wanted}]\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        ).encode(),
        "backend.py": backend.encode(),
    }
    return _sdist(folder, name, version, tree)


def make_legacy_sdist(
    folder: Path,
    name: str,
    version: str,
    *,
    requires: Iterable[str] = (),
    files: Files | None = None,
) -> Path:
    """Write an sdist of the old kind: a setup.py, no pyproject.toml; building it needs setuptools."""
    tree = _source(files, name, version)
    modules = sorted(path[:-12].replace("/", ".") for path in tree if path.endswith("/__init__.py"))
    tree["PKG-INFO"] = metadata(name, version, requires=()).encode()
    tree["setup.py"] = (
        "from setuptools import setup\n"
        f"setup(name={name!r}, version={version!r}, packages={modules!r},\n"
        f"      install_requires={list(requires)!r})\n"
    ).encode()
    return _sdist(folder, name, version, tree)


def default_files(name: str, version: str) -> Files:
    return {f"{module_name(name)}/__init__.py": f'__version__ = "{version}"\n'}


def metadata(
    name: str,
    version: str,
    *,
    requires: Iterable[str] = (),
    requires_python: str | None = None,
    extras: Mapping[str, Iterable[str]] | None = None,
    headers: Iterable[str] = (),
    metadata_version: str = "2.1",
) -> str:
    """The text of METADATA (or PKG-INFO)."""
    lines = [f"Metadata-Version: {metadata_version}", f"Name: {name}", f"Version: {version}", "Summary: tiny"]
    if requires_python:
        lines.append(f"Requires-Python: {requires_python}")
    lines += [f"Requires-Dist: {r}" for r in requires]
    for extra, wanted in (extras or {}).items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {r} ; extra == "{extra}"' for r in wanted]
    return "\n".join([*lines, *headers, ""]) + "\n"


def _source(files: Files | None, name: str, version: str) -> dict[str, bytes]:
    return _bytes(default_files(name, version) if files is None else files)


def _bytes(files: Files) -> dict[str, bytes]:
    return {path: data.encode() if isinstance(data, str) else data for path, data in files.items()}


def _wheel_file(tag: str) -> str:
    pythons, abis, platforms = (part.split(".") for part in tag.split("-"))
    tags = [f"Tag: {p}-{a}-{m}" for p in pythons for a in abis for m in platforms]
    pure = "true" if abis == ["none"] and platforms == ["any"] else "false"
    return "\n".join(["Wheel-Version: 1.0", "Generator: tiny", f"Root-Is-Purelib: {pure}", *tags, ""])


def _entry_points(groups: EntryPoints) -> str:
    return "".join(
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in entries.items())
        for group, entries in groups.items()
    )


def _record(members: Mapping[str, bytes], own: str) -> str:
    rows = [f"{path},sha256={_digest(data)},{len(data)}\n" for path, data in members.items()]
    return "".join(rows) + f"{own},,\n"


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def _zip(members: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for path, data in members.items():
            member = zipfile.ZipInfo(path, _EPOCH)
            member.create_system = 3
            member.external_attr = (0o100755 if "/bin/" in path else 0o100644) << 16
            archive.writestr(member, data)
    return buffer.getvalue()


def _sdist(folder: Path, name: str, version: str, tree: Mapping[str, bytes]) -> Path:
    stem = f"{module_name(name)}-{version}"
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, data in sorted(tree.items()):
            member = tarfile.TarInfo(f"{stem}/{path}")
            member.size = len(data)
            member.mode = 0o644
            archive.addfile(member, io.BytesIO(data))
    packed = io.BytesIO()
    # Level 0 for the reason above: the deflate stream is then the same everywhere.
    with gzip.GzipFile(filename="", mode="wb", compresslevel=0, fileobj=packed, mtime=0) as stream:
        stream.write(tar.getvalue())
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{stem}.tar.gz"
    path.write_bytes(packed.getvalue())
    return path


#: The backend inside an sdist. It runs under the Python of the environment, so it must please old ones.
_BACKEND = '''\
"""Packs ./src into a wheel with nothing but the standard library."""
import os
import zipfile

STEM = {stem!r}
METADATA = {metadata!r}
WHEEL = {wheel!r}
FAILS = {fails!r}


def get_requires_for_build_wheel(config_settings=None):
    return []


def get_requires_for_build_sdist(config_settings=None):
    return []


def _info():
    return [(STEM + ".dist-info/METADATA", METADATA), (STEM + ".dist-info/WHEEL", WHEEL)]


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    os.makedirs(os.path.join(metadata_directory, STEM + ".dist-info"))
    for path, text in _info():
        with open(os.path.join(metadata_directory, path), "w") as stream:
            stream.write(text)
    return STEM + ".dist-info"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    if FAILS:
        raise SystemExit(FAILS)
    record = STEM + ".dist-info/RECORD"
    name = STEM + "-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w") as archive:
        paths = []
        for folder, _, files in sorted(os.walk("src")):
            for file in sorted(files):
                path = os.path.join(folder, file)
                paths.append(os.path.relpath(path, "src").replace(os.sep, "/"))
                archive.write(path, paths[-1])
        for path, text in _info():
            paths.append(path)
            archive.writestr(path, text)
        archive.writestr(record, "".join(p + ",,\\n" for p in paths + [record]))
    return name
'''
