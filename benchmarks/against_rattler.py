"""provision's conda engine beside rattler called bare: solve, fetch and install, nothing to do, remove, the way back.

    python benchmarks/against_rattler.py [--packages 80] [--repeat 5]

Needs the extra `conda` and the repository's root on PYTHONPATH (the channel of tiny packages is the tests' own).
Prints medians in seconds; the two sides take turns, so that a busy machine disturbs both alike.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rattler
from tests.support.channels import PLACEHOLDER, Channel, Content

from provision.model.lock import CondaArtifact
from provision.pipeline.environments import Options, run_apply
from provision.pipeline.session import Session
from provision.ports import CondaRequest
from provision.world.channels import ChannelConfig
from provision.world.conda import RattlerEngine
from provision.world.indexes import IndexConfig

VIRTUAL = {"__archspec": "1=x86_64", "__glibc": "2.28", "__linux": "4.18", "__unix": "0"}


def channel(root: Path, packages: int) -> Channel:
    """A chain of packages of 40 files of 20 KB each, every tenth file with a path to replace."""
    made = Channel(root, "bench")
    made.python()
    for number in range(packages):
        files = {f"share/p{number}/{i}.dat": Content(bytes([number % 256]) * 20_000) for i in range(36)}
        text = f"prefix={PLACEHOLDER}\n".encode() * 400
        files |= {f"share/p{number}/{i}.txt": Content(text, "text") for i in range(4)}
        depends = [f"p{number - 1}"] if number else ["python"]
        made.add(f"p{number}", "1.0", files, depends=depends, form=".conda")
    return made.index()


class Bare:
    """rattler as its own documentation calls it."""

    def __init__(self, made: Channel, cache: Path) -> None:
        self.channel, self.cache = rattler.Channel(made.folder.as_uri()), cache

    def solve(self, last: str) -> list[rattler.RepoDataRecord]:
        gateway = rattler.Gateway(cache_dir=self.cache / "repodata")
        work = rattler.solve(
            sources=[self.channel], specs=[last], gateway=gateway, platforms=["linux-64", "noarch"],
            virtual_packages=[
                rattler.GenericVirtualPackage(
                    rattler.PackageName(n), rattler.Version(v.split("=")[0]), rattler.BuildString("0")
                )
                for n, v in VIRTUAL.items()
            ],
        )  # fmt: skip
        return asyncio.run(work)  # type: ignore[arg-type]

    def install(self, records: list[rattler.RepoDataRecord], prefix: Path) -> None:
        asyncio.run(rattler.install(records, prefix, cache_dir=self.cache / "pkgs", show_progress=False))  # type: ignore[arg-type]

    def back(self, records: list[rattler.RepoDataRecord], prefix: Path) -> None:
        """There is no other than installing the former set again."""
        self.install(records, prefix)


class Ours:
    def __init__(self, made: Channel, cache: Path) -> None:
        places = ChannelConfig(custom={made.name: made.root.as_uri()})
        self.made, self.name, self.engine = made, made.name, RattlerEngine(places, IndexConfig(), cache)

    def solve(self, last: str) -> tuple[CondaArtifact, ...]:
        request = CondaRequest(
            specs=(last,), channels=(self.name,), subdir="linux-64", virtual_packages=VIRTUAL
        )
        found = self.engine.solve(request)
        assert isinstance(found, tuple), found
        return found

    def install(self, artifacts: tuple[CondaArtifact, ...], prefix: Path) -> None:
        files = self.engine.fetch(artifacts, lambda n: None)
        self.engine.install(str(prefix), str(prefix), artifacts, files, [])

    def back(self, artifacts: tuple[CondaArtifact, ...], prefix: Path) -> None:
        """A whole process, Python's start included: `provision rollback`."""
        subprocess.run(
            rollback(), cwd=prefix.parent.parent / "project", check=True, stdout=subprocess.DEVNULL
        )


_TURN = [2]


def rollback() -> list[str]:
    """Between generation 1 and 2, there and back."""
    _TURN[0] = 3 - _TURN[0]
    return [sys.executable, "-m", "provision", "rollback", "--to", str(_TURN[0])]


def two_generations(made: Channel, folder: Path, last: str) -> None:
    """A project whose environment has two generations: all packages, and one of them."""
    folder.mkdir()
    os.environ["CONDARC"] = str(made.condarc(folder / "condarc"))
    os.environ["PROVISION_CACHE"] = str(folder / "cache")
    for packages in (last, "p0"):
        (folder / "team.yaml").write_text(
            f"schema: 1\nname: team\npython: '{sys.version_info[0]}.{sys.version_info[1]}'\npackages: [{packages}]\n"
            f"environment: {{manager: conda, path: .env, channels: [{made.name}]}}\n"
        )
        run_apply("team.yaml", Session(folder=folder), Options(yes=True))


def extra() -> None:
    """What the extra costs: bytes on disk, and loading it."""
    folder = Path(str(rattler.__file__)).parent
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    times = {}
    for code in ("pass", "import rattler"):
        runs = [
            clocked(lambda code=code: subprocess.run([sys.executable, "-c", code], check=True))[0]
            for _ in range(9)
        ]
        times[code] = statistics.median(runs)
    print(f"the extra: {size / 1e6:.0f} MB, loaded in {times['import rattler'] - times['pass']:.3f} s")


def clocked(do: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = do()
    return time.perf_counter() - start, result


def one_round(side: Any, work: Path, last: str) -> dict[str, float]:
    times: dict[str, float] = {}
    times["solve"], records = clocked(lambda: side.solve(last))
    times["install, empty cache"], _ = clocked(lambda: side.install(records, work / "one"))
    times["install, full cache"], _ = clocked(lambda: side.install(records, work / "two"))
    times["nothing to do"], _ = clocked(lambda: side.install(records, work / "two"))
    times["remove all but one"], _ = clocked(lambda: side.install(records[:1], work / "two"))
    times["the way back"], _ = clocked(lambda: side.back(records, work / "two"))
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packages", type=int, default=80)
    parser.add_argument("--repeat", type=int, default=5)
    told = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="bench-rattler-"))
    found: dict[str, dict[str, list[float]]] = {}
    try:
        made = channel(root / "channels", told.packages)
        two_generations(made, root / "project", f"p{told.packages - 1}")
        for turn in range(told.repeat):
            for name, kind in (("bare", Bare), ("provision", Ours)):
                work = root / f"{name}-{turn}"
                work.mkdir()
                for step, seconds in one_round(
                    kind(made, work / "cache"), work, f"p{told.packages - 1}"
                ).items():
                    found.setdefault(step, {}).setdefault(name, []).append(seconds)
                shutil.rmtree(work)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    print(f"{told.packages + 1} packages, {told.packages * 40} files, median of {told.repeat} (seconds)")
    print(f"{'':24}{'rattler':>10}{'provision':>12}{'more':>10}")
    for step, sides in found.items():
        bare, ours = (statistics.median(sides[name]) for name in ("bare", "provision"))
        print(f"{step:24}{bare:10.3f}{ours:12.3f}{ours - bare:10.3f}")
    extra()


if __name__ == "__main__":
    main()
