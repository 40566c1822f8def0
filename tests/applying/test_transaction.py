"""The transaction under faults, in memory and on the real file system.

Invariant: after recovery the environment is what it was, or what the undisturbed run makes; never a third state, and
nothing beside it has changed. Every moment of every effect is tried in memory; on the real file system the same
moments fail with exceptions, and processes are killed at random ones (the seed is printed; PROVISION_SEED sets it).
"""

from __future__ import annotations

import errno
import os
import random
import signal
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from provision.applying.engine import Effects, Outcome, apply
from provision.applying.recovery import recover
from provision.applying.returning import collect, rollback
from provision.cli.funnel import Terminated, _terminate
from provision.inspecting import inspect
from provision.model.finding import ApplyError, BlockedError, RollbackError
from provision.model.lock import Digests, Lock
from provision.model.plan import Plan, Step
from provision.model.profile import Index  # noqa: F401 (the lock's annotations)
from provision.model.receipt import Receipt
from provision.model.state import Layout
from provision.ports import Files, LocalFile
from provision.world.files import HostFiles
from tests.support.faults import PACKAGES, Dead, FaultyFiles, TinyInstaller, Wire, artifact, tree
from tests.support.memory import MemoryFiles

LITTER = ("trash", "discarded")
NOW = "2026-01-02T03:04:05Z"


