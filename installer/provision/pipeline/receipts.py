"""The receipts of an environment: which there are, one of them, two side by side, one as a page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from provision.documents import read_receipt
from provision.messages import message
from provision.model.finding import Finding, LockError, ProvisionError, Remedy, UsageError
from provision.model.lock import Lock
from provision.model.receipt import Receipt
from provision.model.state import Layout
from provision.pipeline.places import current_state, find_environment
from provision.pipeline.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A receipt and its name: `3` is the apply's of generation 3, `3-2` the second proof of it."""

    name: str
    path: Path
    receipt: Receipt


def receipts(session: Session, reference: str | None, environment: str | None) -> tuple[Kept, ...]:
    """Every readable receipt of an environment, oldest first."""
    folder = Path(Layout(find_environment(session, reference, environment)).receipt(0)).parent
    names = sorted(
        (n.removesuffix(".json") for n in session.files.listdir(str(folder)) if n.endswith(".json")),
        key=_order,
    )
    return tuple(kept for name in names if (kept := _read(folder / f"{name}.json", name)) is not None)


def _order(name: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdecimal() else 0 for part in name.split("-"))


def _read(path: Path, name: str) -> Kept | None:
    try:
        return Kept(name=name, path=path, receipt=read_receipt(path.read_text(encoding="utf-8"), str(path)))
    except (OSError, ProvisionError):
        return None


def one(session: Session, wanted: str | None, reference: str | None, environment: str | None) -> Kept:
    """The receipt of that name, or the file at that path; without a name the newest. Raises UsageError."""
    if wanted and (wanted.endswith(".json") or "/" in wanted) and (path := session.folder / wanted).is_file():
        return Kept(name=wanted, path=path, receipt=read_receipt(path.read_text(encoding="utf-8"), str(path)))
    known = receipts(session, reference, environment)
    found = [kept for kept in known if wanted in (None, kept.name)]
    if not found:
        raise UsageError(_unknown(wanted, [kept.name for kept in known]))
    return max(found, key=lambda kept: kept.receipt.date) if wanted is None else found[0]


def lock_of(
    session: Session, receipt: Receipt, reference: str | None, environment: str | None
) -> Lock | None:
    """The lock that was proven, where its file still is what it was."""
    from provision.pipeline.environments import made_from

    try:
        made, digest = made_from(session, current_state(session, reference, environment))
    except (LockError, UsageError):
        return None
    return made if digest == receipt.lock else None


def _unknown(wanted: str | None, names: list[str]) -> Finding:
    summary = (
        message("pipeline.no-receipt.named", name=repr(wanted))
        if wanted
        else message("pipeline.no-receipt.any")
    )
    return Finding(
        "no-receipt",
        "error",
        summary,
        detail=message("pipeline.no-receipt.detail", what=names or message("pipeline.none")),
        remedies=(Remedy(message("pipeline.no-receipt.way"), "provision verify"),),
    )
