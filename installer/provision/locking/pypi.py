"""Stack -> lock with the closure of Python packages taken from package indexes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from provision.locking.failures import LookAlikes, closure_findings
from provision.locking.tags import glibc_floor, rank
from provision.messages import message
from provision.model.finding import Evidence, Finding, Remedy, UnsatisfiableError
from provision.model.lock import PYPI, VENDOR, Artifact, Digests, Lock
from provision.model.profile import Index, Profile
from provision.model.stack import Need, Stack
from provision.ports import Catalog, CatalogFailure, ClosedPackage, ClosureRequest, ListedFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What a closure stands on (name -> version): `former` versions stay where they still fit; what is `provided`
    counts for every requirement, and is neither replaced nor pinned."""

    former: Mapping[str, str] = field(default_factory=dict)
    provided: Mapping[str, str] = field(default_factory=dict)


def ground_of(keep: Lock | None) -> Ground:
    """The versions of a former lock."""
    return Ground(former={a.name: a.version for a in keep.packages} if keep else {})


def lock(
    stack: Stack,
    profile: Profile,
    catalog: Catalog,
    digests: Digests,
    ground: Ground,
    names: LookAlikes,
) -> Lock:
    """Pin every file of the stack's closure.

    `names` are known look-alikes for the messages. Raises UnsatisfiableError with the reasons.
    """
    closure = _ask(_request(stack, profile, ground), catalog, names)
    packages = tuple(sorted((_artifact(p, stack) for p in closure), key=lambda a: a.name))
    build = _build_packages(stack, catalog, closure, packages, names)
    return _made(stack, profile, digests, packages, build)


def again(stack: Stack, profile: Profile, digests: Digests, former: Lock) -> Lock | None:
    """The lock that the stack makes with the files of a former lock, without asking anybody.

    None where they do not suffice: what a patch adds is not among them.
    """
    held = {a.name for a in former.packages}
    added = {canonicalize_name(Requirement(p.requirement).name) for p in stack.patches if p.kind == "add"}
    return _made(stack, profile, digests, former.packages, former.build) if added <= held else None


def _made(
    stack: Stack, profile: Profile, digests: Digests, packages: tuple[Artifact, ...], build: tuple[Artifact, ...]
) -> Lock:  # fmt: skip
    return Lock(
        profile=profile.name,
        target=stack.target,
        python=stack.python,
        digests=digests,
        manager=profile.environment.manager,
        path=profile.environment.path,
        pip=profile.environment.pip,
        stack=stack.choices,
        patches=stack.patches,
        needs=_needs(stack, packages),
        notes=stack.notes,
        absent=stack.absent,
        variables={**stack.variables, **profile.variables},
        smoke=profile.smoke,
        hardware=profile.hardware.vendor,
        frameworks=tuple(profile.frameworks),
        imports=_imports(profile),
        indexes=tuple(
            i for i in stack.indexes if i.name != VENDOR and any(a.index == i.name for a in packages)
        ),
        wheels=profile.wheels.folder if any(a.index == VENDOR for a in packages) else "",
        packages=packages,
        build=build,
        libraries=stack.libraries,
    )


def _imports(profile: Profile) -> tuple[str, ...]:
    return tuple(canonicalize_name(Requirement(text).name) for text in profile.packages)


def _request(stack: Stack, profile: Profile, ground: Ground) -> ClosureRequest:
    by_kind = {
        kind: tuple(p.requirement for p in stack.patches if p.kind == kind)
        for kind in ("constraint", "override", "add")
    }
    return ClosureRequest(
        requirements=(*stack.requirements, *by_kind["add"]),
        constraints=by_kind["constraint"],
        overrides=by_kind["override"],
        python=stack.python,
        target=stack.target,
        indexes=stack.indexes,
        as_of=profile.as_of,
        preferences=ground.former,
        provided=ground.provided,
    )


def close_wheels(
    stack: Stack,
    profile: Profile,
    catalog: Catalog,
    keep: Lock | None,
    names: LookAlikes,
    provided: Mapping[str, str],
) -> tuple[Artifact, ...]:
    """The wheels on top of an environment that has some distributions already (conda's): those count for every
    requirement and are never replaced. Raises UnsatisfiableError, also for what has no wheel."""
    if not profile.environment.wheels:
        return ()
    request = ClosureRequest(
        requirements=profile.environment.wheels,
        python=stack.python,
        target=stack.target,
        indexes=stack.indexes,
        as_of=profile.as_of,
        preferences={a.name: a.version for a in keep.packages} if keep else {},
        provided=provided,
    )
    closure = _ask(request, catalog, names)
    found = tuple(sorted((_artifact(p, stack) for p in closure), key=lambda a: a.name))
    sources = [a for a in found if a.kind == "sdist"]
    if sources:
        raise UnsatisfiableError(_no_wheel(sources, stack))
    return found


