"""`plan --out F` and `apply F`: a plan that was read and agreed to is carried out exactly, or refused as stale."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from provision.messages import message
from provision.model.finding import BlockedError, Evidence, Finding, LockError, Remedy
from provision.pipeline.quick import file_digest
from provision.shells import quoted

if TYPE_CHECKING:
    from provision.model.plan import SavedPlan
    from provision.pipeline.environments import Options, Prepared
    from provision.pipeline.session import Session


def is_saved_plan(path: Path) -> bool:
    """True for a file that `plan --out` wrote: JSON with a plan in it, where a profile would be YAML."""
    try:
        with path.open("rb") as file:
            begin = file.read(512)
    except OSError:
        return False
    return begin.lstrip().startswith(b"{") and b'"plan"' in begin


def save(prepared: Prepared, options: Options, path: Path) -> None:
    from provision.documents import dump_json
    from provision.model.plan import SavedPlan

    saved = SavedPlan(
        plan=prepared.plan,
        profile=str(prepared.source.path.absolute()),
        lock=str(prepared.lock_path.absolute()),
        device=options.device,
        inputs=prepared.inputs,
    )
    path.write_text(dump_json(saved), encoding="utf-8")


def load(path: Path, session: Session) -> tuple[Prepared, Options]:
    """The plan of a file, ready to be carried out. Raises BlockedError if what it was made from has changed."""
    from provision.documents import read_saved_plan
    from provision.inspecting import inspect
    from provision.pipeline.environments import Options, Prepared
    from provision.pipeline.locks import read_lock_file
    from provision.pipeline.profiles import read
    from provision.planning import Known, Request

    saved = read_saved_plan(path.read_bytes(), str(path))
    _must_be_fresh(saved, path)
    lock, digest = read_lock_file(Path(saved.lock))
    if digest != saved.plan.lock:
        raise LockError(_stale(path, message("pipeline.stale-plan.lock", lock=saved.lock)))
    state = inspect(session.files, saved.plan.environment)
    if state.digest != saved.plan.state:
        raise BlockedError(_stale(path, message("pipeline.stale-plan.changed", name=saved.plan.environment)))
    prepared = Prepared(
        source=read(saved.profile, session.folder),
        lock=lock,
        lock_path=Path(saved.lock),
        plan=saved.plan,
        state=state,
        machine=session.machine,
        request=Request(device=saved.device),
        known=Known(),
        exact=True,
        inputs=saved.inputs,
    )
    return prepared, Options(environment=saved.plan.environment, device=saved.device, yes=True)


def _must_be_fresh(saved: SavedPlan, path: Path) -> None:
    for name, digest in saved.inputs.items():
        if not Path(name).is_file() or file_digest(Path(name)) != digest:
            raise BlockedError(_stale(path, message("pipeline.stale-plan.changed", name=name)))


def _stale(path: Path, because: str) -> Finding:
    return Finding(
        "stale-plan",
        "error",
        message("pipeline.stale-plan.summary", path=path, because=because),
        evidence=(Evidence(str(path), because),),
        remedies=(
            Remedy(message("pipeline.stale-plan.way"), f"provision plan PROFILE --out {quoted(path)}"),
        ),
    )
