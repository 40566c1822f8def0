"""Stack -> lock for a conda environment: the channels are solved first, then the wheels on top of what they gave."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from provision.locking.conda_failures import solve_findings
from provision.locking.failures import LookAlikes
from provision.locking.pypi import close_wheels
from provision.locking.tags import GLIBC_CEILING
from provision.messages import message
from provision.model.finding import Finding, Remedy, UnsatisfiableError
from provision.model.lock import Artifact, CondaArtifact, Digests, Lock
from provision.model.profile import Profile
from provision.model.stack import Choice, Need, Note, Stack
from provision.ports import Catalog, CatalogFailure, Channels, CondaRequest

#: target -> conda's word for it.
SUBDIRS: Mapping[str, str] = {
    "linux-x86_64": "linux-64",
    "linux-aarch64": "linux-aarch64",
    "windows-x86_64": "win-64",
    "macos-arm64": "osx-arm64",
    "macos-x86_64": "osx-64",
}
#: The processor that a lock assumes: the oldest that the target's name stands for.
_ARCHSPEC = {"linux-x86_64": "x86_64", "windows-x86_64": "x86_64", "macos-x86_64": "x86_64",
             "linux-aarch64": "aarch64", "macos-arm64": "m1"}  # fmt: skip
#: The oldest macOS and Windows that current builds are made for.
_MACOS, _WINDOWS = "11.0", "10"


def virtual_packages(profile: Profile, target: str, cuda: str) -> dict[str, str]:
    """What the machine that the lock is for has: nothing of the machine that solves, so that both may differ.

    `cuda` is the newest CUDA that its driver runs, empty for none.
    """
    found = {"__archspec": f"1={_ARCHSPEC[target]}"}
    system = target.split("-")[0]
    if system == "windows":
        found["__win"] = _WINDOWS
    else:
        found["__unix"] = "0"
    if system == "linux":
        found["__linux"] = "4.18"
        found["__glibc"] = _number(profile.hardware.libc) or ".".join(map(str, GLIBC_CEILING))
    if system == "macos":
        found["__osx"] = _MACOS
    if cuda:
        found["__cuda"] = cuda
    return dict(sorted(found.items()))


def _number(text: str | None) -> str:
    match = re.search(r"\d+\.\d+", text or "")
    return match[0] if match else ""


def lock(
    stack: Stack,
    profile: Profile,
    channels: Channels,
    catalog: Catalog,
    digests: Digests,
    keep: Lock | None,
    names: LookAlikes,
    *,
    default_channels: Sequence[str],
    cuda: str,
    distributions: Mapping[str, str],
    axes: Mapping[str, str],
) -> Lock:
    """Pin every conda package of the stack and every wheel on top.

    `distributions` says which Python distribution a conda package of another name holds, `axes` which packages
    carry an axis of the stack (`cuda-version` -> `cuda`). Raises
    UnsatisfiableError with the reasons, also where a package has no hash at all.
    """
    request = replace(
        _request(stack, profile, default_channels, cuda), preferences=keep.conda if keep else ()
    )
    conda = solve(request, channels, profile)
    wheels = close_wheels(stack, profile, catalog, keep, names, provided=provided(conda, distributions))
    return _lock(stack, profile, digests, request, conda, wheels, distributions, axes)


def adopt(
    stack: Stack,
    profile: Profile,
    digests: Digests,
    taken: Sequence[CondaArtifact],
    wheels: Sequence[Artifact],
    left: Sequence[str] = (),
    *,
    default_channels: Sequence[str],
    cuda: str,
    distributions: Mapping[str, str],
    axes: Mapping[str, str],
) -> Lock:
    """A lock of packages that another tool has pinned; `left` are the profile's specs that none of them answers.

    Raises UnsatisfiableError for such, for a package without any hash, and where two managers bring the same
    distribution.
    """
    held = provided(taken, distributions)
    if other := [*_not_asked_for(left, taken), *_wheels_not_asked_for(profile, wheels, held)]:
        raise UnsatisfiableError(other)
    brought = {w.name for w in wheels} | set(held)
    if there := sorted(brought & {canonicalize_name(name) for name in stack.absent}):
        raise UnsatisfiableError([_unwanted(name) for name in there])
    if bare := [a for a in taken if not a.sha256 and not a.md5]:
        raise UnsatisfiableError(no_hash(bare))
    if doubles := sorted({w.name for w in wheels} & set(held)):
        raise UnsatisfiableError([_double(name) for name in doubles])
    request = _request(stack, profile, default_channels, cuda)
    conda = tuple(sorted(taken, key=lambda a: a.name))
    return _lock(stack, profile, digests, request, conda, tuple(wheels), distributions, axes)


def _not_asked_for(left: Sequence[str], taken: Sequence[CondaArtifact]) -> Iterator[Finding]:
    """The profile's specs that the file does not answer, each with what it pins instead."""
    named = {a.name: a for a in taken}
    for spec in left:
        name = re.split(r"[ =<>!~\[]", spec.rsplit("::", 1)[-1], maxsplit=1)[0].lower()
        pinned = named.get(name)
        what = message("locking.not-the-profile.none", name=name)
        if pinned:
            what = message(
                "locking.not-the-profile.pinned", name=pinned.name, version=pinned.version, build=pinned.build,
                channel=pinned.channel,
            )  # fmt: skip
        yield _other(spec, what)


