"""An environment that provision did not make: what it is, in words, for verbs that cannot work on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from provision.messages import message
from provision.model.finding import CheckFailed, Evidence, Finding, Remedy, Severity
from provision.shells import quoted

if TYPE_CHECKING:
    from provision.model.inventory import Inventory
    from provision.model.state import EnvState
    from provision.pipeline.session import Session


def stock_of(session: Session, environment: str) -> Inventory:
    """What the environment holds: read, never run."""
    from provision.knowledge.rows import FamilyRow
    from provision.stocktaking import take_stock

    folders = [row.folder for row in session.knowledge.rows(FamilyRow)]
    return take_stock(session.files, environment, folders)


def words(stock: Inventory) -> str:
    """`a virtual environment made by uv, Python 3.11, 34 packages`; an honest no where it is none."""
    if stock.maker == "none" or not stock.packages:
        return message(f"pipeline.stranger.{'system' if stock.externally_managed else 'none'}")
    made = message(f"pipeline.stranger.{stock.maker}")
    return message("pipeline.stranger.words", made=made, python=stock.python, count=len(stock.distributions))


def damage(stock: Inventory) -> Iterator[Finding]:
    """What former installs left behind or broke, as far as names tell; the way out is one for all."""
    broken = [f"{one.name} ({one.broken})" for one in stock.distributions if one.broken]
    partial = [f"{one.name} ({len(one.missing)})" for one in stock.distributions if _holed(one.missing)]
    rows: tuple[tuple[str, Severity, Sequence[str]], ...] = (
        ("distribution-broken", "error", broken),
        ("files-missing", "error", partial),
        ("litter", "warning", stock.litter),
        ("module-orphaned", "error", stock.unowned),
    )
    for code, severity, names in rows:
        if names:
            yield Finding(
                code, severity, message(f"pipeline.damage.{code}", names=list(names)),
                evidence=(Evidence(stock.environment, stock.packages),), remedies=(_in_place(stock.environment),),
            )  # fmt: skip


def _holed(missing: tuple[str, ...]) -> bool:
    """Code is gone, not only what Python writes anew."""
    return any(not path.endswith((".pyc", ".pyo")) for path in missing)


def must_be_known(state: EnvState, session: Session) -> None:
    """Raises CheckFailed for an environment that provision neither made nor changed, and says what it is."""
    if state.kind in ("ours", "adopted"):
        return
    if state.kind != "foreign":
        text = message(
            f"pipeline.must-be-known.{state.kind}", environment=state.environment, generation=state.generation
        )
        made = Remedy(message("pipeline.must-be-known.way"), "provision apply PROFILE")
        raise CheckFailed(Finding(f"environment-{state.kind}", "error", text, remedies=(made,)))
    raise CheckFailed(_foreign(state.environment, stock_of(session, state.environment)))


def _foreign(environment: str, stock: Inventory) -> Finding:
    ways = [Remedy(message("pipeline.foreign.way"), "provision apply PROFILE --environment .venv-gpu")]
    if stock.packages and not stock.externally_managed:
        looks = Remedy(message("pipeline.foreign.way-2"), f"provision doctor {quoted(environment)}")
        ways = [_in_place(environment), looks, *ways]
    return Finding(
        "environment-foreign", "error",
        message("pipeline.environment-foreign.summary-2", environment=environment, words=words(stock)),
        detail=message("pipeline.environment-foreign.detail"), remedies=tuple(ways),
    )  # fmt: skip


def _in_place(environment: str) -> Remedy:
    """The command names the environment as one would from here."""
    place = Path(environment)
    named = place.name if place.parent == Path.cwd().resolve() else environment
    return Remedy(
        message("pipeline.in-place.way"), f"provision apply PROFILE --in-place --environment {quoted(named)}"
    )
