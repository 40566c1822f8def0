"""What is known about the packages themselves: names, families, companions, declared and missing requirements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from packaging.specifiers import SpecifierSet

from provision.knowledge import Build, BuildRow, FamilyRow, Knowledge, NameRow, PatchRow
from provision.knowledge.versions import holds_any, lies_within, overlap
from provision.linting.nouns import Scope, Wanted, canonical
from provision.linting.places import in_words, targets_of
from provision.messages import joined, message
from provision.model.finding import Finding, Severity

#: Kind of a name row -> the code and weight of what is said.
_NAMES: dict[str, tuple[str, Severity]] = {
    "dead": ("dead-name", "error"),
    "never-existed": ("dead-name", "error"),
    "placeholder": ("dead-name", "error"),
    "hostile": ("hostile-name", "error"),
    "look-alike": ("look-alike", "warning"),
    "yanked": ("yanked", "warning"),
}
#: A requirement and a build that it may be.
Pair = tuple[Wanted, Build]
#: These say what the default index has: nothing about a package that is bound to another place.
_OF_DEFAULT_INDEX = ("never-existed", "placeholder", "hostile", "look-alike")


def dead_names(scope: Scope, knowledge: Knowledge) -> Iterator[Finding]:
    for one in scope.wanted:
        row = _name_row(one, knowledge) if one.manager == "pip" else None
        if row is None or ((one.bound or one.url) and row.kind in _OF_DEFAULT_INDEX):
            continue
        code, severity = _NAMES[row.kind]
        said = f"{one}: " + row.what_is_so
        yield one.place.finding(code, severity, said, (row.id, row.source), row.instead)


def _name_row(one: Wanted, knowledge: Knowledge) -> NameRow | None:
    if one.version is not None:
        return knowledge.dead_name(one.name, one.version) or knowledge.dead_name(
            one.name, _public(one.version)
        )
    if _is_capped(one.specifier):
        # Not "whatever is newest": only rows about the whole name speak.
        return knowledge.dead_name(one.name, "0")
    return knowledge.dead_name(one.name)


def _is_capped(specifier: str) -> bool:
    return any(spec.operator in ("<", "<=", "~=", "==", "===") for spec in SpecifierSet(specifier))


def _public(version: str) -> str:
    return version.partition("+")[0]


def family_conflicts(scope: Scope, knowledge: Knowledge) -> Iterator[Finding]:
    """Two distributions on one folder, or one that conda and pip both install."""
    members = [(one, family) for one in scope.wanted for family in knowledge.families_of(one.name)]
    for (first, family), (second, other) in combinations(members, 2):
        if family.id == other.id and _collide(first, second, family) and targets_of(scope, first, second):
            yield _family_finding(first, second, family)


def _collide(first: Wanted, second: Wanted, family: FamilyRow) -> bool:
    if first.name == second.name:
        return first.manager != second.manager
    return family.clash(first.name, second.name)


def _family_finding(first: Wanted, second: Wanted, family: FamilyRow) -> Finding:
    line = first.place.source.position(first.place.start)[0]
    where: str = message("linting.family-finding.line", line=line)
    if first.place.source.origin != second.place.source.origin:
        where = f"{first.place.source.origin}:{line}"
    by = message("linting.family-finding.conda") if first.manager == "conda" else ""
    said = message(
        "linting.family-finding.and-both-write-folder-keep",
        name=second.name,
        name2=first.name,
        by=by,
        where=where,
        folder=family.folder,
    )
    because = (family.id, family.source)
    ways = (
        message("linting.family-finding.remove", name=first.name),
        message("linting.family-finding.remove", name=second.name),
    )
    return second.place.finding("family-conflict", "error", said, because, ways, family.why)


def missing_caps(scope: Scope, knowledge: Knowledge) -> Iterator[Finding]:
    """A pinned package whose metadata lacks a bound, where the file does not set that bound either.

    Nothing of profiles: their locks get the bound from the knowledge base.
    """
    if scope.is_profile and scope.manager == "pip":
        return
    wanted = scope.by_name()
    for one in scope.wanted:
        if one.manager != "pip" or one.version is None or one.solved or _name_row(one, knowledge):
            continue
        told: set[str] = set()
        for row in _patches(one, scope, knowledge):
            lacking = [text for text in row.constraints if not _is_met(text, wanted) and text not in told]
            told |= {*lacking}
            if lacking:
                yield _cap_finding(one, row, lacking)


def _patches(one: Wanted, scope: Scope, knowledge: Knowledge) -> Iterator[PatchRow]:
    version = _public(one.version or "")
    targets = targets_of(scope, one)
    for row in knowledge.rows(PatchRow):
        here = not row.targets or set(row.targets) & set(targets)
        about = one.name in {canonical(name) for name in row.packages} and holds_any(row.versions, version)
        if about and here and _python_meets(scope.python, row.python):
            yield row


def _python_meets(wanted: str, asked: str) -> bool:
    return not asked or not wanted or overlap([SpecifierSet(wanted), SpecifierSet(asked)])


def _is_met(constraint: str, wanted: dict[str, list[Wanted]]) -> bool:
    """True if some requirement of the file keeps the package within the constraint."""
    name, bound = _split(constraint)
    return any(lies_within(one.specifiers, bound) for one in wanted.get(name, ()))


def _split(requirement: str) -> tuple[str, SpecifierSet]:
    at = next((i for i, c in enumerate(requirement) if c in "<>=!~"), len(requirement))
    return canonical(requirement[:at].strip()), SpecifierSet(requirement[at:])


def _cap_finding(one: Wanted, row: PatchRow, lacking: list[str]) -> Finding:
    add = ", ".join(lacking)
    said = message("linting.cap-finding.needs", one=one, add=add)
    if row.targets:
        said = message("linting.cap-finding.needs-somewhere", one=one, add=add, where=in_words(row.targets))
    ways = (message("linting.cap-finding.add", add=add), *([row.instead] if row.instead else []))
    return one.place.finding("missing-cap", "warning", said, (row.id, row.source), ways, row.why)


def companions(scope: Scope, knowledge: Knowledge) -> Iterator[Finding]:
    """Packages that belong to one version of another: of another version, or of another build."""
    wanted = scope.by_name()
    for leader in scope.wanted:
        if leader.manager != "pip" or leader.version is None:
            continue
        for package, versions, row in knowledge.companions(leader.name, leader.version):
            for one in wanted.get(package, ()):
                because = (row.id, row.source)
                exact = versions if versions[0] in "<>=!~" else f"=={versions}"
                if not overlap([_without_local(one.specifiers), SpecifierSet(exact)]):
                    said = message(
                        "linting.companions.does-not-go-with-which",
                        one=one,
                        leader=leader,
                        package=package,
                        exact=exact,
                    )
                    yield one.place.finding(
                        "companion-mismatch", "error", said, because, (f"{package}{exact}",), row.why
                    )
                elif (
                    row.same_index
                    and one.version
                    and one.local != leader.local
                    and not (one.bound or one.url)
                ):
                    same = f"{package}=={_public(one.version)}{f'+{leader.local}' if leader.local else ''}"
                    said = message("linting.companions.is-another-build-than-take", one=one, leader=leader)
                    yield one.place.finding("mixed-builds", "warning", said, because, (same,), row.why)


def frameworks_among_packages(scope: Scope, knowledge: Knowledge) -> Iterator[Finding]:
    """A framework that a profile has among its packages: its build is the package index's choice, not the solver's."""
    names = {row.framework for row in knowledge.rows(BuildRow)}
    # Conda's packages are conda's to solve.
    for one in scope.wanted if scope.is_profile and scope.manager == "pip" else ():
        if one.name in names and not one.solved and not (one.bound or one.url):
            said = message("linting.framework-among-packages.summary", name=one.name)
            way = message("linting.framework-among-packages.way", name=one.name, version=one.specifier or "*")
            yield one.place.finding("framework-among-packages", "warning", said, ways=(way,))


def _without_local(specifiers: SpecifierSet) -> SpecifierSet:
    return SpecifierSet(",".join(str(spec).partition("+")[0] for spec in specifiers))


def declared_conflicts(scope: Scope, knowledge: Knowledge) -> Iterator[Finding]:
    """What pinned frameworks declare, against the other lines and against one another."""
    builds = [(one, build) for one in scope.wanted for build in _builds(one, scope, knowledge)]
    yield from _against_lines(scope, builds, knowledge)
    told: set[tuple[Wanted, Wanted]] = set()
    for (one, build), (other, second) in combinations(builds, 2):
        alike = one.name == other.name or build.target != second.target or (one.solved and other.solved)
        if alike or (one, other) in told:
            continue
        clashes = _clashes(knowledge.declares(build), knowledge.declares(second), knowledge)
        if clashes:
            told.add((one, other))
            yield _build_against((one, build), (other, second), clashes, knowledge)


def _against_lines(scope: Scope, builds: list[Pair], knowledge: Knowledge) -> Iterator[Finding]:
    lines = [*scope.by_name("pip").items(), *scope.by_name("conda").items()]
    told: set[tuple[Wanted, Wanted]] = set()
    for one, build in builds:
        # Companions have a rule of their own, which says more.
        companions = {package for package, _, _ in knowledge.companions(one.name, build.version)}
        declared = {n: v for n, v in knowledge.declares(build).items() if n not in companions}
        for other in (other for name, others in lines if name in declared for other in others):
            apart = not overlap([SpecifierSet(declared[other.name]), _without_local(other.specifiers)])
            if apart and (one, other) not in told and not other.solved:
                told.add((one, other))
                yield _line_against(other, one, build, knowledge)


def _clashes(
    first: dict[str, str], second: dict[str, str], knowledge: Knowledge
) -> list[tuple[str, str, str]]:
    """(name, versions, versions) that both name and that do not meet; those that overwrite one another first."""
    both = [name for name in first if name in second]
    both.sort(key=lambda name: not knowledge.families_of(name))
    pairs = [(name, first[name], second[name]) for name in both]
    return [(n, a, b) for n, a, b in pairs if not overlap([SpecifierSet(a), SpecifierSet(b)])]


def _line_against(other: Wanted, one: Wanted, build: Build, knowledge: Knowledge) -> Finding:
    needs = f"{other.name}{knowledge.declares(build)[other.name]}"
    because = (build.row, build.source)
    if other.manager == "conda":
        said = message(
            "linting.line-against.pip-replaces-condas",
            name=other.name,
            specifier=other.specifier,
            one=one,
            needs=needs,
        )
        both = (
            message("linting.line-against.take-both-from-conda-or"),
            message("linting.line-against.ask-conda-for", needs=needs),
        )
        return other.place.finding("conda-pip-overlap", "warning", said, because, both)
    said = message(
        "linting.line-against.contradicts-which-requires",
        other=other,
        one=one,
        needs=needs,
        in_words=in_words((build.target,)),
    )
    ways = (
        message("linting.line-against.leave-line-out-brings-what", name=one.name),
        *_fitting_builds(other, build, knowledge),
    )
    return other.place.finding("declared-conflict", "error", said, because, ways)


def _fitting_builds(other: Wanted, build: Build, knowledge: Knowledge) -> list[str]:
    """The build of the same version that asks for what the other line says, if there is one."""
    for one in knowledge.builds(build.framework):
        same = (one.distribution, one.version, one.target) == (
            build.distribution,
            build.version,
            build.target,
        )
        asked = knowledge.declares(one).get(other.name) if same and one.local else None
        if asked and overlap([SpecifierSet(asked), other.specifiers]):
            return [
                message(
                    "linting.fitting-builds.from-which-asks-for",
                    requirement=one.requirement,
                    index=one.index,
                    name=other.name,
                    asked=asked,
                )
            ]
    return []


def _build_against(
    first: Pair, second: Pair, clashes: list[tuple[str, str, str]], knowledge: Knowledge
) -> Finding:
    (one, build), (other, its) = first, second
    name, mine, theirs = clashes[0]
    where = in_words((build.target,))
    said = message(
        "linting.build-against.and-cannot-share-environment-against",
        other=other,
        one=one,
        where=where,
        name=name,
        theirs=theirs,
        mine=mine,
    )
    detail = joined(
        (
            message("linting.build-against.requires-requires", n=n, one=one, a=a, other=other, b=b)
            for n, a, b in clashes
        ),
        "\n",
    )
    ways = [
        *_without_extras(first, second, knowledge),
        message("linting.build-against.make-two-environments"),
    ]
    ways.append(
        message(
            "linting.build-against.choose-versions-that-agree-on",
            names=[n for n, _, _ in clashes[:3]],
        )
    )
    return other.place.finding("declared-conflict", "error", said, (its.row, its.source), tuple(ways), detail)


def _without_extras(first: Pair, second: Pair, knowledge: Knowledge) -> list[str]:
    """The framework without its extra, where only the extra is in the way."""
    for (one, build), (other, its) in ((first, second), (second, first)):
        bare = replace(build, extras=())
        if one.extras and not _clashes(knowledge.declares(bare), knowledge.declares(its), knowledge):
            return [
                message(
                    "linting.without-extras.without-on-cpu-beside",
                    name=one.name,
                    specifier=one.specifier,
                    extras=",".join(one.extras),
                    other=other,
                )
            ]
    return []


def _builds(one: Wanted, scope: Scope, knowledge: Knowledge) -> Iterator[Build]:
    """The known builds that a pinned requirement may be, on the targets where it holds."""
    if one.manager != "pip" or one.version is None or one.name not in distributions(knowledge):
        return
    for framework in frameworks(knowledge):
        for build in knowledge.builds(framework):
            right = (build.distribution, build.version, build.local) == (
                one.name,
                _public(one.version),
                one.local,
            )
            if right and set(build.extras) <= set(one.extras) and build.target in targets_of(scope, one):
                yield build


def frameworks(knowledge: Knowledge) -> list[str]:
    """Every framework that builds are known of."""
    return sorted({row.framework for row in knowledge.rows(BuildRow)})


def distributions(knowledge: Knowledge) -> set[str]:
    """Every distribution that carries a framework."""
    return {canonical(name) for row in knowledge.rows(BuildRow) for name in row.distributions}
