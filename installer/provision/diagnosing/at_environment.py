"""Python and the environment: is it whole, is it one, and is what it holds what an import finds?"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from itertools import combinations
from pathlib import PurePath

from packaging.markers import UndefinedEnvironmentName, default_environment
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from provision.diagnosing.case import Case
from provision.diagnosing.environments import Distribution, Environment
from provision.diagnosing.known import by_checks, by_rules
from provision.diagnosing.layers import Looked, looked
from provision.knowledge import FamilyRow
from provision.knowledge.checks import load_checks
from provision.knowledge.versions import holds, version_key
from provision.model.finding import Finding
from provision.shells import quoted

_SHOWN = 4
Check = Callable[[Case, Environment], Iterator[Finding]]


def environment(case: Case) -> Looked:
    """Everything about the environment that needs no framework."""
    env = case.environment
    if env is None:
        return Looked(read=looked([("", case.speaker.word("no-environment"))]).read, otherwise="unknown")
    findings = [*_gone(case, env)] or [f for check in _CHECKS for f in check(case, env)]
    findings += [*by_rules(case, "environment"), *by_checks(case, "environment")]
    return looked(_read(case, env), findings)


def _read(case: Case, env: Environment) -> Iterator[tuple[str, str]]:
    if env.exists:
        yield env.prefix, ", ".join(filter(None, (env.kind, f"Python {env.version}" if env.version else "")))
    if env.sites or env.distributions:
        count = case.speaker.word("distributions", count=len(env.distributions))
        yield ", ".join(env.sites[:2]), ", ".join(filter(None, (count, *_compared(case))))


def _compared(case: Case) -> Iterator[str]:
    """How much of the files was compared, if they are as recorded; else the findings tell."""
    files = case.files
    if files is None or files.missing or files.resized or files.changed:
        return
    yield case.speaker.word("files-right", count=f"{files.counted:,}")
    if files.counted:
        yield case.speaker.word("files-hashed", count=f"{files.hashed:,}")


def _gone(case: Case, env: Environment) -> Iterator[Finding]:
    """Without a Python there is nothing else to say."""
    if not env.exists:
        yield case.speaker.finding(
            "environment-absent", path=env.prefix, reference=case.reference or "PROFILE"
        )
    elif not env.configured:
        yield case.speaker.finding(
            "pyvenv-damaged", [(f"{env.prefix}/pyvenv.cfg", "")], path=env.prefix, run=quoted(env.prefix),
            python=".".join(env.version.split(".")[:2]),
        )  # fmt: skip
    elif not env.home_exists:
        yield case.speaker.finding(
            "interpreter-gone", [(f"{env.prefix}/pyvenv.cfg", env.home)], home=env.home
        )
    elif env.error and env.kind != "list":
        yield case.speaker.finding(
            "python-unusable", [(env.python, env.error)], path=env.prefix, error=env.error
        )


def _interrupted(case: Case, env: Environment) -> Iterator[Finding]:
    """What an interrupted installer leaves."""
    if env.broken:
        names = ", ".join(PurePath(p).name for p in env.broken)
        yield case.speaker.finding(
            "distribution-broken", [(p, "") for p in env.broken], names=names, first=env.broken[0]
        )
    yield from _twice(case, env)
    if env.litter:
        names = ", ".join(PurePath(p).name for p in env.litter)
        yield case.speaker.finding(
            "litter", [(p, "") for p in env.litter], names=names, paths=" ".join(f"'{p}'" for p in env.litter)
        )


def _twice(case: Case, env: Environment) -> Iterator[Finding]:
    groups: dict[tuple[str, str], list[Distribution]] = {}
    for one in env.distributions:
        groups.setdefault((one.site, one.name), []).append(one)
    for (site, name), copies in groups.items():
        # Debian keeps an egg-info beside a dist-info of the same version.
        if len({c.version for c in copies}) > 1 and site:
            versions = sorted((c.version for c in copies), key=version_key)
            yield case.speaker.finding(
                "distribution-twice", [(c.info, c.version) for c in copies], name=name, versions=", ".join(versions),
                newest=versions[-1], index=case.index_of(name, versions[-1]), **case.commands,
            )  # fmt: skip


def _missing_files(case: Case, env: Environment) -> Iterator[Finding]:
    for name, paths in (case.files.missing if case.files else {}).items():
        lost = [p for p in paths if not p.startswith("..")]
        copies = env.copies(name)
        if not matters(lost) or len(copies) > 1:
            continue
        yield case.speaker.finding(
            "files-missing", [(f"{copies[0].info}/RECORD", p) for p in lost[:_SHOWN]],
            name=name, version=copies[0].version, count=len(lost), index=case.index_of(name, copies[0].version),
            **case.commands,
        )  # fmt: skip


def _other_files(case: Case, env: Environment) -> Iterator[Finding]:
    """Files that are not those of the wheel: half written, edited, or replaced by another program."""
    files = case.files
    if files is None:
        return
    for name in {**files.resized, **files.changed}:
        resized, changed = files.resized.get(name, ()), files.changed.get(name, ())
        copies = env.copies(name)
        if len(copies) > 1:
            continue
        broken = any(_is_library(path) for path in resized)
        proof = [(f"{copies[0].info}/RECORD", path) for path in (*resized, *changed)[:_SHOWN]]
        yield case.speaker.finding(
            "files-changed", proof, "error" if broken else None, name=name, version=copies[0].version,
            count=len(resized) + len(changed), index=case.index_of(name, copies[0].version), **case.commands,
        )  # fmt: skip


def _is_library(path: str) -> bool:
    return path.endswith((".so", ".pyd", ".dll", ".dylib")) or ".so." in path


def matters(paths: list[str]) -> bool:
    """Code or libraries are gone, not only a licence text or a test."""
    return any(p.endswith(".py") or _is_library(p) for p in paths)


def _families(case: Case, env: Environment) -> Iterator[Finding]:
    told: set[tuple[str, ...]] = set()
    for row in case.knowledge.rows(FamilyRow):
        there = [name for name in row.members if name in case.installed and name not in env.conda]
        if collide(there, row):
            told.add(tuple(sorted(there)))
            proof = [(f"knowledge {row.id}", row.source)]
            yield case.speaker.finding(
                "family-conflict", proof, names=" + ".join(f"{n} {case.installed[n]}" for n in there),
                folder=row.folder, why=row.why, spaced=" ".join(there), keep=kept(case, there), **case.commands,
            )  # fmt: skip
    for names, paths in (case.files.shared if case.files else {}).items():
        if not any(set(names) <= set(known) for known in told) and len(env.copies(names[0])) == 1:
            yield case.speaker.finding(
                "files-shared", [(p, "") for p in paths[:_SHOWN]], names=", ".join(names), count=len(paths)
            )


def kept(case: Case, there: list[str]) -> str:
    """The member to install again: one for the device that is wanted, or for the CPU; nightlies last."""
    cpu = [name for name in there if name.endswith("-cpu")]
    rest = sorted((name for name in there if name not in cpu), key=lambda name: "nightly" in name)
    name = [*rest, *cpu][0] if case.wanted or not cpu else cpu[0]
    return f"{name}=={case.installed[name]}"


def collide(there: list[str], row: FamilyRow) -> bool:
    """At least two members that are no pair on purpose."""
    return any(row.clash(first, second) for first, second in combinations(there, 2))


def _orphans(case: Case, env: Environment) -> Iterator[Finding]:
    """The folder of a framework that no distribution owns."""
    for row in load_checks().imports:
        owned = any(name in case.installed for name in row.distributions)
        for site, names in env.names.items():
            if row.module in names and not owned:
                yield case.speaker.finding("module-orphaned", path=str(PurePath(site) / row.module))


def _shadows(case: Case, env: Environment) -> Iterator[Finding]:
    """Files beside the user's script that Python takes for the package."""
    modules = {m for row in load_checks().imports for m in (row.module, *row.after.values())} | {
        "numpy",
        "keras",
    }
    for name in case.beside:
        stem = name.removesuffix(".py")
        inside = PurePath(case.folder) in (PurePath(s) for s in env.sites)
        if stem in modules and _distribution_of(case, stem) and not inside:
            path = str(PurePath(case.folder) / name)
            yield case.speaker.finding(
                "module-shadowed", [(path, "")], path=path, module=stem, where=case.folder
            )


