"""Lock x actual state x machine -> the plan, or what blocks it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from provision.model.finding import Evidence, Finding, Remedy
from provision.model.lock import Artifact, CondaArtifact, Lock
from provision.model.machine import Interpreter, Machine
from provision.model.plan import Plan, Sizes, Step
from provision.model.stack import Need
from provision.model.state import EnvState

#: Needs that a run on the CPU alone does not have (`--device cpu` proves the software half).
_DEVICE_NEEDS = ("device", "driver", "compute-capability", "sdk", "toolkit")
#: Unpacked bytes for one byte of wheel, on average over the framework wheels (TensorFlow 3.7, torch 2.6).
_UNPACKED = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the person asked for beside the lock."""

    device: str | None = None
    #: SHA-256 of artifacts that need no download.
    present: frozenset[str] = frozenset()
    free: int | None = None
    #: An interpreter that can be fetched if the machine has none that fits.
    fetchable_python: str | None = None
    offline: bool = False
    interpreter: str | None = None
    reinstall: bool = False
    #: The smoke jobs that will prove the environment, and the device they must run on.
    jobs: tuple[str, ...] = ()
    proof_device: str = "cpu"


def plan(lock: Lock, digest: str, state: EnvState, machine: Machine, request: Request) -> Plan:
    """`digest` is the lock file's. An environment that already is what the lock says gets a plan without steps."""
    generation = state.next_generation
    blockers = tuple(_blockers(lock, state, machine, request))
    done = is_current(state, digest) and not request.reinstall
    return Plan(
        profile=lock.profile,
        target=lock.target,
        python=lock.python,
        environment=state.environment,
        generation=(state.generation or generation) if done else generation,
        lock=digest,
        state=state.digest,
        steps=() if done else tuple(_steps(lock, state, machine, request, generation)),
        blockers=() if done else blockers,
        sizes=_sizes(lock, request),
    )


def is_current(state: EnvState, digest: str) -> bool:
    """True if the environment is proven, made from this lock, and nothing changed since."""
    record = state.record
    return (
        state.kind == "ours" and record is not None and record.lock == digest and record.outcome == "proven"
    ) and not state.drifted


def interpreter_for(lock: Lock, machine: Machine, request: Request) -> Interpreter | None:
    """The interpreter to build with: the one asked for, else the newest CPython of the lock's minor version."""
    fitting = [
        p
        for p in machine.pythons
        if p.version.startswith(f"{lock.python}.") and p.implementation == "cpython"
    ]
    if request.interpreter:
        return next((p for p in machine.pythons if p.path == request.interpreter), None)
    return max(fitting, key=lambda p: _release(p.version), default=None)


def _release(version: str) -> Version:
    try:
        return Version(version)
    except InvalidVersion:
        return Version("0")


def _steps(
    lock: Lock, state: EnvState, machine: Machine, request: Request, generation: int
) -> Iterator[Step]:
    begin = _conda_steps if lock.manager == "conda" else _venv_steps
    yield from begin(lock, state, machine, request, generation)
    yield from _fetch_steps(lock, request)
    for artifact in lock.packages:
        if artifact.kind == "sdist":
            yield Step(
                action="build", kind="package", subject=f"{artifact.name} {artifact.version}",
                reason="the index has only its source", args={"sha256": artifact.sha256},
            )  # fmt: skip
    for artifact in lock.packages:
        yield Step(
            action="install", kind="package", subject=f"{artifact.name} {artifact.version}", reason=_why(artifact, lock),
            args={"index": artifact.index, "file": artifact.file, "size": artifact.size, "sha256": artifact.sha256},
        )  # fmt: skip
    for job in request.jobs:
        args = {"device": request.proof_device}
        yield Step(action="prove", kind="job", subject=job, reason=f"level {lock.smoke.level}", args=args)
    yield Step(
        action="switch", kind="pointer", subject=f"generation {generation}",
        reason=f"generation {state.generation} stays for rollback" if state.generation else "the first generation",
    )  # fmt: skip


def _venv_steps(
    lock: Lock, state: EnvState, machine: Machine, request: Request, generation: int
) -> Iterator[Step]:
    """An interpreter of the machine (fetched if there is none), and an environment of it."""
    python = interpreter_for(lock, machine, request)
    if python is None and request.fetchable_python:
        yield Step(
            action="fetch", kind="interpreter", subject=request.fetchable_python,
            reason=f"no Python {lock.python} was found on this machine", args={"python": lock.python},
        )  # fmt: skip
    yield Step(
        action="create", kind="environment", subject=f"generation {generation}",
        reason=_why_new(state),
        args={"python": python.path if python else "", "version": python.version if python else lock.python},
    )  # fmt: skip