class Still:
    """A Reporter that says nothing."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *arguments, **named: None


class TinyStore:
    def __init__(self, root: str) -> None:
        self.root = root

    def present(self, artifacts: Sequence[Any]) -> frozenset[str]:
        return frozenset()

    def fetch(self, lock: Lock, advance: Callable[[int], None]) -> tuple[LocalFile, ...]:
        return tuple(LocalFile(a, f"{self.root}/cache/{a.file}") for a in lock.packages)


@dataclass
class Site:
    """A project folder with an environment, on one of the two file systems."""

    files: Files
    root: str
    verdict: str = "passed"

    @property
    def environment(self) -> str:
        return f"{self.root}/project/.venv"

    @property
    def layout(self) -> Layout:
        return Layout(self.environment)

    def prepare(self) -> Site:
        self.files.make_folder(f"{self.root}/project/src")
        self.files.make_folder(f"{self.root}/cache")
        self.files.write(f"{self.root}/project/src/train.py", "print('mine')\n")
        for name, version in (("alpha", "1"), ("alpha", "2"), ("beta", "1")):
            self.files.write(f"{self.root}/cache/{artifact(name, version).file}", "wheel")
        return self

    def apply(self, version: str, wire: Wire | None = None, altered: Sequence[str] = ()) -> Outcome:
        wire = wire or Wire()
        files = FaultyFiles(self.files, wire)
        state = inspect(self.files, self.environment)
        lock = lock_of(version)
        effects = Effects(
            files=files, store=TinyStore(self.root), installer=TinyInstaller(self.files, wire, altered),
            reporter=Still(), now=lambda: NOW, prove=self._prove(files), fetch_python=lambda v: "",
        )  # fmt: skip
        return apply(plan_of(version, state), lock, state, effects)

    def _prove(self, files: Any) -> Callable[[str, int], Receipt]:
        def prove(folder: str, generation: int) -> Receipt:
            files.write(self.layout.receipt(generation), "{}")
            return Receipt(
                verdict=self.verdict, level="train", profile="team", lock="0", seconds=1.0,
                generation=generation, date=NOW, device_demanded="cpu", device_used="cpu", proves="it",
            )  # fmt: skip

        return prove

    def rollback(self, to: int, wire: Wire) -> None:
        rollback(FaultyFiles(self.files, wire), inspect(self.files, self.environment), to, lambda: NOW)

    def collect(self, numbers: Sequence[int], wire: Wire) -> None:
        collect(FaultyFiles(self.files, wire), inspect(self.files, self.environment), numbers, lambda: NOW)

    def seen(self) -> dict[str, Any]:
        """All that matters: the environment through its path, the generations, and everything beside them."""
        beside = {
            k: v for k, v in tree(self.files, self.root).items() if not k.startswith("project/.provision")
        }
        state = inspect(self.files, self.environment)
        kept = {
            str(n): tree(self.files, self.layout.generation(n))
            for n in state.generations
        }  # fmt: skip
        return {
            "through": tree(self.files, self.environment),
            "pointer": state.generation,
            "beside": beside,
            "generations": kept,
            "records": self.files.listdir(f"{self.layout.state}/records"),
            "receipts": self.files.listdir(f"{self.layout.state}/receipts"),
            "litter": [n for n in self.files.listdir(self.layout.state) if n.endswith(".tmp") or n in LITTER],
        }


def lock_of(version: str) -> Lock:
    return Lock(
        profile="team", target="linux-x86_64", python="3.11", digests=Digests(profile="p", knowledge="k"),
        packages=(artifact("alpha", version), artifact("beta", "1")),
    )  # fmt: skip


def plan_of(version: str, state: Any) -> Plan:
    number, packages = state.next_generation, lock_of(version).packages
    steps = [
        Step(action="create", kind="environment", subject="", reason="", args={"python": "/python", "version": "3.11"}),
        *(Step(action="fetch", kind="package", subject=a.file, reason="", args={"size": 1}) for a in packages),
        *(Step(action="install", kind="package", subject=a.name, reason="") for a in packages),
        Step(action="prove", kind="job", subject="imports", reason=""),
        Step(action="switch", kind="pointer", subject="", reason=""),
    ]  # fmt: skip
    return Plan(
        profile="team", target="linux-x86_64", python="3.11", environment=state.environment, generation=number,
        lock=f"digest of {version}", state=state.digest, steps=tuple(steps),
    )  # fmt: skip


def nothing(site: Site) -> None:
    """No environment yet."""


def one(site: Site) -> None:
    site.apply("1")


def two(site: Site) -> None:
    site.apply("1")
    site.apply("2")


def failed(site: Site) -> None:
    site.apply("1")
    bad = replace(site, verdict="failed")
    assert bad.apply("2").outcome == "failed"


#: name -> (what stands before, the run).
RUNS: dict[str, tuple[Callable[[Site], None], Callable[[Site, Wire], Any]]] = {
    "the first apply": (nothing, lambda site, wire: site.apply("1", wire)),
    "the second apply": (one, lambda site, wire: site.apply("2", wire)),
    "an apply after a failed one": (failed, lambda site, wire: site.apply("2", wire)),
    "an apply whose proof fails": (one, lambda site, wire: replace(site, verdict="failed").apply("2", wire)),
    "a rollback": (two, lambda site, wire: site.rollback(1, wire)),
    "a collection": (two, lambda site, wire: site.collect([1], wire)),
}
PATH = "/home/一 two"


def memory_site(before: Callable[[Site], None]) -> Site:
    files = MemoryFiles()
    files.make_folder(PATH)
    site = Site(files, PATH).prepare()
    before(site)
    return site


def copied(site: Site) -> Site:
    assert isinstance(site.files, MemoryFiles)
    return replace(
        site, files=replace(site.files, nodes={k: replace(n) for k, n in site.files.nodes.items()})
    )


def must_be_old_or_new(site: Site, old: dict[str, Any], new: dict[str, Any], where: str) -> str:
    seen = site.seen()
    for name, state in (("old", old), ("new", new)):
        if seen == state:
            return name
    flat = [flattened(state) for state in (old, seen, new)]
    keys = [
        k
        for k in sorted(set().union(*flat))
        if flat[1].get(k, "-") not in (flat[0].get(k, "-"), flat[2].get(k, "-"))
    ]
    values = {k: [f.get(k, "-") for f in flat] for k in keys[:5]}
    mixed = sorted({k.split("/")[0] for k in flat[1] if flat[1].get(k) != flat[0].get(k)})
    raise AssertionError(
        f"a third state after a fault {where}: (old, seen, new) {values}; unlike the old in {mixed}"
    )


def flattened(value: Any, prefix: str = "") -> dict[str, Any]:
    if not isinstance(value, dict):
        return {prefix: value}
    found: dict[str, Any] = {}
    for key, item in value.items():
        found |= flattened(item, f"{prefix}/{key}" if prefix else key)
    return found


def dies(name: str) -> None:
    raise Dead(name)


@pytest.mark.parametrize("run", RUNS)
def test_killed_at_every_moment_in_memory(run: str) -> None:
    before, do = RUNS[run]
    start = memory_site(before)
    old, moments, new = measured(start, do)
    assert old != new
    outcomes = set()
    for at in range(1, moments + 1):
        site, wire = copied(start), Wire(at, dies)
        with pytest.raises(Dead):
            do(site, wire)
        where = f"at moment {at} ({wire.names[-1]}) of {run}"
        recover(site.files, site.environment, NOW)
        assert recover(site.files, site.environment, NOW) is None, where
        outcomes.add(must_be_old_or_new(site, old, new, where))
        if outcomes == {"old"} and "apply" in run and at % 5 == 0:
            do(site, Wire())
            assert site.seen() == new, f"a second try after a fault {where} ends elsewhere"
    assert "old" in outcomes
    assert "new" in outcomes or "fails" in run


def measured(start: Site, do: Callable[[Site, Wire], Any]) -> tuple[dict[str, Any], int, dict[str, Any]]:
    """The state before, the number of moments, the state that the undisturbed run makes."""
    undisturbed, wire = copied(start), Wire()
    do(undisturbed, wire)
    assert wire.count > 12
    return start.seen(), wire.count, undisturbed.seen()


@pytest.mark.parametrize("run", RUNS)
def test_killed_again_while_recovering(run: str) -> None:
    before, do = RUNS[run]
    start = memory_site(before)
    old, moments, new = measured(start, do)
    for at in range(2, moments + 1, 9):
        killed = copied(start)
        with pytest.raises(Dead):
            do(killed, Wire(at, dies))
        for second in range(1, 60):
            site, wire = copied(killed), Wire(second, dies)
            try:
                recover(FaultyFiles(site.files, wire), site.environment, NOW)
                break
            except Dead:
                recover(site.files, site.environment, NOW)
                must_be_old_or_new(site, old, new, f"at {at}, then at {second} of its recovery")


FAULTS = {
    "an exception": RuntimeError("fault"),
    "a full disk": OSError(errno.ENOSPC, "No space left on device"),
    "no permission": OSError(errno.EACCES, "Permission denied"),
    "a read-only file system": OSError(errno.EROFS, "Read-only file system"),
    "Ctrl-C": KeyboardInterrupt(),
    "SIGTERM": Terminated(signal.SIGTERM),
    "a failed step": ApplyError(()),
}


def raises(error: BaseException) -> Callable[[str], None]:
    def act(name: str) -> None:
        raise error

    return act


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize(
    "turn", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)]
)
def test_failing_at_every_moment_in_memory(run: str, turn: int) -> None:
    """The run itself takes back what it did; the next one has nothing to recover, or only a last line to write."""
    before, do = RUNS[run]
    start = memory_site(before)
    old, moments, new = measured(start, do)
    for at in range(1, moments + 1):
        name = list(FAULTS)[(at + turn) % len(FAULTS)]
        site, wire = copied(start), Wire(at, raises(FAULTS[name]))
        where = f"at moment {at} of {run}, {name}"
        check_raised(caught(do, site, wire), FAULTS[name], where)
        recover(site.files, site.environment, NOW)
        must_be_old_or_new(site, old, new, f"{where}: {wire.names[at - 1]}")


def caught(do: Callable[[Site, Wire], Any], site: Site, wire: Wire) -> BaseException | None:
    try:
        do(site, wire)
    except BaseException as error:
        return error
    return None


def check_raised(error: BaseException | None, fault: BaseException, where: str) -> None:
    """The fault itself, or (for the operating system's) words about it; none where it came after the commit."""
    if isinstance(fault, OSError):
        assert error is None or isinstance(error, ApplyError), (where, error)
    else:
        assert error is fault, (where, error)


@pytest.mark.parametrize(
    "lines", ["", "garbage\n", '{"phase": "star', '{"number": 1, "phase": "done"}\n', "\x00" * 512]
)
@pytest.mark.parametrize("run", ["the first apply", "the second apply", "a collection", "a rollback"])
def test_a_journal_that_cannot_be_read(run: str, lines: str) -> None:
    """Its lines are gone or torn: what stands on the disk decides."""
    before, do = RUNS[run]
    start = memory_site(before)
    old, moments, new = measured(start, do)
    for at in range(3, moments + 1, 7):
        site, wire = copied(start), Wire(at, dies)
        with pytest.raises(Dead):
            do(site, wire)
        if site.files.stat(site.layout.journal) is None:
            continue
        site.files.write(site.layout.journal, lines)
        recover(site.files, site.environment, NOW)
        seen = site.seen()
        if lines:
            assert seen["through"] in (old["through"], new["through"]), (at, wire.names[-1])
            assert seen["beside"] in (old["beside"], new["beside"])
            assert set(seen["generations"]) <= set(old["generations"]) | set(new["generations"])
            for number, found in seen["generations"].items():
                assert found in (old["generations"].get(number), new["generations"].get(number))


def test_garbage_after_the_last_line_changes_nothing() -> None:
    site = memory_site(two)
    before = site.seen()
    text = site.files.read_text(site.layout.journal) or ""
    for tail in ('{"number": 9, "phase"', "\x00\x00\x00", "garbage\nmore\n"):
        site.files.write(site.layout.journal, text + tail)
        assert recover(site.files, site.environment, NOW) is None
        assert site.seen() == before
        rollback(site.files, inspect(site.files, site.environment), 1, lambda: NOW)
        rollback(site.files, inspect(site.files, site.environment), 2, lambda: NOW)
        assert recover(site.files, site.environment, NOW) is None


def test_a_journal_that_names_other_places_is_not_believed() -> None:
    """Only numbers are read out of it, and they stand for places inside the environment's own folder."""
    site = memory_site(one)
    site.files.make_folder("/etc")
    site.files.write("/etc/passwd", "root")
    lines = '{"number": 0, "phase": "started", "undo": {"pointer": "/etc", "remove": "/etc"}, "facts": {"generation": 7}}\n'
    site.files.write(site.layout.journal, lines)
    recover(site.files, site.environment, NOW)
    assert site.files.read_text("/etc/passwd") == "root"


@pytest.mark.parametrize("place", ["", "/.venv", "/.venv/generations", "/.venv/records", "/.venv/trash"])
def test_a_planted_link_is_not_followed(place: str) -> None:
    site = memory_site(nothing)
    site.files.make_folder("/elsewhere")
    path = f"{site.root}/project/.provision{place}"
    site.files.make_folder(os.path.dirname(path))
    site.files.point(path, "/elsewhere")
    with pytest.raises(BlockedError) as error:
        site.apply("1")
    assert error.value.findings[0].code == "planted-link"
    with pytest.raises(BlockedError):
        recover(site.files, site.environment, NOW)
    assert site.files.listdir("/elsewhere") == ()


def test_a_clock_that_jumps_changes_nothing() -> None:
    """Times are notes for people: order comes from the lines' places."""
    site = memory_site(one)
    old = site.seen()
    with pytest.raises(Dead):
        site.apply("2", Wire(25, dies))
    recover(site.files, site.environment, "1970-01-01T00:00:00Z")
    assert site.seen() == old


def test_what_another_run_is_writing_in_the_shared_folder_is_left_alone() -> None:
    """Two environments have one `.provision`: recovering one must not take the other's files from under its feet."""
    site = memory_site(one)
    theirs = f"{site.layout.shared}/.gitignore.4711.tmp"
    site.files.write(theirs, "*")
    with pytest.raises(Dead):
        site.apply("2", Wire(25, dies))
    recover(site.files, site.environment, NOW)
    recover(site.files, site.environment, NOW)
    assert site.files.read_text(theirs) == "*"


def test_altered_contents_are_noticed_before_the_switch() -> None:
    site = memory_site(one)
    old = site.seen()
    with pytest.raises(ApplyError) as error:
        site.apply("2", altered=[f"{PACKAGES}/alpha/__init__.py"])
    assert error.value.findings[0].code == "cache-altered"
    assert site.seen() == old


def test_scripts_go_through_the_pointer() -> None:
    site = memory_site(two)
    script = site.files.read_text(f"{site.environment}/bin/alpha")
    assert script == f"#!{site.environment}/bin/python\nimport alpha\n"


# The real file system.


def real_site(folder: Path, before: Callable[[Site], None]) -> Site:
    site = Site(HostFiles(), str(folder)).prepare()
    before(site)
    return site


@pytest.mark.parametrize("run", RUNS)
def test_failing_on_the_real_file_system(run: str, tmp_path: Path) -> None:
    """Exceptions and Ctrl-C at every fifth moment, one after another in one folder: each leaves it as it was."""
    before, do = RUNS[run]
    start = memory_site(before)
    _, moments, _ = measured(start, do)
    site = real_site(tmp_path, before)
    old = site.seen()
    for at in range(1, moments + 1, 5):
        fault = list(FAULTS.values())[at % len(FAULTS)]
        check_raised(caught(do, site, Wire(at, raises(fault))), fault, str(at))
        recover(site.files, site.environment, NOW)
        seen = site.seen()
        if seen["through"] != old["through"] or seen["generations"] != old["generations"]:
            break
        assert seen == old, at
    assert at > moments // 2 or run == "an apply after a failed one"


def kill(name: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def signals(number: int) -> Callable[[str], None]:
    return lambda name: os.kill(os.getpid(), number)


#: Kind of fault -> (what happens at the moment, what the journal's end looks like afterwards, what time it is then).
KINDS: dict[str, tuple[Callable[[str], None], str, str]] = {
    "SIGKILL": (kill, "", NOW),
    "SIGKILL, a torn line": (kill, '{"number": 9, "phase": "commi', NOW),
    "SIGKILL, zeros": (kill, "\x00" * 512, NOW),
    "SIGKILL, the clock jumps back": (kill, "", "1970-01-01T00:00:00Z"),
    "SIGKILL, the clock jumps on": (kill, "", "2099-12-31T23:59:59Z"),
    "SIGINT": (signals(signal.SIGINT), "", NOW),
    "SIGTERM": (signals(signal.SIGTERM), "", NOW),
    **{name: (raises(fault), "", NOW) for name, fault in FAULTS.items() if isinstance(fault, OSError)},
}


def faulted_run(do: Callable[[Site, Wire], Any], site: Site, at: int, act: Callable[[str], None]) -> int:
    """Run in a child that meets a fault at a moment; its exit status (0: it ended well, 1: it raised)."""
    child = os.fork()
    if child == 0:
        try:
            signal.signal(signal.SIGTERM, _terminate)
            do(site, Wire(at, act))
        except (OSError, KeyboardInterrupt, Terminated, ApplyError):
            os._exit(1)
        except BaseException:
            traceback.print_exc()
            os._exit(2)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def killed_run(do: Callable[[Site, Wire], Any], site: Site, at: int) -> bool:
    """Run in a child that is killed at a moment; False if it ended before."""
    return faulted_run(do, site, at, kill) == -signal.SIGKILL


def trials(folder: Path, number: int) -> dict[str, dict[str, int]]:
    """Random runs that meet a random fault at a random moment; each is recovered and must be as before or as the
    undisturbed run. Kind of fault -> how many ended as which."""
    seed = int(os.environ.get("PROVISION_SEED", "0")) or random.SystemRandom().randrange(1 << 32)
    print(f"PROVISION_SEED={seed}")
    chance = random.Random(seed)
    known: dict[str, tuple[dict[str, Any], int, dict[str, Any]]] = {}
    outcomes: dict[str, dict[str, int]] = {}
    for trial in range(number):
        run, kind = chance.choice(list(RUNS)), chance.choice(list(KINDS))
        act, tail, now = KINDS[kind]
        before, do = RUNS[run]
        # One place for all of a kind: scripts hold their own path, and RECORD the scripts' hashes.
        place = folder / run.replace(" ", "-")
        if run not in known:
            known[run] = undisturbed(place, before, do)
        old, moments, new = known[run]
        site = real_site(place, before)
        at = chance.randint(1, moments)
        where = f"{at} of {run}, {kind}, trial {trial}, seed {seed}"
        status = faulted_run(do, site, at, act)
        assert status == -signal.SIGKILL if act is kill else status in (0, 1), (status, where)
        spoil(site, tail)
        recover(site.files, site.environment, now)
        assert recover(site.files, site.environment, now) is None, where
        name = must_be_old_or_new(site, old, new, where)
        outcomes.setdefault(kind, {"old": 0, "new": 0})[name] += 1
        site.files.remove(site.root)
    return outcomes


def spoil(site: Site, tail: str) -> None:
    """What a power cut may leave behind the last whole line."""
    journal = Path(site.layout.journal)
    if tail and journal.is_file():
        with journal.open("a", encoding="utf-8") as file:
            file.write(tail)


def counted(outcomes: dict[str, dict[str, int]]) -> dict[str, int]:
    return {name: sum(of[name] for of in outcomes.values()) for name in ("old", "new")}


def undisturbed(
    folder: Path, before: Callable[[Site], None], do: Callable[[Site, Wire], Any]
) -> tuple[dict[str, Any], int, dict[str, Any]]:
    site = real_site(folder, before)
    old, wire = site.seen(), Wire()
    do(site, wire)
    new = site.seen()
    site.files.remove(site.root)
    return old, wire.count, new


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="kills need fork")


@pytest.fixture
def quick_folder(tmp_path: Path) -> Iterator[Path]:
    """In memory where the system has such a place: hundreds of runs wait for the disk otherwise."""
    shared = Path("/dev/shm")
    if not (shared.is_dir() and os.access(shared, os.W_OK)):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="provision-test-", dir=shared) as folder:
        yield Path(folder)


@needs_fork
def test_forty_random_faults(quick_folder: Path) -> None:
    assert sum(counted(trials(quick_folder, 40)).values()) == 40


@needs_fork
@pytest.mark.slow
def test_five_hundred_random_faults(quick_folder: Path) -> None:
    outcomes = trials(quick_folder, 500)
    for kind, of in sorted(outcomes.items()):
        print(f"{kind:32} {of['old']:4} as before {of['new']:4} as after")
    assert set(outcomes) == set(KINDS)
    found = counted(outcomes)
    assert sum(found.values()) == 500
    assert found["old"] > 100
    assert found["new"] > 10


def test_what_cannot_be_taken_back_is_said_and_recovered_later() -> None:
    """The file system turns read-only for good in the middle: exit code 7, and recovery once it can be written."""
    site = memory_site(one)
    old = site.seen()
    wire = Wire(20)

    def forever(name: str) -> None:
        wire.at = wire.count + 1
        raise OSError(errno.EROFS, "Read-only file system")

    wire.act = forever
    with pytest.raises(RollbackError):
        site.apply("2", wire)
    recover(site.files, site.environment, NOW)
    assert site.seen() == old
