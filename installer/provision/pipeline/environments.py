"""plan, apply, verify, status, run: from a reference to an outcome."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from provision.applying.engine import Effects, Outcome, apply
from provision.documents import dump_json, dump_yaml
from provision.inspecting import inspect
from provision.messages import joined, message, unstopped
from provision.model.finding import (
    BlockedError,
    Finding,
    LockError,
    Remedy,
    UnsatisfiableError,
    UsageError,
)
from provision.model.lock import Lock
from provision.model.machine import Machine
from provision.model.plan import Plan
from provision.model.receipt import Receipt
from provision.model.state import EnvState, Layout
from provision.pipeline.gate import gather, obstacles
from provision.pipeline.licences import accept, only_licences, withheld
from provision.pipeline.locks import (
    Locked,
    lock_pair,
    make_lock,
    read_lock_file,
    stale_because,
    targets_of,
    text_digest,
)
from provision.pipeline.places import current_state, holding
from provision.pipeline.profiles import Source, find_lock, read, variants_of
from provision.pipeline.session import Session, environment_path, read_machine_file
from provision.pipeline.strangers import must_be_known
from provision.pipeline.vendor import MISSING
from provision.planning import Known, Request, interpreter_for, plan
from provision.resolving import python_choices, pythons, resolve
from provision.shells import quoted
from provision.verifying import demand, jobs


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command line says beside the profile."""

    environment: str | None = None
    device: str | None = None
    python: str | None = None
    locked: bool = False
    yes: bool = False
    reinstall: bool = False
    in_place: bool = False
    #: Why a machine that does not meet the lock's needs is taken all the same.
    force: str = ""
    #: The facts of another machine, which the environment is built for here.
    for_machine: Path | None = None
    variant: str | None = None
    #: verify: the level to prove instead of the profile's.
    level: str | None = None
    #: The makers' licences of the placed libraries are accepted.
    accept_licence: bool = False
    #: Where files of a vendor are missing: go on with the rest of the lock, to show it.
    partial: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A variant that this machine does not take, and why."""

    variant: str
    because: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A profile with the lock that this machine takes, the plan for it, and what was read on the way."""

    source: Source
    lock: Lock
    lock_path: Path
    plan: Plan
    state: EnvState
    machine: Machine
    request: Request
    known: Known
    relocked: Locked | None = None
    inputs: dict[str, str] = field(default_factory=dict)
    skipped: tuple[Skipped, ...] = ()
    #: The environment is somebody else's and is changed where it stands.
    in_place: bool = False
    #: A saved plan: carried out as it is, never made again.
    exact: bool = False


def prepare(reference: str, session: Session, options: Options) -> Prepared:
    """Profile -> lock (made if need be) -> plan. Changes nothing but, where needed, the lock file."""
    found = read(reference, session.folder)
    session = session.serving(found)
    source, skipped = choose_variant(found, session, options)
    options = _in_its_python(source, session, options)
    target = _target(source, session)
    python = _choose_python(source, session, target, options)
    made, digest, path, relocked = _lock_for(source, session, target, python, options)
    prepared = prepared_of(source, made, digest, path, session, options, relocked)
    return replace(prepared, skipped=skipped)


def prepared_of(
    source: Source,
    made: Lock,
    digest: str,
    path: Path,
    session: Session,
    options: Options,
    relocked: Locked | None = None,
) -> Prepared:
    """The plan for a lock on this machine, with all that blocks it. Changes nothing."""
    state = inspect(session.files, environment_path(session, made.path, options.environment))
    request = _request(made, session, options)
    machine = _machine(session, options)
    said = gather(made, machine, session, with_device=not request.without_device)
    if options.accept_licence:
        accept(session, made)
    planned = withheld(plan(made, digest, state, machine, request, said), made, session)
    if relocked is not None:
        planned = replace(planned, blockers=(*relocked.findings, *planned.blockers))
    planned = replace(planned, blockers=(*planned.blockers, *_barred(planned, made, session)))
    prepared = Prepared(
        source=source,
        lock=made,
        lock_path=path,
        plan=planned,
        state=state,
        machine=machine,
        request=request,
        known=said,
        relocked=relocked,
        inputs=_inputs(source, path),
    )
    if not options.in_place:
        return prepared
    from provision.pipeline.in_place import in_place

    return in_place(prepared, session, options)


