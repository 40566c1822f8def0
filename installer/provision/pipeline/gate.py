"""What knowledge and artifacts say of a locked stack, gathered for the gate. Reads what is at hand; asks a server only
for a build that no row has read, and only where a card is to run it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from provision.artifacts.covers import covers
from provision.artifacts.reading import ptx_isa
from provision.artifacts.truth import disagreements, tag_findings
from provision.knowledge import Build, Knowledge, RuntimeRow, gpu_code
from provision.knowledge.versions import canonicalize_name, version_key
from provision.messages import joined, message
from provision.model.artifact import ArtifactFacts, Coverage
from provision.model.finding import Finding, ProvisionError
from provision.model.lock import Artifact, Digests, Lock
from provision.model.machine import Device, Machine
from provision.model.profile import Profile
from provision.model.stack import Stack
from provision.pipeline.artifacts import known_facts, rank_of, remote_facts
from provision.pipeline.session import Session
from provision.planning import CardCode, Known, Request, judge


@dataclass(frozen=True, slots=True)
class _Carrier:
    """The build of a framework as knowledge knows it, the locked file that carries its code, and what that says."""

    build: Build
    artifact: Artifact | None
    facts: ArtifactFacts | None


def gather(lock: Lock, machine: Machine, session: Session, with_device: bool = True) -> Known:
    """Everything that the gate asks about. Nothing that cannot be read stops it: then the knowledge row speaks."""
    knowledge = session.knowledge
    builds = locked_builds(lock, knowledge)
    cards = machine.vendor_devices(lock.hardware) if with_device else ()
    carriers = [_carrier(build, lock, session, bool(cards)) for build in builds.values()]
    read = tuple(c.facts for c in carriers if c.facts is not None)
    return Known(
        rules=knowledge.rules(),
        builds=builds,
        others={name: _others(build, lock, knowledge) for name, build in builds.items()},
        runtimes={row.id: row for row in knowledge.rows(RuntimeRow)},
        codes=tuple(_codes(carriers, cards, machine, knowledge)),
        facts=read,
        findings=tuple(_about(carriers)),
    )


def obstacles(
    stack: Stack, profile: Profile, machine: Machine, session: Session, request: Request
) -> tuple[Finding, ...]:
    """What of a stack this machine does not meet, before there is a lock: no artifact is known yet."""
    outline = Lock(
        profile=stack.profile,
        target=stack.target,
        python=stack.python,
        digests=Digests(profile="", knowledge=""),
        stack=stack.choices,
        needs=stack.needs,
        hardware=profile.hardware.vendor,
        frameworks=tuple(str(name) for name in profile.frameworks),
    )
    said = gather(outline, machine, session, with_device=not request.without_device)
    return tuple(f for f in judge(outline, machine, request, said) if f.severity == "error")


def locked_builds(lock: Lock, knowledge: Knowledge) -> dict[str, Build]:
    """framework -> the build that the lock's choice names, if a row still knows it."""
    found = {}
    for choice in lock.stack:
        if choice.axis in lock.frameworks:
            fitting = (
                b
                for b in knowledge.builds(choice.axis)
                if b.requirement == choice.value and b.target == lock.target
            )
            best = sorted(fitting, key=lambda b: b.row != choice.rule)
            if best:
                found[choice.axis] = best[0]
    return found


def _others(build: Build, lock: Lock, knowledge: Knowledge) -> tuple[Build, ...]:
    return tuple(
        b
        for b in knowledge.builds(build.framework)
        if b.target == lock.target and lock.python in b.pythons and b.runtime.kind == build.runtime.kind
    )


def _carrier(build: Build, lock: Lock, session: Session, for_card: bool) -> _Carrier:
    artifact = _artifact(build, lock)
    if artifact is None:
        return _Carrier(build, None, None)
    facts = known_facts(artifact, session, read_kept=for_card)
    if facts is None and for_card and not _row_has_read(build) and build.runtime.kind in ("cuda", "rocm"):
        facts = _from_server(artifact, lock, session)
    return _Carrier(build, artifact, facts)


def _row_has_read(build: Build) -> bool:
    return bool(build.row and build.architectures and build.evidence == "artifact")


def _from_server(artifact: Artifact, lock: Lock, session: Session) -> ArtifactFacts | None:
    if session.offline:
        return None
    session.reporter.start(message("pipeline.stage.reading"))
    try:
        return remote_facts(artifact, lock, session)
    except ProvisionError as error:
        for finding in error.findings:
            text = joined((artifact.file, ": ", finding.summary))
            session.reporter.stage(message("pipeline.stage.not-read"), text)
        return None


def _artifact(build: Build, lock: Lock) -> Artifact | None:
    """The locked wheel with the framework's code. TensorFlow for Windows is a stub that brings `tensorflow-intel`."""
    named = [a for a in lock.packages if a.kind == "wheel" and a.name.startswith(build.distribution)]
    fitting = [a for a in named if a.version.partition("+")[0] == build.version]
    return max(fitting, key=lambda a: a.size or 0, default=None)


