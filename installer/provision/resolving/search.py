"""Combinations of builds, coherent ones kept, best first; and the refusal when none is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from packaging.version import Version

from provision.knowledge import Build, Knowledge
from provision.model.finding import Evidence, Finding, Remedy, UnsatisfiableError
from provision.model.profile import Profile
from provision.model.stack import Choice, Confidence, Need, Rejected, Stack
from provision.resolving.candidates import candidates, describe, unknown_build, versions
from provision.resolving.closure import patches_of, variables_of
from provision.resolving.wanted import Wanted, python_choices, wanted


def pythons(profile: Profile, target: str, knowledge: Knowledge) -> tuple[str, ...]:
    """Pythons that the profile admits and its frameworks have wheels for on the target, newest first."""
    admitted = python_choices(profile)
    return tuple(p for p in admitted if next(solve(profile, target, p, knowledge), None) is not None)


def resolve(
    profile: Profile, target: str, python: str, knowledge: Knowledge, refused: Sequence[Rejected] = ()
) -> Stack:
    """The best stack that was not refused. Raises UnsatisfiableError when none is left, with every reason."""
    gone = {r.value for r in refused}
    for stack in solve(profile, target, python, knowledge):
        if identity(stack) not in gone:
            return stack
    raise UnsatisfiableError(refusal(profile, target, python, knowledge))


def identity(stack: Stack) -> str:
    """Two stacks with the same identity ask for the same packages."""
    return " ".join(stack.requirements)


def solve(profile: Profile, target: str, python: str, knowledge: Knowledge) -> Iterator[Stack]:
    """Every coherent stack, best first."""
    ask = wanted(profile, target, python)
    pools, lost = _pools(ask, knowledge)
    combinations = [combo for combo in product(*pools) if clash(combo) is None] if all(pools) else []
    for combo in sorted(combinations, key=_preference, reverse=True):
        yield _stack(profile, ask, combo, lost, knowledge)


def _pools(ask: Wanted, knowledge: Knowledge) -> tuple[list[tuple[Build, ...]], tuple[Rejected, ...]]:
    pools: list[tuple[Build, ...]] = []
    lost: list[Rejected] = []
    for name, framework in ask.frameworks.items():
        kept, rejected = candidates(name, framework, ask, knowledge)
        if not kept and (guess := unknown_build(name, framework, ask, knowledge)):
            kept = (guess,)
        pools.append(kept)
        lost.extend(rejected)
    return pools, tuple(lost)


def clash(builds: Sequence[Build]) -> str | None:
    """Why builds cannot share an environment, or None."""
    distributions = {b.distribution for b in builds}
    for build in builds:
        if met := distributions & set(build.not_with):
            return f"{build.distribution} and {', '.join(sorted(met))} cannot share an environment"
    majors = {
        b.runtime.version.split(".")[0] for b in builds if b.runtime.kind == "cuda" and b.runtime.version
    }
    if len(majors) > 1:
        return f"one needs CUDA {' and the other CUDA '.join(sorted(majors))}: two CUDA majors in one environment"
    lines = {b.cudnn.split(".")[0] for b in builds if b.cudnn}
    if len(lines) > 1:
        return f"one needs cuDNN {' and the other cuDNN '.join(sorted(lines))}: two cuDNN lines in one environment"
    return None


_RANK: dict[Confidence, int] = {"tested": 3, "compatible": 2, "reported": 1, "metadata": 0}


#: What the evidence of a row is worth where its maker's own table names no tested pair.
_BY_EVIDENCE: dict[str, Confidence] = {
    "artifact": "compatible",
    "metadata": "compatible",
    "official-table": "tested",
    "community": "reported",
}


def confidence(build: Build) -> Confidence:
    """tested: the maker's own table names it. compatible: the artifact says so. reported: people do."""
    if build.tested is not None:
        return "tested"
    return _BY_EVIDENCE[build.evidence] if build.row else "metadata"


