"""Profile -> stack for a conda environment: what to ask the channels for. Which builds fit is conda's solver's to say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from packaging.specifiers import SpecifierSet

from provision.knowledge import CondaSpecRow, Knowledge
from provision.knowledge.versions import holds_any
from provision.messages import message
from provision.model.finding import Finding, Remedy, UnsatisfiableError
from provision.model.profile import Profile
from provision.model.stack import Choice, Need, Stack
from provision.resolving.wanted import default_runtime

#: Taken where a profile names no channel.
DEFAULT_CHANNELS = ("conda-forge",)
#: Runtimes that conda packages are built for.
_RUNTIMES = ("cpu", "cuda")


@dataclass(frozen=True, slots=True)
class Asked:
    """One axis as conda is asked for it, and the row that says so."""

    axis: str
    spec: str
    row: str
    source: str


def conda_stack(profile: Profile, target: str, python: str, knowledge: Knowledge) -> Stack:
    """The match specs of a profile for one target and Python. Raises UnsatisfiableError for what conda has no
    name for."""
    runtime = default_runtime(profile, target)
    if runtime not in _RUNTIMES and profile.frameworks:
        raise UnsatisfiableError(_no_runtime(profile, runtime))
    asked = tuple(_asked(profile, runtime, knowledge))
    python_choice = Choice(
        axis="python", value=python, because=message("resolving.conda-stack.profile-admits-it")
    )
    choices = (
        Choice(axis=a.axis, value=a.spec, because=_BECAUSE, rule=a.row, source=a.source) for a in asked
    )
    return Stack(
        profile=profile.name,
        target=target,
        python=python,
        choices=(python_choice, *choices),
        requirements=(f"python {python}.*", *(a.spec for a in asked), *profile.packages),
        needs=tuple(_needs(profile)),
        absent=profile.absent,
    )


_BECAUSE = message("resolving.module.profile-asks-for-it-channels")


def _asked(profile: Profile, runtime: str, knowledge: Knowledge) -> Iterator[Asked]:
    channels = set(profile.environment.channels or DEFAULT_CHANNELS)
    rows = [row for row in knowledge.rows(CondaSpecRow) if row.runtime == runtime]
    rows = [row for row in rows if not row.channels or channels & set(row.channels)]
    wanted = {str(name): framework.version for name, framework in profile.frameworks.items()}
    named = {str(name): f.package for name, f in profile.frameworks.items() if f.package}
    for axis, version in {**wanted, **profile.accelerator}.items():
        if axis in named:
            yield Asked(axis, match_spec(str(named[axis]), version), "", "")
            continue
        row = next((r for r in rows if r.axis == axis and _speaks(r, version)), None)
        if row is None:
            raise UnsatisfiableError(_no_name(axis, version, runtime))
        yield Asked(axis, match_spec(row.package, version, row.build), row.id, row.source)


def _speaks(row: CondaSpecRow, version: str) -> bool:
    """Whether a row is about a wanted version: the number that the specifier names, or any."""
    number = next(
        (s.version.removesuffix(".*") for s in SpecifierSet(_pep440(version)) if s.operator != "<"), ""
    )
    return not row.versions or holds_any(row.versions, number or "999")


def _pep440(version: str) -> str:
    version = version.strip()
    if version in ("", "*"):
        return ""
    return version if version[0] in "=<>!~" else f"=={version}.*"


def match_spec(package: str, version: str, build: str = "") -> str:
    """A version as profiles write it, in conda's words: `==2.1` stays exact, `10.1` is `10.1.*`."""
    words = _pep440(version).replace(" ", "")
    if words.startswith("==") and words.endswith(".*"):
        words = words[2:]
    return " ".join(part for part in (package, words or ("*" if build else ""), build) if part)


def _needs(profile: Profile) -> Iterator[Need]:
    vendor = profile.hardware.vendor
    if vendor != "cpu":
        yield Need(what="device", value=vendor, because=message("resolving.common.profiles-hardware"))
    if vendor != "cpu" and profile.hardware.driver:
        yield Need(
            what=f"driver.{vendor}",
            value=profile.hardware.driver,
            because=message("resolving.common.profile-asks-for-it"),
        )


def _no_runtime(profile: Profile, runtime: str) -> Finding:
    return Finding(
        "conda-no-runtime", "error",
        message("resolving.conda-no-runtime.summary", vendor=profile.hardware.vendor, runtime=runtime),
        remedies=(Remedy(message("resolving.conda-no-runtime.way")),),
    )  # fmt: skip


def _no_name(axis: str, version: str, runtime: str) -> Finding:
    return Finding(
        "conda-no-name", "error",
        message("resolving.conda-no-name.summary", axis=axis, version=version, runtime=runtime),
        remedies=(
            Remedy(message("resolving.conda-no-name.way")),
            Remedy(message("resolving.conda-no-name.way-2")),
        ),
    )  # fmt: skip
