"""`apply --in-place`: an environment that somebody else made is changed where it stands."""

from __future__ import annotations

import os
import site
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from provision.applying.engine import Outcome, apply_in_place
from provision.knowledge.rows import FamilyRow
from provision.messages import message
from provision.model.finding import Finding, Remedy, UsageError
from provision.model.inventory import Inventory
from provision.pipeline.places import holding
from provision.repairing import Wish, repair
from provision.stocktaking import take_stock
from provision.verifying import demand, jobs

if TYPE_CHECKING:
    from provision.model.lock import Lock
    from provision.pipeline.environments import Options, Prepared
    from provision.pipeline.session import Session


def stock(session: Session, environment: str, made: Lock) -> Inventory:
    """What the environment holds now, with what Python would find elsewhere."""
    from provision.world.installing import interpreter

    folders = [row.folder for row in session.knowledge.rows(FamilyRow)]
    elsewhere, usable = _elsewhere(environment, made.python), Path(interpreter(environment)).exists()
    return take_stock(session.files, environment, folders, elsewhere, _writable(environment), usable)


def _elsewhere(environment: str, python: str) -> list[str]:
    """PYTHONPATH comes before the environment's packages; the user's site counts where the environment lets it in."""
    found = [str(Path(p).absolute()) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    configuration = Path(environment, "pyvenv.cfg")
    closed = configuration.is_file() and "include-system-site-packages = true" not in configuration.read_text(
        encoding="utf-8", errors="replace"
    )
    if not closed and not os.environ.get("PYTHONNOUSERSITE"):
        base = site.getuserbase()
        library = f"Python{python.replace('.', '')}" if os.name == "nt" else f"lib/python{python}"
        found.append(str(Path(base, library, "site-packages")))
    return found


def _writable(environment: str) -> bool:
    root = Path(environment)
    packages = [root, *root.glob("lib/python*/site-packages"), root / "Lib" / "site-packages"]
    return all(os.access(path, os.W_OK) for path in packages if path.is_dir())


def users_of(environment: str) -> tuple[str, ...]:
    """Programs that run from the environment now: `python 4711: jupyter-lab`. This process and its parents are none."""
    import psutil

    own = {os.getpid(), *(p.pid for p in psutil.Process().parents())}
    found = []
    for process in psutil.process_iter(["pid", "name", "cmdline", "exe"]):
        words = [process.info["exe"] or "", *(process.info["cmdline"] or ())]
        if process.pid not in own and any(w.startswith(environment + os.sep) for w in words[:3]):
            shown = " ".join(Path(w).name if os.sep in w else w for w in (process.info["cmdline"] or ())[:4])
            found.append(message("pipeline.process", pid=process.pid, shown=shown))
    return tuple(sorted(found))


def in_place(prepared: Prepared, session: Session, options: Options) -> Prepared:
    """The prepared apply, with the plan for changing the environment that is there."""
    environment = prepared.plan.environment
    if session.files.pointed(environment) is not None or session.files.stat(environment) is None:
        raise UsageError(_nothing_to_repair(environment))
    inventory = stock(session, environment, prepared.lock)
    wish = Wish(
        jobs=jobs(prepared.lock),
        proof_device=demand(prepared.lock, device=options.device, vendor=prepared.lock.hardware).device,
        present=session.store.present(prepared.lock.artifacts),
        users=users_of(environment),
        reinstall=options.reinstall,
    )
    families = session.knowledge.rows(FamilyRow)
    made = repair(prepared.lock, prepared.plan.lock, inventory.digest, inventory, families, wish)
    needs = tuple(
        b for b in prepared.plan.blockers if b.code not in ("environment-foreign", "no-interpreter")
    )
    return replace(prepared, plan=replace(made, blockers=(*needs, *made.blockers)), in_place=True)


def carry_out_in_place(prepared: Prepared, session: Session, options: Options) -> Outcome:
    from provision.pipeline.environments import effects_of

    environment = prepared.plan.environment
    with holding(session, environment) as recovered:
        if recovered is not None:
            prepared = in_place(prepared, session, options)
        inventory = stock(session, environment, prepared.lock)
        for note in prepared.plan.notes:
            session.reporter.note(note)
        return apply_in_place(prepared.plan, prepared.lock, inventory, effects_of(prepared, session, options))


def _nothing_to_repair(environment: str) -> Finding:
    return Finding(
        "nothing-to-repair", "error",
        message("pipeline.nothing-to-repair.summary", environment=environment),
        remedies=(Remedy(message("pipeline.nothing-to-repair.way"), "provision apply PROFILE"),),
    )  # fmt: skip
