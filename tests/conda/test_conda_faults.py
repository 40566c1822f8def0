"""Faults at every moment of a conda apply: what is there afterwards is the old environment or the new one."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from provision.applying.engine import Effects, Outcome, apply
from provision.applying.recovery import recover
from provision.inspecting import inspect
from provision.model.lock import Digests, Lock
from provision.model.plan import Plan, Step
from provision.world.files import HostFiles
from tests.applying.test_transaction import (
    FAULTS,
    NOW,
    Site,
    Still,
    TinyStore,
    caught,
    check_raised,
    copied,
    dies,
    measured,
    must_be_old_or_new,
    raises,
)
from tests.support.channels import Channel, tree
from tests.support.conda_faults import TinyConda, conda_artifact
from tests.support.conda_lines import write
from tests.support.faults import Dead, FaultyFiles, TinyInstaller, Wire
from tests.support.memory import MemoryFiles


@dataclass
class CondaSite(Site):
    def apply(self, version: str, wire: Wire | None = None, altered: Any = ()) -> Outcome:
        wire = wire or Wire()
        files = FaultyFiles(self.files, wire)
        state = inspect(self.files, self.environment)
        effects = Effects(
            files=files, store=TinyStore(self.root), installer=TinyInstaller(self.files, wire), reporter=Still(),
            now=lambda: NOW, prove=self._prove(files), fetch_python=lambda v: "", conda=TinyConda(self.files, wire),
        )  # fmt: skip
        return apply(plan_of(version, state), lock_of(version), state, effects)


def lock_of(version: str) -> Lock:
    return Lock(
        profile="team", target="linux-x86_64", python="3.11", digests=Digests(profile="p", knowledge="k"), manager="conda",
        conda=(conda_artifact("alpha", version), conda_artifact("python", "3.11.7")),
    )  # fmt: skip


def plan_of(version: str, state: Any) -> Plan:
    packages = lock_of(version).conda
    steps = [
        Step(action="create", kind="prefix", subject="", reason="", args={"python": "", "version": "3.11"}),
        *(Step(action="fetch", kind="conda", subject=a.file, reason="", args={"size": 1}) for a in packages),
        *(Step(action="install", kind="conda", subject=a.name, reason="") for a in packages),
        Step(action="prove", kind="job", subject="imports", reason=""),
        Step(action="switch", kind="pointer", subject="", reason=""),
    ]
    return Plan(
        profile="team", target="linux-x86_64", python="3.11", environment=state.environment,
        generation=state.next_generation, lock=f"digest of {version}", state=state.digest, steps=tuple(steps),
    )  # fmt: skip


def memory_site(before: Callable[[Site], Any]) -> CondaSite:
    files = MemoryFiles()
    files.make_folder("/project")
    site = CondaSite(files, "/project").prepare()
    before(site)
    return replace(site)


RUNS: dict[str, tuple[Callable[[Site], Any], Callable[[Site, Wire], Any]]] = {
    "the first apply": (lambda site: None, lambda site, wire: site.apply("1", wire)),
    "the second apply": (lambda site: site.apply("1"), lambda site, wire: site.apply("2", wire)),
    "rollback": (
        lambda site: (site.apply("1"), site.apply("2")),
        lambda site, wire: site.rollback(1, wire),
    ),
}


@pytest.mark.parametrize("run", RUNS)
def test_killed_at_every_moment(run: str) -> None:
    before, do = RUNS[run]
    start = memory_site(before)
    old, moments, new = measured(start, do)
    outcomes = set()
    for at in range(1, moments + 1):
        site, wire = copied(start), Wire(at, dies)
        with pytest.raises(Dead):
            do(site, wire)
        recover(site.files, site.environment, NOW)
        where = f"at moment {at} ({wire.names[-1]}) of {run}"
        outcomes.add(must_be_old_or_new(site, old, new, where))
    assert outcomes == {"old", "new"}


@pytest.mark.parametrize("run", RUNS)
def test_failing_at_every_moment(run: str) -> None:
    before, do = RUNS[run]
    start = memory_site(before)
    old, moments, new = measured(start, do)
    for at in range(1, moments + 1):
        name = list(FAULTS)[at % len(FAULTS)]
        site, wire = copied(start), Wire(at, raises(FAULTS[name]))
        where = f"at moment {at} of {run}, {name}"
        check_raised(caught(do, site, wire), FAULTS[name], where)
        recover(site.files, site.environment, NOW)
        must_be_old_or_new(site, old, new, f"{where}: {wire.names[at - 1]}")


def killed(folder: Path, profile: Path, at: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.support.conda_faults", str(folder), profile.name, str(at)]
    root = Path(__file__).parents[2]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


def trials(folder: Path, number: int) -> dict[str, int]:
    """A second apply with the real engine, killed at random moments of real processes. How many ended as which."""
    profile = write(folder, "packages: [alpha]\n")
    first = killed(folder, profile, 0)
    assert first.returncode == 0, first.stderr
    environment = folder / ".env"
    old = tree(environment.resolve())
    kept = folder.with_name("kept")
    shutil.copytree(folder, kept, symlinks=True)
    write(folder, "packages: [alpha, native]\n")
    moments = int(killed(folder, profile, 0).stdout.split()[-1])
    seed = int(os.environ.get("PROVISION_SEED", "0")) or random.SystemRandom().randrange(1 << 32)
    print(f"PROVISION_SEED={seed}")
    chance = random.Random(seed)
    outcomes = {"old": 0, "new": 0}
    for at in (chance.randint(3, moments) for _ in range(number)):
        shutil.rmtree(folder)
        shutil.copytree(kept, folder, symlinks=True)
        write(folder, "packages: [alpha, native]\n")
        done = killed(folder, profile, at)
        assert done.returncode == -signal.SIGKILL, (seed, at, done.stderr)
        recover(HostFiles(), str(environment), NOW)
        state = inspect(HostFiles(), str(environment))
        assert state.kind == "ours", (seed, at)
        assert not state.drifted, (seed, at)
        if state.generation == 1:
            assert tree(environment.resolve()) == old, (seed, at)
            assert state.generations == (1,), (seed, at)
        else:
            assert (environment / "bin" / "tool").is_file(), (seed, at)
        outcomes["old" if state.generation == 1 else "new"] += 1
    return outcomes


def test_a_real_kill(channel: Channel, folder: Path) -> None:
    assert sum(trials(folder, 1).values()) == 1


@pytest.mark.slow
def test_thirty_real_kills(channel: Channel, folder: Path) -> None:
    outcomes = trials(folder, 30)
    print(outcomes)
    assert sum(outcomes.values()) == 30
