"""An environment that provision did not make: what it is, in words, for verbs that cannot work on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from provision.model.finding import CheckFailed, Evidence, Finding, Remedy

if TYPE_CHECKING:
    from provision.model.inventory import Inventory
    from provision.model.state import EnvState
    from provision.pipeline.session import Session

_MADE = {
    "venv": "a virtual environment",
    "virtualenv": "a virtual environment made by virtualenv",
    "uv": "a virtual environment made by uv",
    "conda": "a conda environment",
}


def stock_of(session: Session, environment: str) -> Inventory:
    """What the environment holds: read, never run."""
    from provision.knowledge.rows import FamilyRow
    from provision.stocktaking import take_stock

    folders = [row.folder for row in session.knowledge.rows(FamilyRow)]
    return take_stock(session.files, environment, folders)


def words(stock: Inventory) -> str:
    """`a virtual environment made by uv, Python 3.11, 34 packages`; an honest no where it is none."""
    if stock.maker == "none" or not stock.packages:
        return "no Python environment" if not stock.externally_managed else "the system's own Python"
    count = len(stock.distributions)
    return f"{_MADE[stock.maker]}, Python {stock.python}, {count} package{'' if count == 1 else 's'}"


def damage(stock: Inventory) -> Iterator[Finding]:
    """What former installs left behind or broke, as far as names tell; the way out is one for all."""
    broken = [f"{one.name} ({one.broken})" for one in stock.distributions if one.broken]
    partial = [f"{one.name} ({len(one.missing)})" for one in stock.distributions if _holed(one.missing)]
    rows = (
        ("distribution-broken", "error", "The metadata of packages is broken", broken),
        ("files-missing", "error", "Files of packages are gone", partial),
        ("litter", "warning", "Interrupted installs left", stock.litter),
        ("module-orphaned", "error", "Folders of packages that are not installed", stock.unowned),
    )
    for code, severity, what, names in rows:
        if names:
            yield Finding(
                code, severity, f"{what}: {', '.join(names)}.",  # type: ignore[arg-type]
                evidence=(Evidence(stock.environment, stock.packages),), remedies=(_in_place(stock.environment),),
            )  # fmt: skip


def _holed(missing: tuple[str, ...]) -> bool:
    """Code is gone, not only what Python writes anew."""
    return any(not path.endswith((".pyc", ".pyo")) for path in missing)


def must_be_known(state: EnvState, session: Session) -> None:
    """Raises CheckFailed for an environment that provision neither made nor changed, and says what it is."""
    if state.kind in ("ours", "adopted"):
        return
    text = {
        "absent": f"There is no environment at {state.environment}.",
        "broken": f"{state.environment} points at generation {state.generation}, which is not there.",
    }
    if state.kind != "foreign":
        made = Remedy("Make it.", "provision apply PROFILE")
        raise CheckFailed(Finding(f"environment-{state.kind}", "error", text[state.kind], remedies=(made,)))
    raise CheckFailed(_foreign(state.environment, stock_of(session, state.environment)))


def _foreign(environment: str, stock: Inventory) -> Finding:
    ways = [Remedy("Make one beside it.", "provision apply PROFILE --environment .venv-gpu")]
    if stock.packages and not stock.externally_managed:
        looks = Remedy("See what is wrong with it, whoever made it.", f"provision doctor {environment}")
        ways = [_in_place(environment), looks, *ways]
    return Finding(
        "environment-foreign", "error",
        f"{environment} was not made by provision: it is {words(stock)}.",
        detail="No lock says what it should hold.", remedies=tuple(ways),
    )  # fmt: skip


def _in_place(environment: str) -> Remedy:
    return Remedy(
        "Change it where it stands to what a profile says, and prove it.",
        f"provision apply PROFILE --in-place --environment {Path(environment).name}",
    )
