"""doctor --fix: for environments that provision made an ordinary apply; for others words only."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from provision.diagnosing.fixing import Fix, fixes
from provision.inspecting import inspect

if TYPE_CHECKING:
    from provision.pipeline.doctor import Answer, Question
    from provision.pipeline.session import Session


@dataclass(frozen=True, slots=True)
class Mended:
    """What would mend the subject; `mended`: it was rebuilt and proven again."""

    fixes: tuple[Fix, ...]
    mended: bool = False

    def to_json(self) -> dict[str, Any]:
        return {"mended": self.mended, "fixes": [f.to_json() for f in self.fixes]}


def mend(session: Session, question: Question, answer: Answer, yes: bool) -> Mended:
    """Rebuild an environment of ours if that mends it: a new generation beside it, proven before the switch.

    Raises what `apply` raises; a rebuild that was not confirmed is BlockedError, as there.
    """
    profile = _profile_of(session, answer)
    found = fixes(answer.case, answer.examination, profile or "PROFILE")
    if not profile or not any(f.kind == "rebuild" for f in found):
        return Mended(found)
    from provision.pipeline.environments import Options, run_apply

    _, outcome = run_apply(profile, session, Options(environment=answer.subject.prefix, yes=yes, reinstall=True))
    return Mended(found, outcome.outcome != "failed")


def _profile_of(session: Session, answer: Answer) -> str:
    """The profile that an environment of ours was made from, if its file is still there."""
    if not answer.case.ours:
        return ""
    record = inspect(session.files, answer.subject.prefix).record
    paths = [p for p in record.inputs if not p.endswith(".lock.yaml")] if record else []
    return next((p for p in paths if Path(p).is_file()), "")
