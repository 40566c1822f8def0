"""Which GPU code runs on which card: NVIDIA's compatibility rule, in one place.

Source: CUDA C++ Programming Guide, sections on binary and PTX compatibility.
"""

from __future__ import annotations

import re
from typing import Literal

GpuCode = Literal["native", "ptx", "none", "unknown"]

_ARCH = re.compile(r"(?:sm_|compute_)?(\d+?)[._]?(\d)([af]?)$")


def numbers(arch: str) -> tuple[int, int]:
    """`sm_86`, `compute_86`, `8.6` -> (8, 6); (0, 0) for what is no such name."""
    match = _ARCH.match(arch)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def runs(arch: str, capability: str) -> bool:
    """Machine code runs on cards of the same major and an equal or higher minor; `sm_90a` on exactly 9.0."""
    return _fits(arch, capability, same_major=True)


def compiles(arch: str, capability: str) -> bool:
    """PTX is compiled by the driver for any card of an equal or higher capability; `compute_90a` for that
    one alone, `compute_100f` for its family (the same major)."""
    return _fits(arch, capability, same_major=False)


def _fits(arch: str, capability: str, same_major: bool) -> bool:
    have, card = numbers(arch), numbers(capability)
    if (0, 0) in (have, card):
        return False
    if arch.endswith("a"):
        return have == card
    if arch.endswith("f") or same_major:
        return have[0] == card[0] and have[1] <= card[1]
    return have <= card


def code_for(machine: tuple[str, ...], ptx: tuple[str, ...], capability: str) -> GpuCode:
    """`native`, `ptx`, `none`, or `unknown` when nothing is known of the code."""
    if not machine and not ptx:
        return "unknown"
    if any(runs(arch, capability) for arch in machine):
        return "native"
    return "ptx" if any(compiles(arch, capability) for arch in ptx) else "none"
