"""Combinations of builds, best first; the first coherent one that no rule rejects is the stack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from provision.knowledge import Build, Knowledge, RuleRow
from provision.knowledge.versions import version_key
from provision.messages import message
from provision.model.finding import UnsatisfiableError
from provision.model.lock import PYPI
from provision.model.profile import Profile
from provision.model.stack import Rejected, Stack
from provision.resolving.assembling import assemble
from provision.resolving.candidates import Pool, build_rules, by_rules, describe, pool, rejecting
from provision.resolving.confidence import RANK, confidence
from provision.resolving.facts import build_facts, named, stack_facts
from provision.resolving.refusing import refusal
from provision.resolving.wanted import Wanted, python_choices, wanted

#: Clashes of two builds that are kept as reasons; there can be thousands of pairs.
_KEPT_CLASHES = 50


def pythons(profile: Profile, target: str, knowledge: Knowledge) -> tuple[str, ...]:
    """Pythons that the profile admits and its frameworks have a stack for on the target, newest first."""
    admitted = python_choices(profile)
    if profile.environment.manager == "conda":
        return admitted
    return tuple(p for p in admitted if next(solve(profile, target, p, knowledge), None) is not None)


def resolve(
    profile: Profile, target: str, python: str, knowledge: Knowledge, refused: Sequence[Rejected] = ()
) -> Stack:
    """The best stack that was not refused. Raises UnsatisfiableError when none is left, with every reason."""
    gone = {r.value for r in refused}
    for stack in solve(profile, target, python, knowledge):
        if identity(stack) not in gone:
            return stack
    ask = wanted(profile, target, python)
    pools = pools_of(ask, profile, knowledge)
    raise UnsatisfiableError(
        refusal(ask, profile, pools, _clashes(pools, profile, ask, knowledge), knowledge)
    )


def identity(stack: Stack) -> str:
    """Two stacks with the same identity ask for the same packages."""
    return " ".join(stack.requirements)


def solve(profile: Profile, target: str, python: str, knowledge: Knowledge) -> Iterator[Stack]:
    """Every coherent stack, best first."""
    ask = wanted(profile, target, python)
    pools = pools_of(ask, profile, knowledge)
    lost = [rejected for one in pools for _, rejected in one.lost]
    for combo in _combinations(pools, ask.runtime_version):
        rejected = rejection(combo, profile, ask, knowledge)
        if rejected is None:
            yield assemble(profile, ask, combo, lost, knowledge)
        elif len(lost) < _KEPT_CLASHES:
            lost.append(rejected)


def pools_of(ask: Wanted, profile: Profile, knowledge: Knowledge) -> tuple[Pool, ...]:
    return tuple(pool(name, framework, ask, profile, knowledge) for name, framework in ask.frameworks.items())


def _combinations(pools: Sequence[Pool], asked: str) -> list[tuple[Build, ...]]:
    if not all(one.kept for one in pools):
        return []
    together = product(*(one.kept for one in pools))
    return sorted(together, key=lambda combo: preference(combo, asked), reverse=True)


def _clashes(pools: Sequence[Pool], profile: Profile, ask: Wanted, knowledge: Knowledge) -> list[Rejected]:
    """Why the best combinations are incoherent, the best one first."""
    found = (
        rejection(combo, profile, ask, knowledge)
        for combo in _combinations(pools, ask.runtime_version)[:_KEPT_CLASHES]
    )
    return [rejected for rejected in found if rejected is not None]


def rejection(combo: Sequence[Build], profile: Profile, ask: Wanted, knowledge: Knowledge) -> Rejected | None:
    """Why builds cannot stand together in one environment, or None."""
    together = stack_facts(combo, profile)
    rules = _stack_rules(knowledge)
    value = " + ".join(describe(b) for b in combo)
    # A rule about the very pair knows more than what follows from the builds alone.
    for build in combo:
        facts = {**build_facts(build, ask, profile), **together}
        if (rejected := by_rules(build, facts, rules)) is not None:
            return replace(rejected, value=value)
    because = clash(combo)
    if because is not None:
        return Rejected(axis="environment", value=value, because=because[1], rule=because[0])
    return None


def _stack_rules(knowledge: Knowledge) -> tuple[RuleRow, ...]:
    single = {rule.id for rule in build_rules(knowledge)}
    return tuple(r for r in rejecting(knowledge) if r.id not in single)


def clash(builds: Sequence[Build]) -> tuple[str, str] | None:
    """(test, why) builds cannot share an environment by what they are: files, CUDA majors, cuDNN lines."""
    distributions = {b.distribution for b in builds}
    for build in builds:
        if met := distributions & set(build.not_with):
            return "files", message(
                "resolving.clash.and-cannot-share-environment",
                distribution=build.distribution,
                what=sorted(met),
            )
    majors = sorted({b.runtime.version.split(".")[0] for b in builds if _carries_cuda(b)})
    if len(majors) > 1:
        return "one-cuda", message(
            "resolving.clash.one-build-brings-cuda-other", majors=majors[0], majors2=majors[1]
        )
    lines = sorted({b.cudnn.split(".")[0] for b in builds if b.cudnn and _carries_cuda(b)})
    if len(lines) > 1:
        return "one-cudnn", message(
            "resolving.clash.one-build-needs-cudnn-other", lines=lines[0], lines2=lines[1]
        )
    return None


def _carries_cuda(build: Build) -> bool:
    return build.runtime.kind == "cuda" and bool(build.runtime.version)


#: Who brings the accelerator's libraries, from the least to the most convenient.
_SUPPLIERS = ("none", "system", "bundled", "wheels")


def preference(combo: Sequence[Build], asked: str) -> tuple[Any, ...]:
    """Best supported, newest, libraries brought along rather than the machine's, no index beside the default one, the
    newest runtime, the plainest name, the newest plugins."""
    worst = min((RANK[confidence(b, asked)] for b in combo), default=0)
    return (
        all(not b.experimental for b in combo),
        worst,
        tuple(version_key(b.version) for b in combo),
        tuple(_SUPPLIERS.index(b.libraries) for b in combo),
        tuple(b.index == PYPI for b in combo),
        tuple(version_key(b.runtime.version or "0") for b in combo),
        tuple(b.distribution.endswith("-cpu") for b in combo),
        tuple(tuple(version_key(named(r)[1]) for r in b.requires) for b in combo),
    )