def _barred(planned: Plan, made: Lock, session: Session) -> tuple[Finding, ...]:
    """What keeps the files from being fetched, as far as that is known before anything is asked for."""
    fetched = {step.subject for step in planned.steps if step.action == "fetch"}
    try:
        if any(a.file in fetched for a in made.artifacts):
            session.host_catalog.check_way(made.indexes)
            session.store.check_here(made)
        if missing := [a for a in made.conda if a.file in fetched]:
            session.conda.check_way(missing)
            session.conda.check_here(missing)
    except (BlockedError, LockError) as error:
        return error.findings
    return ()


def _in_its_python(source: Source, session: Session, options: Options) -> Options:
    """A change in place takes the Python that the environment has."""
    if not options.in_place or options.python:
        return options
    from provision.stocktaking import take_stock

    environment = environment_path(session, source.profile.environment.path, options.environment)
    return replace(options, python=take_stock(session.files, environment).python or None)


def _machine(session: Session, options: Options) -> Machine:
    """The machine that the environment must run on: this one, or that of `--for-machine` with the Pythons of here."""
    if options.for_machine is None:
        return session.machine
    return replace(read_machine_file(options.for_machine), pythons=session.machine.pythons)


def choose_variant(source: Source, session: Session, options: Options) -> tuple[Source, tuple[Skipped, ...]]:
    """The first variant whose needs this machine meets, and why the earlier ones do not fit.

    Needs are those of the best stack: no lock is made for a variant that does not fit. Raises BlockedError when
    none does.
    """
    candidates = variants_of(source, options.variant)
    if len(candidates) == 1:
        return candidates[0], ()
    skipped: list[Skipped] = []
    for candidate in candidates:
        because = _unfit(candidate, session, options)
        if not because:
            session.reporter.stage(message("pipeline.stage.variant"), _taken(candidate, skipped))
            return candidate, tuple(skipped)
        skipped.append(Skipped(variant=candidate.variant or "", because=because))
    raise BlockedError(
        [replace(f, summary=joined((s.variant, ": ", f.summary))) for s in skipped for f in s.because]
    )


def _taken(candidate: Source, skipped: list[Skipped]) -> str:
    told = [joined((s.variant, ": ", unstopped(s.because[0].summary))) for s in skipped]
    if not told:
        return candidate.variant or ""
    return message("pipeline.variant.taken", variant=candidate.variant, reasons=joined(told, "; "))


def _unfit(candidate: Source, session: Session, options: Options) -> tuple[Finding, ...]:
    target = session.host_target()
    if target not in targets_of(candidate.profile, session):
        return (
            Finding(
                "wrong-target",
                "note",
                message(
                    "pipeline.wrong-target.summary",
                    targets=", ".join(candidate.profile.targets),
                    target=target,
                ),
            ),
        )
    try:
        stack = resolve(
            candidate.profile, target, _choose_python(candidate, session, target, options), session.knowledge
        )
    except UnsatisfiableError as error:
        return error.findings
    request = Request(device=proof_device(options), elsewhere=options.for_machine is not None)
    return obstacles(stack, candidate.profile, _machine(session, options), session, request)


def _target(source: Source, session: Session) -> str:
    """This machine's target if the profile has it; else its first one, whose plan then says why it is blocked."""
    targets = targets_of(source.profile, session)
    host = session.host_target()
    return host if host in targets else targets[0]


def _choose_python(source: Source, session: Session, target: str, options: Options) -> str:
    """The newest Python that the stack exists for and this machine has; else the newest that the stack exists for.

    Committed locks are asked first: where they are, no search is needed.
    """
    if options.python and Path(options.python).is_absolute():
        return ".".join(_version_at(options.python, session).split(".")[:2])
    locked = [p for p in _locked_pythons(source, session, target) if p]
    known = locked or list(pythons(source.profile, target, session.knowledge))
    if options.python:
        known = [p for p in known if p == options.python] or [options.python]
    if not known:
        from provision.pipeline.locks import combinations

        combinations(source.profile, session, [target])
    is_conda = source.profile.environment.manager == "conda"
    here = set(known) if is_conda else set(_minors(session.machine))
    ordered = sorted(known, key=lambda p: [int(n) for n in p.split(".")], reverse=True)
    return next((p for p in ordered if p in here), ordered[0])


