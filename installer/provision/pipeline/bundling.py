"""bundle: the files of a profile's locks into one folder, for machines without a network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from provision.messages import message
from provision.model.finding import BlockedError, Finding, LockError, Remedy
from provision.pipeline.licences import accept, unaccepted
from provision.pipeline.locks import read_lock_file, stale_because, stale_lock
from provision.pipeline.profiles import Source, lock_files, read, variants_of
from provision.shells import quoted

if TYPE_CHECKING:
    from provision.model.lock import Artifact, CondaArtifact, Lock
    from provision.pipeline.session import Session
    from provision.world.store import Wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which of the locks; nothing said means all."""

    targets: Sequence[str] = ()
    pythons: Sequence[str] = ()
    variant: str | None = None
    accept_licence: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """One lock and its files: how many, their bytes (as far as known), and how many of them were not there before."""

    path: Path
    lock: Lock
    files: int
    size: int
    fresh: int

    def to_json(self) -> dict[str, Any]:
        return {
            "lock": str(self.path), "profile": self.lock.profile, "variant": self.lock.variant,
            "target": self.lock.target, "python": self.lock.python, "files": self.files, "size": self.size,
            "fresh": self.fresh,
        }  # fmt: skip


def run_bundle(
    references: Sequence[str], folder: Path, session: Session, choice: Choice, dry_run: bool = False
) -> tuple[Packed, ...]:
    """Fetch the files of every chosen lock into `folder`. Raises LockError where there is no lock or a stale one."""
    found = [one for reference in references for one in _locks(reference, session, choice)]
    for _, _, made in found:
        _licensed(made, session, choice)
    if dry_run:
        return tuple(_packed(path, made, 0) for _, path, made in found)
    return tuple(_pack(source, path, made, folder, session) for source, path, made in found)


def _locks(reference: str, session: Session, choice: Choice) -> Iterator[tuple[Source, Path, Lock]]:
    source = read(reference, session.folder)
    variants = {v.variant: v for v in variants_of(source, choice.variant)}
    count = 0
    for path in lock_files(source, session.folder):
        made, _ = read_lock_file(path)
        one = variants.get(made.variant)
        wanted = (not choice.targets or made.target in choice.targets) and (
            not choice.pythons or made.python in choice.pythons
        )
        if one is None or not wanted:
            continue
        if because := stale_because(made, one.profile):
            raise LockError(stale_lock(source, path, because))
        count += 1
        yield one, path, made
    if not count:
        raise LockError(_none(source, [path.name for path in lock_files(source, session.folder)]))


def _licensed(made: Lock, session: Session, choice: Choice) -> None:
    if choice.accept_licence:
        accept(session, made)
    if finding := unaccepted(made, session):
        raise BlockedError([finding])


def _pack(source: Source, path: Path, made: Lock, folder: Path, session: Session) -> Packed:
    from provision.world.bundles import Bundle

    session = session.serving(source)
    reporter = session.reporter
    packed = _packed(path, made, 0)
    bundle, wanted = Bundle(folder), [_wanted(a) for a in _files(made)]
    bundle.check_room(wanted)
    reporter.start(message("applying.stage.fetching"), packed.size or None)
    sources = {f.artifact.sha256: f.path for f in session.store.fetch(made, reporter.advance)}
    if made.conda:
        sources |= session.conda.fetch(made.conda, reporter.advance)
    fresh = sum(bundle.put(Path(sources[one.key]), one) for one in wanted)
    bundle.list_sums(wanted)
    told = message("pipeline.bundle.packed", target=made.target, python=made.python, count=packed.files)
    reporter.stage(message("pipeline.stage.packed"), told)
    return _packed(path, made, fresh)


def _packed(path: Path, made: Lock, fresh: int) -> Packed:
    files = _files(made)
    return Packed(path=path, lock=made, files=len(files), size=sum(a.size or 0 for a in files), fresh=fresh)


def _files(made: Lock) -> tuple[Artifact | CondaArtifact, ...]:
    return (*made.artifacts, *made.conda)


def _wanted(artifact: Artifact | CondaArtifact) -> Wanted:
    """A file of a lock as the store names it."""
    from provision.model.lock import CondaArtifact
    from provision.world import conda, supply

    if isinstance(artifact, CondaArtifact):
        return conda.wanted_file(artifact)
    return supply.wanted_file(artifact)


def _none(source: Source, have: Sequence[str]) -> Finding:
    return Finding(
        "lock-missing",
        "error",
        message(
            "pipeline.bundle.no-lock",
            name=source.profile.name,
            have=tuple(have) or message("pipeline.bundle.none"),
        ),
        remedies=(Remedy(message("pipeline.lock-missing.way-3"), f"provision lock {quoted(source.path)}"),),
    )
