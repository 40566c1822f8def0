"""Which wheel of several fits a target best: the compatibility tags of a target, in order of preference."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import parse_wheel_filename

#: The newest glibc that a lock assumes of a Linux target; wheels with a later floor are not chosen.
#: 2.28 is what current torch and TensorFlow wheels ask for (manylinux_2_28).
GLIBC_CEILING = (2, 28)

_LEGACY_MANYLINUX = {(2, 17): "manylinux2014", (2, 12): "manylinux2010", (2, 5): "manylinux1"}
_MACOS_CEILING = {"arm64": (14, 11), "x86_64": (13, 10)}


def _linux_platforms(arch: str) -> Iterator[str]:
    lowest = 5 if arch == "x86_64" else 17
    for minor in range(GLIBC_CEILING[1], lowest - 1, -1):
        yield f"manylinux_2_{minor}_{arch}"
        if legacy := _LEGACY_MANYLINUX.get((2, minor)):
            yield f"{legacy}_{arch}"
    yield f"linux_{arch}"


def _macos_platforms(arch: str) -> Iterator[str]:
    newest, oldest = _MACOS_CEILING[arch]
    for major in range(newest, oldest - 1, -1):
        minors = range(16, -1, -1) if major == 10 else (0,)
        for minor in minors:
            yield f"macosx_{major}_{minor}_{arch}"
            yield f"macosx_{major}_{minor}_universal2"
            if arch == "x86_64":
                yield f"macosx_{major}_{minor}_intel"


def platforms(target: str) -> tuple[str, ...]:
    """Platform tags of a target, best first."""
    system, arch = target.split("-", 1)
    if system == "windows":
        return ("win_amd64",)
    return tuple(_linux_platforms(arch) if system == "linux" else _macos_platforms(arch))


@lru_cache(maxsize=64)
def preferences(python: str, target: str) -> dict[Tag, int]:
    """Tag -> rank (0 is best) for CPython `major.minor` on a target."""
    version = tuple(int(part) for part in python.split("."))
    names = platforms(target)
    abis = [f"cp{version[0]}{version[1]}" + ("m" if version < (3, 8) else "")]
    ordered = [
        *cpython_tags(version, abis, names),
        *compatible_tags(version, f"cp{version[0]}{version[1]}", names),
    ]
    return {tag: rank for rank, tag in reversed(list(enumerate(ordered)))}


def rank(filename: str, python: str, target: str) -> int | None:
    """How well a wheel fits (0 is best), or None if it does not fit at all."""
    _, _, _, tags = parse_wheel_filename(filename)
    ranks = [found for tag in tags if (found := preferences(python, target).get(tag)) is not None]
    return min(ranks, default=None)


def glibc_floor(filename: str) -> tuple[int, int] | None:
    """The glibc that a wheel's tags ask for; None for a wheel that runs anywhere."""
    floors = []
    _, _, _, tags = parse_wheel_filename(filename)
    legacy = {name: version for version, name in _LEGACY_MANYLINUX.items()}
    for tag in tags:
        if tag.platform == "any":
            return None
        parts = tag.platform.split("_")
        if parts[0] == "manylinux":
            floors.append((int(parts[1]), int(parts[2])))
        elif parts[0] in legacy:
            floors.append(legacy[parts[0]])
    return min(floors, default=None)
