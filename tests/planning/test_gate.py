"""What the gate makes of artifacts, disks, interpreters and a person's word."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from provision.model.artifact import ArtifactFacts, Coverage, GpuCode, LibraryFacts
from provision.model.lock import Artifact, Lock
from provision.model.machine import Device, Interpreter, Machine, Software
from provision.model.plan import Plan
from provision.model.state import EnvState
from provision.pipeline.gate import driver_cuda
from provision.planning import CardCode, Known, Request, plan, unmet
from tests.support import gate

_PROFILE = "schema: 1\nname: x\nhardware: {vendor: nvidia}\nframeworks: {torch: ==2.8.0}\n"
_CARD = Device(vendor="nvidia", name="NVIDIA GeForce GTX 1050", capability="6.1", facts={"index": "0"})
_HERE = Machine(
    os="linux", arch="x86_64", libc="glibc 2.36", cpu_flags=("avx",), devices=(_CARD,), drivers={"nvidia": "550.163.01"},
    pythons=(Interpreter(path="/python", version="3.11.9", arch="x86_64"),), evidence={"devices": "PCI"},
)  # fmt: skip
_ABSENT = EnvState(kind="absent", environment="/x/.venv")


def _lock(text: str = _PROFILE, packages: tuple[Artifact, ...] = ()) -> Lock:
    return gate.locked(text, "linux-x86_64", "3.11", packages)


def _file(name: str, size: int) -> Artifact:
    return Artifact(
        name=name, version="1", index="pypi", file=f"{name}-1-py3-none-any.whl", size=size, sha256="0" * 64
    )


def test_a_reason_overrides_what_the_machine_lacks_and_is_kept(tmp_path: Path) -> None:
    forced = gate.planned(_lock(), _HERE, tmp_path, force="a build of our own goes in afterwards")
    assert forced.blockers == ()
    assert [f.code for f in forced.overridden] == ["no-gpu-code"]
    assert forced.override["reason"] == "a build of our own goes in afterwards"
    assert forced.override["findings"][0]["code"] == "no-gpu-code"
    assert gate.planned(_lock(), _HERE, tmp_path).override == {}


def test_no_reason_overrides_another_system_or_a_missing_python(tmp_path: Path) -> None:
    other = gate.planned(_lock(), replace(_HERE, os="windows"), tmp_path, force="try")
    assert [f.code for f in other.blockers] == ["wrong-target"]
    none = gate.planned(_lock(), replace(_HERE, pythons=()), tmp_path, force="try")
    assert [f.code for f in none.blockers] == ["no-interpreter"]


def test_nothing_overridden_leaves_no_trace(tmp_path: Path) -> None:
    card = replace(_CARD, capability="8.6")
    quiet = gate.planned(_lock(), replace(_HERE, devices=(card,)), tmp_path, force="in case")
    assert (quiet.blockers, quiet.overridden, quiet.force, quiet.override) == ((), (), "", {})


def test_a_python_of_another_processor_is_no_interpreter(tmp_path: Path) -> None:
    narrow = Interpreter(path="/py32", version="3.11.9", arch="x86")
    blocked = gate.planned(_lock(), replace(_HERE, pythons=(narrow,)), tmp_path, device="cpu")
    assert [f.code for f in blocked.blockers] == ["no-interpreter"]
    assert "/py32 is x86" in blocked.blockers[0].detail


@pytest.mark.parametrize(
    ("free", "cache", "blocks"),
    [
        (9_500, None, False),
        (8_000, None, True),
        (4_500, 4_900, True),
        (4_500, 5_500, False),
        (3_000, 9_000, True),
    ],
)
def test_room_on_one_disk_or_two(tmp_path: Path, free: int, cache: int | None, blocks: bool) -> None:
    """1 kB to fetch and 4 kB unpacked in the cache, 4 kB copied from it: together on one disk, or each on its own."""
    lock = replace(_lock("schema: 1\nname: x\npackages: [a]\n"), packages=(_file("a", 1_000),))
    made = gate.planned(lock, _HERE, tmp_path, free=free, cache_free=cache)
    assert [f.code for f in made.blockers] == (["disk-full"] if blocks else [])


def test_what_is_in_the_cache_needs_no_room_there(tmp_path: Path) -> None:
    lock = replace(_lock("schema: 1\nname: x\npackages: [a]\n"), packages=(_file("a", 1_000),))
    asked = {"free": 5_000, "cache_free": 10, "present": frozenset(["0" * 64])}
    assert gate.planned(lock, _HERE, tmp_path, **asked).blockers == ()


def _read(**facts: object) -> ArtifactFacts:
    return ArtifactFacts(file="torch-2.8.0-cp311-cp311-manylinux_2_28_x86_64.whl", **facts)  # type: ignore[arg-type]


def _planned(known: Known, here: Machine = _HERE) -> Plan:
    return plan(_lock(), "d", _ABSENT, here, Request(), known)


def test_the_libraries_of_an_artifact_count_whatever_its_tag_says() -> None:
    known = Known(facts=(_read(glibc="2.40", tag_glibc="2.28"),))
    (finding,) = _planned(known).blockers
    assert finding.code == "glibc-too-old"
    assert "2.40" in finding.summary
    assert "2.36" in finding.summary
    assert _planned(Known(facts=(_read(glibc="2.17", tag_glibc="2.28"),))).blockers == ()


def test_the_visual_c_runtime_that_an_artifact_imports() -> None:
    known = Known(facts=(_read(needed=("MSVCP140.dll", "VCRUNTIME140_1.dll", "KERNEL32.dll")),))
    lock = replace(_lock(), target="windows-x86_64", needs=())
    here = replace(_HERE, os="windows")
    (finding,) = plan(lock, "d", _ABSENT, here, Request(), known).blockers
    assert finding.code == "msvc-missing"
    assert "msvcp140.dll, vcruntime140_1.dll" in finding.summary
    there = replace(here, software=(Software(name="msvc", active=True),))
    assert plan(lock, "d", _ABSENT, there, Request(), known).blockers == ()


def test_the_artifact_wins_over_a_rule() -> None:
    """A rule says that this build has no code for the card; the wheel that was read has."""
    lock, knowledge = _lock(), gate.knowledge()
    build = next(
        b for b in knowledge.builds("torch") if b.requirement == "torch==2.8.0" and b.target == lock.target
    )
    coverage = Coverage(how="machine-code", because="it holds machine code of sm_61", arch="sm_61")
    code = CardCode(
        framework="torch",
        build="torch==2.8.0",
        card=_CARD,
        coverage=coverage,
        source="t.whl",
        by_artifact=True,
    )
    made = plan(
        lock,
        "d",
        _ABSENT,
        _HERE,
        Request(),
        Known(rules=knowledge.rules(), builds={"torch": build}, codes=(code,)),
    )
    assert made.blockers == ()
    assert "knowledge-disagrees" in [f.code for f in made.notes]


def test_a_hidden_card_is_not_asked_about(tmp_path: Path) -> None:
    good = Device(vendor="nvidia", name="NVIDIA GeForce RTX 3090", capability="8.6", facts={"index": "1"})
    hidden = replace(_CARD, facts={**_CARD.facts, "hidden": "CUDA_VISIBLE_DEVICES"})
    assert gate.planned(_lock(), replace(_HERE, devices=(_CARD, good)), tmp_path).blockers
    assert gate.planned(_lock(), replace(_HERE, devices=(hidden, good)), tmp_path).blockers == ()


def test_elsewhere_must_be_a_like_system(tmp_path: Path) -> None:
    card = replace(_CARD, capability="8.6")
    there = replace(_HERE, devices=(card,))
    assert (
        gate.planned(_lock(), there, tmp_path, device="cpu", elsewhere=True, host="linux-x86_64").blockers
        == ()
    )
    (finding,) = gate.planned(
        _lock(), there, tmp_path, device="cpu", elsewhere=True, host="linux-aarch64"
    ).blockers
    assert finding.code == "wrong-target"


def test_what_nobody_knows_is_said_and_does_not_stop() -> None:
    here = Machine(os="linux", arch="x86_64", devices=(_CARD,), pythons=_HERE.pythons)
    made = plan(_lock(), "d", _ABSENT, here, Request())
    assert made.blockers == ()
    assert {f.code for f in made.notes} == {"not-checked"}
    assert any("glibc" in f.summary for f in made.notes)
    assert any("driver" in f.summary for f in made.notes)
    assert all(unmet(need, here) is None for need in _lock().needs)


def test_the_cuda_version_of_a_driver_that_does_not_tell() -> None:
    knowledge = gate.knowledge()
    assert driver_cuda(_HERE, knowledge) == "12.4"
    assert driver_cuda(replace(_HERE, drivers={"nvidia": "550.163.01", "cuda": "12.5"}), knowledge) == "12.5"
    assert driver_cuda(replace(_HERE, drivers={}), knowledge) == ""


def test_facts_from_the_cache_speak_for_the_locked_file(tmp_path: Path) -> None:
    """The wheel's own code decides, though the knowledge row lists no sm_61."""
    from provision.artifacts.inspect import cache_key
    from provision.artifacts.library import EVERYTHING
    from provision.world.factstore import FolderFactStore

    wheel = Artifact(name="torch", version="2.8.0", index="pypi", file="t.whl", size=9, sha256="a" * 64)
    code = (GpuCode(kind="machine", arch="sm_60", count=9), GpuCode(kind="machine", arch="sm_90", count=9))
    facts = _read(
        libraries=(LibraryFacts(path="torch/lib/a.so", format="elf", size=9, code=code),), sha256="a" * 64
    )
    import json

    store = FolderFactStore(tmp_path / "cache" / "facts")
    store.put(cache_key("a" * 64, EVERYTHING), json.dumps(facts.to_json()))
    made = gate.planned(_lock(packages=(wheel,)), _HERE, tmp_path)
    assert [f.code for f in made.blockers] == []
    assert {"knowledge-disagrees"} <= {f.code for f in made.notes}
