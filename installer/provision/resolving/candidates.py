"""Per framework: every known build, kept or rejected. A rejection names its rule, so that `why-not` is the same code."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from provision.knowledge import Build, Knowledge
from provision.model.profile import Framework
from provision.model.stack import Rejected
from provision.resolving.wanted import Wanted

#: A test of one build: None if it passes, else why not and the name of the test.
Test = Callable[[Build, Framework, Wanted], str | None]


def _version(build: Build, framework: Framework, wanted: Wanted) -> str | None:
    if contains(framework.version, build.version):
        return None
    return f"the profile asks for {build.framework} {framework.version}"


def _distribution(build: Build, framework: Framework, wanted: Wanted) -> str | None:
    if framework.package is None or canonicalize_name(framework.package) == canonicalize_name(
        build.distribution
    ):
        return None
    return f"the profile asks for the distribution {framework.package}"


def _extras(build: Build, framework: Framework, wanted: Wanted) -> str | None:
    if framework.package is None or set(framework.extras) == set(build.extras):
        return None
    return f"the profile asks for {framework.package}[{','.join(framework.extras)}]"


def _target(build: Build, framework: Framework, wanted: Wanted) -> str | None:
    return None if build.target == wanted.target else f"this build is for {build.target}"


def _python(build: Build, framework: Framework, wanted: Wanted) -> str | None:
    if wanted.python in build.pythons:
        return None
    return f"it has wheels for Python {', '.join(build.pythons)}, not for {wanted.python}"


def _runtime(build: Build, framework: Framework, wanted: Wanted) -> str | None:
    if build.runtime.kind == wanted.runtime or _runs_on_cpu(build, framework, wanted):
        return None
    return f"this build is for {build.runtime.kind}, the profile is for {wanted.runtime}"


def _runs_on_cpu(build: Build, framework: Framework, wanted: Wanted) -> bool:
    """A CUDA build trains on the CPU too. It is taken for a CPU profile only where its distribution is named."""
    return wanted.runtime == "cpu" and build.runtime.kind == "cuda" and framework.package is not None


def _runtime_version(build: Build, framework: Framework, wanted: Wanted) -> str | None:
    if (
        not wanted.runtime_version
        or not build.runtime.version
        or contains(wanted.runtime_version, build.runtime.version)
    ):
        return None
    return f"it is built for {build.runtime.kind} {build.runtime.version}, the profile asks for {wanted.runtime_version}"


#: In this order: the first test that fails is the reason that people see.
TESTS: tuple[tuple[str, Test], ...] = (
    ("version", _version),
    ("distribution", _distribution),
    ("extras", _extras),
    ("runtime", _runtime),
    ("target", _target),
    ("python", _python),
    ("runtime-version", _runtime_version),
)


def contains(specifiers: str, version: str) -> bool:
    """True if a version lies in a specifier set; `*` and nothing hold every version, pre-releases too."""
    if specifiers in ("", "*"):
        return True
    try:
        return SpecifierSet(specifiers).contains(Version(version), prereleases=True)
    except InvalidVersion:
        return False


def candidates(
    name: str, framework: Framework, wanted: Wanted, knowledge: Knowledge
) -> tuple[tuple[Build, ...], tuple[Rejected, ...]]:
    """Builds of one framework that fit, and the others with the first test each failed."""
    kept, lost = [], []
    plain = replace(framework, version=public(framework.version))
    for build in knowledge.builds(name):
        failed = first_failure(build, plain, wanted)
        if failed is None:
            kept.append(build)
        else:
            lost.append(
                Rejected(
                    axis=name, value=describe(build), because=failed[1], rule=failed[0], source=build.source
                )
            )
    return tuple(kept), tuple(lost)


def first_failure(build: Build, framework: Framework, wanted: Wanted) -> tuple[str, str] | None:
    for rule, test in TESTS:
        because = test(build, framework, wanted)
        if because is not None:
            return rule, because
    return None


def public(specifiers: str) -> str:
    """`==2.0.1+cu118` asks for version 2.0.1; the local part says which build, and the runtime axis decides that."""
    return ",".join(part.partition("+")[0] for part in specifiers.split(","))


def describe(build: Build) -> str:
    runtime = f"{build.runtime.kind} {build.runtime.version}".strip()
    return f"{build.requirement} ({runtime}, {build.target})"


def unknown_build(name: str, framework: Framework, wanted: Wanted, knowledge: Knowledge) -> Build | None:
    """A build that knowledge does not hold yet, for a profile that pins an exact version of a newer release.

    It copies what the newest known build of the same runtime and target says, with no claim of being tested.
    """
    pinned = _pin(framework.version)
    known = [
        b for b in knowledge.builds(name) if b.runtime.kind == wanted.runtime and b.target == wanted.target
    ]
    if pinned is None or not known:
        return None
    newest = max(known, key=lambda b: Version(b.version))
    if Version(pinned) <= Version(newest.version):
        return None
    return replace(newest, version=pinned, pythons=(wanted.python,), tested=None, evidence="metadata", row="")


def _pin(specifiers: str) -> str | None:
    parts = list(SpecifierSet(specifiers)) if specifiers not in ("", "*") else []
    exact = [p.version for p in parts if p.operator == "==" and not p.version.endswith(".*")]
    return exact[0] if exact else None


def versions(builds: Iterable[Build]) -> tuple[str, ...]:
    """Distinct versions, oldest first."""
    return tuple(sorted({b.version for b in builds}, key=Version))
