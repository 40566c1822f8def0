"""Memory, in bytes: what the kernel has, or less where a container is held to less."""

from __future__ import annotations

import re

from provision.detecting.sighting import Sighting, saw
from provision.ports import Host, Reader

#: cgroup v2, v1. A limit near 2^63 means none.
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def probe(reader: Reader, host: Host) -> Sighting:
    if host.os == "linux":
        return _linux(reader)
    if host.os == "macos":
        output = reader.run(["sysctl", "-n", "hw.memsize"], timeout=5.0)
        return saw("sysctl hw.memsize", memory=_number(output.stdout if output else ""))
    return saw("system call", memory=host.memory)


def _linux(reader: Reader) -> Sighting:
    total = parse_meminfo(reader.read_text("/proc/meminfo") or "")
    for path in _LIMITS:
        limit = _number(reader.read_text(path) or "")
        if total and limit and limit < total:
            return saw(path, memory=limit)
    return saw("/proc/meminfo", memory=total)


def parse_meminfo(text: str) -> int | None:
    """MemTotal in bytes."""
    total = re.search(r"^MemTotal:\s*([0-9]+) kB", text, re.MULTILINE)
    return int(total[1]) * 1024 if total else None


def _number(text: str) -> int | None:
    text = text.strip()
    return int(text) if re.fullmatch(r"[0-9]{1,20}", text) else None