def _version_at(path: str, session: Session) -> str:
    found = session.admit(path)
    if found is None:
        raise UsageError(
            Finding(
                "no-such-interpreter", "error", message("pipeline.no-such-interpreter.summary", path=path)
            )
        )
    return found.version


def _minors(machine: Machine) -> list[str]:
    return [".".join(p.version.split(".")[:2]) for p in machine.pythons if p.implementation == "cpython"]


def _locked_pythons(source: Source, session: Session, target: str) -> list[str]:
    return [p for p in python_choices(source.profile) if find_lock(source, session.folder, target, p)]


def _lock_for(
    source: Source, session: Session, target: str, python: str, options: Options
) -> tuple[Lock, str, Path, Locked | None]:
    """The lock that is there and matches; else a new one, unless `--locked` forbids it."""
    path = find_lock(source, session.folder, target, python)
    stale: str | None = message("pipeline.lock.none")
    if path is not None:
        made, digest = read_lock_file(path)
        stale = stale_because(made, source.profile)
        if stale is None:
            return made, digest, path, None
    if options.locked:
        raise LockError(_no_lock(source, target, python, path, stale or ""))
    relocked = lock_pair(source, session, target, python)
    if relocked.lock is None:
        if options.partial and all(finding.code == MISSING for finding in relocked.findings):
            made = make_lock(source.profile, target, python, session.serving(source), partial=True)
            return made, text_digest(dump_yaml(made)), relocked.path, relocked
        raise UnsatisfiableError(relocked.findings)
    made, digest = read_lock_file(relocked.path)
    text = message("pipeline.lock.made", target=target, python=python, count=len(made.pins), why=stale)
    session.reporter.stage(message("pipeline.stage.locked"), text)
    return made, digest, relocked.path, relocked


def _no_lock(source: Source, target: str, python: str, path: Path | None, because: str) -> Finding:
    what = (
        joined((str(path), ": ", because))
        if path
        else message("pipeline.no-lock.what", name=source.profile.name, target=target, python=python)
    )
    return Finding(
        "lock-stale" if path else "lock-missing",
        "error",
        message("pipeline.no-lock.summary", what=what),
        remedies=(Remedy(message("pipeline.no-lock.way"), f"provision lock {quoted(source.path)}"),),
    )


def _request(made: Lock, session: Session, options: Options) -> Request:
    named = options.python if options.python and Path(options.python).is_absolute() else None
    fetchable = None
    on_machine = made.manager == "venv" and session.machine_file is None and not session.offline
    if on_machine and not _has_python(made, session, named):
        fetchable = _fetchable(made)
    return Request(
        device=proof_device(options),
        present=session.store.present(made.artifacts) | _present_conda(made, session),
        **_room(session, environment_path(session, made.path, options.environment)),
        fetchable_python=fetchable,
        offline=session.offline,
        interpreter=named,
        reinstall=options.reinstall,
        jobs=jobs(made),
        proof_device=demand(made, device=proof_device(options), vendor=made.hardware).device,
        force=options.force,
        elsewhere=options.for_machine is not None,
        host=session.host_target(),
    )


def _room(session: Session, environment: str) -> dict[str, Any]:
    """What the plan must know of the disks. Temporary files lie with the cache: the system's folder needs no room."""
    from provision.world.files import space

    here, cache = space(environment), space(str(session.cache))
    return {
        "free": here[1] if here else None,
        "cache_free": cache[1] if cache else None,
        "one_disk": None if here is None or cache is None else here[0] == cache[0],
        "copies": session.installer.link_mode(environment) == "copy",
    }


def _present_conda(made: Lock, session: Session) -> frozenset[str]:
    return session.conda.present(made.conda) if made.conda else frozenset()


def proof_device(options: Options) -> str | None:
    """What is built for elsewhere is proven on the CPU: the device is not here."""
    return options.device or ("cpu" if options.for_machine is not None else None)


def _has_python(made: Lock, session: Session, named: str | None) -> bool:
    return interpreter_for(made, session.machine, Request(interpreter=named)) is not None


def _fetchable(made: Lock) -> str | None:
    """uv's managed build of the Python that is missing, if uv knows one for this machine."""
    from provision.world.installing import managed_python

    return managed_python(made.python)


