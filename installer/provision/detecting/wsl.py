"""WSL 2: the GPU is the Windows driver's; its Linux half lies in a folder of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from provision.detecting.sighting import NOTHING, Sighting, found, saw
from provision.messages import message
from provision.model.finding import Finding
from provision.ports import Reader

LIBRARIES = "/usr/lib/wsl/lib"
_BRIDGE = "/dev/dxg"


def probe(reader: Reader, cache: Mapping[str, tuple[str, ...]]) -> Sighting:
    """Is the bridge to Windows there, and do programs find CUDA's driver library? `cache` is the loader's."""
    if not reader.exists(_BRIDGE):
        return NOTHING
    seen = saw(_BRIDGE, traits=("dxg",))
    if not has_cuda(reader):
        return seen
    return Sighting(facts=seen.facts, evidence=seen.evidence, findings=tuple(_library(reader, cache)))


def has_cuda(reader: Reader) -> bool:
    """Does the Windows driver bring CUDA into this WSL?"""
    return reader.exists(f"{LIBRARIES}/libcuda.so.1")


def _library(reader: Reader, cache: Mapping[str, tuple[str, ...]]) -> Iterator[Finding]:
    foreign = [path for path in cache.get("libcuda.so.1", ()) if not path.startswith(LIBRARIES)]
    if foreign:
        yield found(
            "wsl-linux-driver",
            "error",
            message("detecting.library.linux-nvidia-driver-is-installed"),
            evidence=[("ldconfig -p", f"libcuda.so.1 => {path}") for path in foreign],
            remedies=[message("detecting.library.remove-nvidia-driver-packages-from")],
        )
    searched = reader.environ().get("LD_LIBRARY_PATH", "").split(":")
    if "libcuda.so" not in cache and LIBRARIES not in searched:
        yield found(
            "wsl-driver-path",
            "note",
            message("detecting.library.cudas-driver-library-lies-in", libraries=LIBRARIES),
            detail=message("detecting.library.programs-that-open-libcuda-so"),
            evidence=[
                (
                    "ldconfig -p",
                    ", ".join(cache.get("libcuda.so.1", ())) or message("detecting.library.no-libcuda"),
                )
            ],
            remedies=[
                (
                    message("detecting.library.let-environment-search-there"),
                    f'export LD_LIBRARY_PATH={LIBRARIES}:"$LD_LIBRARY_PATH"',
                ),
                message("detecting.library.do-not-install-linux-driver"),
            ],
        )
