"""What a profile asks for, in the solver's terms: runtime, Pythons, versions."""

from __future__ import annotations

from dataclasses import dataclass, field

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from provision.model.profile import Framework, Profile

#: CPython minor versions that an environment can be made for.
PYTHONS = tuple(f"3.{minor}" for minor in range(6, 15))

#: vendor -> runtime kind, where the target does not decide.
_RUNTIMES = {
    "cpu": "cpu", "nvidia": "cuda", "intel": "xpu", "apple": "mps", "ascend": "cann", "cambricon": "neuware",
    "moorethreads": "musa", "biren": "supa", "hygon": "dtk", "metax": "maca", "iluvatar": "corex",
}  # fmt: skip
#: Accelerator keys of a profile that name a runtime (the others, such as cudnn, qualify it).
RUNTIME_KEYS = (
    "cuda",
    "directml",
    "rocm",
    "xpu",
    "cann",
    "neuware",
    "musa",
    "supa",
    "dtk",
    "maca",
    "corex",
    "mps",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The axes that the profile fixes for one target and Python. Versions are PEP 440 specifier sets."""

    target: str
    python: str
    runtime: str
    runtime_version: str
    cudnn: str
    frameworks: dict[str, Framework] = field(default_factory=dict)
    #: package -> the named index that the profile binds it to
    bound: dict[str, str] = field(default_factory=dict)


def wanted(profile: Profile, target: str, python: str) -> Wanted:
    runtime = next((key for key in RUNTIME_KEYS if key in profile.accelerator), None) or default_runtime(
        profile, target
    )
    return Wanted(
        target=target,
        python=python,
        runtime=runtime,
        runtime_version=specifier(profile.accelerator.get(runtime, "")),
        cudnn=specifier(profile.accelerator.get("cudnn", "")),
        frameworks={str(name): framework for name, framework in profile.frameworks.items()},
        bound={canonicalize_name(name): index.name for index in profile.indexes for name in index.packages},
    )


def default_runtime(profile: Profile, target: str) -> str:
    """AMD has two ways: DirectML on Windows, ROCm on Linux; every other vendor has one."""
    if profile.hardware.vendor == "amd":
        return "directml" if target.startswith("windows") else "rocm"
    return _RUNTIMES.get(profile.hardware.vendor, profile.hardware.vendor)


def specifier(text: str) -> str:
    """A version as people write it -> a specifier set: `11.8` means any 11.8.x, `*` or nothing means any."""
    text = text.strip()
    if text in ("", "*"):
        return ""
    return text if text[0] in "=<>!~" else f"=={text}.*"


def python_choices(profile: Profile) -> tuple[str, ...]:
    """`major.minor` of every Python that the profile admits, newest first."""
    wanted_pythons = SpecifierSet(specifier(profile.python))
    return tuple(
        p for p in reversed(PYTHONS) if any(wanted_pythons.contains(f"{p}.{micro}") for micro in (0, 13, 99))
    )