def _distribution_of(case: Case, module: str) -> bool:
    names = {row.module: row.distributions for row in load_checks().imports}
    return any(n in case.installed for n in names.get(module, (module, module.replace("_", "-"))))


def _elsewhere(case: Case, env: Environment) -> Iterator[Finding]:
    """Distributions of another place that come first: the user's own folder, PYTHONPATH."""
    own = [site for site in env.sites if within(site, env.prefix)]
    for one in env.distributions:
        hidden = next((c for c in env.copies(one.name) if c.site in own and c.site != one.site), None)
        first = env.copies(one.name)[0] is one
        if hidden and first and one.site not in own and one.version != hidden.version:
            where, how, run = _how_to_leave(env, one.site)
            yield case.speaker.finding(
                "distribution-shadowed", [(one.info, one.version), (hidden.info, hidden.version)], name=one.name,
                version=one.version, site=one.site, hidden=hidden.version, where=where, how=how, run=run,
            )  # fmt: skip


def within(path: str, prefix: str) -> bool:
    """Whether a place lies in an environment's folder."""
    return bool(prefix) and PurePath(path).is_relative_to(prefix)


def _how_to_leave(env: Environment, site: str) -> tuple[str, str, str]:
    if env.user_site and PurePath(site) == PurePath(env.user_site):
        return "pip install --user", "PYTHONNOUSERSITE=1", "export PYTHONNOUSERSITE=1"
    return "PYTHONPATH", "PYTHONPATH", "unset PYTHONPATH"


