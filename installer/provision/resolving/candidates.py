"""Per framework: every known build, kept or rejected. A rejection names its rule, so that `why-not` is the same code.

First the profile's own axes (TESTS), then the knowledge base's rules about a single build.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from provision.knowledge import Build, Knowledge, RuleRow
from provision.knowledge.rules import applies
from provision.knowledge.versions import holds, overlap
from provision.messages import message
from provision.model.profile import Framework, Profile
from provision.model.stack import Rejected
from provision.resolving.facts import STACK_FACTS, build_facts
from provision.resolving.wanted import Wanted

#: A test of one build: None if it passes, else why not.
Test = Callable[[Build, Framework, Wanted], str | None]


def _version(build: Build, framework: Framework, wanted: Wanted) -> str | None:
    if contains(framework.version, build.version):
        return None
    return message("resolving.version.profile-asks-for", framework=build.framework, version=framework.version)


def _distribution(build: Build, framework: Framework, wanted: Wanted) -> str | None:
    if framework.package is None or canonicalize_name(framework.package) == canonicalize_name(
        build.distribution
    ):
        return None
    return message("resolving.distribution.profile-asks-for-distribution", package=framework.package)


def _extras(build: Build, framework: Framework, wanted: Wanted) -> str | None:
    if framework.package is None or set(framework.extras) == set(build.extras):
        return None
    return message(
        "resolving.extras.profile-asks-for", package=framework.package, extras=",".join(framework.extras)
    )


def _runtime(build: Build, framework: Framework, wanted: Wanted) -> str | None:
    if build.runtime.kind == wanted.runtime or _runs_on_cpu(build, framework, wanted):
        return None
    if build.runtime.kind == "cpu" and framework.package is not None and len(wanted.frameworks) > 1:
        return None  # a CPU build that is asked for by name, beside the framework that has the card
    return message(
        "resolving.runtime.this-build-is-for-profile", kind=build.runtime.kind, runtime=wanted.runtime
    )


def _runs_on_cpu(build: Build, framework: Framework, wanted: Wanted) -> bool:
    """A CUDA build trains on the CPU too. It is taken for a CPU profile only where its distribution is named; the one
    build for macOS always is."""
    named = build.runtime.kind == "mps" or (build.runtime.kind == "cuda" and framework.package is not None)
    return wanted.runtime == "cpu" and named


def _target(build: Build, framework: Framework, wanted: Wanted) -> str | None:
    return (
        None
        if build.target == wanted.target
        else message("resolving.target.this-build-is-for", target=build.target)
    )


def _python(build: Build, framework: Framework, wanted: Wanted) -> str | None:
    if wanted.python in build.pythons:
        return None
    return message(
        "resolving.python.it-has-wheels-for-python", pythons=tuple(build.pythons), python=wanted.python
    )


def _runtime_version(build: Build, framework: Framework, wanted: Wanted) -> str | None:
    asked, built = wanted.runtime_version, build.runtime.version
    if not asked or not built or contains(asked, built) or _same_line(build, asked):
        return None
    return message(
        "resolving.runtime-version.it-is-built-for-profile", kind=build.runtime.kind, built=built, asked=asked
    )


def _same_line(build: Build, asked: str) -> bool:
    """Whether the libraries may be of another minor version of the same CUDA line than the build was made with."""
    return line_version(build, asked) is not None


def line_version(build: Build, asked: str) -> str | None:
    """The version that is asked for, where a build can use it though it was made with another.

    A build whose libraries the machine (or a placed library set) supplies runs with any minor version of its CUDA
    line from the one it was built with on: NVIDIA's rule for CUDA 11 and later. Rules of the knowledge base
    refuse the pairs whose file names differ.
    """
    if not asked or build.runtime.kind != "cuda" or build.libraries != "system":
        return None
    built = Version(build.runtime.version)
    line = [f"{built.major}.{minor}" for minor in range(built.minor, 10)] if built.major >= 11 else []
    return next((version for version in reversed(line) if contains(asked, version)), None)


#: The names of PyTorch's indexes begin so; each has builds for one runtime, and the default index has others.
_OF_TORCH = "pytorch-"
_ONE_BUILD_AN_INDEX = ("cuda", "rocm", "xpu")


def _index(build: Build, framework: Framework, wanted: Wanted) -> str | None:
    """A package that the profile binds to an index comes from there, so only that index's builds count."""
    bound = wanted.bound.get(canonicalize_name(build.distribution))
    if bound is None or build.index == bound or not bound.startswith(_OF_TORCH):
        return None
    # A plugin for another card takes any build of its torch's version, and so does the CPU.
    if not build.index.startswith(_OF_TORCH) and build.runtime.kind not in _ONE_BUILD_AN_INDEX:
        return None
    return message(
        "resolving.index.it-comes-from-profile-takes",
        index=build.index,
        distribution=build.distribution,
        bound=bound,
    )


def _cudnn(build: Build, framework: Framework, wanted: Wanted) -> str | None:
    """cuDNN may be newer than what a build was made with, within one major line."""
    if not wanted.cudnn or not build.cudnn or build.runtime.kind != "cuda":
        return None
    line = f">={build.cudnn},<{Version(build.cudnn).major + 1}"
    if overlap([SpecifierSet(wanted.cudnn), SpecifierSet(line)]):
        return None
    return message(
        "resolving.cudnn.it-is-built-with-cudnn", cudnn=build.cudnn, line=line, cudnn2=wanted.cudnn
    )


