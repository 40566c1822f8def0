"""A coherent combination of builds -> the stack: choices with reasons, patches, needs, notes, what must be absent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from provision.knowledge import Build, CompanionRow, Knowledge, RuleRow
from provision.knowledge.rules import applies
from provision.knowledge.versions import canonicalize_name, version_key
from provision.messages import message
from provision.model.finding import Severity
from provision.model.lock import PYPI, VENDOR
from provision.model.profile import Index, Profile, VendorFile
from provision.model.stack import Choice, Library, Need, Note, Patch, Rejected, Stack
from provision.resolving.candidates import line_version
from provision.resolving.closure import patches_of, variables_of
from provision.resolving.confidence import confidence
from provision.resolving.facts import build_facts, named, stack_facts
from provision.resolving.libraries import placed
from provision.resolving.libraries import requirements as wheels_of
from provision.resolving.wanted import Wanted, specifier

#: Needs that only some targets have, by a part of their names.
_ONLY_ON = {"glibc": "linux", "on-linux": "linux", "msvc": "windows", "os": "windows", "cpu-flags": "x86_64"}
#: Runtimes whose libraries are no SDK that stands on the machine: none, wheels, placed sets, the system itself.
_NO_SDK = ("cpu", "cuda", "directml", "mps", "xpu")


_SEVERITIES: dict[str, Severity] = {"warn": "warning", "note": "note"}


def assemble(
    profile: Profile, ask: Wanted, combo: Sequence[Build], lost: Sequence[Rejected], knowledge: Knowledge
) -> Stack:
    pins = [(b.distribution, b.version) for b in combo]
    pins += [pin for text in profile.packages if (pin := named(text))[1] != "*"]
    requirements = tuple(r for b in combo for r in (b.requirement, *b.requires))
    rules = tuple(_speaking(combo, profile, ask, knowledge))
    libraries, open_ends = placed(combo, ask, profile, knowledge)
    vendor = tuple(_vendor(profile, combo))
    return Stack(
        profile=profile.name,
        target=ask.target,
        python=ask.python,
        choices=tuple(_choices(ask, combo, libraries)),
        requirements=(*requirements, *wheels_of(libraries, knowledge), *profile.packages),
        indexes=(*profile.indexes, *_indexes(profile, combo, knowledge), *_vendor_index(profile, vendor)),
        vendor=vendor,
        patches=_merged((*patches_of(pins, ask.python, ask.target, knowledge), *_required(rules))),
        needs=tuple(_needs(profile, combo, knowledge)),
        notes=(*(_note(rule) for rule in rules if rule.then in ("warn", "note")), *open_ends),
        absent=tuple(sorted({*profile.absent, *_absent(combo, requirements, knowledge)})),
        libraries=libraries,
        variables=_variables(combo, pins, ask, rules, knowledge),
        rejected=tuple(lost),
    )


def _indexes(profile: Profile, combo: Sequence[Build], knowledge: Knowledge) -> Iterator[Index]:
    """Named indexes that the chosen builds come from and the profile does not name."""
    have = {index.name for index in profile.indexes}
    for name in sorted({b.index for b in combo} - have - {PYPI, VENDOR}):
        url = knowledge.index_url(name)
        if url is not None:
            leaders = sorted({b.distribution for b in combo if b.index == name})
            rows = [row for row in knowledge.rows(CompanionRow) if row.leader in leaders and row.same_index]
            yield Index(name=name, url=url, packages=(*leaders, *sorted({row.package for row in rows})))


def _vendor(profile: Profile, combo: Sequence[Build]) -> Iterator[VendorFile]:
    """The profile's vendor files, and those that the builds need and it does not name."""
    yield from profile.wheels.files
    named_there = {file.name for file in profile.wheels.files}
    for file in dict.fromkeys(file for b in combo for file in b.vendor_files):
        name = canonicalize_name(file.package)
        if name not in named_there:
            where = f"{file.where} ({file.file})"
            yield VendorFile(
                name=name, version=file.version, tags="", where=where, sha256=file.sha256 or None
            )


