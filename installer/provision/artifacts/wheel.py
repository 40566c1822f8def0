"""The members of a wheel, read one at a time from wherever the wheel lies."""

from __future__ import annotations

import configparser
import csv
import io
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from email.parser import HeaderParser

from provision.artifacts.seekable import SourceFile
from provision.messages import message
from provision.model.artifact import ArtifactError, artifact_error
from provision.ports import ByteSource

#: The end of the file that is read first: it holds the whole directory of most wheels.
TAIL = 64 << 10
#: Room for the local header's extra fields, which the directory does not state.
HEADER_ROOM = 256
CHUNK = 1 << 20
#: The most that a text member (METADATA, RECORD, build_info.py) may hold, in bytes.
TEXT_LIMIT = 32 << 20


@dataclass(frozen=True, slots=True)
class Member:
    """A file in a wheel: `size` and `packed` are its bytes as installed and as stored, `offset` where it
    starts."""

    name: str
    size: int
    packed: int
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """The core metadata that provision reads."""

    name: str
    version: str
    requires: tuple[str, ...] = ()
    requires_python: str = ""
    extras: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recorded:
    """A line of RECORD: path, digest as written there (`sha256=...`, may be empty), size in bytes if
    stated."""

    path: str
    digest: str
    size: int | None


class Wheel:
    """A wheel opened at its directory: nothing else is read until it is asked for. Raises ArtifactError."""

    def __init__(self, source: ByteSource) -> None:
        self.name = source.name
        self.file = SourceFile(source)
        self.size = self.file.seek(0, io.SEEK_END)
        self.file.fetch(max(0, self.size - TAIL), TAIL, pin=True)
        try:
            self._zip = zipfile.ZipFile(self.file)
        except ArtifactError:
            raise
        except Exception as error:  # zipfile raises a dozen kinds for what is not a zip file
            raise self._broken(
                "artifact-not-a-wheel", message("artifacts.init.is-not-readable-wheel"), error
            ) from error
        self._infos = {info.filename: info for info in self._zip.infolist() if not info.is_dir()}
        infos = self._infos.values()
        self.members = tuple(Member(i.filename, i.file_size, i.compress_size, i.header_offset) for i in infos)

    def __contains__(self, name: str) -> bool:
        return name in self._infos

    def read(self, name: str, limit: int = TEXT_LIMIT) -> bytes:
        """A whole member. Raises ArtifactError where it is absent, broken, or larger than `limit` bytes."""
        info = self._info(name)
        if info.file_size > limit:
            raise self._broken(
                "artifact-member-too-large",
                message(
                    "artifacts.read.has-bytes-in-limit", file_size=info.file_size, name=name, limit=limit
                ),
            )
        return b"".join(self.stream(name))

    def text(self, name: str) -> str:
        return self.read(name).decode("utf-8", errors="replace")

    def stream(self, name: str, packed_limit: int | None = None) -> Iterator[bytes]:
        """The member's bytes in pieces. With `packed_limit` it ends early, once that many stored bytes are
        used."""
        info = self._info(name)
        if info.flag_bits & 0x1 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise self._broken(
                "artifact-member-unreadable",
                message("artifacts.stream.holds-encrypted-or-packed-in", name=name),
            )
        packed = info.compress_size if packed_limit is None else min(info.compress_size, packed_limit)
        stored = self._pieces(info, packed)
        whole = packed == info.compress_size
        pieces = _inflate(stored) if info.compress_type == zipfile.ZIP_DEFLATED else stored
        try:
            yield from _checked(pieces, info, whole)
        except zlib.error as error:
            raise self._broken(
                "artifact-member-broken", message("artifacts.stream.holds-damaged", name=name), error
            ) from error

    def deflated(self, name: str) -> bool:
        """Is the member deflated (else: stored as it is)?"""
        return self._info(name).compress_type == zipfile.ZIP_DEFLATED

    def stored(self, name: str, offset: int, length: int) -> bytes:
        """Bytes of the member as they are stored (deflated, mostly), from anywhere in it."""
        info = self._info(name)
        length = min(length, info.compress_size - offset)
        if length <= 0:
            return b""
        at = self._data_start(info, 0) + offset
        self.file.fetch(at, length)
        self.file.seek(at)
        return self.file.read(length)

    def _broken(self, code: str, what: str, error: Exception | None = None) -> ArtifactError:
        return artifact_error(code, f"{self.name} " + what, _words(error) if error else "")

    def _info(self, name: str) -> zipfile.ZipInfo:
        try:
            return self._infos[name]
        except KeyError:
            raise self._broken(
                "artifact-member-absent", message("artifacts.info.has-no", name=name)
            ) from None

    def _data_start(self, info: zipfile.ZipInfo, ahead: int) -> int:
        """Where the member's bytes begin: behind a header of its own. `ahead` bytes of them are read
        along."""
        if info.header_offset < 0:
            raise self._broken(
                "artifact-member-broken",
                message("artifacts.data-start.has-no-where-its-directory", filename=info.filename),
            )
        self.file.fetch(info.header_offset, HEADER_ROOM + len(info.filename.encode()) + ahead)
        self.file.seek(info.header_offset)
        header = self.file.read(30)
        if len(header) < 30 or header[:4] != b"PK\x03\x04":
            raise self._broken(
                "artifact-member-broken",
                message("artifacts.data-start.has-no-where-its-directory", filename=info.filename),
            )
        return info.header_offset + 30 + sum(int.from_bytes(header[i : i + 2], "little") for i in (26, 28))

    def _pieces(self, info: zipfile.ZipInfo, packed: int) -> Iterator[bytes]:
        at = self._data_start(info, min(packed, CHUNK))
        while packed > 0:
            self.file.seek(at)
            piece = self.file.read(min(CHUNK, packed))
            if not piece:
                raise self._broken(
                    "artifact-cut-short", message("artifacts.pieces.ends-inside", filename=info.filename)
                )
            yield piece
            at += len(piece)
            packed -= len(piece)


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _inflate(stored: Iterator[bytes]) -> Iterator[bytes]:
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    for piece in stored:
        while piece:
            yield inflater.decompress(piece, CHUNK)
            piece = inflater.unconsumed_tail
    yield inflater.flush()


