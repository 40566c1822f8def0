"""Locks of conda environments: what the channels give, what the target machine has, wheels on top."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.channels import Channel
from tests.support.conda_lines import lock_file, lock_of, locked, write
from tests.support.index import LoopbackIndex


def test_the_lock_names_the_channel_and_no_path(channel: Channel, folder: Path) -> None:
    path = write(folder, "packages: [alpha, native]\n")
    made, findings = locked(path)
    assert made is not None, findings
    text = lock_file(path).read_text(encoding="utf-8")
    assert "file://" not in text
    assert str(folder.parent) not in text
    packages = {p["name"]: p for p in lock_of(path)["conda"]}
    assert set(packages) == {"alpha", "native", "python"}
    assert packages["alpha"]["url"] == f"{channel.url}/noarch/alpha-1.0-0.conda"
    assert {"sha256", "md5", "size", "channel", "subdir", "build"} <= set(packages["alpha"])
    lock_file(path).unlink()
    locked(path)
    assert lock_file(path).read_text(encoding="utf-8") == text


def test_pins_stay_until_upgrade(channel: Channel, folder: Path) -> None:
    locked(write(folder, "packages: [beta <2]\n"))
    path = write(folder, "packages: [beta]\n")
    found = []
    for upgrade in (False, True):
        made, _ = locked(path, upgrade)
        assert made is not None
        found.append(next(a.version for a in made.conda if a.name == "beta"))
    assert found == ["1.0", "2.0"]


def test_the_profiles_machine_counts_not_this_one(
    channel: Channel, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """O58: a CUDA build is locked where no driver is, and none is taken for a CPU profile where one is claimed."""
    channel.library("gpu", "1.0", depends=["__cuda >=11.2"])
    channel.index()
    monkeypatch.setenv("CONDA_OVERRIDE_CUDA", "12.4")
    made, findings = locked(write(folder, "packages: [gpu]\n"))
    assert made is None
    assert [f.code for f in findings] == ["no-cuda"]
    assert "CONDA_OVERRIDE_CUDA" in findings[0].detail
    monkeypatch.delenv("CONDA_OVERRIDE_CUDA")
    made, _ = locked(write(folder, "packages: [gpu]\nhardware: {vendor: nvidia, driver: '>=535.54.03'}\n"))
    assert made is not None
    assert made.virtual_packages["__cuda"] == "12.2"
    _, findings = locked(write(folder, "packages: [gpu]\nhardware: {vendor: nvidia, driver: '>=418.39'}\n"))
    assert [f.code for f in findings] == ["no-cuda"]
    assert "10.1" in findings[0].summary


def test_a_wanted_cuda_build_never_becomes_a_cpu_build(channel: Channel, folder: Path) -> None:
    """O43: the build is part of what is asked for, so that a channel with CPU builds only is a refusal."""
    channel.add("pytorch", "2.4.0", build="cpu_py311_0", subdir="linux-64", depends=["python"])
    channel.index()
    nvidia = "hardware: {vendor: nvidia}\naccelerator: {cuda: '12.4'}\nframeworks: {torch: '*'}\n"
    channel.add("cuda-version", "12.4")
    channel.index()
    made, findings = locked(write(folder, nvidia))
    assert made is None
    assert "pytorch" in findings[0].summary
    assert "cuda" in findings[0].summary
    cuda = "cuda124_py311_0"
    channel.add("pytorch", "2.3.0", build=cuda, subdir="linux-64", depends=["python", "__cuda >=12.4"])
    channel.index()
    made, findings = locked(write(folder, nvidia))
    assert made is not None, findings
    assert [(a.version, a.build) for a in made.conda if a.name == "pytorch"] == [("2.3.0", cuda)]
    assert {n.what for n in made.needs} == {"driver.nvidia", "device"}
    assert next(c.value for c in made.stack if c.axis == "torch") == "pytorch==2.3.0"


def test_what_no_channel_has(channel: Channel, folder: Path) -> None:
    for wanted in ("nothing-like-it", "beta ==7"):
        _, findings = locked(write(folder, f"packages: [alpha, '{wanted}']\n"))
        assert [f.code for f in findings] == ["no-such-package"], findings
        assert wanted in findings[0].summary


def test_packages_that_cannot_stand_together(channel: Channel, folder: Path) -> None:
    channel.library("gamma", "1.0", depends=["beta <2"])
    channel.index()
    _, findings = locked(write(folder, "packages: [gamma, 'beta >=2']\n"))
    assert [f.code for f in findings] == ["conflict"], findings
    assert "gamma" in findings[0].detail


def test_a_channel_that_is_not_there(channel: Channel, folder: Path, isolated_home: Path) -> None:
    (isolated_home / ".condarc").write_text(f"custom_channels: {{tiny: {(folder / 'no').as_uri()}}}\n")
    _, findings = locked(write(folder, "packages: [alpha]\n"))
    assert [f.code for f in findings] == ["channel-unreachable"], findings


def test_the_first_channel_that_has_a_name_is_the_only_one(
    channel: Channel, folder: Path, isolated_home: Path
) -> None:
    """Strict priority: a newer version in a later channel is not looked at."""
    second = Channel(channel.root, "second")
    second.library("alpha", "9.0")
    second.library("delta", "1.0")
    second.index()
    condarc = f"custom_channels: {{tiny: {channel.root.as_uri()}, second: {channel.root.as_uri()}}}\n"
    (isolated_home / ".condarc").write_text(condarc, encoding="utf-8")
    path = write(folder, "packages: [alpha, delta]\n")
    path.write_text(path.read_text().replace("[tiny]", "[tiny, second]"))
    made, findings = locked(path)
    assert made is not None, findings
    found = {a.name: (a.version, a.channel) for a in made.conda}
    assert (found["alpha"], found["delta"]) == (("1.0", "tiny"), ("1.0", "second"))


@pytest.fixture
def shop(index: LoopbackIndex) -> LoopbackIndex:
    index.wheel("smplx", "0.1.28", requires=["torch>=1.0", "extra"])
    index.wheel("extra", "1.0")
    index.wheel("torch", "2.10.0", requires=["nvidia-cudnn"])
    index.wheel("nvidia-cudnn", "9")
    index.wheel("fussy", "1.0", requires=["torch>=2.20"])
    return index


def test_wheels_stand_on_conda_packages(channel: Channel, shop: LoopbackIndex, folder: Path) -> None:
    """O33: one torch, conda's; what the wheel needs beside it comes from the index."""
    channel.library("pytorch", "2.10.0")
    channel.index()
    made, findings = locked(write(folder, "packages: [pytorch]\n", more=", wheels: [smplx]"))
    assert made is not None, findings
    assert [p.name for p in made.packages] == ["extra", "smplx"]
    assert [a.version for a in made.conda if a.name == "pytorch"] == ["2.10.0"]
    assert made.imports == ("torch", "smplx")
    made, findings = locked(write(folder, "packages: [pytorch]\n", more=", wheels: [fussy]"))
    assert made is None
    assert "fussy" in findings[0].summary
    assert "torch" in findings[0].summary


def test_a_build_is_named_as_conda_writes_it(channel: Channel, folder: Path) -> None:
    """`conda env export` writes name=version=build, and builds of PyTorch have dots."""
    channel.add("pytorch", "2.1.0", build="py3.10_cuda11.8_0", subdir="linux-64")
    channel.index()
    made, findings = locked(write(folder, "packages: ['pytorch=2.1.0=py3.10_cuda11.8_0', 'beta=1.0=0']\n"))
    assert made is not None, findings
    assert {a.name for a in made.conda} >= {"pytorch", "beta"}