def _wheels_not_asked_for(
    profile: Profile, wheels: Sequence[Artifact], held: Mapping[str, str]
) -> Iterator[Finding]:
    from packaging.requirements import Requirement

    versions = dict(held)
    versions.update((canonicalize_name(w.name), w.version) for w in wheels)
    for text in profile.environment.wheels:
        wanted = Requirement(text)
        version = versions.get(canonicalize_name(wanted.name))
        if version is None or not wanted.specifier.contains(version, prereleases=True):
            none = message("locking.not-the-profile.none", name=wanted.name)
            yield _other(text, f"{wanted.name} {version}" if version else none)


def _other(asked: str, pinned: str) -> Finding:
    return Finding(
        "not-the-profile", "error", message("locking.not-the-profile.summary", asked=asked, pinned=pinned),
        remedies=(
            Remedy(message("locking.not-the-profile.way")),
            Remedy(message("locking.not-the-profile.way-2")),
            Remedy(message("locking.not-the-profile.way-3"), "provision lock PROFILE"),
        ),
    )  # fmt: skip


def _unwanted(name: str) -> Finding:
    return Finding(
        "package-unwanted", "error", message("locking.package-unwanted.summary", name=name),
        remedies=(Remedy(message("locking.package-unwanted.way")),),
    )  # fmt: skip


def _double(name: str) -> Finding:
    return Finding(
        "two-owners", "error", message("locking.two-owners.summary", name=name),
        remedies=(Remedy(message("locking.two-owners.way")),),
    )  # fmt: skip


def _request(stack: Stack, profile: Profile, default_channels: Sequence[str], cuda: str) -> CondaRequest:
    return CondaRequest(
        specs=stack.requirements,
        channels=profile.environment.channels or tuple(default_channels),
        subdir=SUBDIRS[stack.target],
        virtual_packages=virtual_packages(profile, stack.target, cuda),
        as_of=profile.as_of,
    )


def _lock(
    stack: Stack,
    profile: Profile,
    digests: Digests,
    request: CondaRequest,
    conda: tuple[CondaArtifact, ...],
    wheels: tuple[Artifact, ...],
    distributions: Mapping[str, str],
    axes: Mapping[str, str],
) -> Lock:
    return Lock(
        profile=profile.name,
        target=stack.target,
        python=stack.python,
        digests=digests,
        manager="conda",
        path=profile.environment.path,
        stack=tuple(_choices(stack, conda, axes)),
        needs=tuple(_needs(stack, conda)),
        notes=(*stack.notes, *_notes(conda)),
        absent=stack.absent,
        variables={**stack.variables, **profile.variables},
        smoke=profile.smoke,
        hardware=profile.hardware.vendor,
        frameworks=tuple(profile.frameworks),
        imports=tuple(_imports(profile, conda, distributions)),
        indexes=tuple(i for i in stack.indexes if any(a.index == i.name for a in wheels)),
        packages=wheels,
        conda=conda,
        channels=request.channels,
        virtual_packages=dict(request.virtual_packages),
        link_scripts=profile.environment.link_scripts,
    )


def solve(request: CondaRequest, channels: Channels, profile: Profile) -> tuple[CondaArtifact, ...]:
    """The environment that the channels give; none of its packages is without a hash."""
    answer = channels.solve(request)
    if isinstance(answer, CatalogFailure):
        raise UnsatisfiableError(solve_findings(answer, request, profile))
    bare = [a for a in answer if not a.sha256 and not a.md5]
    if bare:
        raise UnsatisfiableError(no_hash(bare))
    return answer


