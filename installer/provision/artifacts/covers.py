"""Does an artifact hold code that a device can run? Machine code and code that a driver compiles, told apart.

The rule is NVIDIA's ("CUDA C++ Programming Guide", binary and PTX compatibility): machine code of sm_XY runs
on capability X.Z with Z >= Y; code of sm_XYa on X.Y alone, of sm_XYf on X.Z with Z >= Y. PTX of compute_XY is
compiled by the driver for X.Y and all above it, if that driver knows the PTX version.
"""

from __future__ import annotations

from collections.abc import Iterable

from provision.artifacts.gpucode import numbers
from provision.messages import message
from provision.model.artifact import ArtifactFacts, Coverage, GpuCode, LibraryFacts
from provision.model.gpucode import compiles, runs

#: An architecture with less than this share of the code of a library's most frequent one has special code
#: (one operator, one data type): the library was not built for it.
SPECIAL = 0.05
#: The same for code that runs on one architecture or family only (`sm_100a`): beside the code for all it is
#: special.
SUFFIXED = 0.5
#: Pieces of code that samples must show of each architecture, on average, before one not seen counts as
#: absent.
OFTEN = 5


def covers(facts: ArtifactFacts, capability: str, ptx_isa: str = "") -> Coverage:
    """Is a device of this compute capability (`8.6`) or AMD target (`gfx1030`) covered?

    `ptx_isa` is the highest PTX version that the machine's driver compiles (`8.2`, see `reading.ptx_isa`);
    empty where it is not known, and then PTX counts.
    """
    main = main_library(facts)
    code = _usual(main.code) if main else []
    if capability.startswith("gfx"):
        return _covers_gfx(facts, code, capability)
    if machine := [c for c in code if c.kind == "machine" and runs(c.arch, capability)]:
        best = max(machine, key=lambda c: numbers(c.arch))
        return Coverage(
            how="machine-code",
            arch=best.arch,
            because=message("artifacts.covers.it-holds-machine-code", arch=best.arch),
        )
    return _by_compiler(facts, code, capability, ptx_isa)


def _by_compiler(facts: ArtifactFacts, code: list[GpuCode], capability: str, ptx_isa: str) -> Coverage:
    ptx = [c for c in code if c.kind == "ptx" and compiles(c.arch, capability)]
    known = [c for c in ptx if not ptx_isa or numbers(c.isa) <= numbers(ptx_isa)]
    if known:
        best = max(known, key=lambda c: numbers(c.arch))
        words = message("artifacts.by-compiler.it-holds-ptx-ptx-which", arch=best.arch, isa=best.isa)
        return Coverage(how="ptx-jit", arch=best.arch, because=words)
    if ptx:
        lowest = min((c.isa for c in ptx), key=numbers)
        words = message("artifacts.by-compiler.its-ptx-is-version-driver", lowest=lowest, ptx_isa=ptx_isa)
        return Coverage(how="no", because=words)
    return _not_covered(facts, code, capability)


def _covers_gfx(facts: ArtifactFacts, code: list[GpuCode], target: str) -> Coverage:
    if target in facts.gfx:
        return Coverage(
            how="machine-code",
            arch=target,
            because=message("artifacts.covers-gfx.it-holds-code", target=target),
        )
    if facts.gfx and not code:  # told by the names of its files, which are all known
        return Coverage(
            how="no", because=message("artifacts.covers-gfx.it-holds-code-2", gfx=tuple(facts.gfx))
        )
    return _not_covered(facts, code, target)


def _not_covered(facts: ArtifactFacts, code: list[GpuCode], capability: str) -> Coverage:
    held = sorted({c.arch for c in code if c.kind != "lto"}, key=lambda arch: (numbers(arch), arch))
    if not held:
        whole = facts.libraries and all(library.reading == "whole" for library in facts.libraries)
        words = (
            message("artifacts.not-covered.no-library-in-it-holds")
            if whole
            else message("artifacts.not-covered.no-gpu-code-was-seen")
        )
        return Coverage(how="unknown", because=words)
    words = message("artifacts.not-covered.it-holds-code-none-it", held=tuple(held), capability=capability)
    if not thorough(facts):
        words += message("artifacts.not-covered.but-it-was-read-in")
        return Coverage(how="unknown", because=words)
    return Coverage(how="no", because=words)


def thorough(facts: ArtifactFacts) -> bool:
    """Was enough of the artifact's GPU code seen to say that an architecture is not in it?"""
    main = main_library(facts)
    if main is None:
        return False
    return main.reading == "whole" or sum(c.count for c in main.code) >= OFTEN * len(main.code)


def main_library(facts: ArtifactFacts) -> LibraryFacts | None:
    """The largest library with GPU code: what it does not cover, the artifact does not, whatever small ones
    hold. None where no library has any."""
    return max((lib for lib in facts.libraries if lib.code), key=lambda lib: lib.size, default=None)


def usual_architectures(facts: ArtifactFacts, kind: str) -> tuple[str, ...]:
    """The architectures that the artifact was built for: those of its main library, without special pieces.
    `kind` is `machine` or `ptx`."""
    main = main_library(facts)
    code = _usual(c for c in (main.code if main else ()) if c.kind == kind)
    return tuple(sorted((c.arch for c in code), key=lambda arch: (numbers(arch), arch)))


def _usual(code: Iterable[GpuCode]) -> list[GpuCode]:
    """A library's code without that of architectures with few special pieces."""
    held = list(code)
    most = max((c.count for c in held), default=0)
    return [c for c in held if c.count >= most * _least_share(c.arch)]


def _least_share(arch: str) -> float:
    return SUFFIXED if arch[-1:] in ("a", "f") else SPECIAL
