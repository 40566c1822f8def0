"""Taking shared libraries out of an archive: the listed folder only, and nothing of an archive that is not plain.

Refused as a whole, before a byte is written: names that lead out of the folder, that Windows reserves, or that differ
by case alone; hard links, devices, links to anywhere but beside themselves; more bytes than stated, or than are free.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import lzma
import os
import re
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from provision.messages import message
from provision.model.finding import ApplyError, Evidence, Finding, LockError, Remedy
from provision.ports import PlacedFile

_LIBRARY = re.compile(r".+\.(so(\.\d+)*|dll)", re.IGNORECASE)
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
_BAD_CHARACTERS = re.compile(r'[<>:"|?*\\\x00-\x1f\x7f]')
_CHUNK = 1 << 20
_DAMAGED = (
    tarfile.TarError, zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Member:
    """One member of the listed folder. `link` is the target of a symbolic link; `size` in bytes as stated."""

    name: str
    size: int
    link: str | None = None


class HostPlacer:
    """Implements ports.Placer on this computer."""

    def unpack(self, archive: str, sha256: str, folder: str, destination: str) -> tuple[PlacedFile, ...]:
        path, target = Path(archive), Path(destination)
        _check_hash(path, sha256)
        with _opened(path) as source:
            members = tuple(_wanted(source, folder, path))
            _check_room(members, target, path)
            target.mkdir(parents=True)
            try:
                return tuple(_place(source, member, target, path) for member in members)
            except BaseException:
                shutil.rmtree(target, ignore_errors=True)
                raise

    def link(self, path: str, target: str) -> None:
        os.symlink(target, path)  # noqa: PTH211

    def copy(self, source: str, path: str) -> PlacedFile:
        with Path(source).open("rb") as file:
            return _write(file, Path(path), None, Path(source))

    def digest(self, path: str) -> str | None:
        try:
            return _sha256(Path(path))
        except OSError:
            return None


class _Tar:
    def __init__(self, archive: tarfile.TarFile) -> None:
        self._archive = archive
        self._infos: dict[str, tarfile.TarInfo] = {}

    def members(self, folder: str, path: Path) -> Iterator[_Member]:
        for info in self._archive:
            name = _within(info.name, folder, path)
            if name is None or info.isdir():
                continue
            if not (info.isreg() or info.issym()):
                raise _hostile(path, info.name, message("world.members.is-hard-link-or-device"))
            self._infos[name] = info
            yield _Member(name, info.size, info.linkname if info.issym() else None)

    def open(self, member: _Member) -> IO[bytes]:
        found = self._archive.extractfile(self._infos[member.name])
        assert found is not None
        return found


class _Zip:
    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._infos: dict[str, zipfile.ZipInfo] = {}

    def members(self, folder: str, path: Path) -> Iterator[_Member]:
        for info in self._archive.infolist():
            name = _within(info.filename, folder, path)
            if name is None or info.is_dir():
                continue
            kind = stat.S_IFMT(info.external_attr >> 16)
            if kind not in (0, stat.S_IFREG):
                raise _hostile(path, info.filename, message("world.members.is-link-or-device"))
            self._infos[name] = info
            yield _Member(name, info.file_size)

    def open(self, member: _Member) -> IO[bytes]:
        return self._archive.open(self._infos[member.name])


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[_Tar | _Zip]:
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                yield _Zip(archive)
        else:
            with tarfile.open(path, "r:*") as tar:
                yield _Tar(tar)
    except _DAMAGED as error:
        raise ApplyError(_broken(path, str(error))) from error


def _within(name: str, folder: str, path: Path) -> str | None:
    """The name inside the listed folder; None for members that stand elsewhere or are no shared library."""
    if name.startswith(("/", "\\")) or ".." in re.split(r"[/\\]", name) or re.match(r"[A-Za-z]:", name):
        raise _hostile(path, name, message("world.within.leads-out-archives-folder"))
    place = name.removeprefix("./")
    inside = place.removeprefix(folder.strip("/") + "/")
    if inside == place or "/" in inside or not _LIBRARY.fullmatch(inside):
        return None
    return inside


def _wanted(source: _Tar | _Zip, folder: str, path: Path) -> Iterator[_Member]:
    """The shared libraries of the folder, checked as a whole; links after the files that they show to."""
    try:
        found = list(source.members(folder, path))
    except OSError as error:
        raise ApplyError(_broken(path, str(error))) from error
    names = [member.name for member in found]
    if not found:
        raise ApplyError(_nothing(path, folder))
    if len({name.casefold() for name in names}) < len(names):
        raise _hostile(path, folder, message("world.wanted.holds-names-twice-or-names"))
    for member in found:
        if (
            _RESERVED.fullmatch(member.name)
            or _BAD_CHARACTERS.search(member.name)
            or member.name.strip(" .") != member.name
        ):
            raise _hostile(path, member.name, message("world.wanted.is-not-file-name-on"))
        if member.link is not None and member.link.removeprefix("./") not in names:
            raise _hostile(path, member.name, message("world.wanted.is-link-to", link=member.link))
    return iter(sorted(found, key=lambda m: m.link is not None))


def _check_room(members: Sequence[_Member], target: Path, path: Path) -> None:
    wanted = sum(member.size for member in members)
    there = next(p for p in (target, *target.parents) if p.exists())
    free = shutil.disk_usage(there).free
    if wanted > free:
        text = message(
            "world.check-room.unpacks-to-mb-mb-are",
            name=path.name,
            size=f"{wanted / 1e6:,.1f}",
            free=f"{free / 1e6:,.1f}",
        )
        raise ApplyError(
            Finding("disk-full", "error", text, remedies=(Remedy(message("world.disk-full.way-3")),))
        )


def _place(source: _Tar | _Zip, member: _Member, target: Path, path: Path) -> PlacedFile:
    place = target / member.name
    if member.link is not None:
        link = member.link.removeprefix("./")
        place.symlink_to(link)
        return PlacedFile(path=str(place), link=link)
    with source.open(member) as file:
        return _write(file, place, member.size, path)


def _write(file: IO[bytes], place: Path, size: int | None, path: Path) -> PlacedFile:
    digest, written = hashlib.sha256(), 0
    with place.open("xb") as out:
        while piece := file.read(_CHUNK):
            written += len(piece)
            if size is not None and written > size:
                raise _hostile(path, place.name, message("world.write.holds-more-bytes-than-it"))
            digest.update(piece)
            out.write(piece)
    if size is not None and written != size:
        raise ApplyError(_broken(path, message("world.write.ends-early", name=place.name)))
    place.chmod(0o755)
    return PlacedFile(path=str(place), size=written, sha256=digest.hexdigest())


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_CHUNK):
            digest.update(piece)
    return digest.hexdigest()


def _check_hash(path: Path, sha256: str) -> None:
    found = _sha256(path)
    if found != sha256:
        raise LockError(
            Finding(
                "hash-mismatch", "error", message("world.hash-mismatch.summary-2", name=path.name),
                evidence=(Evidence("lock", sha256), Evidence(str(path), found)),
                remedies=(Remedy(message("world.hash-mismatch.way-3")),),
            )
        )  # fmt: skip


def _hostile(path: Path, member: str, what: str) -> ApplyError:
    return ApplyError(
        Finding(
            "archive-hostile",
            "error",
            message("world.archive-hostile.summary", name=path.name, member=f"{member!r}", what=what),
            evidence=(Evidence(str(path), member),),
            remedies=(Remedy(message("world.archive-hostile.way")),),
        )
    )


def _broken(path: Path, why: str) -> Finding:
    return Finding(
        "archive-broken", "error", message("world.archive-broken.summary", name=path.name), detail=why
    )


def _nothing(path: Path, folder: str) -> Finding:
    return Finding(
        "archive-empty", "error", message("world.archive-empty.summary", name=path.name, folder=folder)
    )
