"""One profile, several variants: a lock for each, and the machine takes the first whose needs it meets."""

from __future__ import annotations

from pathlib import Path

from tests.support.command import profile, provision
from tests.support.index import LoopbackIndex

VARIANTS = """
packages: [typing-extensions]
targets: [linux-x86_64, windows-x86_64]
variants:
  - {name: directml, targets: [windows-x86_64], hardware: {vendor: amd}}
  - {name: cuda, targets: [linux-x86_64], hardware: {vendor: nvidia, driver: '>=535'}, frameworks: {torch: ==2.13.0}}
  - {name: cpu, packages: [numpy]}
"""
GPU = "os: linux\narch: x86_64\ndrivers: {nvidia: '%s'}\ndevices: [{vendor: nvidia, name: RTX, capability: '8.6'}]\n"


def test_each_variant_has_its_locks(tiny_tensorflow: LoopbackIndex, tmp_path: Path) -> None:
    path = profile(tmp_path, VARIANTS.replace("frameworks: {torch: ==2.13.0}", "packages: [protobuf]"))
    ran = provision(tmp_path, "lock", path.name)
    assert ran.code == 0, ran.err
    names = {p.name.rsplit("-py", 1)[0] for p in (tmp_path / "locks" / "team").glob("*.lock.yaml")}
    assert names == {"directml-windows-x86_64", "cuda-linux-x86_64", "cpu-linux-x86_64", "cpu-windows-x86_64"}
    assert provision(tmp_path, "lock", "--check", path.name).code == 0


def test_the_first_that_fits_is_taken(tiny_tensorflow: LoopbackIndex, tmp_path: Path) -> None:
    path = profile(tmp_path, VARIANTS.replace("frameworks: {torch: ==2.13.0}", "packages: [protobuf]"))
    here = provision(tmp_path, "apply", path.name, "--json")
    assert (here.code, here.document["variant"]) == (0, "cpu"), here.err
    assert "directml" in here.err
    assert "cuda" in here.err


def test_why_a_variant_does_not_fit(tiny_tensorflow: LoopbackIndex, tmp_path: Path) -> None:
    path = profile(tmp_path, VARIANTS)
    machine = tmp_path / "machine.yaml"
    machine.write_text(GPU % "470.86")
    ran = provision(tmp_path, "plan", path.name, "--machine", str(machine), "--json")
    assert ran.document["variant"] == "cpu"
    skipped = {s["variant"]: {f["code"] for f in s["findings"]} for s in ran.document["skipped"]}
    assert skipped == {"directml": {"wrong-target"}, "cuda": {"driver-too-old"}}


def test_a_variant_can_be_named(tiny_tensorflow: LoopbackIndex, tmp_path: Path) -> None:
    path = profile(tmp_path, VARIANTS)
    ran = provision(tmp_path, "plan", path.name, "--variant", "directml", "--json")
    assert [b["code"] for b in ran.document["blockers"]] == ["wrong-target"], ran.err
    ran = provision(tmp_path, "plan", path.name, "--variant", "cdua", "--json")
    assert (ran.code, ran.codes) == (2, ["no-such-variant"])
    assert "cuda" in ran.document["findings"][0]["summary"]
