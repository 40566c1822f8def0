"""doctor: gather what is there (nothing is written), let `diagnosing` judge it."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from provision.diagnosing.at_framework import LIMIT
from provision.diagnosing.case import Case, Heard
from provision.diagnosing.doctor import Examination, examine
from provision.diagnosing.environments import (
    PROBE,
    Distribution,
    Environment,
    absent,
    check_files,
    of_list,
    read_environment,
)
from provision.diagnosing.saying import Speaker
from provision.knowledge.checks import load_checks
from provision.model.finding import Finding, ProvisionError
from provision.pipeline.session import Session
from provision.pipeline.subjects import Subject, subject_of

if TYPE_CHECKING:
    from provision.knowledge.symptoms import Lang
    from provision.model.lock import Lock
    from provision.model.machine import Machine, Occupancy
    from provision.model.receipt import JobResult
    from provision.model.stack import Need
    from provision.world.reader import HostReader

#: Variables that an explanation may ask for, by how they begin.
_TOLD = ("PYTHON", "LD_", "CUDA", "NVIDIA_", "TF_", "KERAS", "PROTOCOL_", "HIP_", "ROCR_", "HSA_", "ASCEND", "MUSA",
         "CONDA_", "VIRTUAL_ENV", "TORCH", "PATH", "DYLD_", "DML_", "ZE_", "ONEAPI_", "SESSIONNAME",
         "SSH_CONNECTION")  # fmt: skip
#: Kind of a runtime -> what the smoke jobs call the device.
_DEVICES = {"cann": "npu", "neuware": "mlu", "": "cpu"}
#: Seconds that comparing files by content may take; the imports, which run beside it, take longer.
_HASHING = 1.5
#: Seconds that a training of `--train` may take.
_TRAIN_LIMIT = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What the command line says."""

    reference: str | None = None
    installed: Path | None = None
    train: bool = False
    #: Compare the content of every file, however long it takes.
    files: bool = False
    lang: Lang = "en"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The examination, and what it was made of."""

    subject: Subject
    case: Case
    examination: Examination


def run_doctor(session: Session, question: Question) -> Answer:
    """Examine what the question names. Nothing is written."""
    case, subject = gather(session, question)
    found = examine(case)
    if question.train and found.cause is None and case.environment is not None and case.carried:
        case = replace(case, trained=tuple(_train(case)))
        found = examine(case)
    return Answer(subject=subject, case=case, examination=found)


def gather(session: Session, question: Question) -> tuple[Case, Subject]:
    """All facts about the subject."""
    if question.installed is not None:
        return _listed(session, question), Subject(shown=str(question.installed))
    subject = subject_of(session, question.reference)
    lock = _lock_of(session, subject)
    reader = _reader(session, subject, dict(lock.variables) if lock else {})
    machine, findings = _machine(session, reader)
    case = Case(
        knowledge=session.knowledge,
        speaker=Speaker(question.lang, machine.os if machine else session.host_target().partition("-")[0]),
        reference=subject.profile or subject.shown,
        machine=machine,
        machine_findings=findings,
        occupied=_occupied(session, reader, machine),
        variables=_told(reader.environ()),
        folder=str(session.folder),
        beside=tuple(_importable(session.folder)),
        demanded=_demanded(session, subject, lock),
        needs=tuple(_needs(session, subject, lock, machine)),
    )
    case = replace(case, **_state(session, subject))
    return (
        (_with_environment(case, subject, reader, question.files), subject)
        if subject.prefix or subject.python
        else (case, subject)
    )


def _importable(folder: Path) -> Iterator[str]:
    """Modules and packages in a folder; one without `__init__.py` hides nothing."""
    for path in sorted(folder.iterdir()):
        if path.suffix == ".py" or (path / "__init__.py").is_file():
            yield path.name


def _listed(session: Session, question: Question) -> Case:
    """A package list of some other environment; the machine only where a file tells it."""
    from provision.diagnosing.facts import installed_facts

    assert question.installed is not None
    text = question.installed.read_text(encoding="utf-8", errors="replace")
    found = {name.removeprefix("installed."): version for name, version in installed_facts(text).items()}
    machine = session.machine if session.machine_file else None
    return Case(
        knowledge=session.knowledge,
        speaker=Speaker(question.lang, machine.os if machine else session.host_target().partition("-")[0]),
        machine=machine,
        environment=of_list(found, machine.target if machine else session.host_target()),
        variables=dict(machine.environment) if machine else {},
    )


def _with_environment(case: Case, subject: Subject, reader: HostReader, every: bool) -> Case:
    """The environment's files and imports: the imports run while the files are read."""
    if subject.prefix and not os.path.lexists(subject.prefix):
        return replace(case, environment=absent(subject.prefix))
    there = read_environment(reader, subject.prefix, subject.python)
    case = replace(case, environment=there)
    with ThreadPoolExecutor(max_workers=4) as pool:
        heard = [pool.submit(_hear, reader, there, name, modules) for name, modules in _to_import(case)]
        files = check_files(reader, there.distributions, _go_on(case, every))
        # What the rows say is read while the imports still run; the verdict is made again with what they said.
        examine(replace(case, files=files))
        return replace(case, files=files, heard=tuple(one.result() for one in heard))


