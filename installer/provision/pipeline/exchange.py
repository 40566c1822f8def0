"""export and import: locks as other tools read them, and other tools' files as profiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from provision.condaprefix import Survey, survey
from provision.documents import dump_yaml
from provision.documents.writing import SCHEMAS
from provision.exporting.conda import conda_lock, environment, explicit
from provision.loading.conda_files import import_environment
from provision.messages import message
from provision.model.finding import Finding, LockError, Remedy, UsageError
from provision.model.lock import Lock
from provision.model.profile import Profile
from provision.pipeline.checks import check_files, documents
from provision.pipeline.locks import read_lock_file, write_text
from provision.pipeline.profiles import Source, find_lock, lock_files, read
from provision.pipeline.session import Session
from provision.ports import CatalogFailure, ClosureRequest
from provision.shells import quoted

FORMATS = ("conda-lock", "environment", "explicit")


@dataclass(frozen=True, slots=True)
class Imported:
    """A profile that was written, and what is to be said of the file that it was made from."""

    profile: Profile
    path: Path
    findings: tuple[Finding, ...]


def is_conda(reference: str, session: Session) -> bool:
    """Whether a reference is a profile whose environments are conda's (a lock file is asked for by its path)."""
    if reference.endswith(".lock.yaml"):
        return False
    return read(reference, session.folder).profile.environment.manager == "conda"


def run_export(reference: str, form: str, target: str | None, python: str | None, session: Session) -> str:
    """The committed locks of a profile in another format. Raises LockError where there is none."""
    source = read(reference, session.folder)
    locks = _locks(source, target, python, session)
    if form == "conda-lock":
        newest = max((made.python for made in locks), key=lambda p: [int(n) for n in p.split(".")])
        chosen = [made for made in locks if made.python == newest]
        return conda_lock(chosen, source.path.name, _addresses(chosen, session))
    host = session.host_target()
    made = next((made for made in locks if made.target == host), locks[0])
    return environment(made) if form == "environment" else explicit(made)


def _locks(source: Source, target: str | None, python: str | None, session: Session) -> list[Lock]:
    paths = (
        [path for path in (find_lock(source, session.folder, target, python),) if path]
        if target and python
        else list(lock_files(source, session.folder))
    )
    found = [read_lock_file(path)[0] for path in paths]
    found = [m for m in found if target in (None, m.target) and python in (None, m.python)]
    if not found:
        raise LockError(
            Finding(
                "lock-missing", "error", message("pipeline.lock-missing.summary-2", name=source.profile.name),
                remedies=(Remedy(message("pipeline.lock-missing.way-2"), f"provision lock {quoted(source.path)}"),),
            )
        )  # fmt: skip
    return found


def _addresses(locks: Sequence[Lock], session: Session) -> Mapping[str, str]:
    """Where this machine's indexes have the wheels: file name -> URL."""
    found: dict[str, str] = {}
    for made in (made for made in locks if made.packages):
        request = ClosureRequest(
            requirements=tuple(f"{a.name}=={a.version}" for a in made.packages),
            python=made.python,
            target=made.target,
            indexes=made.indexes,
            dependencies=False,
        )
        answer = session.host_catalog.close(request)
        if not isinstance(answer, CatalogFailure):
            found.update({wheel.name: wheel.url for package in answer for wheel in package.wheels})
    return found


def foreign_conda(prefix: str, session: Session) -> Survey | None:
    """An environment that conda, mamba or pixi made, read in place; None for any other."""
    from provision.pipeline.conda import distributions

    return survey(session.files, prefix, distributions(session.knowledge))


def run_import(file: str, output: str | None, force: bool, session: Session) -> Imported:
    """Make a profile of an environment.yml and lint the file. Raises UsageError where the profile exists already."""
    (document,) = documents([file], session.folder)
    text = document.text if isinstance(document.text, str) else document.text.decode("utf-8", "replace")
    profile, left = import_environment(text, file, Path(file).stem)
    path = session.folder / (output or f"{profile.name}.yaml")
    if path.exists() and not force:
        raise UsageError(
            Finding(
                "exists", "error", message("pipeline.exists.summary", path=path),
                remedies=(Remedy(message("pipeline.exists.way")),),
            )
        )  # fmt: skip
    # An editor complains of a schema that is not there.
    beside = (path.parent / SCHEMAS[Profile]).is_file()
    write_text(path, dump_yaml(profile, None if beside else ""))
    return Imported(profile, path, (*left, *check_files([document], session)))