def _preference(combo: Sequence[Build]) -> tuple[object, ...]:
    """Best supported, then newest, then the plainest distribution name (tensorflow-cpu before a stub)."""
    worst = min((_RANK[confidence(b)] for b in combo), default=0)
    stable = all(not b.experimental for b in combo)
    newest = tuple(Version(b.version) for b in combo)
    runtime = tuple(Version(b.runtime.version or "0") for b in combo)
    return (stable, worst, newest, runtime, tuple(b.distribution.endswith("-cpu") for b in combo))


def _stack(
    profile: Profile, ask: Wanted, combo: Sequence[Build], lost: Sequence[Rejected], knowledge: Knowledge
) -> Stack:
    requirements = tuple(r for b in combo for r in (b.requirement, *b.requires))
    pins = [(b.distribution, b.version) for b in combo]
    patches = patches_of(pins, ask.python, ask.target, knowledge)
    return Stack(
        profile=profile.name,
        target=ask.target,
        python=ask.python,
        choices=tuple(_choices(ask, combo)),
        requirements=(*requirements, *profile.packages),
        patches=patches,
        needs=tuple(_needs(profile, combo, knowledge)),
        absent=tuple(sorted({*profile.absent, *_absent(combo, requirements, knowledge)})),
        variables={**variables_of(pins, ask.python, ask.target, knowledge), **_environment(combo)},
        rejected=tuple(lost),
    )


def _environment(combo: Sequence[Build]) -> dict[str, str]:
    return {name: value for build in combo for name, value in build.environment.items()}


def _choices(ask: Wanted, combo: Sequence[Build]) -> Iterator[Choice]:
    yield Choice(
        axis="python", value=ask.python, because="the profile admits it and every framework has wheels for it"
    )
    for build in combo:
        yield Choice(
            axis=build.framework,
            value=build.requirement,
            confidence=confidence(build),
            because=_because(build, ask),
            rule=build.row,
            source=build.tested.source if build.tested else build.source,
        )
    used = [b for b in combo if b.runtime.kind == ask.runtime != "cpu"]
    for runtime in sorted({(b.runtime.kind, b.runtime.version) for b in used}):
        yield Choice(axis=runtime[0], value=runtime[1], because="what the chosen builds are made for")
    for cudnn in sorted({b.cudnn for b in used if b.cudnn}):
        yield Choice(axis="cudnn", value=cudnn, because="what the chosen builds are made for")


def _because(build: Build, ask: Wanted) -> str:
    if build.runtime.kind != ask.runtime:
        return f"a {build.runtime.kind} {build.runtime.version} build, which trains on the CPU where there is no card"
    if build.tested is None:
        return "newest build that fits the profile"
    pair = f"{build.runtime.kind} {build.tested.runtime}" + (
        f", cuDNN {build.tested.cudnn}" if build.tested.cudnn else ""
    )
    return f"its maker tested it with {pair}"


def _needs(profile: Profile, combo: Sequence[Build], knowledge: Knowledge) -> Iterator[Need]:
    for build in combo:
        for what, value in build.needs.items():
            if _concerns(what, build.target):
                yield Need(
                    what=what, value=value, because=f"{build.distribution} {build.version}", rule=build.row
                )
        if build.glibc and _concerns("glibc", build.target):
            yield Need(
                what="glibc",
                value=f">={build.glibc}",
                because=f"wheels of {build.distribution}",
                rule=build.row,
            )
    yield from _runtime_needs(profile, combo, knowledge)


#: Needs that only one operating system has.
_ONLY_ON = {"glibc": "linux", "msvc": "windows", "os": "windows"}


def _concerns(need: str, target: str) -> bool:
    return target.startswith(_ONLY_ON.get(need, ""))


def _runtime_needs(profile: Profile, combo: Sequence[Build], knowledge: Knowledge) -> Iterator[Need]:
    """Driver floor and device of the accelerator runtime; the profile may raise the floor."""
    vendor = profile.hardware.vendor
    if vendor == "cpu":
        return
    yield Need(what="device", value=vendor, because="the profile's hardware")
    if profile.hardware.driver:
        yield Need(what=f"driver.{vendor}", value=profile.hardware.driver, because="the profile asks for it")
    for build in combo:
        row = knowledge.runtime(build.runtime.kind, build.runtime.version)
        floor = row.driver_floor.get(build.target) if row else None
        if row and floor:
            because = f"{build.runtime.kind} {build.runtime.version}"
            yield Need(what=f"driver.{vendor}", value=f">={floor}", because=because, rule=row.id)


