"""The C library of a Linux system, whose version decides which wheels can load."""

from __future__ import annotations

import re

from provision.detecting.sighting import NOTHING, Sighting, saw
from provision.ports import Host, Reader

_MUSL_LOADERS = "/lib/ld-musl-*.so.1"
_GLIBC_LOADERS = ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1")


def probe(reader: Reader, host: Host) -> Sighting:
    if host.os != "linux":
        return NOTHING
    return _glibc_by_name(reader) or _by_tool(reader) or _musl(reader) or NOTHING


def _glibc_by_name(reader: Reader) -> Sighting | None:
    """Up to 2.34 the loader's real name is `ld-2.31.so`, and the library's `libc-2.31.so`."""
    for path in _GLIBC_LOADERS:
        if reader.exists(path):
            real = reader.realpath(path)
            if version := re.search(r"ld-(\d+\.\d+)\.so$", real):
                return saw(real, libc=f"glibc {version[1]}")
    return None


def _by_tool(reader: Reader) -> Sighting | None:
    for command in (["getconf", "GNU_LIBC_VERSION"], ["ldd", "--version"]):
        output = reader.run(command, timeout=5.0, env={"LC_ALL": "C"})
        if output and (libc := parse_libc(output.stdout + output.stderr)):
            return saw(" ".join(command), libc=libc)
    return None


def _musl(reader: Reader) -> Sighting | None:
    for path in reader.glob(_MUSL_LOADERS):
        output = reader.run([path], timeout=5.0)
        text = output.stdout + output.stderr if output else ""
        return saw(path, libc=parse_libc(text) or "musl")
    return None


def parse_libc(text: str) -> str:
    """`glibc 2.36` or `musl 1.2.4` from `getconf GNU_LIBC_VERSION`, `ldd --version` or musl's loader."""
    if version := re.search(r"musl libc.*?^Version (\d+(?:\.\d+)+)", text, re.DOTALL | re.MULTILINE):
        return f"musl {version[1]}"
    version = re.search(r"(?:glibc|GLIBC|GNU libc)[^\n]*?(\d+\.\d+)\)?\s*$", text, re.MULTILINE)
    return f"glibc {version[1]}" if version else ""