def _codes(
    carriers: list[_Carrier], cards: tuple[Device, ...], machine: Machine, knowledge: Knowledge
) -> Iterator[CardCode]:
    for one in carriers:
        if one.build.runtime.kind not in ("cuda", "rocm"):
            continue
        for card in cards:
            if card.facts.get("hidden"):
                continue
            yield _code(one, card, machine, knowledge)


def _code(one: _Carrier, card: Device, machine: Machine, knowledge: Knowledge) -> CardCode:
    cuda = driver_cuda(machine, knowledge)
    by_artifact = covers(one.facts, card.capability, ptx_isa(cuda)) if one.facts and card.capability else None
    use_artifact = by_artifact is not None and by_artifact.how != "unknown"
    row = (
        message("pipeline.knowledge-row", row=one.build.row)
        if one.build.row
        else message("pipeline.knowledge")
    )
    return CardCode(
        framework=one.build.framework,
        build=one.build.requirement,
        card=card,
        coverage=by_artifact if by_artifact and use_artifact else by_row(one.build, card.capability, cuda),
        source=one.facts.file if one.facts and use_artifact else row,
        by_artifact=use_artifact,
    )


def by_row(build: Build, capability: str, cuda: str) -> Coverage:
    """What a knowledge row says; `cuda` is the highest CUDA version that the driver knows, empty if not known."""
    if not capability:
        return Coverage(how="unknown", because=message("pipeline.code.no-capability"))
    listed = " ".join((*build.architectures, *build.ptx))
    held = listed or message(
        "pipeline.code.from-capability", floor=build.capability_floor or message("pipeline.unknown")
    )
    if capability.startswith("gfx"):
        return _by_gfx(build, capability, held)
    code = gpu_code(build, capability)
    if code == "ptx" and cuda and version_key(build.runtime.version) > version_key(cuda):
        words = message("pipeline.code.ptx-too-new", cuda=build.runtime.version, driver=cuda)
        return Coverage(how="no", because=words)
    words = message(f"pipeline.code.{code}", held=held)
    how = {"native": "machine-code", "ptx": "ptx-jit", "none": "no", "unknown": "unknown"}
    return Coverage(how=how[code], because=words)  # type: ignore[arg-type]


def _by_gfx(build: Build, target: str, held: str) -> Coverage:
    if not build.architectures:
        return Coverage(how="unknown", because=message("pipeline.code.unknown"))
    how = "machine-code" if target in build.architectures else "no"
    return Coverage(how=how, because=message("pipeline.code.none", held=held), arch=target)  # type: ignore[arg-type]


def driver_cuda(machine: Machine, knowledge: Knowledge) -> str:
    """The highest CUDA version that the driver knows: as it says itself, else by the makers' table of drivers."""
    if told := machine.drivers.get("cuda"):
        return told
    driver = machine.drivers.get("nvidia")
    system = "windows" if "wsl2" in machine.traits else machine.os
    rows: Mapping[str, str] = {
        row.version: row.driver[system] for row in knowledge.runtimes("cuda") if row.driver.get(system)
    }
    fitting = [v for v, least in rows.items() if driver and version_key(least) <= version_key(driver)]
    return max(fitting, key=version_key, default="")


def _about(carriers: list[_Carrier]) -> Iterator[Finding]:
    """What the artifacts say against their tags and against the rows."""
    for one in carriers:
        if one.facts is None:
            continue
        yield from tag_findings(one.facts)
        if one.build.row:
            yield from against_row(one.facts, one.build)


def build_of(facts: ArtifactFacts, knowledge: Knowledge) -> Build | None:
    """The knowledge row's build that a wheel is a file of, by its name, version and tags."""
    public, _, local = facts.version.partition("+")
    found = [
        build
        for framework in ("torch", "tensorflow")
        for build in knowledge.builds(framework)
        if canonicalize_name(build.distribution) == canonicalize_name(facts.name)
        and (build.version, build.local) == (public, local)
        and rank_of(facts.file, build.pythons, build.target)
    ]
    return max(
        found, key=lambda build: (build.runtime.kind == "cuda", len(build.architectures)), default=None
    )


def row_that_brings(facts: ArtifactFacts, knowledge: Knowledge) -> str:
    """The id of a row whose build brings this wheel along (`torch-npu` beside torch); empty if there is none."""
    wanted = f"{canonicalize_name(facts.name)}=={facts.version}"
    builds = (build for framework in ("torch", "tensorflow") for build in knowledge.builds(framework))
    return next((build.row for build in builds if wanted in build.requires), "")


def against_row(facts: ArtifactFacts, build: Build) -> tuple[Finding, ...]:
    """Where a row and an artifact disagree."""
    return disagreements(
        facts,
        build.row,
        cuda=build.runtime.version if build.runtime.kind == "cuda" else "",
        cudnn=build.cudnn,
        glibc=build.glibc,
        architectures=build.architectures,
        ptx=build.ptx,
    )
