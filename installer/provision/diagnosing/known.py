"""What the rows of the knowledge say about an installed environment: rules, patches, companions, plain checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from provision.diagnosing.case import Carried, Case
from provision.diagnosing.facts import holds as condition_holds
from provision.knowledge import PatchRow, RuleRow
from provision.knowledge.checks import load_checks
from provision.knowledge.versions import holds
from provision.model.finding import Evidence, Finding, Remedy


def by_rules(case: Case, layer: str) -> Iterator[Finding]:
    """Rules that reject or warn of what is installed, if their code belongs to this layer."""
    told: set[str] = set()
    for one in case.carried:
        for row in case.knowledge.rules(rule_facts(case, one)):
            place = load_checks().rules.get(row.code)
            if place and place.layer == layer and row.then in ("reject", "warn") and row.id not in told:
                told.add(row.id)
                yield _of_rule(case, row, place.severity)


def _of_rule(case: Case, row: RuleRow, severity: str) -> Finding:
    if row.code == "silent-cpu" and case.demanded:
        severity = "error"
    return Finding(
        row.code,
        severity,  # type: ignore[arg-type]
        row.because,
        evidence=(Evidence(f"knowledge {row.id}", row.source),),
        remedies=tuple(Remedy(text) for text in row.instead),
    )


def rule_facts(case: Case, one: Carried) -> dict[str, Any]:
    """The facts of rules.yaml for one installed framework. What is not known is left out."""
    build, machine, env = one.build, case.machine, case.environment
    facts: dict[str, Any] = {
        "framework": one.framework,
        "version": one.public,
        "distribution": one.distribution,
        "local": one.local,
        "index": _index(one),
        "target": case.target or None,
        "python": ".".join(env.version.split(".")[:2]) if env and env.version else None,
        "runtime": one.kind or None,
        "runtime-version": one.runtime or None,
        "cudnn": (build.cudnn if build else "") or None,
        "manager": "conda" if env and env.kind == "conda" else None,
        "frameworks": {c.framework: c.public for c in case.carried},
        "packages": _packages(case.installed),
    }
    if machine is not None:
        facts |= {
            "vendor": next((d.vendor for d in machine.devices), None),
            "driver": machine.drivers.get("nvidia"),
            "libc": machine.libc.removeprefix("glibc ") if machine.libc.startswith("glibc") else None,
            "cpu-flags": list(machine.cpu_flags) or None,
        }
    return {name: value for name, value in facts.items() if value is not None}


def _index(one: Carried) -> str | None:
    """Where such a build comes from: its local version names the index of the maker. Vendors hand out builds of
    their own without one, so that beside a vendor's plugin nothing is known."""
    if one.local and one.framework == "torch":
        return f"pytorch-{one.local}"
    return None if one.plugin else "pypi"


def _packages(installed: Mapping[str, str]) -> dict[str, str]:
    """Names in both spellings that rules use (`torch-mlu`, `torch_mlu`)."""
    return {**installed, **{name.replace("-", "_"): version for name, version in installed.items()}}


def by_checks(case: Case, layer: str) -> Iterator[Finding]:
    """Checks that are rows alone: their conditions hold for the flat facts."""
    for row in load_checks().rows.values():
        if row.layer == layer and row.when and condition_holds(row.when, case.facts):
            proof = [(row.source, "")] if row.source else []
            yield case.speaker.finding(row.code, proof, facts=case.facts)


def by_patches(case: Case, imported: Mapping[str, bool]) -> Iterator[Finding]:
    """Versions that metadata allows and that fail. `imported`: module -> whether its import went well; an import
    that works is believed more than a row that says it does not."""
    told: set[str] = set()
    python = ".".join((case.environment.version if case.environment else "").split(".")[:2])
    for name, version in case.installed.items():
        for row in case.knowledge.patches(name, version, python or "3.10", case.target):
            severity = load_checks().stages.get(row.stage)
            works = row.stage == "import" and imported.get(module_of(case, name))
            for constraint in row.constraints if severity else ():
                other, found = violated(case.installed, constraint)
                if other and constraint not in told:
                    told.add(constraint)
                    yield _of_patch(
                        case, row, (name, version), (other, found), constraint, "note" if works else severity
                    )


def module_of(case: Case, name: str) -> str:
    """The module that a distribution is imported as."""
    return next((c.module for c in case.carried if c.distribution == name), name.replace("-", "_"))


def violated(installed: Mapping[str, str], constraint: str) -> tuple[str, str]:
    """(name, version) of what is installed against a constraint; empty where nothing is."""
    at = next((i for i, c in enumerate(constraint) if c in "<>=!~"), len(constraint))
    name, found = constraint[:at], installed.get(constraint[:at], "")
    return ("", "") if not found or holds(constraint[at:], found) else (name, found)


def _of_patch(
    case: Case, row: PatchRow, owner: tuple[str, str], other: tuple[str, str], constraint: str, severity: str | None
) -> Finding:  # fmt: skip
    proof = [("installed", f"{other[0]} {other[1]}"), (f"knowledge {row.id}", row.source)]
    return case.speaker.finding(
        "version-conflict", proof, severity,  # type: ignore[arg-type]
        name=other[0], version=other[1], found=f"{owner[0]} {owner[1]}", constraint=constraint, why=row.why, **case.commands,
    )  # fmt: skip


def by_companions(case: Case, imported: Mapping[str, bool]) -> Iterator[Finding]:
    """Packages that belong to one version, or one build, of another."""
    for leader in ("torch", "tensorflow"):
        one = next((c for c in case.carried if c.framework == leader), None)
        for package, wanted, row in case.knowledge.companions(leader, one.version) if one else ():
            found = case.installed.get(package)
            if one is None or found is None or imported.get(package.replace("-", "_")):
                continue
            exact = wanted if wanted[0] in "<>=!~" else f"=={wanted}"
            words: dict[str, Any] = {
                "leader": leader,
                "version": one.version,
                "package": package,
                "found": found,
            }
            words |= case.commands
            proof = [(f"knowledge {row.id}", row.source)]
            if not holds(exact, found.partition("+")[0]):
                yield case.speaker.finding(
                    "companion-mismatch", proof, why=row.why, wanted=f"{package}{exact}", **words
                )
            elif row.same_index and _build_name(case, one.version, one) != _build_name(case, found, one):
                yield _mixed(case, one, (package, found), row.why, proof)


def _build_name(case: Case, version: str, torch: Carried) -> str:
    """`cpu`, `cu126`: the local version, or what the default index has beside this torch."""
    local = version.partition("+")[2]
    if local:
        return local
    found = (
        b
        for b in case.knowledge.builds("torch")
        if (b.distribution, b.version, b.local, b.index, b.target)
        == ("torch", torch.public, "", "pypi", case.target)
    )
    build = next(found, None)
    if build is None:
        return "default"
    return (
        f"cu{build.runtime.version.replace('.', '')}" if build.runtime.kind == "cuda" else build.runtime.kind
    )


def _mixed(
    case: Case, one: Carried, other: tuple[str, str], why: str, proof: list[tuple[str, str]]
) -> Finding:
    package, found = other
    public = found.partition("+")[0]
    return case.speaker.finding(
        "mixed-builds", proof, leader=one.framework, version=one.version, package=package, found=found,
        first=_build_name(case, one.version, one), second=_build_name(case, found, one), why=why, **case.commands,
        wanted=f"{package}=={public}{f'+{one.local}' if one.local else ''}",
        index=case.index_of(package, one.version),
    )  # fmt: skip
