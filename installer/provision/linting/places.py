"""Where requirements hold: markers asked for each target, so that lines for unlike systems are not compared."""

from __future__ import annotations

from functools import lru_cache
from typing import get_args

from packaging.markers import Marker

from provision.linting.nouns import Scope, Wanted
from provision.messages import message
from provision.model.profile import Target

TARGETS: tuple[str, ...] = get_args(Target)
#: Pythons for which a marker is tried; a marker that holds for one of them may hold.
PYTHONS = tuple(f"3.{minor}" for minor in range(6, 16))
SYSTEMS = {
    "linux": ("Linux", "linux", "posix"),
    "windows": ("Windows", "win32", "nt"),
    "macos": ("Darwin", "darwin", "posix"),
}
WORDS = {
    "linux-x86_64": "Linux",
    "linux-aarch64": message("linting.module.linux-on-arm"),
    "windows-x86_64": "Windows",
    "macos-arm64": "macOS",
    "macos-x86_64": message("linting.module.macos-on-intel"),
}


def targets_of(scope: Scope, *several: Wanted) -> tuple[str, ...]:
    """The targets of the scope on which all these requirements hold on one and the same Python."""
    return tuple(
        target
        for target in scope.targets or TARGETS
        if any(all(holds_on(one.marker, target, python) for one in several) for python in PYTHONS)
    )


@lru_cache(maxsize=4096)
def holds_on(marker: str, target: str, python: str) -> bool:
    if not marker:
        return True
    system, _, machine = target.partition("-")
    platform, sys_platform, os_name = SYSTEMS[system]
    environment = {
        "platform_system": platform,
        "sys_platform": sys_platform,
        "os_name": os_name,
        "platform_machine": "AMD64" if target == "windows-x86_64" else machine,
        "python_version": python,
        "python_full_version": f"{python}.0",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "extra": "",
    }
    return Marker(marker).evaluate(environment)


def in_words(targets: tuple[str, ...]) -> str:
    """`on Windows and Linux on ARM`, `everywhere but on Windows`."""
    others = [target for target in TARGETS if target not in targets]
    if len(others) == 1:
        return message("linting.in-words.everywhere-but-on", words=WORDS[others[0]])
    words = [WORDS.get(target, target) for target in targets]
    if len(words) > 1:
        words = [message("linting.in-words.and", words=words[:-1], last=words[-1])]
    return message("linting.in-words.on", words=words)
