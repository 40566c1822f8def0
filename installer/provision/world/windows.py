"""What only Windows' own calls tell: version, memory, processor features, registry. Empty elsewhere."""

from __future__ import annotations

import os
import sys

from provision.ports import Host, RegistryKey

_ARCHES = {"amd64": "x86_64", "x86": "x86", "arm64": "aarch64"}
#: Numbers of IsProcessorFeaturePresent (winnt.h), under the names that Linux gives the flags.
_FEATURES = (
    *(("sse2", 10), ("pni", 13), ("ssse3", 36), ("sse4_1", 37)),
    *(("sse4_2", 38), ("avx", 39), ("avx2", 40), ("avx512f", 41)),
)

if sys.platform == "win32":
    import winreg

    def host() -> Host:
        """This computer. Raises nothing."""
        import ctypes

        import psutil

        # A 32-bit Python is told the truth by the second name only.
        told = os.environ.get("PROCESSOR_ARCHITEW6432") or os.environ.get("PROCESSOR_ARCHITECTURE", "")
        # getwindowsversion's first fields lie to programs without a manifest; platform_version does not.
        release = ".".join(str(part) for part in sys.getwindowsversion().platform_version)
        present = ctypes.windll.kernel32.IsProcessorFeaturePresent
        return Host(
            os="windows",
            arch=_ARCHES.get(told.lower(), told.lower()),
            release=release,
            memory=psutil.virtual_memory().total,
            cpu_flags=tuple(name for name, number in _FEATURES if present(number)),
        )

    def registry(key: str) -> RegistryKey | None:
        """A key by its full name, in the 64-bit view."""
        hive, _, name = key.partition("\\")
        access = winreg.KEY_READ | winreg.KEY_WOW64_64KEY
        try:
            with winreg.OpenKey(getattr(winreg, hive), name, 0, access) as handle:
                subkeys, values, _ = winreg.QueryInfoKey(handle)
                pairs = [winreg.EnumValue(handle, number) for number in range(values)]
                names = tuple(sorted(winreg.EnumKey(handle, number) for number in range(subkeys)))
        except (OSError, AttributeError):
            return None
        return RegistryKey({name: _text(value) for name, value, _ in pairs}, names)

else:

    def host() -> Host:
        """Not this system."""
        return Host(os="windows", arch="")

    def registry(key: str) -> RegistryKey | None:
        """There is none."""
        return None


def _text(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return "\n".join(str(part) for part in value)
    return value.hex() if isinstance(value, bytes) else str(value)