def _inputs(source: Source, lock_path: Path) -> dict[str, str]:
    """The files that the result depends on, with their hashes: what the quick answer of a second apply compares."""
    from provision.pipeline.quick import file_digest

    chain = [source.path, *_bases(source.path), lock_path]
    return {str(path.absolute()): file_digest(path) for path in chain if path.is_file()}


def _bases(path: Path) -> list[Path]:
    """The profiles that a profile extends, nearest first."""
    import re

    bases: list[Path] = []
    while len(bases) < 16 and path.is_file():
        match = re.search(rb"^extends:\s*[\"']?([^\"'#\r\n]+)", path.read_bytes(), re.MULTILINE)
        if match is None:
            break
        path = path.parent / match[1].decode().strip()
        bases.append(path)
    return bases


def run_apply(reference: str, session: Session, options: Options) -> tuple[Prepared, Outcome]:
    """Prepare, ask, and carry out. Raises BlockedError when the plan is blocked or another run holds the environment."""
    from provision.pipeline.saved import is_saved_plan, load

    if is_saved_plan(session.folder / reference):
        prepared, options = load(session.folder / reference, session)
    else:
        prepared = licensed(prepare(reference, session, options), session)
    if prepared.plan.blockers:
        raise BlockedError(prepared.plan.blockers)
    if prepared.plan.steps and prepared.state.kind != "absent" and not options.yes:
        _ask(prepared, session, options)
    return prepared, carry_out(prepared, session, options)


def licensed(prepared: Prepared, session: Session) -> Prepared:
    """Ask a person for the licences, where nothing else keeps the plan from being carried out."""
    if not only_licences(prepared.plan):
        return prepared
    named = "\n".join(f"  {one.source}: {one.text}" for f in prepared.plan.blockers for one in f.evidence)
    if not session.confirm(message("pipeline.licences.question", named=named)):
        return prepared
    accept(session, prepared.lock)
    return replace(prepared, plan=replace(prepared.plan, blockers=()))


def options_of(options: Options) -> dict[str, object]:
    """What the command line said beside the profile, as far as it changes what is made."""
    return {
        "--environment": options.environment,
        "--variant": options.variant,
        "--python": options.python,
        "--device": options.device,
        "--in-place": options.in_place,
        "--reinstall": options.reinstall,
        "--for-machine": options.for_machine,
    }


def apply_command(subject: str, ways: Mapping[str, object] | None = None) -> str:
    """The command that carries a plan out, with the options that it was made with."""
    said = [
        f"{name} {quoted(value)}" if value is not True else name
        for name, value in (ways or {}).items()
        if value
    ]
    return " ".join(("provision apply", subject, *said))


def question(prepared: Prepared) -> str:
    """What a person is asked before the plan is carried out."""
    state, plan = prepared.state, prepared.plan
    if not prepared.in_place:
        return message(
            "pipeline.switch.question",
            environment=state.environment, generation=state.generation, number=plan.generation,
        )  # fmt: skip
    removed, installed = (sum(s.action == action for s in plan.steps) for action in ("remove", "install"))
    return message(
        "pipeline.in-place.question", environment=state.environment, removed=removed, installed=installed
    )


def _ask(prepared: Prepared, session: Session, options: Options) -> None:
    if not session.confirm(question(prepared)):
        ways = {**options_of(options), "--bundle": session.bundle_folder}
        again = apply_command(quoted(prepared.source.path), ways)
        raise BlockedError(
            Finding(
                "not-confirmed", "error", message("pipeline.not-confirmed.summary"),
                remedies=(Remedy(message("pipeline.not-confirmed.way"), f"{again} --yes"),),
            )
        )  # fmt: skip


def carry_out(prepared: Prepared, session: Session, options: Options) -> Outcome:
    """mutex -> recover -> look again -> apply."""
    if prepared.in_place:
        from provision.pipeline.in_place import carry_out_in_place

        return carry_out_in_place(prepared, session, options)
    with holding(session, prepared.plan.environment) as recovered:
        state = inspect(session.files, prepared.plan.environment)
        current = prepared.plan
        if recovered is not None and not prepared.exact:
            current = plan(
                prepared.lock, current.lock, state, prepared.machine, prepared.request, prepared.known
            )
        return apply(current, prepared.lock, state, effects_of(prepared, session, options))


