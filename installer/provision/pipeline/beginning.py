"""init: wishes and the machine -> a first profile, solved before it is written, loaded before it is believed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import get_args

from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import InvalidVersion, Version

from provision.knowledge.versions import version_key
from provision.loading import load
from provision.loading.drafting import Draft, draft, names_of
from provision.locking.tags import GLIBC_CEILING
from provision.messages import joined, message
from provision.model.finding import Finding, Remedy, UnsatisfiableError, UsageError
from provision.model.lock import VENDOR
from provision.model.machine import Device, Machine
from provision.model.profile import Framework, Hardware, Index, Profile, Vendor
from provision.model.stack import Stack
from provision.pipeline.session import Session
from provision.planning import unmet
from provision.resolving import answer, framework_of, pythons, resolve, solve

#: How many stacks are looked at for one that this machine's driver can run.
_LOOKED_AT = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What the command line asks for. Empty fields are left to the machine and to knowledge."""

    name: str = ""
    frameworks: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    vendor: str = ""
    capability: str = ""
    architecture: str = ""
    targets: tuple[str, ...] = ()
    python: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """The profile as text and as a value, its stack for each target, and what was passed over on the way."""

    text: str
    profile: Profile
    stacks: Mapping[str, Stack] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()


def begin(wish: Wish, session: Session) -> Begun:
    """Raises UsageError for a wish that cannot be read, UnsatisfiableError where no stack fits."""
    frameworks = dict(_framework(text, session) for text in wish.frameworks)
    passed: list[Finding] = []
    vendors = [wish.vendor] if wish.vendor else _vendors(session.machine)
    for vendor in vendors:
        try:
            begun = _begin(wish, _base(wish, vendor, frameworks, session), session)
        except UnsatisfiableError as error:
            if vendor == vendors[-1]:
                raise
            passed.append(_passed(vendor, error))
        else:
            return replace(begun, findings=(*passed, *begun.findings))
    raise AssertionError("there is always a vendor")


def _framework(text: str, session: Session) -> tuple[str, Framework]:
    try:
        wanted = Requirement(text)
    except InvalidRequirement:
        raise UsageError(_unreadable(text)) from None
    name = framework_of(wanted.name, session.knowledge)
    if name is None:
        raise UsageError(_no_framework(text))
    plain = wanted.name == name and not wanted.extras
    return name, Framework(
        version=str(wanted.specifier) or "*",
        package=None if plain else wanted.name,
        extras=tuple(sorted(wanted.extras)),
    )


def _unreadable(text: str) -> Finding:
    way = Remedy(message("pipeline.unreadable.way"), 'provision init --framework "tensorflow==2.10.1"')
    return Finding("usage", "error", message("pipeline.usage.summary", text=f"{text!r}"), remedies=(way,))


def _no_framework(text: str) -> Finding:
    return Finding(
        "no-such-framework", "error", message("pipeline.no-such-framework.summary", text=text),
        remedies=(Remedy(message("pipeline.no-such-framework.way"), f"provision init --package {text!r}"),),
    )  # fmt: skip


def _vendors(machine: Machine) -> list[str]:
    """Vendors of the accelerators that were seen, in the machine's order, then none."""
    seen = dict.fromkeys(d.vendor for d in machine.devices if d.vendor in get_args(Vendor))
    return [*(v for v in seen if v != "cpu"), "cpu"]


def _passed(vendor: str, error: UnsatisfiableError) -> Finding:
    """A device that is here and has no stack is worth a word, not a failure."""
    first = error.findings[0]
    return replace(
        first, severity="note", summary=message("pipeline.passed.summary", vendor=vendor, why=first.summary)
    )


def _base(wish: Wish, vendor: str, frameworks: Mapping[str, Framework], session: Session) -> Profile:
    targets = wish.targets or (session.host_target(),)
    devices = session.machine.vendor_devices(vendor) if _asks_machine(wish, vendor, session) else ()
    hardware = Hardware(
        vendor=vendor,  # type: ignore[arg-type]
        compute_capability=wish.capability or _capability(vendor, devices),
        architecture=wish.architecture or _architecture(vendor, devices),
        libc=_old_libc(session.machine) if session.machine.target in targets and devices else None,
    )
    return Profile(
        name=wish.name or names_of(tuple(frameworks), vendor), targets=targets, hardware=hardware,  # type: ignore[arg-type]
        python=wish.python or "*", frameworks=dict(frameworks), packages=wish.packages,  # type: ignore[arg-type]
    )  # fmt: skip


def _asks_machine(wish: Wish, vendor: str, session: Session) -> bool:
    """This machine's cards count unless the command line says which ones are meant."""
    return vendor != "cpu" and not (wish.capability or wish.architecture)


