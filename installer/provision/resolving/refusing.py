"""No stack is left -> findings: the fact, its source, the ways out. The reasons are those of the search itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from packaging.version import Version

from provision.knowledge import Build, Knowledge
from provision.model.finding import Evidence, Finding, Remedy
from provision.model.profile import Profile
from provision.model.stack import Rejected
from provision.resolving.candidates import TESTS, Pool, asked_for, versions
from provision.resolving.wanted import Wanted

_ORDER = {rule: number for number, rule in enumerate(TESTS)}


def refusal(
    ask: Wanted, profile: Profile, pools: Sequence[Pool], clashes: Sequence[Rejected], knowledge: Knowledge
) -> tuple[Finding, ...]:
    """One finding for each framework that has no build left, or one for why the best pair cannot stand together."""
    empty = [one for one in pools if not one.kept]
    if empty:
        return tuple(_nothing_left(one, ask, knowledge) for one in empty)
    if clashes:
        return (_incoherent(ask, clashes[0]),)
    return (
        Finding("no-stack", "error", f"Every stack for {ask.target} with Python {ask.python} was refused."),
    )


def _nothing_left(one: Pool, ask: Wanted, knowledge: Knowledge) -> Finding:
    """The build that came furthest says why: it failed a rule of the knowledge base, or the last of the tests."""
    framework = ask.frameworks[one.framework]
    named = [r for build, r in one.lost if asked_for(build, framework)]
    closest = max(named, key=_distance, default=None)
    asked = f"{one.framework} {framework.version}"
    summary = f"No build of {asked} fits {ask.target} with Python {ask.python} and {ask.runtime}."
    if closest is None:
        known = versions(knowledge.builds(one.framework))
        detail = f"Known versions: {known[0]} to {known[-1]}." if known else "No build of it is known."
        return Finding(
            "no-build", "error", summary, detail=detail, remedies=tuple(_ways_out(one, ask, knowledge))
        )
    return Finding(
        closest.code or "no-build",
        "error",
        summary,
        detail=f"{closest.value}: {closest.because}.",
        evidence=(Evidence(closest.source or "knowledge", f"rule {closest.rule}"),),
        remedies=(*(Remedy(_sentence(way)) for way in closest.instead), *_ways_out(one, ask, knowledge)),
    )


def _distance(rejected: Rejected) -> int:
    """How far a build came: rules are asked after all tests."""
    return _ORDER.get(rejected.rule, len(_ORDER))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _ways_out(one: Pool, ask: Wanted, knowledge: Knowledge) -> Iterator[Remedy]:
    fitting = [
        b for b in knowledge.builds(one.framework) if b.target == ask.target and b.runtime.kind == ask.runtime
    ]
    asked = [b for b in fitting if asked_for(b, ask.frameworks[one.framework])]
    rejected = {id(build): r.rule for build, r in one.lost}
    other = sorted({p for b in asked if rejected.get(id(b)) == "python" for p in b.pythons}, key=Version)
    if other:
        yield Remedy(f'Use Python {", ".join(other)} (python: "{other[-1]}" in the profile).')
    here = [b for b in fitting if ask.python in b.pythons and rejected.get(id(b)) == "version"]
    if here:
        yield Remedy(f"{_best(here).requirement} is the newest that fits this target and Python.")


def _best(builds: Sequence[Build]) -> Build:
    return max(builds, key=lambda b: Version(b.version))


def _incoherent(ask: Wanted, rejected: Rejected) -> Finding:
    names = " and ".join(ask.frameworks)
    ways = [Remedy(_sentence(way)) for way in rejected.instead] or [
        Remedy("Make two profiles with one framework each: two environments."),
        Remedy("Take TensorFlow's CPU build (tensorflow-cpu) beside the GPU build of torch."),
    ]
    return Finding(
        rejected.code or "no-coherent-stack",
        "error",
        f"{names} cannot share one environment on {ask.target} with Python {ask.python}: {rejected.because}.",
        detail=rejected.value,
        evidence=(Evidence(rejected.source or "knowledge", f"rule {rejected.rule}"),),
        remedies=tuple(ways),
    )