def _checked(pieces: Iterator[bytes], info: zipfile.ZipInfo, whole: bool) -> Iterator[bytes]:
    """Pass the pieces on; raise if they are more than the directory states, or at the end not what it
    states."""
    size = crc = 0
    for piece in pieces:
        size += len(piece)
        crc = zlib.crc32(piece, crc)
        if size > info.file_size:
            break
        yield piece
    if size > info.file_size or (whole and (size < info.file_size or crc != info.CRC)):
        words = message("artifacts.checked.is-not-what-wheels-directory", filename=info.filename)
        raise artifact_error("artifact-member-broken", words)


def dist_info(wheel: Wheel) -> str:
    """The name of the wheel's `.dist-info` folder. Raises ArtifactError where there is none."""
    found = sorted({m.name.split("/")[0] for m in wheel.members if m.name.endswith(".dist-info/METADATA")})
    if not found:
        raise artifact_error(
            "artifact-not-a-wheel", message("artifacts.dist-info.has-no-dist-info-metadata", name=wheel.name)
        )
    stem = wheel.name.split("-")[0].lower()
    return next((f for f in found if f.lower().startswith(stem + "-")), found[0])


def metadata(wheel: Wheel) -> Metadata:
    """The wheel's core metadata (METADATA)."""
    headers = HeaderParser().parsestr(wheel.text(dist_info(wheel) + "/METADATA"))
    return Metadata(
        name=str(headers.get("Name", "")).strip(),
        version=str(headers.get("Version", "")).strip(),
        requires=tuple(" ".join(str(line).split()) for line in headers.get_all("Requires-Dist", [])),
        requires_python=str(headers.get("Requires-Python", "")).strip(),
        extras=tuple(str(line).strip() for line in headers.get_all("Provides-Extra", [])),
    )


def tags(wheel: Wheel) -> tuple[str, ...]:
    """The tags that the WHEEL member states; those of the file name where it states none."""
    name = dist_info(wheel) + "/WHEEL"
    stated = HeaderParser().parsestr(wheel.text(name)).get_all("Tag", []) if name in wheel else []
    return tuple(sorted({str(line).strip() for line in stated})) or file_tags(wheel.name)


def file_tags(file: str) -> tuple[str, ...]:
    """The tags in a wheel's file name, expanded; empty if it is not such a name."""
    from packaging.utils import InvalidWheelFilename, parse_wheel_filename

    try:
        return tuple(sorted(str(tag) for tag in parse_wheel_filename(file)[3]))
    except InvalidWheelFilename:
        return ()


def record(wheel: Wheel) -> tuple[Recorded, ...]:
    """The lines of RECORD, empty where there is none."""
    name = dist_info(wheel) + "/RECORD"
    if name not in wheel:
        return ()
    try:
        rows = [row for row in csv.reader(io.StringIO(wheel.text(name))) if row and row[0]]
    except csv.Error as error:
        words = message("artifacts.record.record-cannot-be-read", name=wheel.name)
        raise artifact_error("artifact-record-broken", words, _words(error)) from error
    return tuple(_recorded([*row, "", ""]) for row in rows)


def _recorded(row: list[str]) -> Recorded:
    return Recorded(row[0], row[1], int(row[2]) if row[2].isdecimal() else None)


def entry_points(wheel: Wheel) -> tuple[str, ...]:
    """Entry points as `group: name = object`, in the order of the file."""
    name = dist_info(wheel) + "/entry_points.txt"
    if name not in wheel:
        return ()
    parser = configparser.RawConfigParser(delimiters=("=",), strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        parser.read_string(wheel.text(name))
    except configparser.Error:
        return ()
    return tuple(
        f"{group}: {key} = {value}" for group in parser.sections() for key, value in parser.items(group)
    )


def top_level(wheel: Wheel) -> tuple[str, ...]:
    """The names that the wheel puts into site-packages, from its directory (`top_level.txt` is often
    wrong)."""
    names = {_imported(m.name) for m in wheel.members}
    return tuple(sorted(names - {""}))


def _imported(path: str) -> str:
    first, _, rest = path.partition("/")
    if first.endswith((".dist-info", ".data", ".libs")):
        return ""
    return first if rest else first.split(".")[0]
