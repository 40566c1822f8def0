"""Faults inside the apply of a conda environment: a tiny engine for the fake file system, and a process that kills itself.

As a script: `python -m tests.support.conda_faults FOLDER PROFILE AT` applies a profile with the real engine and is killed
by SIGKILL at the AT-th moment; with AT 0 it prints how many moments there are.
"""

from __future__ import annotations

import os
import posixpath
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from provision.model.lock import CondaArtifact
from provision.ports import Files
from tests.support.faults import FaultyFiles, Wire


def conda_artifact(name: str, version: str) -> CondaArtifact:
    file = f"{name}-{version}-0.conda"
    return CondaArtifact(
        name=name, version=version, build="0", subdir="noarch", channel="tiny", size=1,
        url=f"https://conda.anaconda.org/tiny/noarch/{file}", sha256=(name + version).encode().hex().ljust(64, "0")[:64],
    )  # fmt: skip


class TinyConda:
    """ports.CondaInstaller over any ports.Files: writes what rattler would, file by file, each a moment."""

    def __init__(self, files: Files, wire: Wire) -> None:
        self._files = files
        self._wire = wire

    def present(self, artifacts: Sequence[CondaArtifact]) -> frozenset[str]:
        return frozenset()

    def fetch(self, artifacts: Sequence[CondaArtifact], advance: Callable[[int], None]) -> Mapping[str, str]:
        self._wire.touch("fetching")
        return {a.key: "/project" for a in artifacts}

    def install(
        self, prefix: str, environment: str, artifacts: Sequence[CondaArtifact], files: Mapping[str, str],
        requested: Sequence[str],
    ) -> int:  # fmt: skip
        for artifact in artifacts:
            self._put(f"{prefix}/bin/{artifact.name}", f"#!{environment}/bin/python {artifact.version}\n")
            self._put(f"{prefix}/conda-meta/{artifact.label}.json", '{"files": []}')
        return len(artifacts)

    def run_script(self, prefix: str, script: str, artifact: CondaArtifact) -> None:
        raise AssertionError("no tiny package has a script")

    def _put(self, path: str, text: str) -> None:
        self._wire.touch(f"linking {posixpath.basename(path)}")
        self._files.make_folder(posixpath.dirname(path))
        self._files.write(path, text)


def _kill(name: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main(folder: str, profile: str, at: str) -> None:
    from provision.pipeline.environments import Options, run_apply
    from provision.pipeline.session import Session
    from provision.world import conda
    from provision.world.files import HostFiles

    wire = Wire(int(at), _kill)

    def linked(self: conda._Counter, operation: int, package_name: str) -> int:
        wire.touch(f"linking {package_name}")
        self.operations += 1
        return operation

    conda._Counter.on_link_start = linked  # type: ignore[method-assign]
    session = Session(folder=Path(folder))
    session.__dict__["files"] = FaultyFiles(HostFiles(), wire)
    run_apply(profile, session, Options(yes=True))
    print(wire.count)


if __name__ == "__main__":
    main(*sys.argv[1:])
