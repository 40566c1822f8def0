"""Changes in place: what the plan names, what is moved, and that every fault leaves the environment as it was or as it
shall be; in memory at every moment, on the real file system with kills."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from provision.applying.engine import Effects, Outcome, apply_in_place
from provision.applying.recovery import recover
from provision.knowledge.rows import FamilyRow
from provision.model.finding import ApplyError
from provision.model.lock import Lock
from provision.model.plan import Plan
from provision.model.receipt import Receipt
from provision.model.state import Layout
from provision.ports import Files
from provision.prefix import read_record
from provision.repairing import Wish, repair
from provision.stocktaking import take_stock
from provision.world.files import HostFiles
from tests.applying.test_transaction import (
    FAULTS,
    NOW,
    Still,
    TinyStore,
    caught,
    check_raised,
    dies,
    killed_run,
    lock_of,
    needs_fork,
    raises,
)
from tests.support.faults import PACKAGES, Dead, FaultyFiles, TinyInstaller, Wire, tree
from tests.support.memory import MemoryFiles

FAMILY = FamilyRow(
    id="family", source="s", evidence="artifact", verified_on="2026-01-01", folder="alpha",
    members=("alpha", "alpha-gpu", "alpha-stub"), pairs=(("alpha", "alpha-stub"),), why="one folder",
)  # fmt: skip


@dataclass
class Home:
    """An environment that somebody made with other tools: beta of another version, alpha-gpu in alpha's place, shared
    files, litter, a broken distribution, and things of the person's own."""

    files: Files
    root: str
    verdict: str = "passed"

    @property
    def environment(self) -> str:
        return f"{self.root}/env"

    def put(self, path: str, text: str = "x") -> None:
        self.files.make_folder(f"{self.environment}/{path}".rpartition("/")[0])
        self.files.write(f"{self.environment}/{path}", text)

    def distribution(self, name: str, version: str, paths: Sequence[str], record: bool = True) -> None:
        info = f"{PACKAGES}/{name.replace('-', '_')}-{version}.dist-info"
        for path in paths:
            if not path.startswith("!"):
                self.put(f"{PACKAGES}/{path}", f"{name} {version}")
        self.put(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\ntext")
        self.put(f"{info}/INSTALLER", "pip\n")
        if record:
            rows = [
                *(p.lstrip("!") for p in paths),
                f"{info.rpartition('/')[2]}/METADATA",
                "../../../../outside",
            ]
            self.put(f"{info}/RECORD", "".join(f"{row},,\n" for row in rows))

    def furnish(self) -> Home:
        self.put("pyvenv.cfg", "home = /usr\nversion = 3.11.2\n")
        self.put("bin/python", "python")
        self.distribution("alpha-gpu", "2.0", ["alpha/__init__.py", "alpha/gpu.py", "../../../bin/alpha"])
        self.put(f"{PACKAGES}/alpha/__pycache__/gpu.cpython-311.pyc", "compiled")
        self.distribution("beta", "0.9", ["beta/__init__.py", "beta/old.py"])
        self.distribution("mine", "1.0", ["mine/__init__.py"])
        self.put(f"{PACKAGES}/beta/notes.txt", "written by a person")
        self.put(f"{PACKAGES}/~lpha/rest.py", "litter")
        self.files.make_folder(f"{self.environment}/{PACKAGES}/~lpha/empty")
        self.put("share/data.txt", "data")
        self.files.make_folder(f"{self.environment}/share/empty")
        self.files.make_folder(f"{self.root}/cache")
        self.files.write(f"{self.root}/outside", "not yours")
        for one in lock_of("1").packages:
            self.files.write(f"{self.root}/cache/{one.file}", "wheel")
        return self

    def plan(self, lock: Lock | None = None, **wish: Any) -> Plan:
        stock = take_stock(self.files, self.environment, ["alpha"], wish.pop("elsewhere", ()))
        wishes = Wish(jobs=("imports",), **wish)
        return repair(lock or lock_of("1"), "digest", stock.digest, stock, [FAMILY], wishes)

    def apply(self, wire: Wire | None = None) -> Outcome:
        wire = wire or Wire()
        files = FaultyFiles(self.files, wire)
        effects = Effects(
            files=files, store=TinyStore(self.root), installer=TinyInstaller(self.files, wire), reporter=Still(),
            now=lambda: NOW, prove=lambda folder, number: self._receipt(number), fetch_python=lambda v: "",
        )  # fmt: skip
        stock = take_stock(self.files, self.environment, ["alpha"])
        return apply_in_place(self.plan(), lock_of("1"), stock, effects)

    def _receipt(self, number: int) -> Receipt:
        self.put(f"{PACKAGES}/mine/__pycache__/__init__.cpython-311.pyc", "compiled by the proof")
        return Receipt(
            verdict=self.verdict, level="train", profile="team", lock="0", seconds=1.0, generation=number, date=NOW,
            device_demanded="cpu", device_used="cpu", proves="it",
        )  # fmt: skip

    def seen(self) -> dict[str, Any]:
        found = {k: v for k, v in tree(self.files, self.root).items() if not k.startswith(".provision")}
        layout = Layout(self.environment)
        litter = [n for n in self.files.listdir(layout.state) if n in ("trash", "discarded", "before.json")]
        record = read_record(self.files, layout, 0)
        known = (record.outcome, record.lock) if record else None
        coming = self.files.read_text(layout.coming_record)
        return {**found, "litter": litter, "known": known, "coming": coming}


def memory_home() -> Home:
    files = MemoryFiles()
    files.make_folder("/home/me")
    return Home(files, "/home/me").furnish()


def copied(home: Home) -> Home:
    assert isinstance(home.files, MemoryFiles)
    return replace(
        home, files=replace(home.files, nodes={k: replace(n) for k, n in home.files.nodes.items()})
    )


def lines(plan: Plan) -> list[tuple[str, str, str]]:
    return [(s.action, s.subject, s.reason) for s in plan.steps if s.action in ("remove", "install")]


def test_the_plan_names_what_goes_and_why() -> None:
    assert lines(memory_home().plan()) == [
        ("remove", "alpha-gpu 2.0", "it writes the same folder `alpha` as alpha"),
        ("remove", "beta 0.9", "the lock has 1"),
        ("remove", f"{PACKAGES}/~lpha", "what an interrupted install left"),
        ("install", "alpha 1", "the lock has it"),
        ("install", "beta 1", "the lock has it"),
    ]


def test_what_is_right_stays_and_what_is_missing_comes() -> None:
    home = memory_home()
    home.apply()
    assert home.plan().steps == ()
    home.files.make_folder(f"{home.environment}/{PACKAGES}/~eta")
    home.apply()
    assert home.plan().steps == (), "an empty folder is litter too"
    home.files.remove(f"{home.environment}/{PACKAGES}/beta/data.bin")
    assert lines(home.plan()) == [
        ("remove", "beta 1", "1 of its files are missing"),
        ("install", "beta 1", "the lock has it"),
    ]
    home = memory_home()
    home.apply()
    home.files.remove(f"{home.environment}/{PACKAGES}/alpha-1.dist-info")
    assert [s.reason for s in home.plan().steps if s.action == "remove"] == [
        "no distribution owns it: what an uninstall left"
    ]
    home.files.remove(f"{home.environment}/{PACKAGES}/beta-1.dist-info/METADATA")
    assert ("remove", "beta 1", "its metadata is broken (no METADATA)") in lines(home.plan())


def test_removing_one_of_two_that_share_files_installs_the_other_again() -> None:
    """alpha-gpu and alpha are both listed: without the second step alpha would lose `alpha/__init__.py`."""
    home = memory_home()
    home.distribution("alpha", "1", ["alpha/__init__.py"])
    steps = lines(home.plan())
    assert ("remove", "alpha 1", "shares 1 files with what is removed; it is installed again") in steps
    assert ("install", "alpha 1", "the lock has it") in steps


def test_a_stub_that_belongs_to_its_distribution_stays() -> None:
    home = memory_home()
    home.distribution("alpha-stub", "1", ["alpha_stub.py"])
    assert not [s for s in home.plan().steps if "stub" in s.subject]


def test_the_result() -> None:
    home = memory_home()
    before = home.seen()
    assert home.apply().outcome == "changed"
    after = home.seen()
    assert after["env/bin/alpha"] == "#!/home/me/env/bin/python\nimport alpha\n"
    assert after[f"env/{PACKAGES}/alpha/__init__.py"] == "__version__ = '1'\n"
    assert not [p for p in after if "gpu" in p or "old.py" in p or "~lpha" in p]
    kept = (
        "outside",
        f"env/{PACKAGES}/beta/notes.txt",
        f"env/{PACKAGES}/mine/__init__.py",
        "env/share/empty",
    )
    assert all(after[p] == before[p] for p in kept)
    assert after["litter"] == []


def test_a_failed_proof_takes_all_of_it_back() -> None:
    home = replace(memory_home(), verdict="failed")
    before = home.seen()
    outcome = home.apply()
    assert (outcome.outcome, outcome.generation) == ("failed", None)
    assert home.seen() == before


def measured(start: Home) -> tuple[dict[str, Any], int, dict[str, Any]]:
    home, wire = copied(start), Wire()
    home.apply(wire)
    assert wire.count > 60
    return start.seen(), wire.count, home.seen()


def must_be_old_or_new(home: Home, old: dict[str, Any], new: dict[str, Any], where: str) -> str:
    seen = home.seen()
    if seen in (old, new):
        return "old" if seen == old else "new"
    keys = sorted(k for k in {*seen, *old, *new} if seen.get(k, "-") != old.get(k, "-"))
    raise AssertionError(
        f"a third state {where}: {[(k, old.get(k, '-'), seen.get(k, '-')) for k in keys[:6]]}"
    )


def test_killed_at_every_moment_in_memory() -> None:
    start = memory_home()
    old, moments, new = measured(start)
    outcomes = set()
    for at in range(1, moments + 1):
        home, wire = copied(start), Wire(at, dies)
        with pytest.raises(Dead):
            home.apply(wire)
        # What a person writes before the next run is no remains of ours.
        home.put("share/later.txt", "later")
        recover(home.files, home.environment, NOW)
        assert recover(home.files, home.environment, NOW) is None
        assert home.files.read_text(f"{home.environment}/share/later.txt") == "later"
        home.files.remove(f"{home.environment}/share/later.txt")
        outcomes.add(must_be_old_or_new(home, old, new, f"at {at}: {wire.names[-1]}"))
    assert outcomes == {"old", "new"}


def test_killed_again_while_recovering() -> None:
    start = memory_home()
    old, moments, new = measured(start)
    for at in range(5, moments + 1, 9):
        killed = copied(start)
        with pytest.raises(Dead):
            killed.apply(Wire(at, dies))
        for second in range(1, 90, 2):
            home, wire = copied(killed), Wire(second, dies)
            try:
                recover(FaultyFiles(home.files, wire), home.environment, NOW)
                break
            except Dead:
                recover(home.files, home.environment, NOW)
                must_be_old_or_new(home, old, new, f"at {at}, then at {second} of its recovery")


def test_failing_at_every_moment_in_memory() -> None:
    start = memory_home()
    old, moments, new = measured(start)
    for at in range(1, moments + 1):
        fault = list(FAULTS.values())[at % len(FAULTS)]
        home, wire = copied(start), Wire(at, raises(fault))
        check_raised(caught(lambda home, wire: home.apply(wire), home, wire), fault, str(at))  # type: ignore[arg-type,misc]
        recover(home.files, home.environment, NOW)
        must_be_old_or_new(home, old, new, f"at {at}: {wire.names[at - 1]}, {fault!r}")


@needs_fork
def test_random_kills(tmp_path: Path) -> None:
    outcomes = kills(tmp_path, 8)
    assert sum(outcomes.values()) == 8


@needs_fork
@pytest.mark.slow
def test_many_random_kills(tmp_path: Path) -> None:
    outcomes = kills(tmp_path, 200)
    print(outcomes)
    assert sum(outcomes.values()) == 200


def kills(folder: Path, number: int) -> dict[str, int]:
    import os

    seed = int(os.environ.get("PROVISION_SEED", "0")) or random.SystemRandom().randrange(1 << 32)
    print(f"PROVISION_SEED={seed}")
    chance = random.Random(seed)
    place = folder / "home"
    fresh = lambda: Home(HostFiles(), str(place)).furnish()  # noqa: E731
    place.mkdir()
    home, wire = fresh(), Wire()
    old = home.seen()
    home.apply(wire)
    new = home.seen()
    outcomes: dict[str, int] = {}
    for trial in range(number):
        HostFiles().remove(str(place))
        place.mkdir()
        home = fresh()
        at = chance.randint(1, wire.count)
        assert killed_run(lambda site, wire: site.apply(wire), home, at)  # type: ignore[arg-type,call-arg,return-value]
        recover(home.files, home.environment, NOW)
        name = must_be_old_or_new(home, old, new, f"at {at}, trial {trial}, seed {seed}")
        outcomes[name] = outcomes.get(name, 0) + 1
    return outcomes


def test_refusals() -> None:
    home = memory_home()
    home.files.remove(f"{home.environment}/pyvenv.cfg")
    assert [b.code for b in home.plan().blockers] == ["no-environment"]
    home.put("lib/python3.11/EXTERNALLY-MANAGED", "[externally-managed]\n")
    (finding,) = home.plan().blockers
    assert finding.code == "externally-managed"
    assert "provision apply" in finding.remedies[0].command
    home.put("conda-meta/history", "")
    home.files.remove(f"{home.environment}/lib/python3.11/EXTERNALLY-MANAGED")
    assert home.plan().blockers == ()
    home.put(
        "conda-meta/beta-0.9-0.json",
        '{"files": ["lib/python3.11/site-packages/beta-0.9.dist-info/METADATA"]}',
    )
    (finding,) = home.plan().blockers
    assert (finding.code, finding.remedies[1].command) == ("conda-managed", "conda remove beta")
    home.put("conda-meta/frozen", "{}")
    assert [b.code for b in home.plan().blockers] == ["conda-base"]
    home.files.remove(f"{home.environment}/conda-meta/frozen")
    home.put("condabin/conda", "#!/bin/sh\n")
    assert [b.code for b in home.plan().blockers] == ["conda-base"]
    conda = replace(lock_of("1"), manager="conda")
    assert [b.code for b in memory_home().plan(conda).blockers] == ["not-in-place"]
    other = replace(lock_of("1"), python="3.12")
    assert [b.code for b in memory_home().plan(other).blockers] == ["wrong-python"]


def test_shadows_and_users_are_said() -> None:
    home = memory_home()
    home.files.make_folder("/home/me/.local/lib/alpha-3.dist-info")
    home.files.make_folder("/home/me/.local/lib/other-3.dist-info")
    plan = home.plan(elsewhere=["/home/me/.local/lib"], users=("process 7: jupyter-lab",))
    assert [(n.code, n.detail) for n in plan.notes] == [
        ("shadowed", ""),
        ("in-use", "process 7: jupyter-lab"),
    ]


def test_a_record_that_leads_out_moves_nothing_there() -> None:
    home = memory_home()
    home.apply()
    assert home.files.read_text("/home/me/outside") == "not yours"
    linked = memory_home()
    linked.files.remove(f"{linked.environment}/share")
    linked.files.make_folder("/home/me/elsewhere")
    linked.files.write("/home/me/elsewhere/doc", "not yours")
    linked.files.point(f"{linked.environment}/share", "/home/me/elsewhere")
    linked.distribution("alpha-gpu", "2.0", ["alpha/__init__.py", "!../../../share/doc"])
    linked.apply()
    assert linked.files.read_text("/home/me/elsewhere/doc") == "not yours"


def test_what_conda_owns_without_a_wheels_record_stays() -> None:
    """conda's own packages may have no dist-info: their folder is neither litter nor written over."""
    home = memory_home()
    home.files.remove(f"{home.environment}/{PACKAGES}/alpha_gpu-2.0.dist-info")
    record = json.dumps({"files": [f"{PACKAGES}/alpha/__init__.py"]})
    home.put("conda-meta/alpha-python-2.0-0.json", record)
    assert not [s for s in home.plan().steps if s.subject == f"{PACKAGES}/alpha"]
    before = home.seen()
    with pytest.raises(ApplyError) as error:
        home.apply()
    assert error.value.findings[0].code == "conda-managed"
    assert home.seen() == before


def test_only_the_remains_of_its_own_families_go() -> None:
    home = memory_home()
    home.files.remove(f"{home.environment}/{PACKAGES}/alpha_gpu-2.0.dist-info")
    subjects = [s.subject for s in home.plan().steps if s.action == "remove"]
    assert f"{PACKAGES}/alpha" in subjects
    other = replace(lock_of("1"), packages=lock_of("1").packages[1:])
    assert not [s for s in home.plan(other).steps if s.subject == f"{PACKAGES}/alpha"]


def test_all_of_the_lock_is_installed_again_when_asked() -> None:
    home = memory_home()
    home.apply()
    assert home.plan().steps == ()
    again = [s.subject for s in home.plan(reinstall=True).steps if s.action == "install"]
    assert again == ["alpha 1", "beta 1"]


def test_the_maker_is_told_by_what_it_wrote() -> None:
    for text, maker in (
        ("home = /usr\nversion = 3.11.2\n", "venv"),
        ("home = /usr\nimplementation = CPython\nuv = 0.9.5\nversion_info = 3.11.2\n", "uv"),
        ("home = /usr\nvirtualenv = 20.26.6\nversion_info = 3.11.2.final.0\n", "virtualenv"),
    ):
        home = memory_home()
        home.put("pyvenv.cfg", text)
        stock = take_stock(home.files, home.environment)
        assert (stock.maker, stock.python) == (maker, "3.11")
