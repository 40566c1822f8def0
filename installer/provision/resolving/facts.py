"""What the rules of the knowledge base may ask of a candidate: one build, and the stack that it would stand in.

The names are those of the header of knowledge/rules.yaml. What is not known is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name

from provision.knowledge import Build
from provision.knowledge.asking import build_facts as facts_of
from provision.model.lock import PYPI
from provision.model.profile import Profile
from provision.resolving.wanted import Wanted

#: Facts that only a whole stack has: rules about them are held against combinations, not against single builds.
STACK_FACTS = ("frameworks", "packages", "extras-of")


def build_facts(build: Build, ask: Wanted, profile: Profile) -> dict[str, Any]:
    """Facts of one build for this profile, target and Python."""
    hardware = {
        "vendor": profile.hardware.vendor,
        "capability": lowest(profile.hardware.compute_capability),
        "architecture": profile.hardware.architecture,
        "driver": lowest(profile.hardware.driver),
        "libc": lowest(profile.hardware.libc),
    }
    facts = facts_of(
        build, target=ask.target, python=ask.python, manager=profile.environment.manager, hardware=hardware
    )
    return facts | _asked(ask) if build.libraries == "system" and build.runtime.kind == ask.runtime else facts


def _asked(ask: Wanted) -> dict[str, str]:
    """What a profile asks of the libraries that stand beside a build without any of its own."""
    stated = {"runtime-version": lowest(ask.runtime_version), "cudnn": lowest(ask.cudnn)}
    return {name: value for name, value in stated.items() if value}


def wish_facts(name: str, version: str, ask: Wanted, profile: Profile) -> dict[str, Any]:
    """Facts of something that was wished for, whether or not such a build was ever made."""
    framework = ask.frameworks[name]
    distribution = framework.package or name
    named_packages = dict(named(text) for text in profile.packages)
    facts = {
        "framework": name,
        "version": version,
        "distribution": distribution,
        "extras": framework.extras,
        "index": ask.bound.get(distribution, PYPI),
        "local": "",
        "target": ask.target,
        "python": ask.python,
        "runtime": ask.runtime,
        "vendor": profile.hardware.vendor,
        "manager": profile.environment.manager,
        "packages": {**named_packages, distribution: version},
        **_asked(ask),
    }
    return {key: value for key, value in facts.items() if value != ()}


def stack_facts(builds: Sequence[Build], profile: Profile) -> dict[str, Any]:
    """Facts of a whole combination."""
    packages = {b.distribution: b.version for b in builds}
    for text in (*(r for b in builds for r in b.requires), *profile.packages):
        name, version = named(text)
        packages.setdefault(name, version)
    return {
        "frameworks": {b.framework: b.version for b in builds},
        "packages": packages,
        "extras-of": {b.framework: list(b.extras) for b in builds},
    }


def named(requirement: str) -> tuple[str, str]:
    """(name, version) that a requirement pins; `*` where it pins none."""
    try:
        parsed = Requirement(requirement)
    except InvalidRequirement:
        return requirement, "*"
    pins = [
        s.version for s in parsed.specifier if s.operator in ("==", "===") and not s.version.endswith(".*")
    ]
    return canonicalize_name(parsed.name), pins[0] if pins else "*"


def lowest(specifiers: str | None) -> str | None:
    """The smallest version that a range states: `>=5.0` and `==5.0.*` mean 5.0. None where it has no floor."""
    if not specifiers:
        return None
    try:
        parts = SpecifierSet(specifiers)
    except InvalidSpecifier:
        return specifiers
    floors = [s.version.removesuffix(".*") for s in parts if s.operator in (">=", "==", "~=", "===")]
    return min(floors, default=None)