def _vendor_index(profile: Profile, files: Sequence[VendorFile]) -> Iterator[Index]:
    if files:
        packages = tuple(sorted({file.name for file in files}))
        yield Index(name=VENDOR, url=profile.wheels.folder, packages=packages)


def _speaking(
    combo: Sequence[Build], profile: Profile, ask: Wanted, knowledge: Knowledge
) -> Iterator[RuleRow]:
    """Rules that say something about the stack without rejecting it."""
    together = stack_facts(combo, profile)
    facts = [{**build_facts(b, ask, profile), **together} for b in combo]
    for rule in knowledge.rules():
        if rule.then != "reject" and "lint" not in rule.when and any(applies(rule, one) for one in facts):
            yield rule


def _note(rule: RuleRow) -> Note:
    severity = _SEVERITIES.get(rule.then, "note")
    return Note(
        severity=severity, because=rule.because, rule=rule.id, source=rule.source, instead=rule.instead
    )


def _required(rules: Sequence[RuleRow]) -> Iterator[Patch]:
    """Requirements that a rule adds, and ranges that it prefers for packages that are there."""
    for rule in rules:
        for requirement in rule.require:
            yield Patch(
                requirement=requirement, kind="add", because=rule.because, rule=rule.id, source=rule.source
            )
        for name, wanted in dict(rule.prefer.get("packages", {})).items():
            text = f"{name}{wanted}" if wanted[:1] in "<>=!~" else f"{name}=={wanted}"
            yield Patch(requirement=text, because=rule.because, rule=rule.id, source=rule.source)


def _merged(patches: Sequence[Patch]) -> tuple[Patch, ...]:
    by_requirement = {p.requirement: p for p in reversed(patches)}
    return tuple(by_requirement[key] for key in sorted(by_requirement))


def _variables(
    combo: Sequence[Build],
    pins: Sequence[tuple[str, str]],
    ask: Wanted,
    rules: Sequence[RuleRow],
    knowledge: Knowledge,
) -> dict[str, str]:
    found = dict(variables_of(pins, ask.python, ask.target, knowledge))
    for build in combo:
        found.update(build.environment)
    for rule in rules:
        if rule.then == "require":
            found.update(rule.environment)
    return dict(sorted(found.items()))


def _choices(ask: Wanted, combo: Sequence[Build], libraries: Sequence[Library]) -> Iterator[Choice]:
    yield Choice(
        axis="python", value=ask.python, because=message("resolving.choices.profile-admits-it-and-every")
    )
    for build in combo:
        yield Choice(
            axis=build.framework,
            value=build.requirement,
            confidence=confidence(build, ask.runtime_version),
            because=_because(build, ask),
            rule=build.row,
            source=build.tested.source if build.tested else build.source,
        )
    yield from _runtime_choices(ask, [b for b in combo if b.runtime.kind == ask.runtime != "cpu"], libraries)


def _runtime_choices(ask: Wanted, used: Sequence[Build], libraries: Sequence[Library]) -> Iterator[Choice]:
    """The runtime and cuDNN that will really be there: what is placed or brought along counts before what was built with.

    Of two builds whose wheels bring the same line there is one copy in the end, the newer one.
    """
    for one in libraries:
        yield Choice(
            axis=one.library, value=one.version, confidence="compatible", because=one.because, rule=one.id, source=one.source
        )  # fmt: skip
    placed_already = {one.library for one in libraries}
    bringing = [b for b in used if b.libraries in ("bundled", "wheels")] or list(used)
    for kind in sorted({b.runtime.kind for b in bringing} - placed_already):
        versions = [runtime_version(b, ask) for b in bringing if b.runtime.kind == kind]
        newest = max(versions, key=lambda text: version_key(text or "0"))
        yield Choice(axis=kind, value=newest, because=_RUNTIME_BECAUSE[bringing[0].libraries])
    if (found := [b.cudnn for b in bringing if b.cudnn]) and "cudnn" not in placed_already:
        newest = max(found, key=version_key)
        yield Choice(axis="cudnn", value=newest, because=_RUNTIME_BECAUSE[bringing[0].libraries])


