"""Why a stack is what it is, and why it is not another one: the reasons of the search itself, arranged for people. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from provision.knowledge import Build, BuildRow, Knowledge
from provision.knowledge.versions import overlap, version_key
from provision.messages import joined, message, unstopped
from provision.model.finding import Evidence, Finding, Remedy, UnsatisfiableError
from provision.model.profile import Framework, Profile
from provision.model.stack import Choice, Patch, Rejected, Stack
from provision.resolving.candidates import TESTS, Pool, describe, lost_by
from provision.resolving.closure import family_conflict
from provision.resolving.confidence import confidence
from provision.resolving.refusing import nearness
from provision.resolving.search import identity, pools_of, preference, resolve, solve
from provision.resolving.wanted import PYTHONS, RUNTIME_KEYS, python_choices, wanted

Name = Literal["torch", "tensorflow"]
_CONFIDENCE = {
    "tested": "resolving.confidence.tested",
    "compatible": "resolving.confidence.compatible",
    "reported": "resolving.confidence.reported",
    "metadata": "resolving.confidence.metadata",
}
#: Reasons that are no test and no row of the knowledge base, the most telling ones first.
_FIRST = ("closure", "preference", "files", "one-cuda", "one-cudnn")
#: ... and those that people asked for themselves come last, the plainest at the end.
_LAST = (*reversed(tuple(TESTS)), "no-stack", "python-range")


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A stack and everything that was not taken instead. `settled`: the stack is the one of the lock."""

    stack: Stack
    rejected: tuple[Rejected, ...]
    settled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """What one reason rejected on one axis."""

    axis: str
    rule: str
    because: str
    source: str = ""
    instead: tuple[str, ...] = ()
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Whether a profile has a stack on a target: the best one, or the findings of the Python that came nearest."""

    target: str
    python: str
    stack: Stack | None = None
    findings: tuple[Finding, ...] = ()


def explain(
    profile: Profile, target: str, python: str, knowledge: Knowledge, taken: Sequence[Choice] = ()
) -> Explanation:
    """The stack with its losers. `taken` are the choices of a lock: stacks before that one could not be locked.

    Raises UnsatisfiableError when there is no stack.
    """
    stack, unlocked = _stack(profile, target, python, knowledge, taken)
    ask = wanted(profile, target, python)
    pools = pools_of(ask, profile, knowledge)
    from_pools = set(lost_by(pools))
    losers = [
        *unlocked,
        *_less_preferred(stack, pools, ask.runtime_version),
        *(r for r in stack.rejected if r not in from_pools),
        *lost_by(pools),
        *_other_pythons(profile, target, python, knowledge),
    ]
    settled = bool(taken) and _same(stack.choices, taken)
    return Explanation(stack=stack, rejected=tuple(losers), settled=settled)


def _stack(
    profile: Profile, target: str, python: str, knowledge: Knowledge, taken: Sequence[Choice]
) -> tuple[Stack, list[Rejected]]:
    """The stack of the lock with those before it, or the best one where no stack is that of the lock."""
    before: list[Rejected] = []
    for stack in solve(profile, target, python, knowledge) if taken else ():
        if _same(stack.choices, taken):
            return stack, before
        because = message("resolving.stack.its-packages-could-not-be")
        before.append(Rejected(axis="closure", value=identity(stack), because=because, rule="closure"))
    return resolve(profile, target, python, knowledge), []


def _same(choices: Sequence[Choice], taken: Sequence[Choice]) -> bool:
    return [(c.axis, c.value) for c in choices] == [(c.axis, c.value) for c in taken]


def _less_preferred(stack: Stack, pools: Sequence[Pool], asked: str) -> Iterator[Rejected]:
    """Builds that fit and were not taken."""
    chosen = {c.value for c in stack.choices}
    for one in pools:
        best = next((b for b in one.kept if b.requirement in chosen), None)
        for build in sorted(one.kept, key=lambda b: preference((b,), asked), reverse=True):
            if best is not None and build.requirement not in chosen:
                yield Rejected(
                    axis=one.framework, value=describe(build), because=_lesser(build, best, asked),
                    rule="preference", source=build.source,
                )  # fmt: skip


def _lesser(build: Build, best: Build, asked: str) -> str:
    if preference((build,), asked) > preference((best,), asked):
        return message("resolving.lesser.it-fits-by-itself-but")
    if build.experimental and not best.experimental:
        return message("resolving.lesser.it-fits-but-its-maker")
    support, other = confidence(build, asked), confidence(best, asked)
    if support != other:
        return message(
            "resolving.lesser.it-fits-but-it-is",
            support=message(_CONFIDENCE[support]),
            other=message(_CONFIDENCE[other]),
        )
    if version_key(build.version) < version_key(best.version):
        return message("resolving.lesser.it-fits-but-it-is-2")
    return message("resolving.lesser.it-fits-as-well-same")


def _other_pythons(profile: Profile, target: str, python: str, knowledge: Knowledge) -> Iterator[Rejected]:
    admitted = python_choices(profile)
    for other in reversed(PYTHONS):
        if other not in admitted:
            because = message("resolving.other-pythons.profile-asks-for-python", python=profile.python)
            yield Rejected(axis="python", value=other, because=because, rule="python-range")
        elif other != python and (finding := _refused(profile, target, other, knowledge)):
            refused = unstopped(finding.detail or finding.summary)
            yield Rejected(axis="python", value=other, because=refused, rule="no-stack")


def _refused(profile: Profile, target: str, python: str, knowledge: Knowledge) -> Finding | None:
    try:
        resolve(profile, target, python, knowledge)
    except UnsatisfiableError as error:
        return error.findings[0]
    return None


def grouped(rejected: Iterable[Rejected], axis: str = "") -> tuple[Group, ...]:
    """Losers by axis and reason, of one axis or of all; the most telling reasons first."""
    groups: dict[tuple[str, str, str], list[Rejected]] = {}
    for one in rejected:
        if axis in ("", one.axis):
            groups.setdefault((one.axis, one.rule, one.because), []).append(one)
    found = [_group(members) for members in groups.values()]
    axes = list(dict.fromkeys(g.axis for g in found))
    return tuple(sorted(found, key=lambda g: (axes.index(g.axis), _rank(g.rule))))


def _group(members: Sequence[Rejected]) -> Group:
    one = members[0]
    # Tests about versions have the builds' own sources, which say nothing about the reason.
    source = "" if one.rule in TESTS or one.rule in _FIRST else one.source
    values = tuple(dict.fromkeys(m.value for m in members))
    return Group(
        axis=one.axis, rule=one.rule, because=one.because, source=source, instead=one.instead, values=values
    )


def _rank(rule: str) -> int:
    if rule in _FIRST:
        return _FIRST.index(rule) - len(_FIRST)
    return _LAST.index(rule) + 1 if rule in _LAST else 0


def overlaid(profile: Profile, requirement: Requirement, knowledge: Knowledge) -> Profile:
    """The profile with one more wish: a framework, a Python, a runtime version, or a plain package.

    What the profile says about the same thing is replaced.
    """
    name = canonicalize_name(requirement.name)
    version = str(requirement.specifier) or "*"
    if name == "python":
        return replace(profile, python=version)
    if name == "cudnn" or name in RUNTIME_KEYS:
        kept = {k: v for k, v in profile.accelerator.items() if name == "cudnn" or k not in RUNTIME_KEYS}
        return replace(profile, accelerator={**kept, name: version})
    framework = framework_of(name, knowledge)
    if framework is None:
        others = tuple(p for p in profile.packages if canonicalize_name(Requirement(p).name) != name)
        return replace(profile, packages=(*others, str(requirement)))
    wish = _framework(profile, framework, requirement)
    return replace(profile, frameworks={**profile.frameworks, framework: wish})


def framework_of(name: str, knowledge: Knowledge) -> Name | None:
    """The framework that a distribution carries."""
    rows = knowledge.rows(BuildRow)
    return next((row.framework for row in rows if name == row.framework or name in row.distributions), None)


def _framework(profile: Profile, framework: Name, requirement: Requirement) -> Framework:
    before = profile.frameworks.get(framework, Framework())
    name = canonicalize_name(requirement.name)
    version = str(requirement.specifier) or before.version
    if name == framework and not requirement.extras:
        return replace(before, version=version)
    return Framework(version=version, package=name, extras=tuple(sorted(requirement.extras)))


def answer(profile: Profile, target: str, knowledge: Knowledge) -> Answer:
    """The best stack of the newest Python that has one; else why the nearest Python has none."""
    admitted = python_choices(profile)
    if not admitted:
        return Answer(target=target, python="", findings=(_no_python(profile),))
    refusals: list[tuple[tuple[int, int], str, tuple[Finding, ...]]] = []
    for python in admitted:
        try:
            return Answer(target=target, python=python, stack=resolve(profile, target, python, knowledge))
        except UnsatisfiableError as error:
            ask = wanted(profile, target, python)
            refusals.append((nearness(pools_of(ask, profile, knowledge), ask), python, error.findings))
    _, python, findings = max(refusals, key=lambda refusal: refusal[0])
    return Answer(target=target, python=python, findings=findings)


def _no_python(profile: Profile) -> Finding:
    return Finding(
        "no-python", "error", message("resolving.no-python.summary", python=profile.python),
        detail=message("resolving.no-python.detail", pythons=PYTHONS[0], pythons2=PYTHONS[-1]),
    )  # fmt: skip


def against(requirement: Requirement, stack: Stack, knowledge: Knowledge) -> tuple[Finding, ...]:
    """What is known against a further package in a stack, before any index is asked."""
    name = canonicalize_name(requirement.name)
    patches = [p for p in stack.patches if canonicalize_name(Requirement(p.requirement).name) == name]
    found = [_held(requirement, p) for p in patches if not _meet(requirement, p)]
    found += [
        _other(requirement, text, stack, knowledge)
        for text in stack.requirements
        if _clash(requirement, text)
    ]
    if name in stack.absent:
        found.append(_not_beside(requirement, stack, knowledge))
    return tuple(found)


def _meet(requirement: Requirement, patch: Patch) -> bool:
    return overlap([requirement.specifier, Requirement(patch.requirement).specifier])


def _clash(requirement: Requirement, text: str) -> bool:
    """Whether a requirement of the stack is about the same package and leaves no version for both."""
    other = Requirement(text)
    same = canonicalize_name(other.name) == canonicalize_name(requirement.name)
    return same and not overlap([requirement.specifier, other.specifier])


def _other(requirement: Requirement, text: str, stack: Stack, knowledge: Knowledge) -> Finding:
    """A package that goes with the framework in one version: the builds that go with the version asked for."""
    frameworks = [c for c in stack.choices if "==" in c.value]
    builds = [
        b
        for choice in frameworks
        for b in knowledge.builds(choice.axis)
        if b.target == stack.target and any(_agrees(requirement, r) for r in b.requires)
    ]
    leaders = tuple(c.value for c in frameworks)
    way = (
        message("resolving.other.with", spans=spans(b.requirement for b in builds))
        if builds
        else message("resolving.other.no-known-build-goes-with")
    )
    return Finding(
        "held",
        "error",
        message("resolving.held.summary", requirement=requirement, text=text),
        detail=message("resolving.held.detail", leaders=leaders),
        evidence=tuple(
            Evidence(message("resolving.common.knowledge", rule=c.rule), c.source) for c in frameworks
        ),
        remedies=(Remedy(way),),
    )


def _agrees(requirement: Requirement, text: str) -> bool:
    other = Requirement(text)
    same = canonicalize_name(other.name) == canonicalize_name(requirement.name)
    return same and bool(other.specifier) and overlap([requirement.specifier, other.specifier])


def _held(requirement: Requirement, patch: Patch) -> Finding:
    return Finding(
        "held", "error", message("resolving.held.summary-2", requirement=requirement, requirement2=patch.requirement),
        detail=patch.because, evidence=(Evidence(message("resolving.common.knowledge", rule=patch.rule), patch.source),),
        remedies=(Remedy(message("resolving.held.way", requirement=patch.requirement)),),
    )  # fmt: skip


def _not_beside(requirement: Requirement, stack: Stack, knowledge: Knowledge) -> Finding:
    name = canonicalize_name(requirement.name)
    held = {canonicalize_name(Requirement(r).name) for r in stack.requirements}
    families = [f for f in knowledge.families_of(name) if held & set(f.members)]
    if not families:
        return Finding("absent", "error", message("resolving.absent.summary", name=name))
    family = families[0]
    other = sorted(held & set(family.members))[0]
    return family_conflict(
        family,
        message("resolving.family-conflict.summary", name=name, other=other, folder=family.folder),
        (
            message("resolving.family-conflict.way", name=name),
            message("resolving.family-conflict.way-2", name=name, other=other),
        ),
    )


def spans(values: Iterable[str]) -> str:
    """Builds in few words: `tensorflow 2.11.0 to 2.21.0, tensorflow-cpu 2.12.0`. What is no build stays as it is."""
    versions: dict[str, list[str]] = {}
    plain: list[str] = []
    for value in values:
        name, equals, rest = value.partition("==")
        if equals and " + " not in value:
            versions.setdefault(name, []).append(rest.split(" ")[0])
        else:
            plain.append(value)
    return joined([*plain, *(f"{name} " + _span(found) for name, found in versions.items())], ", ")


def _span(versions: Iterable[str]) -> str:
    ordered = sorted(set(versions), key=version_key)
    return (
        ordered[0]
        if len(ordered) == 1
        else message("resolving.span.to", ordered=ordered[0], ordered2=ordered[-1])
    )