def _conda_steps(
    lock: Lock, state: EnvState, machine: Machine, request: Request, generation: int
) -> Iterator[Step]:
    """An empty prefix, and conda's packages in it; Python is one of them."""
    version = next((a.version for a in lock.conda if a.name == "python"), lock.python)
    yield Step(
        action="create", kind="prefix", subject=f"generation {generation}", reason=_why_new(state),
        args={"python": "", "version": version},
    )  # fmt: skip
    for artifact in (a for a in lock.conda if a.key not in request.present):
        yield Step(
            action="fetch", kind="conda", subject=artifact.file,
            reason=f"not in the cache; from {artifact.channel}",
            args={"size": artifact.size, "key": artifact.key, "channel": artifact.channel},
        )  # fmt: skip
    for artifact in lock.conda:
        yield Step(
            action="install", kind="conda", subject=f"{artifact.name} {artifact.version}",
            reason=_why_conda(artifact, lock),
            args={"channel": artifact.channel, "file": artifact.file, "size": artifact.size, "key": artifact.key,
                  "asked": artifact.name in lock.imports},
        )  # fmt: skip


def _why_conda(artifact: CondaArtifact, lock: Lock) -> str:
    for choice in lock.stack:
        if choice.value.split("==")[0] == artifact.name:
            return choice.because
    return "named by the profile" if artifact.name in lock.imports else "a dependency"


def _why_new(state: EnvState) -> str:
    if state.kind == "absent":
        return "there is no environment yet"
    if state.drifted:
        return f"generation {state.generation} was changed since it was proven"
    return "the lock is not the one that the environment was made from"


def _fetch_steps(lock: Lock, request: Request) -> Iterator[Step]:
    missing = [a for a in (*lock.packages, *lock.build) if a.sha256 not in request.present]
    for artifact in missing:
        yield Step(
            action="fetch", kind="package", subject=artifact.file, reason=f"not in the cache; from {artifact.index}",
            args={"size": artifact.size, "sha256": artifact.sha256, "index": artifact.index},
        )  # fmt: skip


def _why(artifact: Artifact, lock: Lock) -> str:
    """A framework's reason is its choice; a held-down package's reason is its patch; the rest are dependencies."""
    for choice in lock.stack:
        if choice.value.split("==")[0].split("[")[0] == artifact.name:
            return choice.because
    for patch in lock.patches:
        if _name(patch.requirement) == artifact.name:
            return f"{patch.requirement}: {patch.because}"
    return "named by the profile" if artifact.name in lock.imports else "a dependency"


def _name(requirement: str) -> str:
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name

    try:
        return canonicalize_name(Requirement(requirement).name)
    except InvalidRequirement:
        return requirement


def _sizes(lock: Lock, request: Request) -> Sizes:
    every = [(a.sha256, a.size) for a in (*lock.packages, *lock.build)] + [(a.key, a.size) for a in lock.conda]
    missing = [size for key, size in every if key not in request.present]
    return Sizes(
        fetch=sum(size or 0 for size in missing),
        cached=sum(size or 0 for key, size in every if key in request.present),
        unknown=sum(1 for size in missing if size is None),
        free=request.free,
    )


def _blockers(lock: Lock, state: EnvState, machine: Machine, request: Request) -> Iterator[Finding]:
    if machine.target != lock.target:
        yield _wrong_target(lock, machine)
        return
    if state.kind in ("foreign", "broken"):
        yield _not_ours(state)
    no_python = lock.manager == "venv" and interpreter_for(lock, machine, request) is None
    if no_python and not request.fetchable_python:
        yield _no_interpreter(lock, machine, request)
    for need in lock.needs:
        if request.device == "cpu" and of_device(need):
            continue
        if (finding := unmet(need, machine)) is not None:
            yield finding
    yield from _disk(lock, request)


def _wrong_target(lock: Lock, machine: Machine) -> Finding:
    return Finding(
        "wrong-target",
        "error",
        f"{lock.profile} is locked for {lock.target}; this machine is {machine.target}.",
        detail=next((c.because for c in lock.stack if c.axis == "directml"), ""),
        evidence=(Evidence(f"lock of {lock.profile}", lock.target), Evidence("this machine", machine.target)),
        remedies=(
            Remedy(f"Apply it on a {lock.target} machine; the lock is ready for it."),
            Remedy(
                f"Or add {machine.target} to the profile's targets, if its frameworks exist there, and lock again."
            ),
        ),
    )


