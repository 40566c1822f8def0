"""A wheel -> its facts: metadata, what its build file says, what its libraries ask for, bring and hold."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from provision.artifacts import build_info
from provision.artifacts.gpucode import numbers
from provision.artifacts.library import EVERYTHING, Budget, Limits, read_part, read_whole, unreadable
from provision.artifacts.reading import BuildFile, ReadingRows, reading_rows
from provision.artifacts.wheel import Member, Wheel, entry_points, file_tags, metadata, tags, top_level
from provision.messages import message
from provision.model.artifact import FACTS_SCHEMA, ArtifactError, ArtifactFacts, LibraryFacts
from provision.ports import ByteSource, FactStore

LIBRARY = re.compile(r".*\.(?:so(?:\.\d+)*|dll|pyd)")
MANYLINUX = re.compile(r"-manylinux_(\d+)_(\d+)_")
#: Words of architectures as a framework compiles them in: `sm_80 sm_86 compute_86`.
ARCHITECTURE_LIST = re.compile(rb"(?:sm|compute|gfx)_?[0-9a-f]{2,5}(?: (?:sm|compute|gfx)_?[0-9a-f]{2,5})+")


@dataclass(slots=True)
class _Build:
    """What the build files of a wheel say, gathered."""

    words: dict[str, str] = field(default_factory=dict)
    cuda: str = ""
    cudnn: str = ""
    rocm: str = ""
    is_cuda: bool | None = None
    is_rocm: bool | None = None
    declared: tuple[str, ...] = ()


def inspect_wheel(
    source: ByteSource, *, sha256: str = "", limits: Limits = EVERYTHING, rows: ReadingRows | None = None
) -> ArtifactFacts:
    """Read a wheel within `limits`. `sha256` is noted as given, not checked.

    Raises ArtifactError where it is no wheel or cannot be reached; a broken library in it becomes a note.
    """
    rows = rows or reading_rows()
    wheel = Wheel(source)
    core = metadata(wheel)
    build = _build_facts(wheel, rows)
    without_gpu = build.is_cuda is False and not build.is_rocm
    libraries, notes = _libraries(wheel, replace(limits, sample=0) if without_gpu else limits)
    stated = tags(wheel)
    facts = ArtifactFacts(
        file=wheel.name,
        name=core.name,
        version=core.version,
        size=wheel.size,
        sha256=sha256,
        tags=stated,
        requires=core.requires,
        requires_python=core.requires_python,
        top_level=top_level(wheel),
        entry_points=entry_points(wheel),
        build=build.words,
        cuda=build.cuda,
        cudnn=build.cudnn,
        rocm=build.rocm,
        is_cuda_build=build.is_cuda,
        is_rocm_build=build.is_rocm,
        declared=build.declared or _listed_architectures(wheel, rows, limits),
        gfx=_named_targets(wheel, rows),
        tag_glibc=tag_glibc((*stated, *file_tags(wheel.name)), rows),
        libraries=libraries,
        notes=notes,
    )
    facts = _summed_up(facts)
    return replace(facts, bytes_read=wheel.file.bytes_read, requests=wheel.file.requests)


def inspect_cached(
    source: ByteSource, sha256: str, store: FactStore, *, limits: Limits = EVERYTHING
) -> ArtifactFacts:
    """The facts from the store if it has them, else read and stored. Without a hash nothing is stored."""
    key = cache_key(sha256, limits)
    text = store.get(key) if sha256 else None
    if text is not None:
        try:
            return ArtifactFacts.from_json(json.loads(text))
        except ValueError:
            pass  # written by another version, or cut short: read anew
    facts = inspect_wheel(source, sha256=sha256, limits=limits)
    if sha256:
        store.put(key, json.dumps(facts.to_json(), sort_keys=True))
    return facts


def cache_key(sha256: str, limits: Limits) -> str:
    """Facts differ by how much was read, so that a glance does not stand for a whole reading."""
    depth = "whole" if limits == EVERYTHING else f"part-{limits.whole}-{limits.total}"
    return f"{sha256}-{depth}-{FACTS_SCHEMA}"


def tag_glibc(stated: Iterable[str], rows: ReadingRows) -> str:
    """The lowest glibc that the tags claim to be enough; empty where they claim none."""
    found = [f"{m[1]}.{m[2]}" for tag in stated if (m := MANYLINUX.search(tag))]
    found += [glibc for tag in stated for old, glibc in rows.legacy_tags.items() if f"-{old}_" in tag]
    return min(found, key=numbers, default="")


def _build_facts(wheel: Wheel, rows: ReadingRows) -> _Build:
    build = _Build()
    for row in rows.build_files:
        if row.member in wheel:
            _take(build, row, wheel.text(row.member))
    return build


def _take(build: _Build, row: BuildFile, text: str) -> None:
    words = build_info.parse_header(text) if row.member.endswith(".h") else build_info.parse(text)
    build.words = {**words, **build.words}

    def first(names: Sequence[str]) -> str:
        return next((words[name] for name in names if words.get(name)), "")

    build.cuda = build.cuda or build_info.version(first(row.cuda))
    build.cudnn = build.cudnn or build_info.version(first(row.cudnn))
    build.rocm = build.rocm or first(row.rocm)
    build.declared = build.declared or build_info.architectures(first(row.architectures))
    if build.rocm or (stated := first(row.is_rocm)):
        build.is_rocm = bool(build.rocm) or stated == "True"
    if stated := first(row.is_cuda):
        build.is_cuda = stated == "True"
    elif row.cuda_none:
        build.is_cuda = True if build.cuda else False if row.cuda_none in build_info.nothing(text) else None


def _libraries(wheel: Wheel, limits: Limits) -> tuple[tuple[LibraryFacts, ...], tuple[str, ...]]:
    """Every library of the wheel: the largest in part, of the others the small ones whole, the rest by
    name."""
    libraries = (m for m in wheel.members if LIBRARY.fullmatch(m.name))
    members = sorted(libraries, key=lambda m: (m.packed, m.name))
    small = [m for m in members if m.packed <= limits.whole][: limits.small]
    large = [m for m in reversed(members) if m.packed > limits.whole][: limits.large]
    budget, notes = Budget(wheel, limits.total), list[str]()
    found = {m.name: _library(wheel, m, limits, budget, notes) for m in large + small}
    names = [LibraryFacts(path=m.name, size=m.size, reading="name") for m in members if m.name not in found]
    every = (*found.values(), *names)
    return tuple(sorted(every, key=lambda library: library.path)), tuple(notes)


def _library(wheel: Wheel, member: Member, limits: Limits, budget: Budget, notes: list[str]) -> LibraryFacts:
    named = LibraryFacts(path=member.name, size=member.size, reading="name")
    whole = member.packed <= limits.whole
    if not budget.allows(member.packed if whole else min(member.packed, limits.end + limits.sample)):
        return named
    try:
        return read_whole(wheel, member) if whole else read_part(wheel, member, limits, budget)
    except ArtifactError as error:
        notes.append(f"{member.name}: {unreadable(error)}")
        return named


def _listed_architectures(wheel: Wheel, rows: ReadingRows, limits: Limits) -> tuple[str, ...]:
    """The longest list of architectures that a library states in words, where reading it is not too much."""
    found: set[bytes] = set()
    for member in wheel.members:
        if member.name in rows.architecture_lists and member.packed <= limits.whole:
            rest = b""
            for piece in wheel.stream(member.name):
                found.update(ARCHITECTURE_LIST.findall(rest + piece))
                rest = piece[-512:]
    longest = max(found, key=len, default=b"")
    return tuple(longest.decode().split())


def _named_targets(wheel: Wheel, rows: ReadingRows) -> tuple[str, ...]:
    return tuple(sorted({target for m in wheel.members if (target := rows.kernel_target(m.name))}))


def _summed_up(facts: ArtifactFacts) -> ArtifactFacts:
    """The facts of the libraries, summed up over the wheel."""
    libraries = facts.libraries
    provided = {name for library in libraries for name in (library.soname, posixpath.basename(library.path))}
    needed = {name for library in libraries for name in (*library.needed, *library.delayed)}
    lower = {name.lower() for name in provided}
    floors = [library.floors["GLIBC"] for library in libraries if "GLIBC" in library.floors]
    return replace(
        facts,
        provided=tuple(sorted(provided - {""})),
        needed=tuple(sorted(name for name in needed if name not in provided and name.lower() not in lower)),
        runpaths=_outward(libraries, facts.top_level),
        glibc=max(floors, key=numbers, default=""),
        machine=_architectures(libraries, "machine"),
        ptx=_architectures(libraries, "ptx"),
        gfx=tuple(sorted({*facts.gfx, *_architectures(libraries, "gfx")})),
        unread=tuple(_unread(library) for library in libraries if library.reading != "whole"),
    )


def _outward(libraries: Iterable[LibraryFacts], own: tuple[str, ...]) -> tuple[str, ...]:
    """The run paths that lead out of the wheel: absolute ones, and folders of others beside it in
    site-packages."""
    found = set()
    for library in libraries:
        here = posixpath.dirname(library.path)
        for path in library.runpaths:
            place = posixpath.normpath(path.replace("${ORIGIN}", "$ORIGIN").replace("$ORIGIN", here or "."))
            if place.split("/")[0] not in (*own, ".", ".."):
                found.add(place)
    return tuple(sorted(found))


def _architectures(libraries: Iterable[LibraryFacts], kind: str) -> tuple[str, ...]:
    found = {code.arch for library in libraries for code in library.code if code.kind == kind}
    return tuple(sorted(found, key=lambda arch: (numbers(arch), arch)))


def _unread(library: LibraryFacts) -> str:
    values = {"path": library.path, "size": f"{library.size / 1e6:.1f}", "note": library.note}
    if library.reading == "part":
        key = "artifacts.unread.part-and-why" if library.note else "artifacts.unread.part"
    else:
        key = "artifacts.unread.none-and-why" if library.note else "artifacts.unread.none"
    return message(key, **values)
