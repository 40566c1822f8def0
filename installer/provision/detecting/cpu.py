"""Processor: its name and the instruction sets that wheels are built with."""

from __future__ import annotations

import re

from provision.detecting.sighting import NOTHING, Sighting, found, joined, saw, trouble
from provision.messages import message
from provision.ports import Host, Reader

_WINDOWS_CPU = r"HKEY_LOCAL_MACHINE\HARDWARE\DESCRIPTION\System\CentralProcessor\0"
_MAC_KEYS = ("machdep.cpu.brand_string", "machdep.cpu.features", "machdep.cpu.leaf7_features")
#: macOS writes some flags in another way than Linux.
_MAC_NAMES = {"avx1.0": "avx", "sse4.1": "sse4_1", "sse4.2": "sse4_2", "sse3": "pni"}


def probe(reader: Reader, host: Host) -> Sighting:
    seen = _BY_OS.get(host.os, _linux)(reader, host)
    return joined([seen, *_warnings(host.arch, seen)])


def _linux(reader: Reader, host: Host) -> Sighting:
    name, flags = parse_cpuinfo(reader.read_text("/proc/cpuinfo", 1 << 16) or "")
    return saw("/proc/cpuinfo", cpu=name, cpu_flags=flags)


def _windows(reader: Reader, host: Host) -> Sighting:
    key = reader.registry(_WINDOWS_CPU)
    name = key.values.get("ProcessorNameString", "").strip() if key else ""
    return joined([saw(_WINDOWS_CPU, cpu=name), saw("IsProcessorFeaturePresent", cpu_flags=host.cpu_flags)])


def _macos(reader: Reader, host: Host) -> Sighting:
    output = reader.run(["sysctl", *_MAC_KEYS], timeout=5.0)
    if output is None:
        return NOTHING
    values = dict(re.findall(r"^([a-z0-9._]+): (.*)$", output.stdout, re.MULTILINE))
    words = " ".join(values.get(key, "") for key in _MAC_KEYS[1:]).lower().split()
    flags = tuple(sorted({_MAC_NAMES.get(word, word) for word in words}))
    return saw("sysctl machdep.cpu", cpu=values.get(_MAC_KEYS[0], "").strip(), cpu_flags=flags)


_BY_OS = {"linux": _linux, "windows": _windows, "macos": _macos}


def parse_cpuinfo(text: str) -> tuple[str, tuple[str, ...]]:
    """(name, sorted flags) of the first processor in /proc/cpuinfo; Arm kernels give flags and no name."""
    first = text.split("\n\n", 1)[0]
    fields = {
        name.strip().lower(): value.strip()
        for name, _, value in (line.partition(":") for line in first.splitlines())
    }
    flags = fields.get("flags") or fields.get("features") or ""
    name = fields.get("model name") or fields.get("cpu model") or ""
    return " ".join(name.split()), tuple(sorted(set(flags.split())))


def _warnings(arch: str, seen: Sighting) -> list[Sighting]:
    flags = seen.facts.get("cpu_flags", ())
    if arch != "x86_64" or not flags or "avx" in flags:
        return []
    return [
        trouble(
            found(
                "cpu-no-avx",
                "warning",
                message(
                    "detecting.warnings.this-processor-has-no-avx",
                    cpu=seen.facts.get("cpu") or message("detecting.warnings.name-not-told"),
                ),
                detail=message("detecting.warnings.code-built-with-avx-ends"),
                evidence=[
                    (
                        seen.evidence["cpu_flags"],
                        message("detecting.warnings.no-avx-among", flags=" ".join(flags)),
                    )
                ],
                remedies=[message("detecting.warnings.use-another-machine-or-build")],
            )
        )
    ]
