"""Which environment a verb means, and holding it: without YAML, solver or schemas, for the verbs that answer at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from provision.messages import message
from provision.model.finding import BlockedError, Finding, Remedy, UsageError
from provision.model.state import Layout

if TYPE_CHECKING:
    from provision.applying.recovery import Recovered
    from provision.model.state import EnvState
    from provision.pipeline.session import Session
    from provision.ports import Files


def find_environment(session: Session, reference: str | None, environment: str | None) -> str:
    """The environment that is named (by its path, or by its profile), else the only one of the folder.

    Raises UsageError where that is not one.
    """
    if environment or reference is None:
        return _absolute(session.folder, environment) if environment else _only_environment(session)
    if _is_environment(session.files, session.folder / reference):
        return _absolute(session.folder, reference)
    from provision.model.finding import ProfileError

    try:
        return _of_profile(session, reference)
    except ProfileError as error:
        if error.findings[0].code != "no-such-profile":
            raise
        raise UsageError(_neither(session, reference)) from None


def _neither(session: Session, reference: str) -> Finding:
    have = tuple(environment_names(session)) or message("pipeline.no-such-environment.none")
    return Finding(
        "no-such-environment", "error", message("pipeline.no-such-environment.summary", reference=reference),
        detail=message("pipeline.no-such-environment.detail", have=have),
        remedies=(Remedy(message("pipeline.no-such-environment.way"), "provision profiles"),),
    )  # fmt: skip


def _absolute(folder: Path, path: str) -> str:
    """Its parents' links resolved, the environment's own link not."""
    full = (folder / path).absolute()
    return str(full.parent.resolve() / full.name)


def _is_environment(files: Files, path: Path) -> bool:
    absolute = path.absolute()
    beside = absolute.parent / ".provision" / absolute.name / "generations"
    return (
        files.pointed(str(path)) is not None
        or files.stat(str(path / "pyvenv.cfg")) is not None
        or files.stat(str(path / "conda-meta")) is not None
        or files.stat(str(beside)) is not None
    )


def _of_profile(session: Session, reference: str) -> str:
    from provision.pipeline.profiles import locate

    path, _ = locate(reference, session.folder)
    for name in environment_names(session):
        environment = _absolute(session.folder, name)
        if str(path.absolute()) in _inputs(session.files, Layout(environment)):
            return environment
    from provision.pipeline.profiles import read

    return _absolute(session.folder, read(reference, session.folder).profile.environment.path)


def environment_names(session: Session) -> list[str]:
    """Environments of this folder that provision made or began to make."""
    shared = session.folder / ".provision"
    return [n for n in session.files.listdir(str(shared)) if (shared / n / "generations").is_dir()]


def _inputs(files: Files, layout: Layout) -> set[str]:
    """The profiles and locks that the generations of an environment were made from."""
    found: set[str] = set()
    folder = Path(layout.record(0)).parent
    for name in files.listdir(str(folder)):
        try:
            found |= set(json.loads(files.read_text(str(folder / name)) or "{}").get("inputs", ()))
        except (ValueError, AttributeError, TypeError):
            continue
    return found


def _only_environment(session: Session) -> str:
    names = environment_names(session)
    if len(names) == 1:
        return _absolute(session.folder, names[0])
    summary = (
        message("pipeline.which-environment.several", names=names)
        if names
        else message("pipeline.which-environment.none")
    )
    raise UsageError(
        Finding(
            "which-environment", "error", summary,
            remedies=(Remedy(message("pipeline.which-environment.way")),),
        )
    )  # fmt: skip


@contextmanager
def holding(session: Session, environment: str) -> Iterator[Recovered | None]:
    """The environment's mutex, and whatever an interrupted run left made whole; what that was is said and given."""
    from provision.applying.generations import guard
    from provision.world.mutex import hold

    layout = Layout(environment)
    guard(session.files, layout)
    with hold(layout.mutex, session.now()):
        yield _recover(session, environment)


def _recover(session: Session, environment: str) -> Recovered | None:
    from provision.applying.recovery import recover
    from provision.applying.troubles import not_undone
    from provision.model.finding import RollbackError

    try:
        done = recover(session.files, environment, session.now())
    except OSError as error:
        raise RollbackError(not_undone(Layout(environment), error)) from error
    if done is not None:
        session.reporter.stage(message("pipeline.stage.recovered"), recovered_text(done))
    return done


def recovered_text(done: Recovered) -> str:
    """What recovery did, in a line."""
    if done.verb == "unknown":
        return message("pipeline.recovered.unknown")
    what = "taken-back" if done.what == "undone" else "completed"
    if done.verb == "gc":
        return message(f"pipeline.recovered.gc-{what}")
    return message(f"pipeline.recovered.{what}", verb=done.verb, generation=done.generation)


def current_state(session: Session, reference: str | None, environment: str | None) -> EnvState:
    """The environment that a verb means: the one named, the profile's, or the only one of the folder.

    If a killed run left it half changed, it is made whole first.
    """
    from provision.inspecting import inspect

    path = find_environment(session, reference, environment)
    make_whole(session, path)
    return inspect(session.files, path)


def make_whole(session: Session, environment: str) -> None:
    """For verbs that only use an environment: recover it if a killed run left it open and nobody holds it."""
    from provision.applying.journal import read

    if not read(session.files, Layout(environment).journal).open:
        return
    try:
        with holding(session, environment):
            pass
    except BlockedError:
        return  # Another run is at work: until its switch, what is there is whole.
