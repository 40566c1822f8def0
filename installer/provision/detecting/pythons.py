"""Which of the machine's Pythons fit a profile's `python`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from provision.model.machine import Interpreter


def pythons_for(
    spec: str, pythons: Iterable[Interpreter], arch: str = "", implementation: str = "cpython"
) -> tuple[Interpreter, ...]:
    """The interpreters that a specifier (`3.10`, `>=3.10,<3.13`) allows, newest first.

    A bare version means all its releases (`3.10` -> `==3.10.*`). With `arch`, one built for another
    processor is left out; `universal2` fits both of macOS's. Pre-releases fit only a specifier that names
    one.
    Raises ValueError for a specifier that cannot be read.
    """
    from packaging.specifiers import SpecifierSet
    from packaging.version import InvalidVersion, Version

    wanted = SpecifierSet(specifier_text(spec))
    fitting: list[tuple[Version, Interpreter]] = []
    for python in pythons:
        try:
            version = Version(python.version)
        except InvalidVersion:
            continue
        allowed = wanted.contains(version, prereleases=bool(wanted.prereleases))
        if allowed and python.implementation == implementation and _fits(python.arch, arch):
            fitting.append((version, python))
    # sorted() is stable: equal versions stay in the order in which they were found.
    return tuple(python for _, python in sorted(fitting, key=lambda pair: pair[0], reverse=True))


def specifier_text(spec: str) -> str:
    """PEP 440 text of what people write: `3.10` -> `==3.10.*`, `3.10.13` -> `==3.10.13`, `*` -> any."""
    spec = spec.strip()
    if spec in ("", "*"):
        return ""
    if re.fullmatch(r"\d+(\.\d+)?", spec):
        return f"=={spec}.*"
    return f"=={spec}" if re.fullmatch(r"\d+\.\d+\.\d+\w*", spec) else spec


def _fits(built_for: str, arch: str) -> bool:
    if not arch or not built_for or built_for == arch:
        return True
    return built_for == "universal2" and arch in ("arm64", "x86_64")