def no_hash(bare: Sequence[CondaArtifact]) -> Finding:
    named = ", ".join(f"{a.name} {a.version} {a.build} ({a.channel}/{a.subdir})" for a in bare[:8])
    return Finding(
        "no-hash", "error",
        message("locking.no-hash.summary", named=named),
        detail=message("locking.no-hash.detail"),
        remedies=(
            Remedy(message("locking.no-hash.way")),
            Remedy(message("locking.no-hash.way-2")),
        ),
    )  # fmt: skip


def provided(conda: Iterable[CondaArtifact], distributions: Mapping[str, str]) -> dict[str, str]:
    """Python distributions that conda packages install: name -> version. Wheels may not bring them again."""
    found: dict[str, str] = {}
    for artifact in conda:
        name = distributions.get(artifact.name, artifact.name)
        if name and _is_python(artifact) and _is_version(artifact.version):
            found[canonicalize_name(name)] = artifact.version
    return dict(sorted(found.items()))


def _is_python(artifact: CondaArtifact) -> bool:
    """Whether a package holds Python modules: it depends on python, or its build is for one."""
    depends = any(re.match(r"python(_abi)?(\s|$)", spec) for spec in artifact.depends)
    return depends or artifact.noarch == "python" or bool(re.search(r"(^|_)py\d|^py_", artifact.build))


def _is_version(text: str) -> bool:
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True


def _choices(stack: Stack, conda: Sequence[CondaArtifact], axes: Mapping[str, str]) -> Iterator[Choice]:
    """The stack's choices with the versions that the solve gave: `torch` -> `pytorch==2.4.0`."""
    by_name = {a.name: a for a in conda}
    seen = set()
    for choice in stack.choices:
        artifact = by_name.get(choice.value.split(" ")[0])
        seen.add(choice.axis)
        if choice.axis == "python" or artifact is None:
            yield choice
            continue
        framework = choice.axis in ("torch", "tensorflow")
        value = f"{artifact.name}=={artifact.version}" if framework else artifact.version
        because = message("locking.choices.build", build=artifact.build, channel=artifact.channel)
        yield Choice(axis=choice.axis, value=value, because=because, rule=choice.rule, source=choice.source)
    for name, axis in axes.items():
        if axis not in seen and name in by_name:
            seen.add(axis)
            yield Choice(
                axis=axis,
                value=by_name[name].version,
                because=message("locking.choices.it-comes-with-framework"),
            )


def _needs(stack: Stack, conda: Sequence[CondaArtifact]) -> Iterator[Need]:
    """The stack's needs, and the highest floors that the packages put on what no package brings."""
    yield from stack.needs
    floors = [(floor, a.name) for a in conda for floor in _floors(a)]
    if floors and stack.target.startswith("linux"):
        (major, minor), name = max(floors)
        yield Need(
            what="glibc",
            value=f">={major}.{minor}",
            because=message("locking.needs.conda-package", name=name),
        )


def _floors(artifact: CondaArtifact) -> Iterator[tuple[int, int]]:
    for spec in artifact.depends:
        if match := re.match(r"__glibc >=(\d+)\.(\d+)", spec):
            yield int(match[1]), int(match[2])


def _notes(conda: Sequence[CondaArtifact]) -> Iterator[Note]:
    weak = [a for a in conda if not a.sha256]
    if weak:
        because = message("locking.notes.conda-packages-have-only-md5", weak=len(weak), conda=len(conda))
        yield Note(severity="warning", because=because, rule="conda-md5-only")
    unknown = [a for a in weak if not a.depends]
    if unknown:
        because = message("locking.notes.conda-packages-no-record-says", unknown=len(unknown))
        yield Note(because=because, rule="conda-depends-unknown")


def _imports(
    profile: Profile, conda: Sequence[CondaArtifact], distributions: Mapping[str, str]
) -> Iterator[str]:
    from packaging.requirements import Requirement

    python = {a.name for a in conda if _is_python(a)}
    for text in profile.packages:
        name = re.split(r"[ =<>!~\[]", text.rsplit("::", 1)[-1], maxsplit=1)[0].lower()
        if name in python and distributions.get(name, name):
            yield canonicalize_name(distributions.get(name, name))
    for text in profile.environment.wheels:
        yield canonicalize_name(Requirement(text).name)
