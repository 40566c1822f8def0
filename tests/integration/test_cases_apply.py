"""Reports of people, each tried through the command: what an apply must say and must not do.

One cuDNN library copied into two folders (a set is whole or not placed): tests/placing/test_placing.py. Two installers in
one environment at once: tests/integration/test_faults.py. The rest is here.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.test_faults import generations, mounted
from tests.support import index as faults
from tests.support.command import profile, provision, running_python
from tests.support.index import LoopbackIndex


@pytest.fixture
def shop(index: LoopbackIndex) -> LoopbackIndex:
    index.wheel("alpha", "1.0", files={"alpha/__init__.py": "V = 1\n", "alpha/big.bin": b"\x07" * 300_000})
    return index


@pytest.fixture
def locked(shop: LoopbackIndex, folder: Path) -> Path:
    path = profile(folder, "packages: [alpha]\n")
    assert provision(folder, "lock", path.name).code == 0
    return path


def test_what_people_met(locked: Path, folder: Path, shop: LoopbackIndex) -> None:
    """One lock for all of them: each apply but the last leaves nothing."""
    for proxy in ("socks5://me:secret@127.0.0.1:9", "socks4://me:secret@127.0.0.1:9"):
        o42_a_socks_proxy_is_said_before_anything_is_asked(locked, folder, proxy)
    o36_a_body_that_is_cut_is_no_other_file(locked, folder, shop)
    o37_what_came_before_the_reset_is_not_fetched_again(locked, folder, shop)
    o50_the_systems_python_is_left_to_the_system(locked, folder)


def o42_a_socks_proxy_is_said_before_anything_is_asked(locked: Path, folder: Path, proxy: str) -> None:
    """The index is elsewhere and only reached through the proxy; nothing is tried, and the password is not shown."""
    away = {
        "UV_DEFAULT_INDEX": "https://index.invalid/simple", "PIP_INDEX_URL": "https://index.invalid/simple",
        "HTTPS_PROXY": proxy,
    }  # fmt: skip
    for words in (("apply", "--locked"), ("lock", "--upgrade")):
        ran = provision(folder, *words, locked.name, "--json", env=away)
        assert ran.code != 0
        assert ran.codes == ["proxy-socks"], words
        assert "secret" not in ran.out + ran.err
        commands = [r["command"] for r in ran.document["findings"][0]["remedies"]]
        assert "export NO_PROXY=index.invalid" in commands
        assert ("pip install socksio" in commands) == proxy.startswith("socks5")
    assert not os.path.lexists(folder / ".venv")
    assert generations(folder) == []


def o36_a_body_that_is_cut_is_no_other_file(locked: Path, folder: Path, shop: LoopbackIndex) -> None:
    """Tried again from where it broke; where it never comes whole the apply ends, and no hash is blamed."""
    shop.fail("*/alpha-1.0-*", faults.truncated(0.7))
    ran = provision(folder, "apply", locked.name, "--locked", "--json")
    assert ran.code == 6, ran
    assert "hash-mismatch" not in ran.codes
    assert generations(folder) == []
    assert not os.path.lexists(folder / ".venv")
    shop.heal()


def o37_what_came_before_the_reset_is_not_fetched_again(
    locked: Path, folder: Path, shop: LoopbackIndex
) -> None:
    """The system's temporary folder is full as well, and not needed: files are unpacked beside the cache."""
    shop.fail("*/alpha-1.0-*", faults.reset(0.5), times=1)
    sent = shop.sent("*/alpha-1.0-*")
    with mounted(folder / "tiny", "64k") as tiny:
        (tiny / "full").write_bytes(b"x" * 60_000)
        ran = provision(folder, "apply", locked.name, "--locked", env={"TMPDIR": str(tiny)})
    assert ran.code == 0, ran
    assert shop.sent("*/alpha-1.0-*") - sent < 310_000, "one file in all, in two parts"


def o50_the_systems_python_is_left_to_the_system(locked: Path, folder: Path) -> None:
    """Asked to change it, the answer is an environment of its own; asked to build with it, one is made of it."""
    library = folder / "usr" / "lib" / f"python{running_python()}"
    (library / "site-packages").mkdir(parents=True)
    (library / "EXTERNALLY-MANAGED").write_text("[externally-managed]\nError=use apt\n")
    words = ("apply", locked.name, "--in-place", "--environment", "usr", "--yes", "--json")
    ran = provision(folder, *words)
    assert (ran.code, ran.codes) == (5, ["externally-managed"])
    assert not any("break-system-packages" in r["command"] for r in ran.document["findings"][0]["remedies"])
    status = provision(folder, "status", "--environment", "usr")
    assert (status.code, "the system's own Python" in status.out) == (1, True)
    base = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
    made = provision(folder, "apply", locked.name, "--locked", "--environment", "own", "--python", base)
    assert made.code == 0, made
    code = "import sys; print(sys.prefix != sys.base_prefix)"
    seen = subprocess.run([folder / "own/bin/python", "-c", code], capture_output=True, text=True, check=True)
    assert seen.stdout.strip() == "True"