def _no_wheel(sources: Sequence[Artifact], stack: Stack) -> Finding:
    named = ", ".join(f"{a.name} {a.version}" for a in sources)
    return Finding(
        "no-wheel",
        "error",
        message("locking.no-wheel.summary", named=named),
        remedies=(Remedy(message("locking.no-wheel.way")),),
    )


def _ask(request: ClosureRequest, catalog: Catalog, names: LookAlikes) -> tuple[ClosedPackage, ...]:
    answer = catalog.close(request)
    if isinstance(answer, CatalogFailure):
        raise UnsatisfiableError(closure_findings(answer, request, catalog, names))
    return answer


def _artifact(package: ClosedPackage, stack: Stack) -> Artifact:
    """The best wheel for the target, else the sdist."""
    ranked = [
        (found, w) for w in package.wheels if (found := rank(w.name, stack.python, stack.target)) is not None
    ]
    chosen = min(ranked, key=lambda pair: (pair[0], pair[1].name))[1] if ranked else package.sdist
    if chosen is None or chosen.sha256 is None:
        raise UnsatisfiableError(_no_hash(package, chosen) if chosen else _no_file(package, stack))
    return Artifact(
        name=canonicalize_name(package.name),
        version=package.version,
        index=package.index,
        file=chosen.name,
        size=chosen.size,
        sha256=chosen.sha256,
        kind="wheel" if ranked else "sdist",
        where=_where(package, stack),
    )


def _where(package: ClosedPackage, stack: Stack) -> str | None:
    """Where a vendor's file is to be had."""
    if package.index != VENDOR:
        return None
    name = canonicalize_name(package.name)
    return next((file.where for file in stack.vendor if file.name == name), None)


def _no_hash(package: ClosedPackage, chosen: ListedFile) -> Finding:
    return Finding(
        "no-hash",
        "error",
        message("locking.no-hash.summary-2", name=chosen.name),
        detail=message(
            "locking.no-hash.detail-2", index=f"{package.index!r}", name=package.name, version=package.version
        ),
        evidence=(Evidence(chosen.url or package.index, message("locking.no-hash.no-hash-stated")),),
        remedies=(
            Remedy(message("locking.no-hash.way-3")),
            Remedy(message("locking.no-hash.way-4"), "provision lock --record DIR PROFILE"),
        ),
    )


def _no_file(package: ClosedPackage, stack: Stack) -> Finding:
    return Finding(
        "no-wheel",
        "error",
        message(
            "locking.no-wheel.summary-2",
            name=package.name,
            version=package.version,
            python=stack.python,
            target=stack.target,
            index=f"{package.index!r}",
        ),
    )


def _build_packages(
    stack: Stack,
    catalog: Catalog,
    closure: Sequence[ClosedPackage],
    packages: Sequence[Artifact],
    names: LookAlikes,
) -> tuple[Artifact, ...]:
    """What building the sdists of the lock needs, pinned like everything else."""
    sdists = {a.name for a in packages if a.kind == "sdist"}
    if not sdists:
        return ()
    wanted = {
        req for p in closure if canonicalize_name(p.name) in sdists for req in catalog.build_requires(p)
    }
    request = ClosureRequest(requirements=tuple(sorted(wanted)), python=stack.python, target=stack.target)
    return tuple(sorted((_artifact(p, stack) for p in _ask(request, catalog, names)), key=lambda a: a.name))


def _needs(stack: Stack, packages: Sequence[Artifact]) -> tuple[Need, ...]:
    """The stack's needs with one glibc floor: the highest that the stack or a chosen wheel's tags state."""
    if not stack.target.startswith("linux"):
        return stack.needs
    stated = [need for need in stack.needs if need.what == "glibc"]
    tagged = [
        Need(
            what="glibc", value=f">={floor[0]}.{floor[1]}", because=message("locking.needs.tag", file=a.file)
        )
        for a in packages
        if a.kind == "wheel" and (floor := glibc_floor(a.file)) is not None
    ]
    highest = max((*stated, *tagged), key=_floor, default=None)
    others = tuple(need for need in stack.needs if need.what != "glibc")
    return (*others, highest) if highest else others


def _floor(need: Need) -> tuple[int, ...]:
    return tuple(int(part) for part in need.value.lstrip(">=").split("."))


def index_named(indexes: Sequence[Index], name: str) -> Index | None:
    """The index of that name; None for the default one."""
    return None if name == PYPI else next((i for i in indexes if i.name == name), None)