def _not_ours(state: EnvState) -> Finding:
    if state.kind == "broken":
        return Finding(
            "environment-broken",
            "error",
            f"{state.environment} points at generation {state.generation}, which is not there.",
            remedies=(Remedy("Remove the pointer and apply again.", f"rm {state.environment}"),),
        )
    return Finding(
        "environment-foreign",
        "error",
        f"{state.environment} exists and was not made by provision; it is left alone.",
        remedies=(
            Remedy("Choose another path.", "provision apply PROFILE --environment .venv-gpu"),
            Remedy("Or move it away first.", f"mv {state.environment} {state.environment}.old"),
        ),
    )


def _no_interpreter(lock: Lock, machine: Machine, request: Request) -> Finding:
    found = ", ".join(sorted({p.version for p in machine.pythons}, key=_release)) or "none"
    if request.interpreter:
        summary = f"{request.interpreter} is not a CPython {lock.python} that can be used here."
    else:
        summary = f"No Python {lock.python} was found on this machine."
    return Finding(
        "no-interpreter",
        "error",
        summary,
        detail=f"Found: {found}.",
        remedies=(
            Remedy(
                f"Install CPython {lock.python} (64 bit), then apply again.",
                f"uv python install {lock.python}",
            ),
            Remedy("Or, with pyenv:", f"pyenv install {lock.python}"),
        ),
    )


def of_device(need: Need) -> bool:
    """Whether a need concerns the accelerator: a proof on the CPU alone does without."""
    return need.what.split(".")[0] in _DEVICE_NEEDS


def unmet(need: Need, machine: Machine) -> Finding | None:
    """The finding for a need that this machine does not meet; None if it does or if nothing is known."""
    if need.what == "device":
        return None if any(d.vendor == need.value for d in machine.devices) else _no_device(need, machine)
    if need.what.startswith("driver."):
        return _unmet_version(need, machine, machine.drivers.get(need.what.partition(".")[2]), "the driver")
    if need.what == "glibc":
        found = machine.libc.removeprefix("glibc").strip(" -") if machine.libc.startswith("glibc") else None
        return _unmet_version(need, machine, found, "glibc")
    if need.what == "cpu-flags":
        return _unmet_flags(need, machine)
    return None


def _no_device(need: Need, machine: Machine) -> Finding:
    seen = ", ".join(f"{d.vendor} {d.name}".strip() for d in machine.devices) or "none"
    return Finding(
        "no-device",
        "error",
        f"The profile is for {need.value} hardware; this machine shows none.",
        detail=f"Accelerators seen: {seen}.",
        evidence=(Evidence("detection", seen),),
        remedies=(
            Remedy(
                "Prove the software half alone on the CPU (the receipt will say so).",
                "provision apply PROFILE --device cpu",
            ),
            Remedy("See what was detected and where it was read.", "provision detect"),
        ),
    )


def _unmet_version(need: Need, machine: Machine, found: str | None, what: str) -> Finding | None:
    if not found:
        return None
    try:
        if SpecifierSet(need.value).contains(Version(found), prereleases=True):
            return None
    except (InvalidSpecifier, InvalidVersion):
        return None
    return Finding(
        f"{need.what.replace('.', '-')}-too-old",
        "error",
        f"{what} must be {need.value}; here it is {found}.",
        detail=f"Asked for by {need.because}." if need.because else "",
        evidence=(Evidence(machine.evidence.get(need.what, "detection"), found),),
        remedies=(Remedy(f"Update to {need.value}, or choose a profile with an older stack."),),
    )


def _unmet_flags(need: Need, machine: Machine) -> Finding | None:
    wanted = {flag for flag in need.value.replace(",", " ").split() if flag}
    missing = wanted - set(machine.cpu_flags)
    if not machine.cpu_flags or not missing:
        return None
    return Finding(
        "cpu-flags",
        "error",
        f"This CPU lacks {', '.join(sorted(missing))}, which {need.because} needs: it would stop there.",
        evidence=(Evidence(machine.evidence.get("cpu", "detection"), machine.cpu),),
        remedies=(Remedy("Use a machine whose CPU has it, or a build made from source for this CPU."),),
    )


def _disk(lock: Lock, request: Request) -> Iterator[Finding]:
    sizes = _sizes(lock, request)
    if sizes.free is None or sizes.fetch is None:
        return
    packed = [a.size for a in lock.packages if a.sha256 not in request.present]
    packed += [a.size for a in lock.conda if a.key not in request.present]
    wanted = sizes.fetch + _UNPACKED * sum(size or 0 for size in packed)
    if wanted > sizes.free:
        yield Finding(
            "disk-full",
            "error",
            f"About {wanted / 1e9:.1f} GB are needed on disk; {sizes.free / 1e9:.1f} GB are free.",
            remedies=(
                Remedy("Free some space, or put the cache on another disk.", "export PROVISION_CACHE=/path"),
            ),
        )
