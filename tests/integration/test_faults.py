"""Faults through the whole line: signals, an altered cache, a full or read-only disk, a second process, hostile wheels."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support import index as faults
from tests.support.command import command, profile, provision
from tests.support.index import LoopbackIndex

ALPHA = "packages: [alpha]\n"


@pytest.fixture
def shop(index: LoopbackIndex) -> LoopbackIndex:
    index.wheel("alpha", "1.0", files={"alpha/__init__.py": "V = 1\n", "alpha/big.bin": b"\x07" * 300_000})
    index.wheel("alpha", "2.0", files={"alpha/__init__.py": "V = 2\n"})
    return index


def start(folder: Path, shop: LoopbackIndex, pattern: str, *words: str) -> subprocess.Popen[str]:
    """Begin an apply and come back when the index has begun to send a file that stalls."""
    before = shop.sent(pattern)
    running = subprocess.Popen(
        command("apply", *words), cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 120
    while shop.sent(pattern) == before:
        assert time.monotonic() < deadline
        assert running.poll() is None, running.communicate()
        time.sleep(0.02)
    return running


def generations(folder: Path) -> list[str]:
    place = folder / ".provision" / ".venv" / "generations"
    return sorted(p.name for p in place.iterdir()) if place.is_dir() else []


def test_sigterm_undoes_and_a_second_run_waits_its_turn(shop: LoopbackIndex, folder: Path) -> None:
    path = profile(folder, "packages: [alpha==1.0]\n")
    assert provision(folder, "lock", path.name).code == 0
    shop.fail("*/alpha-1.0-*", faults.stalled(0.5))
    running = start(folder, shop, "*/alpha-1.0-*", path.name)
    second = provision(folder, "apply", path.name, "--json")
    assert (second.code, second.codes) == (5, ["environment-in-use"])
    assert f"process {running.pid} on " in second.document["findings"][0]["summary"]
    assert " ago)" in second.document["findings"][0]["summary"]
    running.send_signal(signal.SIGTERM)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 143, err
    assert "Traceback" not in err
    assert generations(folder) == []
    assert not os.path.lexists(folder / ".venv")
    shop.heal()
    sent = shop.sent("*/alpha-1.0-*")
    assert provision(folder, "apply", path.name).code == 0
    assert shop.sent("*/alpha-1.0-*") - sent < 200_000, "the half that had come was kept"


def test_an_edit_reaches_neither_the_cache_nor_another_generation(
    shop: LoopbackIndex, folder: Path, isolated_home: Path
) -> None:
    """Then the cache itself is altered: another size is mended, the same size is noticed before the switch."""
    path = profile(folder, "packages: [alpha==1.0]\n")
    assert provision(folder, "apply", path.name).code == 0
    first = module(folder)
    with first.open("a") as file:
        file.write("V = 'edited'\n")
    again = ("apply", path.name, "--reinstall", "--yes", "--json")
    assert provision(folder, *again).code == 0
    assert module(folder) != first
    assert module(folder).read_text() == "V = 1\n"

    entries = unpacked(isolated_home)
    assert entries, "the engine unpacks into a cache"
    for entry in entries:
        entry.write_text("V = 1234567\n")
    ran = provision(folder, *again)
    assert ran.code == 0, ran
    assert ran.document["generation"] == 3
    assert "Mended" in ran.err
    assert module(folder).read_text() == "V = 1\n"

    for entry in unpacked(isolated_home):
        entry.write_text("V = 9\n")
    noticed = provision(folder, *again)
    assert (noticed.code, noticed.codes) == (6, ["cache-altered"])
    assert os.readlink(folder / ".venv").endswith("/3")
    assert generations(folder) == ["1", "2", "3"]
    assert provision(folder, *again).code == 0
    assert module(folder).read_text() == "V = 1\n"


def module(folder: Path) -> Path:
    return next((folder / ".venv").resolve().glob("lib/python*/site-packages/alpha/__init__.py"))


def unpacked(home: Path) -> list[Path]:
    return [p for p in (home / ".cache").rglob("alpha/__init__.py") if "generations" not in p.parts]


@contextmanager
def mounted(place: Path, size: str) -> Iterator[Path]:
    """A file system of its own in memory, where this user may mount one; else the test is skipped."""
    place.mkdir()
    mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place))
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=False)


def mount(*words: str) -> None:
    if shutil.which("mount") is None:
        pytest.skip("there is no mount here")
    done = subprocess.run(["mount", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"this user may not mount a small file system: {done.stderr.strip()}")


def free(folder: Path) -> int:
    return shutil.disk_usage(folder).free


def changed_while_it_runs(shop: LoopbackIndex, place: Path, change: Callable[[], object]) -> tuple[int, str]:
    """A second apply whose file comes slowly; meanwhile the disk changes. Afterwards the code, and what was said."""
    path = profile(place, "packages: [alpha==2.0]\n")
    assert provision(place, "apply", path.name).code == 0
    profile(place, "packages: [alpha==1.0]\n")
    assert provision(place, "lock", path.name).code == 0
    shop.fail("*/alpha-1.0-*", faults.drip(4096, 0.03))
    running = start(place, shop, "*/alpha-1.0-*", path.name, "--yes")
    assert '"begun"' in (place / ".provision/.venv/journal.jsonl").read_text()
    change()
    _, err = running.communicate(timeout=120)
    assert "Traceback" not in err
    return running.returncode, err


def test_a_disk_that_fills_up_in_the_middle(shop: LoopbackIndex, folder: Path) -> None:
    with mounted(folder / "disk", "6m") as disk:
        ballast = disk / "ballast"
        code, err = changed_while_it_runs(shop, disk, lambda: ballast.write_bytes(b"x" * (free(disk) - 9000)))
        assert code == 6, err
        assert "No space left" in err or "disk" in err
        assert generations(disk) == ["1"]
        assert os.readlink(disk / ".venv").endswith("/1")
        ballast.unlink()
        assert provision(disk, "recover", "--json").document["outcome"] == "unchanged"
        assert provision(disk, "apply", "team.yaml", "--yes").code == 0
        assert generations(disk) == ["1", "2"]


@contextmanager
def failing_disk(image: Path, place: Path) -> Iterator[Callable[[], None]]:
    """An ext4 file system that can be told of an error, upon which the kernel makes it read-only, as with a bad disk."""
    place.mkdir(exist_ok=True)
    mount("-o", "loop,errors=remount-ro", str(image), str(place))
    try:
        device = os.path.realpath(
            f"/sys/dev/block/{os.major(place.stat().st_dev)}:{os.minor(place.stat().st_dev)}"
        )
        trigger = Path("/sys/fs/ext4", os.path.basename(device), "trigger_fs_error")
        if not trigger.exists():
            pytest.skip("this kernel cannot be told of an error of a file system")
        yield lambda: print(trigger.write_text("a bad disk"))
    finally:
        subprocess.run(["umount", "-l", str(place)], check=False)


def test_a_disk_that_turns_read_only_in_the_middle(shop: LoopbackIndex, folder: Path) -> None:
    """Nothing can be undone any more: exit code 7; once the disk can be written, recovery does."""
    if shutil.which("mkfs.ext4") is None:
        pytest.skip("there is no mkfs.ext4 here")
    image, disk = folder / "image", folder / "disk"
    with image.open("wb") as file:
        file.truncate(24 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], check=True)
    with failing_disk(image, disk) as fail:
        code, err = changed_while_it_runs(shop, disk, fail)
        assert code == 7, err
        assert "provision recover" in err
        refused = provision(disk, "rollback", "--json")
        assert refused.code in (5, 6, 7)
        assert refused.document["findings"][0]["remedies"]
    with failing_disk(image, disk):
        assert os.readlink(disk / ".venv").endswith("/1")
        done = provision(disk, "recover", "--json").document["recovered"]
        assert (done["what"], done["verb"]) == ("undone", "apply")
        assert generations(disk) == ["1"]
        assert provision(disk, "status").code == 0
        assert provision(disk, "apply", "team.yaml", "--yes").code == 0
        assert generations(disk) == ["1", "2"]


def test_hostile_wheels_are_not_unpacked(shop: LoopbackIndex, folder: Path) -> None:
    wheel = shop.wheel("evil", "1.0")
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("../../../../../escaped.txt", "out")
    path = profile(folder, "packages: [evil]\n")
    ran = provision(folder, "apply", path.name, "--json")
    assert (ran.code, ran.codes) == (6, ["hostile-archive"])
    assert not list(folder.rglob("escaped.txt"))
    assert not (folder.parent / "escaped.txt").exists()
    assert generations(folder) == []


def test_different_environments_side_by_side(shop: LoopbackIndex, folder: Path) -> None:
    path = profile(folder, "packages: [alpha==2.0]\n")
    assert provision(folder, "lock", path.name).code == 0
    both = [
        subprocess.Popen(command("apply", path.name, "--quiet", "--environment", name), cwd=folder)
        for name in ("one", "two")
    ]
    assert [running.wait(120) for running in both] == [0, 0]
    assert sorted(p.name for p in (folder / ".provision").iterdir() if p.is_dir()) == ["one", "two"]
    ran = provision(folder, "history", "--json")
    assert (ran.code, ran.codes) == (2, ["which-environment"])
    assert provision(folder, "history", "two", "--json").document["generation"] == 1