def _capability(vendor: str, devices: Sequence[Device]) -> str | None:
    if vendor != "nvidia":
        return None
    found = sorted({d.capability for d in devices if d.capability}, key=Version)
    return None if not found else f"=={found[0]}" if len(found) == 1 else f">={found[0]},<={found[-1]}"


def _architecture(vendor: str, devices: Sequence[Device]) -> str | None:
    names = {d.capability for d in devices if d.capability}
    return next(iter(names)) if vendor not in ("nvidia", "cpu") and len(names) == 1 else None


def _old_libc(machine: Machine) -> str | None:
    """A C library older than the one that locks are made for."""
    name, _, version = machine.libc.partition(" ")
    try:
        old = name == "glibc" and Version(version) < Version(".".join(map(str, GLIBC_CEILING)))
    except InvalidVersion:
        return None
    return f"=={version}" if old else None


def _begin(wish: Wish, base: Profile, session: Session) -> Begun:
    python, findings = _python(base, session)
    fixed = replace(base, python=wish.python or f"=={python}.*")
    stacks: dict[str, Stack] = {t: _stack(fixed, t, python, session)[0] for t in base.targets}
    chosen = next((c for c in _candidates(fixed, stacks) if _settles(c, stacks, python, session)), fixed)
    return replace(_drafted(chosen, wish, stacks, python, session), findings=findings)


def _python(base: Profile, session: Session) -> tuple[str, tuple[Finding, ...]]:
    """The newest Python that every target has a stack for: one that this machine can run, rather one that is here.

    With what keeps this machine from running any of them.
    """
    found = [pythons(base, target, session.knowledge) for target in base.targets]
    common = [p for p in found[0] if all(p in others for others in found)]
    if not common:
        raise UnsatisfiableError(_no_common(base, found, session))
    here = {".".join(p.version.split(".")[:2]) for p in session.machine.pythons}
    ordered = sorted(common, key=lambda p: p not in here)
    if not _is_for_here(base, session):
        return ordered[0], ()
    lacks: dict[str, tuple[Finding, ...]] = {}
    for python in ordered:
        lacks[python] = _stack(base, session.machine.target, python, session)[1]
        if not lacks[python]:
            return python, ()
    return ordered[0], tuple(replace(f, severity="warning") for f in lacks[ordered[0]])


def _is_for_here(profile: Profile, session: Session) -> bool:
    """Whether the profile is for the cards of this machine."""
    machine = session.machine
    return machine.target in profile.targets and bool(machine.vendor_devices(profile.hardware.vendor))


def _no_common(base: Profile, found: Sequence[Sequence[str]], session: Session) -> tuple[Finding, ...]:
    for target, pythons_of_it in zip(base.targets, found, strict=True):
        if not pythons_of_it:
            return answer(base, target, session.knowledge).findings
    told = "; ".join(f"{t}: {', '.join(ps)}" for t, ps in zip(base.targets, found, strict=True))
    return (
        Finding(
            "no-common-python", "error", message("pipeline.no-common-python.summary"), detail=told,
            remedies=(Remedy(message("pipeline.no-common-python.way")),),
        ),
    )  # fmt: skip


def _stack(profile: Profile, target: str, python: str, session: Session) -> tuple[Stack, tuple[Finding, ...]]:
    """The best stack, for the cards of this machine the best that it can run; else the best and what it lacks."""
    best = resolve(profile, target, python, session.knowledge)
    if target != session.machine.target or not _is_for_here(profile, session):
        return best, ()
    for stack in islice(solve(profile, target, python, session.knowledge), _LOOKED_AT):
        if not _unmet(stack, session.machine):
            return stack, ()
    return best, _unmet(best, session.machine)


def _unmet(stack: Stack, machine: Machine) -> tuple[Finding, ...]:
    return tuple(finding for need in stack.needs if (finding := unmet(need, machine)) is not None)


def _candidates(profile: Profile, stacks: Mapping[str, Stack]) -> Iterator[Profile]:
    """The profile with its frameworks at the minor versions found; then with the runtime held as well."""
    for stack in stacks.values():
        pinned = {
            name: framework
            if framework.version != "*"
            else replace(framework, version=_minor(stack, str(name)))
            for name, framework in profile.frameworks.items()
        }
        plain = replace(profile, frameworks=pinned)
        yield plain
        yield replace(plain, accelerator=_runtime(stack))


def _minor(stack: Stack, name: str) -> str:
    value = next(c.value for c in stack.choices if c.axis == name)
    version = Version(value.partition("==")[2])
    return f"=={version.major}.{version.minor}.*"


