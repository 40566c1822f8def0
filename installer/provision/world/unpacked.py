"""What wheels hold by their own directory, and whether what was installed of them still is that.

An installer links or copies from its cache of unpacked wheels. A file of that cache may have been edited: the wheel,
whose hash was checked, says what it must be. Sizes are compared always; contents by the CRC-32 that the archive states
for each member (2 GB/s here, SHA-256 240 MB/s), which no edit by accident keeps.
"""

from __future__ import annotations

import contextlib
import json
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from provision.messages import message
from provision.model.finding import ApplyError, Evidence, Finding, Remedy
from provision.ports import Contents, LocalFile, Member
from provision.shells import quoted

#: Members that the installer writes anew, or leaves out.
_REWRITTEN = ("RECORD", "RECORD.jws", "RECORD.p7s", "INSTALLER", "REQUESTED", "direct_url.json")
#: Who made an archive: only Unix states a file's type and permissions.
_UNIX = 3
_THREADS = 2
_PIECE = 1 << 20

#: relative path -> what may stand there: (size in bytes, CRC-32) of each wheel that has it.
Expected = dict[str, set[tuple[int, int]]]


def contents(wheel: LocalFile, cache: Path) -> Contents:
    """Members and entry-point scripts of a wheel; kept by its hash, so that they are read out once."""
    kept = cache / "contents" / f"{wheel.artifact.sha256}.json"
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        found = json.loads(kept.read_text(encoding="utf-8"))
        return Contents(tuple(Member(*row) for row in found["members"]), tuple(found["scripts"]))
    read = _read(wheel)
    with contextlib.suppress(OSError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        rows = [[m.name, m.size, m.crc, m.mode] for m in read.members]
        temporary = kept.with_suffix(f".{os.getpid()}.part")
        temporary.write_text(json.dumps({"members": rows, "scripts": read.scripts}), encoding="utf-8")
        temporary.replace(kept)
    return read


def forget(wheel: LocalFile, cache: Path) -> None:
    (cache / "contents" / f"{wheel.artifact.sha256}.json").unlink(missing_ok=True)


def _read(wheel: LocalFile) -> Contents:
    try:
        with zipfile.ZipFile(wheel.path) as archive:
            infos = archive.infolist()
            # The name as it stands in the file: zipfile's own `filename` is already made harmless.
            members = tuple(Member(i.orig_filename, i.file_size, i.CRC, _mode(i)) for i in infos)
            return Contents(members, tuple(_scripts(archive)))
    except (OSError, ValueError, RuntimeError, NotImplementedError, zipfile.BadZipFile, zlib.error) as error:
        raise ApplyError(_unreadable(wheel, error)) from error


def _mode(info: zipfile.ZipInfo) -> int:
    return info.external_attr >> 16 if info.create_system == _UNIX else 0


def _scripts(archive: zipfile.ZipFile) -> Iterator[str]:
    """Names of the scripts that an installer makes from entry_points.txt."""
    for name in archive.namelist():
        if name.count("/") == 1 and name.endswith(".dist-info/entry_points.txt"):
            section = ""
            for line in archive.read(name).decode("utf-8", "replace").splitlines():
                text = line.strip()
                if text.startswith("["):
                    section = text.strip("[]").strip()
                elif "=" in text and section in ("console_scripts", "gui_scripts") and text[0] not in "#;":
                    yield text.partition("=")[0].strip()


def expected(environment: str, packages: str, wheels: Sequence[tuple[LocalFile, Contents]]) -> Expected:
    """What must stand in an environment after these wheels were installed; `packages` is its site-packages."""
    folder = os.path.relpath(packages, environment)
    found: Expected = {}
    for _, held in wheels:
        for member in held.members:
            place = _place(member.name, folder)
            if place is not None:
                found.setdefault(place, set()).add((member.size, member.crc))
    return found


def _place(name: str, packages: str) -> str | None:
    """Where a member is installed, relative to the environment; None if the installer makes something else of it."""
    top, _, rest = name.partition("/")
    if name.endswith("/") or (top.endswith(".dist-info") and rest in _REWRITTEN):
        return None
    if not top.endswith(".data"):
        return f"{packages}/{name}"
    scheme, _, path = rest.partition("/")
    if scheme in ("purelib", "platlib"):
        return f"{packages}/{path}"
    return path if scheme == "data" else None


def places(environment: str, packages: str, held: Sequence[Contents]) -> tuple[str, ...]:
    """Every path that installing writes, relative to the environment; metadata folders as a whole."""
    folder = os.path.relpath(packages, environment)
    programs = "Scripts" if os.name == "nt" else "bin"
    found: dict[str, None] = {}
    for one in held:
        for member in one.members:
            top, _, rest = member.name.partition("/")
            if top.endswith(".dist-info"):
                found[f"{folder}/{top}"] = None
            elif top.endswith(".data") and rest.startswith("scripts/"):
                found[f"{programs}/{rest.removeprefix('scripts/')}"] = None
            elif place := _place(member.name, folder):
                found[place] = None
        for script in one.scripts:
            found |= dict.fromkeys(
                [f"{programs}/{script}", *([f"{programs}/{script}.exe"] if os.name == "nt" else [])]
            )
    return tuple(found)


def wrong_sizes(environment: str, wanted: Expected) -> tuple[str, ...]:
    """Paths that are absent or whose size is not the wheel's."""
    return tuple(
        place
        for place, claims in wanted.items()
        if _size(f"{environment}/{place}") not in {s for s, _ in claims}
    )


def _size(path: str) -> int | None:
    try:
        return os.stat(path).st_size  # noqa: PTH116 (thousands of calls)
    except OSError:
        return None


def begin_contents_check(environment: str, wanted: Expected) -> Callable[[], tuple[str, ...]]:
    """Start comparing contents beside what else happens; the result waits for the end and gives paths that differ."""
    pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="provision-check")
    places = list(wanted)
    share = -(-len(places) // _THREADS) or 1
    parts = [places[i : i + share] for i in range(0, len(places), share)]
    stop: list[bool] = []
    pending = [pool.submit(_differing, environment, part, wanted, stop) for part in parts]
    pool.shutdown(wait=False)

    def result() -> tuple[str, ...]:
        try:
            return tuple(place for future in pending for place in future.result())
        finally:
            stop.append(True)

    return result


def _differing(environment: str, places: Sequence[str], wanted: Expected, stop: list[bool]) -> list[str]:
    found = []
    for place in places:
        if stop:
            break
        if _crc(f"{environment}/{place}") not in {crc for _, crc in wanted[place]}:
            found.append(place)
    return found


def _crc(path: str) -> int | None:
    value = 0
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 (thousands of calls)
            while piece := file.read(_PIECE):
                value = zlib.crc32(piece, value)
    except OSError:
        return None
    return value


def _unreadable(wheel: LocalFile, error: Exception) -> Finding:
    return Finding(
        "artifact-not-a-wheel",
        "error",
        message("world.artifact-not-a-wheel.summary", file=wheel.artifact.file),
        evidence=(Evidence(wheel.path, f"{type(error).__name__}: {error}"),),
        remedies=(Remedy(message("world.artifact-not-a-wheel.way"), f"rm {quoted(wheel.path)}"),),
    )
