"""Local conda channels of tiny packages, in both formats, written with the standard library and indexed by rattler."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import os
import struct
import sys
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: What a package's files hold where the environment's path is to be written. Long, as real builds pad it.
PLACEHOLDER = "/placehold" * 16
_TIME = 1700000000


@dataclass(frozen=True, slots=True)
class Content:
    """A file of a package. `mode`: how the placeholder in it is replaced (`text`, `binary`, or not at all)."""

    data: bytes = b""
    mode: str = ""
    executable: bool = False
    link: str = ""


@dataclass
class Channel:
    """A folder of packages. Profiles call it by name; a mirror setting leads the name here."""

    root: Path
    name: str = "tiny"
    built: list[str] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        return self.root / self.name

    @property
    def url(self) -> str:
        """What locks say: the name at the common host of channels."""
        return f"https://conda.anaconda.org/{self.name}"

    def add(
        self,
        name: str,
        version: str = "1.0",
        files: Mapping[str, Content] | None = None,
        *,
        depends: Sequence[str] = (),
        constrains: Sequence[str] = (),
        build: str = "0",
        subdir: str = "noarch",
        noarch: str = "generic",
        entry_points: Sequence[str] = (),
        form: str = ".tar.bz2",
    ) -> Path:
        """Write one package; `index` has to be called after the last one."""
        files = dict(files or {f"share/{name}/{version}.txt": Content(f"{name} {version}\n".encode())})
        index: dict[str, Any] = {
            "name": name, "version": version, "build": build, "build_number": 0, "subdir": subdir,
            "depends": list(depends), "constrains": list(constrains), "timestamp": _TIME * 1000, "license": "MIT",
        }  # fmt: skip
        if subdir == "noarch":
            index["noarch"] = noarch
        info = _info(index, files, entry_points if noarch == "python" else ())
        path = self.folder / subdir / f"{name}-{version}-{build}{form}"
        path.parent.mkdir(parents=True, exist_ok=True)
        if form == ".conda":
            _write_conda(path, info, files)
        else:
            path.write_bytes(_tar({**info, **files}, "w:bz2"))
        self.built.append(name)
        return path

    def python(self, version: str = "", subdir: str = "linux-64") -> Path:
        """A `python` that is the running one: a link to it, and the note that makes the prefix a place of its own."""
        version = version or ".".join(str(n) for n in sys.version_info[:3])
        minor = ".".join(version.split(".")[:2])
        base = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
        note = f"home = {base.parent}\ninclude-system-site-packages = false\nversion = {version}\n"
        files = {
            "bin/python": Content(link=str(base)),
            f"bin/python{minor}": Content(link="python"),
            "bin/python3": Content(link="python"),
            "pyvenv.cfg": Content(note.encode()),
            f"lib/python{minor}/site-packages/README.txt": Content(b"tiny\n"),
        }
        return self.add("python", version, files, build="0_cpython", subdir=subdir)

    def library(self, name: str, version: str = "1.0", **more: Any) -> Path:
        """A noarch Python package with its metadata and, if asked for, entry points."""
        info = f"site-packages/{name}-{version}.dist-info"
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode()
        body = (
            f"__version__ = {version!r}\ndef main():\n    import sys; print({name!r}, sys.prefix)\n".encode()
        )
        files = {
            f"site-packages/{name}/__init__.py": Content(body),
            f"{info}/METADATA": Content(metadata),
            f"{info}/RECORD": Content(b""),
            f"{info}/INSTALLER": Content(b"conda\n"),
        }
        depends = ("python", *more.pop("depends", ()))
        return self.add(name, version, files, noarch="python", depends=depends, **more)

    def index(self) -> Channel:
        from rattler.index import index_fs

        for subdir in ("noarch", "linux-64", "win-64"):
            (self.folder / subdir).mkdir(parents=True, exist_ok=True)
        asyncio.run(index_fs(self.folder))
        return self

    def condarc(self, path: Path) -> Path:
        """A .condarc that maps the channel's name to this folder."""
        path.write_text(f"custom_channels:\n  {self.name}: {self.root.as_uri()}\n", encoding="utf-8")
        return path


def _info(
    index: Mapping[str, Any], files: Mapping[str, Content], entry_points: Sequence[str]
) -> dict[str, Content]:
    paths = [_path(path, content) for path, content in files.items()]
    info = {
        "info/index.json": Content(json.dumps(index).encode()),
        "info/paths.json": Content(json.dumps({"paths": paths, "paths_version": 1}).encode()),
        "info/files": Content("\n".join(files).encode()),
        "info/about.json": Content(b"{}"),
    }
    if index.get("noarch") == "python":
        link = {
            "noarch": {"type": "python", "entry_points": list(entry_points)},
            "package_metadata_version": 1,
        }
        info["info/link.json"] = Content(json.dumps(link).encode())
    return info


def _path(path: str, content: Content) -> dict[str, Any]:
    entry: dict[str, Any] = {"_path": path, "path_type": "softlink" if content.link else "hardlink"}
    if not content.link:
        entry |= {"sha256": hashlib.sha256(content.data).hexdigest(), "size_in_bytes": len(content.data)}
    if content.mode:
        entry |= {"file_mode": content.mode, "prefix_placeholder": PLACEHOLDER}
    return entry


def _tar(files: Mapping[str, Content], mode: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as tar:  # type: ignore[call-overload]
        for path, content in files.items():
            member = tarfile.TarInfo(path)
            member.mtime, member.mode = _TIME, 0o755 if content.executable else 0o644
            if content.link:
                member.type, member.linkname = tarfile.SYMTYPE, content.link
            member.size = 0 if content.link else len(content.data)
            tar.addfile(member, io.BytesIO(content.data))
    return out.getvalue()


def _write_conda(path: Path, info: Mapping[str, Content], files: Mapping[str, Content]) -> None:
    stem = path.name.removesuffix(".conda")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, data in (
            ("metadata.json", b'{"conda_pkg_format_version": 2}'),
            (f"pkg-{stem}.tar.zst", _stored_zstd(_tar(files, "w"))),
            (f"info-{stem}.tar.zst", _stored_zstd(_tar(info, "w"))),
        ):
            archive.writestr(zipfile.ZipInfo(name, (2023, 11, 14, 0, 0, 0)), data)


def _stored_zstd(data: bytes, block: int = 1 << 16) -> bytes:
    """A Zstandard frame of raw blocks (RFC 8878): legal, not compressed, and needs no library."""
    out = [struct.pack("<IBQ", 0xFD2FB528, 0b1110_0000, len(data))]
    pieces = [data[i : i + block] for i in range(0, len(data), block)] or [b""]
    for number, piece in enumerate(pieces):
        last = number == len(pieces) - 1
        out.append(struct.pack("<I", int(last) | len(piece) << 3)[:3] + piece)
    return b"".join(out)


def link_script(text: str) -> Content:
    return Content(f"#!/bin/sh\n{text}\n".encode(), executable=True)


def tree(prefix: Path) -> list[str]:
    """Every path below a prefix, links shown with what they point to."""
    found = []
    for folder, names, files in os.walk(prefix):
        for name in sorted([*names, *files]):
            path = Path(folder, name)
            text = str(path.relative_to(prefix))
            found.append(f"{text} -> {os.readlink(path)}" if path.is_symlink() else text)
    return sorted(found)
