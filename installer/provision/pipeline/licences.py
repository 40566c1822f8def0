"""The makers' licences of what is placed: shown once, their acceptance kept with the user's data."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from provision.messages import message
from provision.model.finding import Evidence, Finding, Remedy

if TYPE_CHECKING:
    from provision.model.lock import Lock
    from provision.model.plan import Plan
    from provision.pipeline.session import Session

CODE = "licence-not-accepted"


def place() -> Path:
    """Where acceptances are kept."""
    from platformdirs import user_data_path

    return user_data_path("provision", appauthor=False) / "licences.json"


def accepted(session: Session) -> dict[str, str]:
    """Licence -> when it was accepted on this machine by this user."""
    try:
        found = json.loads(session.files.read_text(str(place())) or "{}")
    except ValueError:
        return {}
    return {str(k): str(v) for k, v in found.items()} if isinstance(found, dict) else {}


def accept(session: Session, made: Lock) -> None:
    """Keep that the licences of a lock's libraries were accepted."""
    known = accepted(session)
    fresh = [one for one in open_licences(session, made) if one not in known]
    if fresh:
        session.files.make_folder(str(place().parent))
        text = json.dumps({**known, **dict.fromkeys(fresh, session.now())}, indent=1)
        session.files.write(str(place()), text + "\n")


def open_licences(session: Session, made: Lock) -> tuple[str, ...]:
    """Licences that were not accepted yet."""
    known = accepted(session) if made.libraries else {}
    return tuple(sorted({one.licence for one in made.libraries} - set(known)))


def withheld(plan: Plan, made: Lock, session: Session) -> Plan:
    """The plan, blocked where it would place libraries whose licence nobody has accepted."""
    licences = open_licences(session, made) if plan.steps else ()
    return replace(plan, blockers=(*plan.blockers, _finding(made, licences))) if licences else plan


def unaccepted(made: Lock, session: Session) -> Finding | None:
    """What there is to accept before the files of a lock are fetched; None if nothing."""
    licences = open_licences(session, made)
    return _finding(made, licences) if licences else None


def only_licences(plan: Plan) -> bool:
    """Whether acceptance is all that the plan waits for."""
    return bool(plan.blockers) and all(f.code == CODE for f in plan.blockers)


def _finding(made: Lock, licences: tuple[str, ...]) -> Finding:
    of = {
        text: [f"{o.library} {o.version}" for o in made.libraries if o.licence == text] for text in licences
    }
    return Finding(
        CODE,
        "error",
        message("pipeline.finding.summary"),
        evidence=tuple(Evidence(", ".join(names), text) for text, names in of.items()),
        remedies=(
            Remedy(
                message("pipeline.finding.way"),
                "provision apply PROFILE --accept-licence",
            ),
            Remedy(message("pipeline.finding.way-2")),
        ),
    )