def _local(build: Build, framework: Framework, wanted: Wanted) -> str | None:
    asked = local(wanted.frameworks[build.framework].version)
    if not asked or build.local == asked:
        return None
    this = (
        message("resolving.local.this-is-its-build", local=build.local)
        if build.local
        else message("resolving.local.this-is-its-build-on")
    )
    return message("resolving.local.profile-asks-for", this=this, asked=asked)


#: In this order: the first test that fails is the reason that people see.
TESTS: Mapping[str, Test] = {
    "version": _version,
    "distribution": _distribution,
    "extras": _extras,
    "runtime": _runtime,
    "target": _target,
    "python": _python,
    "runtime-version": _runtime_version,
    "cudnn": _cudnn,
    "index": _index,
    "local": _local,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """The builds of one framework: those that fit, and the others with the first test or rule that each failed."""

    framework: str
    kept: tuple[Build, ...]
    lost: tuple[tuple[Build, Rejected], ...]


def contains(specifiers: str, version: str) -> bool:
    """True if a version lies in a specifier set; `*` and nothing hold every version, pre-releases too."""
    return specifiers in ("", "*") or holds(specifiers, version)


def pool(name: str, framework: Framework, ask: Wanted, profile: Profile, knowledge: Knowledge) -> Pool:
    """All builds of one framework, sorted out. A pinned release that knowledge does not hold yet is a guess."""
    plain = replace(framework, version=public(framework.version))
    rules = tuple(r for r in build_rules(knowledge) if r.when.get("framework", name) == name)
    kept: list[Build] = []
    lost: list[tuple[Build, Rejected]] = []
    for build in knowledge.builds(name):
        rejected = by_tests(build, plain, ask) or by_rules(build, build_facts(build, ask, profile), rules)
        if rejected is None:
            kept.append(build)
        else:
            lost.append((build, rejected))
    if not kept and (guess := _unknown_build(name, plain, ask, knowledge)):
        rejected = by_rules(guess, build_facts(guess, ask, profile), rules)
        kept, lost = ([guess], lost) if rejected is None else ([], [*lost, (guess, rejected)])
    return Pool(framework=name, kept=tuple(kept), lost=tuple(lost))


def by_tests(build: Build, framework: Framework, ask: Wanted) -> Rejected | None:
    """The first test that a build fails."""
    for rule, test in TESTS.items():
        because = test(build, framework, ask)
        if because is not None:
            return Rejected(
                axis=build.framework, value=describe(build), because=because, rule=rule, source=build.source
            )
    return None


def build_rules(knowledge: Knowledge) -> tuple[RuleRow, ...]:
    """Rules that reject a single build: they ask nothing about the stack around it."""
    return tuple(r for r in rejecting(knowledge) if not asks_stack(r.when))


def rejecting(knowledge: Knowledge) -> tuple[RuleRow, ...]:
    """Rules that reject something in a stack (others speak about files)."""
    return tuple(r for r in knowledge.rules() if r.then == "reject" and "lint" not in r.when)


def asks_stack(when: Mapping[str, Any]) -> bool:
    return any(key in STACK_FACTS or (key == "not" and asks_stack(value)) for key, value in when.items())


def by_rules(build: Build, facts: Mapping[str, Any], rules: Iterable[RuleRow]) -> Rejected | None:
    """The first rule that rejects a build with these facts."""
    rule = next((r for r in rules if applies(r, facts)), None)
    if rule is None:
        return None
    return Rejected(
        axis=rule.axis or build.framework,
        value=describe(build),
        because=rule.because,
        rule=rule.id,
        source=rule.source,
        code=rule.code,
        instead=rule.instead,
    )


def public(specifiers: str) -> str:
    """`==2.0.1+cu118` asks for version 2.0.1; the local part says which build of it."""
    return ",".join(part.partition("+")[0] for part in specifiers.split(","))


def local(specifiers: str) -> str:
    """The local part that is asked for: `cu118` of `==2.0.1+cu118`."""
    return next((part.partition("+")[2] for part in specifiers.split(",") if "+" in part), "")


def describe(build: Build) -> str:
    runtime = f"{build.runtime.kind} {build.runtime.version}".strip()
    return f"{build.requirement} ({runtime}, {build.target})"


def _unknown_build(name: str, framework: Framework, ask: Wanted, knowledge: Knowledge) -> Build | None:
    """A build that knowledge does not hold yet, for a profile that pins an exact version of a newer release.

    It copies what the newest known build of the same runtime and target says, with no claim of being tested.
    """
    pinned = _pin(framework.version)
    every = knowledge.builds(name)
    known = [b for b in every if b.runtime.kind == ask.runtime and b.target == ask.target]
    if pinned is None or not known or Version(pinned) <= max(Version(b.version) for b in every):
        return None
    newest = max(known, key=lambda b: Version(b.version))
    return replace(newest, version=pinned, pythons=(ask.python,), tested=None, evidence="metadata", row="")


def _pin(specifiers: str) -> str | None:
    parts = list(SpecifierSet(specifiers)) if specifiers not in ("", "*") else []
    exact = [p.version for p in parts if p.operator == "==" and not p.version.endswith(".*")]
    return exact[0] if exact else None


def versions(builds: Iterable[Build]) -> tuple[str, ...]:
    """Distinct versions, oldest first."""
    return tuple(sorted({b.version for b in builds}, key=Version))


def asked_for(build: Build, framework: Framework) -> bool:
    return contains(public(framework.version), build.version)


def lost_by(pools: Iterable[Pool]) -> Iterator[Rejected]:
    for one in pools:
        yield from (rejected for _, rejected in one.lost)
