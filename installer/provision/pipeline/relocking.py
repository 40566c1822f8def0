"""lock for many: every (profile, variant, target, Python) at once. uv does the work, so threads are enough."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from provision.model.finding import Finding, ProvisionError, UnsatisfiableError
from provision.pipeline.locks import KEEP, Locked, Upgrade, check_profile, combinations, lock_pair, targets_of
from provision.pipeline.profiles import Source, lock_place
from provision.pipeline.session import Session

T = TypeVar("T")
#: uv reads and writes its cache at the same time as it waits for the index: a few more than processors pay.
_MOST = 8


@dataclass(frozen=True, slots=True)
class Job:
    """One lock to make."""

    source: Source
    target: str
    python: str


def jobs_of(
    sources: Sequence[Source], session: Session, targets: Sequence[str] = (), pythons: Sequence[str] = ()
) -> tuple[tuple[Job, ...], tuple[Locked, ...]]:
    """The locks to make, and a failed one for each target that has no stack: it does not keep the others from it."""
    jobs: list[Job] = []
    failed: list[Locked] = []
    for source in sources:
        for target in targets or targets_of(source.profile, session):
            try:
                pairs = combinations(source.profile, session.serving(source), [target])
            except ProvisionError as error:
                failed.append(_failed(source, target, session.folder, error))
            else:
                jobs += [Job(source, target, p) for _, p in pairs if not pythons or p in pythons]
    return tuple(jobs), tuple(failed)


def _failed(source: Source, target: str, folder: Path, error: ProvisionError) -> Locked:
    return Locked(
        profile=source.profile.name, variant=source.variant, target=target, python="", status="failed",
        path=lock_place(source, folder, target, ""), findings=error.findings,
    )  # fmt: skip


def relock(
    jobs: Sequence[Job],
    session: Session,
    upgrade: Upgrade = KEEP,
    tell: Callable[[Locked], None] = lambda _: None,
) -> tuple[Locked, ...]:
    """Make the locks, several at a time; `tell` hears of each as soon as it is finished. In the order of the jobs."""
    _prepare(session)
    work = [lambda job=job: lock_pair(job.source, session, job.target, job.python, upgrade) for job in jobs]
    return tuple(_at_once(work, tell, workers=_workers(session)))


def check(sources: Sequence[Source], session: Session) -> tuple[Finding, ...]:
    """Findings for every lock that is missing or does not match its profile."""
    _prepare(session)
    work = [lambda source=source: _checked(source, session) for source in sources]
    return tuple(finding for found in _at_once(work, workers=_workers(session)) for finding in found)


def _workers(session: Session) -> int:
    """A catalogue is recorded page by page, each merged into what is there: one after the other."""
    return 1 if session.record is not None else min(_MOST, (os.cpu_count() or 1) + 2)


def _checked(source: Source, session: Session) -> tuple[Finding, ...]:
    """A profile without a stack is a finding like others: it does not hide what is said of the next profile."""
    try:
        return check_profile(source, session)
    except UnsatisfiableError as error:
        return error.findings


def _prepare(session: Session) -> None:
    """What all share is made before they start, once: looking for uv (sysconfig) does not stand several threads."""
    from provision.world.uv import binary

    session.knowledge.list()
    _ = session.catalog, binary()


def _at_once(
    work: Iterable[Callable[[], T]], tell: Callable[[T], None] = lambda _: None, *, workers: int
) -> list[T]:
    """The results in order. An interrupt ends what has not begun and waits for what has."""
    with ThreadPoolExecutor(workers, thread_name_prefix="lock") as pool:
        futures: list[Future[T]] = [pool.submit(one) for one in work]
        try:
            for future in as_completed(futures):
                tell(future.result())
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return [future.result() for future in futures]
