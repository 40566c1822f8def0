"""history, rollback, gc, recover: an environment's generations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from provision.applying.returning import choose, collect, superfluous
from provision.applying.returning import rollback as move_back
from provision.inspecting import history, inspect
from provision.messages import message
from provision.model.finding import BlockedError, Finding, Remedy, UsageError
from provision.model.state import EnvState, Generation
from provision.pipeline.places import holding
from provision.shells import quoted

if TYPE_CHECKING:
    from provision.applying.recovery import Recovered
    from provision.pipeline.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """What a rollback or gc did. `former` is the generation before; `removed` what gc took away."""

    environment: str
    generation: int | None
    former: int | None
    changed: bool
    removed: tuple[Generation, ...] = ()
    recovered: Recovered | None = None


def run_rollback(session: Session, environment: str, to: int | None, yes: bool) -> Returned:
    """Point the environment at another generation. Raises UsageError, BlockedError."""
    _must_have_generations(session, environment)
    with holding(session, environment) as recovered:
        state = inspect(session.files, environment, contents=False)
        _must_not_be_foreign(state)
        choice = choose(state, history(session.files, environment), to)
        if choice.doubt is not None and not yes:
            raise BlockedError(choice.doubt)
        changed = choice.generation != state.generation
        if changed:
            move_back(session.files, state, choice.generation, session.now)
        return Returned(
            environment=environment,
            generation=choice.generation,
            former=state.generation,
            changed=changed,
            recovered=recovered,
        )


def run_gc(session: Session, environment: str, keep: int, dry_run: bool = False) -> Returned:
    """Remove generations that nothing needs: all but the current one and the `keep` - 1 newest proven others."""
    _must_have_generations(session, environment)
    if dry_run:
        return _collected(session, environment, keep, None, do=False)
    with holding(session, environment) as recovered:
        return _collected(session, environment, keep, recovered, do=True)


def _collected(
    session: Session, environment: str, keep: int, recovered: Recovered | None, do: bool
) -> Returned:
    state = inspect(session.files, environment, contents=False)
    generations = history(session.files, environment)
    numbers = superfluous(state, generations, keep)
    if do:
        collect(session.files, state, numbers, session.now)
    return Returned(
        environment=environment,
        generation=state.generation,
        former=state.generation,
        changed=bool(numbers),
        removed=tuple(g for g in generations if g.number in numbers),
        recovered=recovered,
    )


def run_recover(session: Session, environment: str) -> Recovered | None:
    _must_have_generations(session, environment)
    with holding(session, environment) as recovered:
        return recovered


def _must_have_generations(session: Session, environment: str) -> None:
    """Nothing is written for an environment that provision knows nothing of."""
    from provision.model.state import Layout

    if session.files.stat(Layout(environment).state) is None:
        raise UsageError(
            Finding(
                "no-generation", "error", message("pipeline.no-generation.summary", environment=environment),
                remedies=(Remedy(message("pipeline.no-generation.way"), "provision apply PROFILE"),),
            )
        )  # fmt: skip


def _must_not_be_foreign(state: EnvState) -> None:
    if state.kind == "adopted":
        raise BlockedError(
            Finding(
                "environment-adopted", "error",
                message("pipeline.environment-adopted.summary", environment=state.environment),
                detail=message("pipeline.environment-adopted.detail"),
                remedies=(
                    Remedy(message("pipeline.environment-adopted.way"), "provision apply PROFILE --environment .venv-gpu"),
                ),
            )
        )  # fmt: skip
    if state.kind == "foreign":
        raise BlockedError(
            Finding(
                "environment-foreign",
                "error",
                message("pipeline.environment-foreign.summary", environment=state.environment),
                remedies=(
                    Remedy(
                        message("pipeline.environment-foreign.way"),
                        f"mv {quoted(state.environment)} {quoted(state.environment + '.old')}",
                    ),
                ),
            )
        )