def _go_on(case: Case, every: bool) -> Callable[[Distribution], bool]:
    """Which files are compared by content: those of the frameworks and of what they require, for a limited time; or
    all of them."""
    if every or case.environment is None:
        return lambda _: True
    names = {one.distribution for one in case.carried}
    asked = [r for one in case.environment.distributions if one.name in names for r in one.requires]
    names |= {re.split(r"[^\w.-]", text.strip())[0].replace("_", "-").lower() for text in asked}
    until: list[float] = []

    def go_on(one: Distribution) -> bool:
        until.extend([] if until else [time.monotonic() + _HASHING])
        return one.name in names and time.monotonic() < until[0]

    return go_on


def _to_import(case: Case) -> Iterator[tuple[str, tuple[str, ...]]]:
    env = case.environment
    if env is None or env.error:
        return
    for row in load_checks().imports:
        if any(name in case.installed for name in row.distributions):
            after = [module for name, module in row.after.items() if name in case.installed]
            yield row.framework, (row.module, *after)


def _hear(reader: HostReader, env: Environment, framework: str, modules: Sequence[str]) -> Heard:
    return Heard(framework, reader.run([env.python, "-B", str(PROBE), "import", *modules], LIMIT))


def _reader(session: Session, subject: Subject, variables: Mapping[str, str]) -> HostReader:
    """Reads this machine as a shell would in which the environment is active."""
    from provision.world.reader import HostReader

    base = {k: v for k, v in os.environ.items() if k not in ("VIRTUAL_ENV", "CONDA_PREFIX")}
    if subject.prefix:
        name = "CONDA_PREFIX" if (Path(subject.prefix) / "conda-meta").is_dir() else "VIRTUAL_ENV"
        folders = ("Scripts", "Library/bin", "") if os.name == "nt" else ("bin",)
        places = [str(Path(subject.prefix) / folder) for folder in folders]
        base |= {name: subject.prefix, "PATH": os.pathsep.join([*places, base.get("PATH", "")])}
    return HostReader(environ={**base, **subject.variables, **variables})


def _machine(session: Session, reader: HostReader) -> tuple[Machine, tuple[Finding, ...]]:
    if session.machine_file is not None:
        return session.detected
    from provision.detecting import detect

    return detect(reader)


def _occupied(session: Session, reader: HostReader, machine: Machine) -> tuple[Occupancy, ...]:
    """Who uses the cards, asked before the frameworks are imported: an import takes one itself."""
    if session.machine_file is not None or not machine.devices:
        return ()
    from provision.detecting import occupancy

    return occupancy.probe(reader, machine)


def _told(variables: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if name.startswith(_TOLD)}


def _state(session: Session, subject: Subject) -> dict[str, Any]:
    """Whether provision made the environment, and whether it still is what was proven."""
    if not subject.prefix:
        return {}
    from provision.applying.journal import read
    from provision.inspecting import inspect
    from provision.model.state import Layout

    state = inspect(session.files, subject.prefix)
    return {
        "ours": state.kind == "ours",
        "drifted": state.kind == "ours" and state.drifted,
        "interrupted": read(session.files, Layout(subject.prefix).journal).open,
    }


def _lock_of(session: Session, subject: Subject) -> Lock | None:
    """The lock that an environment of ours was made from."""
    if not subject.prefix:
        return None
    from provision.inspecting import inspect
    from provision.pipeline.environments import made_from

    state = inspect(session.files, subject.prefix)
    try:
        return made_from(session, state)[0] if state.kind in ("ours", "adopted") else None
    except ProvisionError:
        return None


def _demanded(session: Session, subject: Subject, lock: Lock | None) -> str:
    """The vendor that a profile asks for; none for the CPU."""
    if lock is not None:
        vendor: str = lock.hardware
    elif subject.profile:
        from provision.pipeline.profiles import read

        vendor = read(subject.profile, session.folder).profile.hardware.vendor
    else:
        return ""
    return "" if vendor == "cpu" else vendor


def _needs(
    session: Session, subject: Subject, lock: Lock | None, machine: Machine
) -> Iterator[tuple[str, Finding]]:
    """What the profile's stack needs and this machine lacks, by layer; devices are looked at elsewhere."""
    from provision.planning import unmet

    for need in lock.needs if lock else _needs_of_profile(session, subject):
        finding = unmet(need, machine) if need.what != "device" else None
        if finding is not None:
            yield ("driver" if need.what.startswith("driver.") else "hardware"), finding


def _needs_of_profile(session: Session, subject: Subject) -> Sequence[Need]:
    if not subject.profile:
        return ()
    from provision.pipeline.profiles import read
    from provision.resolving import pythons, resolve

    source = read(subject.profile, session.folder)
    targets = source.profile.targets or (session.host_target(),)
    target = session.host_target() if session.host_target() in targets else targets[0]
    try:
        python = pythons(source.profile, target, session.knowledge)[0]
        return resolve(source.profile, target, python, session.knowledge).needs
    except (ProvisionError, IndexError):
        return ()


def _train(case: Case) -> Iterator[JobResult]:
    """A short training of each framework, on the device that it is for."""
    from provision.ports import JobRequest
    from provision.verifying import Demand, judge
    from provision.world.smoke import ProcessSmokeRunner

    assert case.environment is not None
    runner = ProcessSmokeRunner(environ={**os.environ, **case.variables})
    for one in case.carried:
        kind = one.kind if case.wanted and case.seen else ""
        device = _DEVICES.get(kind, kind)
        wanted = Demand(level="train", device=device, demanded=device)
        request = JobRequest(
            job=one.framework,
            python=Path(case.environment.python),
            arguments=("--device", device, "--level", "train"),
            variables={},
            time_limit=_TRAIN_LIMIT,
        )
        yield judge(request, runner.run(request), wanted)