_RUNTIME_BECAUSE = {
    "bundled": message("resolving.module.it-comes-inside-wheel"),
    "wheels": message("resolving.module.its-wheels-come-with-framework"),
    "system": message("resolving.module.line-that-build-opens-its"),
    "none": message("resolving.module.what-build-is-made-for"),
}


def runtime_version(build: Build, ask: Wanted) -> str:
    """The version used: the one asked for where the build can use it, else the one it was made with."""
    return line_version(build, ask.runtime_version) or build.runtime.version


def _because(build: Build, ask: Wanted) -> str:
    if build.runtime.kind != ask.runtime:
        return message(
            "resolving.because.build-which-trains-on-cpu",
            kind=build.runtime.kind,
            version=build.runtime.version,
        )
    if not build.row:
        return message("resolving.because.profile-pins-it-knowledge-does")
    if build.tested is None:
        return message("resolving.because.newest-build-that-fits-profile")
    used, made = runtime_version(build, ask), build.tested.runtime
    values = {"used": used, "kind": build.runtime.kind, "runtime": made, "cudnn": build.tested.cudnn}
    if confidence(build, ask.runtime_version) == "tested":
        if build.tested.cudnn:
            return message("resolving.because.tested-with-cudnn", **values)
        return message("resolving.because.tested", **values)
    if build.tested.cudnn:
        return message("resolving.because.compatible-with-cudnn", **values)
    return message("resolving.because.compatible", **values)


def _needs(profile: Profile, combo: Sequence[Build], knowledge: Knowledge) -> Iterator[Need]:
    seen: set[tuple[str, str]] = set()
    for need in (*_build_needs(combo), *_runtime_needs(profile, combo, knowledge)):
        if (need.what, need.value) not in seen:
            seen.add((need.what, need.value))
            yield need


def _build_needs(combo: Sequence[Build]) -> Iterator[Need]:
    for build in combo:
        stated = {**build.needs, **({"glibc": f">={build.glibc}"} if build.glibc else {})}
        for what, value in stated.items():
            if _ONLY_ON.get(what, "") in build.target:
                yield Need(
                    what=what, value=value, because=f"{build.distribution} {build.version}", rule=build.row
                )


def _runtime_needs(profile: Profile, combo: Sequence[Build], knowledge: Knowledge) -> Iterator[Need]:
    """Driver floor and device of the accelerator runtime; the profile may raise the floor."""
    vendor = profile.hardware.vendor
    if vendor == "cpu":
        return
    yield Need(what="device", value=vendor, because=message("resolving.common.profiles-hardware"))
    if profile.hardware.driver:
        yield Need(
            what=f"driver.{vendor}",
            value=profile.hardware.driver,
            because=message("resolving.common.profile-asks-for-it"),
        )
    if asked := profile.hardware.compute_capability:
        yield Need(
            what="compute-capability",
            value=specifier(asked),
            because=message("resolving.common.profiles-hardware"),
        )
    for build in combo:
        yield from _sdk_need(build)
        row = knowledge.runtime(build.runtime.kind, build.runtime.version)
        floor = row.driver_floor.get(build.target.split("-")[0]) if row else None
        if row and floor:
            because = f"{build.runtime.kind} {build.runtime.version}"
            yield Need(what=f"driver.{vendor}", value=f">={floor}", because=because, rule=row.id)


def _sdk_need(build: Build) -> Iterator[Need]:
    """The maker's SDK, which a machine brings: at least the version that the build was made with."""
    if build.libraries == "system" and build.runtime.kind not in _NO_SDK:
        version = build.runtime.version
        floor = f">={version}" if version[:1].isdigit() else ""
        yield Need(what=f"sdk.{build.runtime.kind}", value=floor, because=build.requirement, rule=build.row)


def _absent(combo: Sequence[Build], requirements: Sequence[str], knowledge: Knowledge) -> set[str]:
    """Members of the chosen distributions' families that must not be there: they write the same files."""
    out: set[str] = set()
    for name in {b.distribution for b in combo}:
        for family in knowledge.families_of(name):
            out |= set(family.members) - family.partners(name) - {name}
    return out - {named(r)[0] for r in requirements}