def _runtime(stack: Stack) -> dict[str, str]:
    """The accelerator runtime of a stack, as a profile says it."""
    axes = ("python", "cudnn", *(c.axis for c in stack.choices if "==" in c.value))
    return {c.axis: c.value for c in stack.choices if c.axis not in axes and c.value}


def _settles(profile: Profile, stacks: Mapping[str, Stack], python: str, session: Session) -> bool:
    """Whether the solver finds for this profile, on every target, the stack that was chosen (elsewhere: any)."""
    for target, stack in stacks.items():
        try:
            found = resolve(profile, target, python, session.knowledge)
        except UnsatisfiableError:
            return False
        if target == session.machine.target and found.requirements != stack.requirements:
            return False
    return True


def _drafted(
    profile: Profile, wish: Wish, stacks: Mapping[str, Stack], python: str, session: Session
) -> Begun:
    known = {target: resolve(profile, target, python, session.knowledge) for target in stacks}
    first = known.get(session.machine.target) or next(iter(known.values()))
    text = draft(
        Draft(
            name=profile.name,
            description=_description(profile),
            targets=profile.targets,
            hardware=profile.hardware,
            hardware_because=_seen(profile, wish, session),
            python=wish.python or python,
            python_because="" if wish.python else _other_pythons(profile, python, session),
            frameworks={str(n): f.version for n, f in profile.frameworks.items()},
            packages_of={str(n): (f.package, f.extras) for n, f in profile.frameworks.items() if f.package},
            frameworks_because={c.axis: f"{c.value}: {c.because}" for c in first.choices},
            accelerator=profile.accelerator,
            accelerator_because="Newer ones need more than the driver that is here.",
            held=_runtime(first),
            needs=_needs(known.values()),
            packages=profile.packages,
            indexes=_indexes(known.values()),
            vendor_files=tuple(
                dict.fromkeys(f"{f.name} {f.version}: {f.where}" for s in known.values() for f in s.vendor)
            ),
        )
    )
    return Begun(text=text, profile=_loaded(text, profile.name), stacks=known)


def _needs(stacks: Iterable[Stack]) -> tuple[str, ...]:
    """Each need once; of several floors of one thing the highest."""
    found: dict[str, list[str]] = {}
    for need in (need for stack in stacks for need in stack.needs):
        found.setdefault(need.what, []).append(need.value)
    return tuple(f"{what} {_highest(values)}".strip() for what, values in found.items())


def _highest(values: Sequence[str]) -> str:
    if all(value.startswith(">=") for value in values):
        return max(values, key=lambda value: version_key(value[2:]))
    return ", ".join(dict.fromkeys(values))


def _loaded(text: str, name: str) -> Profile:
    return load(text, f"{name}.yaml")


def _description(profile: Profile) -> str:
    what = joined(map(str, profile.frameworks), " and ") or message("pipeline.description.packages")
    vendor = profile.hardware.vendor
    if vendor == "cpu":
        return message("pipeline.description.cpu", what=what)
    return message("pipeline.description.on", what=what, vendor=vendor)


def _seen(profile: Profile, wish: Wish, session: Session) -> str:
    """Which cards the hardware lines are about, and where they were read."""
    vendor = profile.hardware.vendor
    if vendor == "cpu":
        return "" if wish.vendor else "No accelerator was seen here that the frameworks have a stack for."
    devices = session.machine.vendor_devices(vendor) if _asks_machine(wish, vendor, session) else ()
    cards = dict.fromkeys(f"{d.name or d.vendor} ({d.source or 'detection'})" for d in devices)
    driver = session.machine.drivers.get(vendor, "")
    told = ", ".join(cards) + (f", driver {driver}" if driver and cards else "")
    return f"Seen here: {told}." if told else "As it was asked for; no such device was looked at."


def _other_pythons(profile: Profile, python: str, session: Session) -> str:
    free = replace(profile, python="*")
    found = [set(pythons(free, target, session.knowledge)) for target in profile.targets]
    others = sorted(set.intersection(*found) - {python}, key=Version)
    return (
        f"the stack exists for {', '.join(others)}, too"
        if others
        else "the only one that the stack exists for"
    )


def _indexes(stacks: Iterable[Stack]) -> tuple[Index, ...]:
    found: dict[str, Index] = {}
    for stack in stacks:
        for index in (index for index in stack.indexes if index.name != VENDOR):
            before = found.get(index.name)
            packages = dict.fromkeys((*(before.packages if before else ()), *index.packages))
            found[index.name] = replace(index, packages=tuple(packages))
    return tuple(found.values())