def _absent(combo: Sequence[Build], requirements: Sequence[str], knowledge: Knowledge) -> set[str]:
    """Members of the chosen distributions' families that must not be there: they write the same files."""
    present = {b.distribution for b in combo}
    out: set[str] = set()
    for name in present:
        for family in knowledge.families_of(name):
            partners = {member for pair in family.pairs if name in pair for member in pair}
            out |= set(family.members) - partners - {name}
    return out - {r.split("==")[0].split("[")[0] for r in requirements}


def refusal(profile: Profile, target: str, python: str, knowledge: Knowledge) -> tuple[Finding, ...]:
    """Why no stack is left: per framework the tests that rejected its builds, or the clash of the pair."""
    ask = wanted(profile, target, python)
    findings = [f for name in ask.frameworks if (f := _framework_refusal(name, ask, knowledge))]
    return tuple(findings) or (_clash_refusal(profile, ask, knowledge),)


def _framework_refusal(name: str, ask: Wanted, knowledge: Knowledge) -> Finding | None:
    framework = ask.frameworks[name]
    kept, lost = candidates(name, framework, ask, knowledge)
    if kept or unknown_build(name, framework, ask, knowledge):
        return None
    named = [r for r in lost if r.rule != "version"]
    counts = Counter(r.rule for r in named)
    closest = max(named, key=lambda r: [t for t, _ in _TEST_ORDER].index(r.rule), default=None)
    summary = f"No build of {name} {framework.version} fits {ask.target} with Python {ask.python} and {ask.runtime}."
    return Finding(
        "no-build",
        "error",
        summary,
        detail=f"Closest: {closest.value}: {closest.because}." if closest else _known(name, knowledge),
        evidence=(Evidence(closest.source, closest.value),) if closest and closest.source else (),
        remedies=tuple(_ways_out(name, ask, named, counts, knowledge)),
    )


_TEST_ORDER = tuple((rule, index) for index, (rule) in enumerate(
    ("version", "distribution", "extras", "runtime", "target", "python", "runtime-version")
))  # fmt: skip


def _known(name: str, knowledge: Knowledge) -> str:
    known = versions(knowledge.builds(name))
    return (
        f"Known versions of {name}: {known[0]} to {known[-1]}." if known else f"No build of {name} is known."
    )


def _ways_out(
    name: str, ask: Wanted, lost: Iterable[Rejected], counts: Counter[str], knowledge: Knowledge
) -> Iterator[Remedy]:
    if counts.get("python"):
        fitting = [
            b for b in knowledge.builds(name) if b.target == ask.target and b.runtime.kind == ask.runtime
        ]
        named = [b for b in fitting if candidates_version(b, ask)]
        found = sorted({p for b in named for p in b.pythons}, key=Version)
        if found:
            yield Remedy(f'Use Python {", ".join(found)}: python: "{found[-1]}" in the profile.')
    here = [b for b in knowledge.builds(name) if b.target == ask.target and b.runtime.kind == ask.runtime]
    here = [b for b in here if ask.python in b.pythons]
    if here:
        best = max(here, key=lambda b: Version(b.version))
        yield Remedy(f"{best.requirement} fits this target and Python.")


def candidates_version(build: Build, ask: Wanted) -> bool:
    from provision.resolving.candidates import contains, public

    return contains(public(ask.frameworks[build.framework].version), build.version)


def _clash_refusal(profile: Profile, ask: Wanted, knowledge: Knowledge) -> Finding:
    pools, _ = _pools(ask, knowledge)
    best = [max(pool, key=lambda b: Version(b.version)) for pool in pools if pool]
    because = clash(best) or "every combination was refused"
    return Finding(
        "no-coherent-stack",
        "error",
        f"{' and '.join(ask.frameworks)} cannot share one environment on {ask.target}: {because}.",
        detail="; ".join(describe(b) for b in best),
        remedies=(
            Remedy("Make two profiles, one framework each: two environments."),
            Remedy("Take TensorFlow's CPU build beside the GPU build of torch."),
        ),
    )