def _variables(case: Case, env: Environment) -> Iterator[Finding]:
    for name, code in (("PYTHONHOME", "pythonhome-set"), ("PYTHONPATH", "pythonpath-set")):
        if value := case.variables.get(name):
            yield case.speaker.finding(code, value=value)
    if env.sees_system:
        yield case.speaker.finding("system-packages-seen", [(f"{env.prefix}/pyvenv.cfg", "")], home=env.home)


def _managers(case: Case, env: Environment) -> Iterator[Finding]:
    """Packages whose files pip laid over those of conda."""
    own = {one.name: one for one in env.distributions if one.installer and one.installer != "conda"}
    both = [name for name in own if name in env.conda and env.conda[name] != own[name].version]
    if both:
        proof = [(n, f"conda {env.conda[n]}, {own[n].installer} {own[n].version}") for n in both[:_SHOWN]]
        yield case.speaker.finding("two-managers", proof, names=", ".join(both), spaced=" ".join(both))


def _requirements(case: Case, env: Environment) -> Iterator[Finding]:
    """What `pip check` would say, for the environment's Python, not for ours."""
    told = marks(env)
    carriers = {name for row in load_checks().imports for name in row.distributions}
    unmet: list[tuple[Distribution, Requirement, str]] = []
    for one in env.distributions:
        for requirement in asked(one, told):
            name = str(canonicalize_name(requirement.name))
            found = case.installed.get(name)
            if found is None and stands_in(case, name):
                continue
            if found is None and one.name in carriers:
                yield case.speaker.finding(
                    "requirement-missing", [(f"{one.info}/METADATA", str(requirement))], name=one.name,
                    version=one.version, requirement=_plain(requirement), **case.commands,
                )  # fmt: skip
            elif found is None or not holds(str(requirement.specifier), found):
                unmet.append((one, requirement, found or "-"))
    if unmet:
        one, requirement, found = unmet[0]
        proof = [(f"{o.name} {o.version}", f"{_plain(r)} ({f})") for o, r, f in unmet[:_SHOWN]]
        yield case.speaker.finding(
            "requirement-conflict", proof, count=len(unmet), name=one.name, version=one.version,
            requirement=_plain(requirement), found=found, **case.commands,
        )  # fmt: skip


def stands_in(case: Case, name: str, gone: Container[str] = ()) -> bool:
    """Whether another member of its family is there: it has the same modules, and this one beside it breaks both."""
    return any(
        row.clash(name, other)
        for row in case.knowledge.families_of(name)
        for other in row.members
        if other in case.installed and other not in gone
    )


def _plain(requirement: Requirement) -> str:
    return f"{requirement.name}{requirement.specifier}"


def asked(one: Distribution, told: Mapping[str, str]) -> Iterator[Requirement]:
    """What a distribution requires where the markers are `told`."""
    for text in one.requires:
        try:
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate(dict(told)):
                yield requirement
        except (InvalidRequirement, UndefinedEnvironmentName):
            continue


_PLATFORMS = {"windows": ("win32", "Windows", "nt"), "linux": ("linux", "Linux", "posix"),
              "macos": ("darwin", "Darwin", "posix")}  # fmt: skip


def marks(env: Environment) -> dict[str, str]:
    """The marker environment of the Python that was examined."""
    system, _, machine = env.target.partition("-")
    platform, name, kind = _PLATFORMS.get(system, _PLATFORMS["linux"])
    machine = {"x86_64": "AMD64"}.get(machine, machine) if system == "windows" else machine
    own = {str(key): str(value) for key, value in default_environment().items()}
    told = {"sys_platform": platform, "platform_system": name, "os_name": kind, "platform_machine": machine}
    if env.version:
        told |= {"python_full_version": env.version, "python_version": ".".join(env.version.split(".")[:2])}
    return {**own, **told, "extra": ""}


def _begun(case: Case, env: Environment) -> Iterator[Finding]:
    if case.interrupted:
        yield case.speaker.finding("run-interrupted", path=env.prefix, run=quoted(env.prefix))


def _drift(case: Case, env: Environment) -> Iterator[Finding]:
    if case.drifted:
        yield case.speaker.finding(
            "environment-drifted", path=env.prefix, reference=case.reference or "PROFILE"
        )


_CHECKS: tuple[Check, ...] = (
    _begun, _interrupted, _missing_files, _other_files, _families, _shadows, _elsewhere, _orphans, _managers, _requirements,
    _variables, _drift,
)  # fmt: skip
