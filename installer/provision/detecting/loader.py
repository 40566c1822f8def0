"""The dynamic loader's cache on Linux: which library name leads to which files."""

from __future__ import annotations

import re
from collections.abc import Mapping

from provision.ports import Host, Reader

#: How `ldconfig -p` marks the libraries of a 64-bit machine; those of another processor are passed over.
_MARKS = {"x86_64": "x86-64", "aarch64": "AArch64"}


def cache(reader: Reader, host: Host) -> Mapping[str, tuple[str, ...]]:
    """Library name -> paths, the first wins. Empty where there is no such cache (musl, NixOS, Windows)."""
    if host.os != "linux":
        return {}
    tool = reader.which("ldconfig") or "/sbin/ldconfig"
    output = reader.run([tool, "-p"], timeout=5.0, env={"LC_ALL": "C"})
    return parse(output.stdout, _MARKS.get(host.arch, "")) if output else {}


def parse(text: str, mark: str) -> Mapping[str, tuple[str, ...]]:
    """`\\tlibcuda.so.1 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libcuda.so.1`, line by line."""
    found: dict[str, tuple[str, ...]] = {}
    for line in text.splitlines():
        entry = re.match(r"\s*(\S+) \(([^)]*)\) => (\S.*)$", line)
        if entry and mark in entry[2]:
            found[entry[1]] = (*found.get(entry[1], ()), entry[3])
    return found