def effects_of(prepared: Prepared, session: Session, options: Options) -> Effects:
    from provision.world.installing import fetch_python
    from provision.world.unpacking import HostPlacer

    return Effects(
        files=session.files,
        store=session.store,
        installer=session.installer,
        placer=HostPlacer(),
        given={name: str(path) for name, path in session.libraries.items()},
        reporter=session.reporter,
        now=session.now,
        prove=lambda folder, generation: prove(
            prepared.lock,
            prepared.plan.lock,
            folder,
            generation,
            session,
            options,
            plan=prepared.plan,
            built_for=machine_summary(prepared.machine) if options.for_machine else None,
        ),
        fetch_python=fetch_python,
        conda=session.conda if prepared.lock.manager == "conda" else None,
        inputs=prepared.inputs,
    )


def prove(
    made: Lock,
    digest: str,
    folder: str,
    generation: int,
    session: Session,
    options: Options,
    environment: str | None = None,
    plan: Plan | None = None,
    built_for: dict[str, Any] | None = None,
) -> Receipt:
    """Run the smoke jobs in an environment, judge them, write the receipt.

    The receipt says too what `plan` overrode, and for which other machine it was built.
    """
    from provision.verifying import verify
    from provision.world.installing import interpreter
    from provision.world.smoke import ProcessSmokeRunner

    layout = Layout(environment or environment_path(session, made.path, options.environment))
    session.reporter.start(message("pipeline.stage.proving"))
    receipt = verify(
        made,
        Path(interpreter(folder)),
        demand(made, level=options.level, device=proof_device(options), vendor=made.hardware),  # type: ignore[arg-type]
        ProcessSmokeRunner(scratch=session.cache / "tmp"),
        session.now,
        digest=digest,
        generation=generation,
        machine=machine_summary(session.machine),
        heard=session.judged,
    )
    receipt = _with_reservations(receipt, plan, built_for)
    session.files.make_folder(str(Path(layout.receipt(generation)).parent))
    session.files.write(_receipt_place(session, layout, generation), dump_json(receipt))
    return receipt


def _with_reservations(receipt: Receipt, plan: Plan | None, built_for: dict[str, Any] | None) -> Receipt:
    """What the proof does not reach: another machine's device, and needs that a person overrode."""
    words = [receipt.proves]
    if built_for:
        words.append(message("verifying.proves.elsewhere", target=built_for["target"]))
    if plan is not None and plan.force:
        words.append(message("verifying.proves.forced", reason=plan.force))
    return replace(
        receipt,
        proves=joined(words, " "),
        override=plan.override if plan is not None else {},
        built_for=built_for or {},
    )


def _receipt_place(session: Session, layout: Layout, generation: int) -> str:
    """The apply's receipt is `3.json`; later proofs of the same generation are `3-2.json`, `3-3.json` ..."""
    first = layout.receipt(generation)
    number = 1
    place = first
    while session.files.stat(place) is not None:
        number += 1
        place = first.removesuffix(".json") + f"-{number}.json"
    return place


def machine_summary(machine: Machine) -> dict[str, Any]:
    """What a receipt says of the machine: no host name, no user, no path."""
    return {
        "target": machine.target,
        "os": machine.os_version,
        "libc": machine.libc,
        "cpu": machine.cpu,
        "drivers": dict(machine.drivers),
        "devices": [
            {"vendor": d.vendor, "name": d.name, "capability": d.capability} for d in machine.devices
        ],
    }


def made_from(session: Session, state: EnvState) -> tuple[Lock, str]:
    """The lock that an environment was made from, if the file is still what it was."""
    record = state.record
    paths = [Path(p) for p in record.inputs if p.endswith(".lock.yaml")] if record else []
    for path in paths:
        if path.is_file():
            made, digest = read_lock_file(path)
            if record and digest == record.lock:
                return made, digest
    raise LockError(
        Finding(
            "lock-missing", "error", message("pipeline.lock-missing.summary", environment=state.environment),
            remedies=(Remedy(message("pipeline.lock-missing.way"), "provision apply PROFILE"),),
        )
    )  # fmt: skip


def run_verify(reference: str | None, session: Session, options: Options) -> Receipt:
    """Prove an environment again, as it is now."""
    state = current_state(session, reference, options.environment)
    must_be_known(state, session)
    made, digest = made_from(session, state)
    assert state.generation is not None
    return prove(
        made, digest, state.folder, state.generation, session, options, environment=state.environment
    )
