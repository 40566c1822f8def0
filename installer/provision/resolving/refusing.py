"""No stack is left -> findings: the fact, its source, the ways out. The reasons are those of the search itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from packaging.version import Version

from provision.knowledge import Build, Knowledge, RuleRow
from provision.knowledge.rules import applies
from provision.knowledge.versions import version_key
from provision.messages import joined, message, sentence, stopped
from provision.model.finding import Evidence, Finding, Remedy
from provision.model.profile import Profile
from provision.model.stack import Rejected
from provision.resolving.candidates import (
    TESTS,
    Pool,
    asked_for,
    build_rules,
    by_rules,
    by_tests,
    contains,
    public,
    rejecting,
    versions,
)
from provision.resolving.facts import build_facts, wish_facts
from provision.resolving.wanted import Wanted

_ORDER = {rule: number for number, rule in enumerate(TESTS)}


def refusal(
    ask: Wanted, profile: Profile, pools: Sequence[Pool], clashes: Sequence[Rejected], knowledge: Knowledge
) -> tuple[Finding, ...]:
    """One finding for each framework that has no build left, or one for why the best pair cannot stand together."""
    empty = [one for one in pools if not one.kept]
    if empty:
        return tuple(_nothing_left(one, ask, profile, knowledge) for one in empty)
    if clashes:
        return (_incoherent(ask, clashes[0]),)
    return (
        Finding(
            "no-stack", "error", message("resolving.no-stack.summary", target=ask.target, python=ask.python)
        ),
    )


def _nothing_left(one: Pool, ask: Wanted, profile: Profile, knowledge: Knowledge) -> Finding:
    """Why no build is left: a rule that rejected one which fits in all else, or a rule about just this wish, or the
    test that the build which came furthest failed."""
    # Of builds that came equally far the newest speaks.
    named = [(build, r) for build, r in one.lost if asked_for(build, ask.frameworks[one.framework])]
    furthest = max(named, key=lambda pair: (_distance(pair[1]), version_key(pair[0].version)), default=None)
    closest = furthest[1] if furthest else None
    if closest is None or _distance(closest) < len(_ORDER):
        rule = _rule_against(one.framework, ask, profile, knowledge)
        if rule is not None:
            return _by_rule(one, ask, rule)
    if closest is None:
        known = versions(knowledge.builds(one.framework))
        detail = (
            message("resolving.nothing-left.known-versions-to", known=known[0], known2=known[-1])
            if known
            else message("resolving.nothing-left.no-build-it-is-known")
        )
        return Finding(
            "no-build",
            "error",
            _summary(one, ask),
            detail=detail,
            remedies=_ways_out(one, ask, profile, knowledge),
        )
    return Finding(
        closest.code or "no-build",
        "error",
        _summary(one, ask),
        detail=f"{closest.value}: " + stopped(closest.because),
        evidence=(
            Evidence(closest.source or "knowledge", message("resolving.common.rule", rule=closest.rule)),
        ),
        remedies=(
            *(Remedy(way) for way in closest.instead),
            *_ways_out(one, ask, profile, knowledge, closest.instead),
        ),
    )


def _summary(one: Pool, ask: Wanted) -> str:
    asked = f"{one.framework} {ask.frameworks[one.framework].version}"
    return message(
        "resolving.summary.no-build-fits-with-python",
        asked=asked,
        target=ask.target,
        python=ask.python,
        runtime=ask.runtime,
    )


def _rule_against(name: str, ask: Wanted, profile: Profile, knowledge: Knowledge) -> RuleRow | None:
    """A rule that rejects what was wished for, whether or not such a build was ever made.

    A wish for any version is held against the rules only where there is no build at all of that kind.
    """
    framework = ask.frameworks[name]
    builds = knowledge.builds(name)
    wished = [v for v in versions(builds) if contains(public(framework.version), v)]
    anything = framework.version in ("", "*")
    if not wished or (
        anything and any(b.runtime.kind == ask.runtime and b.target == ask.target for b in builds)
    ):
        return None
    facts = wish_facts(name, wished[-1], ask, profile)
    if any(
        b.version == wished[-1] and b.runtime.kind == ask.runtime and b.target == ask.target for b in builds
    ):
        facts = {key: value for key, value in facts.items() if key not in ("index", "local")}
    return next((rule for rule in rejecting(knowledge) if applies(rule, facts)), None)


def _by_rule(one: Pool, ask: Wanted, rule: RuleRow) -> Finding:
    return Finding(
        rule.code or "no-build",
        "error",
        _summary(one, ask),
        detail=sentence(rule.because),
        evidence=(
            Evidence(rule.source, message("resolving.by-rule.knowledge", evidence=rule.evidence, id=rule.id)),
        ),
        remedies=tuple(Remedy(way) for way in rule.instead),
    )


def nearness(pools: Sequence[Pool], ask: Wanted) -> tuple[int, int]:
    """How near the builds asked for came, for the framework that fell first: tests passed, then tests failed in all."""
    empty = [one for one in pools if not one.kept]
    return min((_nearest(one, ask) for one in empty), default=(len(_ORDER) + 1, 0))


def _nearest(one: Pool, ask: Wanted) -> tuple[int, int]:
    framework = replace(ask.frameworks[one.framework], version="*")
    named = [(build, r) for build, r in one.lost if asked_for(build, ask.frameworks[one.framework])]
    failed = [sum(1 for test in TESTS.values() if test(build, framework, ask)) for build, _ in named]
    return max(((_distance(r), -count) for (_, r), count in zip(named, failed, strict=True)), default=(-1, 0))


def _distance(rejected: Rejected) -> int:
    """How far a build came: rules are asked after all tests."""
    return _ORDER.get(rejected.rule, len(_ORDER))


def _ways_out(
    one: Pool, ask: Wanted, profile: Profile, knowledge: Knowledge, others: Sequence[str] = ()
) -> tuple[Remedy, ...]:
    """Ways out beside others that are known: another Python, another version; else what there is at all."""
    found = tuple(_near(one, ask, profile, knowledge))
    return found if found or others else tuple(_far(one, ask, knowledge))


def _far(one: Pool, ask: Wanted, knowledge: Knowledge) -> Iterator[Remedy]:
    builds = knowledge.builds(one.framework)
    targets = sorted({b.target for b in builds if b.runtime.kind == ask.runtime})
    kinds = sorted({b.runtime.kind for b in builds if b.target == ask.target})
    if targets:
        yield Remedy(
            message("resolving.far.way", runtime=ask.runtime, framework=one.framework, targets=tuple(targets))
        )
    if kinds:
        yield Remedy(
            message("resolving.far.way-2", target=ask.target, framework=one.framework, kinds=tuple(kinds))
        )


def _near(one: Pool, ask: Wanted, profile: Profile, knowledge: Knowledge) -> Iterator[Remedy]:
    fitting = [
        b for b in knowledge.builds(one.framework) if b.target == ask.target and b.runtime.kind == ask.runtime
    ]
    asked = [b for b in fitting if asked_for(b, ask.frameworks[one.framework])]
    rejected = {id(build): r.rule for build, r in one.lost}
    builds = sorted({b.requirement for b in asked if rejected.get(id(b)) == "local"})
    if builds:
        yield Remedy(message("resolving.near.way", builds=tuple(builds)))
    other = sorted(
        {
            python
            for b in asked
            if rejected.get(id(b)) == "python"
            for python in b.pythons
            if _fits_otherwise(b, replace(ask, python=python), profile, knowledge)
        },
        key=Version,
    )
    if other:
        yield Remedy(message("resolving.near.way-2", other=tuple(other), other2=other[-1]))
    here = [
        b for b in fitting if rejected.get(id(b)) == "version" and _fits_otherwise(b, ask, profile, knowledge)
    ]
    if here:
        yield Remedy(message("resolving.near.way-3", requirement=_best(here).requirement))


def _fits_otherwise(build: Build, ask: Wanted, profile: Profile, knowledge: Knowledge) -> bool:
    """Whether nothing but the version asked for speaks against a build."""
    free = replace(ask.frameworks[build.framework], version="*")
    facts = build_facts(build, ask, profile)
    return by_tests(build, free, ask) is None and by_rules(build, facts, build_rules(knowledge)) is None


def _best(builds: Sequence[Build]) -> Build:
    return max(builds, key=lambda b: Version(b.version))


def _incoherent(ask: Wanted, rejected: Rejected) -> Finding:
    names = joined(ask.frameworks, " and ")
    ways = [Remedy(way) for way in rejected.instead] or [
        Remedy(message("resolving.incoherent.way")),
        Remedy(message("resolving.incoherent.way-2")),
    ]
    return Finding(
        rejected.code or "no-coherent-stack",
        "error",
        message(
            "resolving.incoherent.summary",
            names=names,
            target=ask.target,
            python=ask.python,
            because=rejected.because,
        ),
        detail=rejected.value,
        evidence=(
            Evidence(rejected.source or "knowledge", message("resolving.common.rule", rule=rejected.rule)),
        ),
        remedies=tuple(ways),
    )
