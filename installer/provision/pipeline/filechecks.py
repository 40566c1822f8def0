"""verify --files: read the environment, hold it against RECORDs, conda's records, lock and manifest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath

from provision.condaprefix import recorded_paths
from provision.messages import message
from provision.model.finding import CheckFailed, Finding
from provision.pipeline.environments import made_from
from provision.pipeline.places import current_state
from provision.pipeline.session import Session
from provision.pipeline.strangers import must_be_known
from provision.prefix import placed_files, site_packages
from provision.verifying.files import CondaPackage, Distribution, Tree, check_files

#: Bytes. TensorFlow's RECORD has 1.3 MB.
_RECORD_LIMIT = 1 << 27


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCheck:
    """What `verify --files` found. `size` is in bytes."""

    environment: str
    generation: int
    files: int
    size: int
    packages: int
    findings: tuple[Finding, ...]


def run_file_check(reference: str | None, session: Session, environment: str | None) -> FileCheck:
    """Hold every file of an environment against what was installed. Raises CheckFailed where there is none of ours."""
    state = current_state(session, reference, environment)
    must_be_known(state, session)
    made, _ = made_from(session, state)
    assert state.generation is not None
    session.reporter.start(message("pipeline.stage.reading-files"))
    tree = read(session, state.folder)
    return FileCheck(
        environment=state.environment,
        generation=state.generation,
        files=len(tree.files),
        size=sum(one.size for one in tree.files.values()),
        packages=sum(not one.is_condas for one in tree.distributions) + len(tree.conda),
        findings=check_files(tree, made, shared=state.kind == "adopted"),
    )


def read(session: Session, prefix: str) -> Tree:
    from provision.world.trees import read_tree

    packages = site_packages(session.files, prefix)
    if packages is None:
        raise CheckFailed(
            Finding("no-site-packages", "error", message("pipeline.no-site-packages.summary", prefix=prefix))
        )
    return Tree(
        packages=PurePath(packages).relative_to(prefix).as_posix(),
        files=read_tree(prefix, session.reporter.advance),
        distributions=tuple(_distributions(session, packages)),
        placed=placed_files(session.files, prefix),
        conda=tuple(_conda_packages(session, prefix)),
    )


def _conda_packages(session: Session, prefix: str) -> Iterator[CondaPackage]:
    for label, paths in recorded_paths(session.files, prefix):
        name, version, build = label.rsplit("-", 2)
        yield CondaPackage(name=name, version=version, build=build, paths=paths)


def _distributions(session: Session, packages: str) -> Iterator[Distribution]:
    from packaging.utils import canonicalize_name

    for folder in session.files.listdir(packages):
        if folder.endswith(".dist-info"):
            record = str(PurePath(packages, folder, "RECORD"))
            text = (
                session.files.read_text(record, limit=_RECORD_LIMIT) if session.files.stat(record) else None
            )
            name, _, version = folder.removesuffix(".dist-info").rpartition("-")
            installer = session.files.read_text(str(PurePath(packages, folder, "INSTALLER"))) or ""
            yield Distribution(
                name=canonicalize_name(name), version=version.replace("_", "+"), folder=folder, record=text,
                is_condas=installer.strip() == "conda",
            )  # fmt: skip
