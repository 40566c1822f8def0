"""What an apply refuses before it touches anything: hostile archives, hostile locks, disks that are too small."""

from __future__ import annotations

import stat
from dataclasses import replace
from pathlib import Path

import pytest

from provision.applying.archives import hostile
from provision.applying.names import check
from provision.model.finding import LockError
from provision.model.lock import Digests, Lock
from provision.model.profile import Index
from provision.planning import Request
from provision.planning.blockers import room
from provision.ports import Contents, LocalFile, Member
from provision.world import unpacked
from tests.support.faults import artifact
from tests.support.wheels import make_wheel, sha256

FILE = "evil-1.0-py3-none-any.whl"
ANYWHERE = {
    "..": "../escaped",
    ".. inside": "evil/../../escaped",
    "absolute": "/etc/cron.d/evil",
    "drive": "C:/Windows/evil.dll",
    "drive without slash": "c:evil",
    "UNC": "\\\\server\\share\\evil",
    "backslash": "evil\\..\\..\\escaped",
    "NUL": "evil/a\x00.py",
    "line": "evil/a\n.py",
    "empty part": "evil//a.py",
    "dot": "./evil/a.py",
    "scripts out": "evil-1.0.data/scripts/../../escaped",
    "the environment's python": "evil-1.0.data/scripts/python3",
    "the environment's configuration": "evil-1.0.data/data/pyvenv.cfg",
    "python through data": "evil-1.0.data/data/bin/python3.11",
}
ON_WINDOWS = {
    "device": "evil/NUL.py",
    "device with number": "evil/com1.txt",
    "device folder": "aux/__init__.py",
    "trailing dot": "evil/a.",
    "trailing space": "evil/a ",
    "stream": "evil/a.py:hidden",
}


def contents(*members: Member, scripts: tuple[str, ...] = ()) -> Contents:
    return Contents((Member("evil/__init__.py", 1, 1, 0o100644), *members), scripts)


@pytest.mark.parametrize("name", ANYWHERE.values(), ids=ANYWHERE)
def test_names_that_lead_out_are_refused_everywhere(name: str) -> None:
    for target in ("linux-x86_64", "windows-x86_64", "macos-arm64"):
        found = hostile(FILE, contents(Member(name, 1, 2)), target)
        assert found is not None
        assert found.code == "hostile-archive"


@pytest.mark.parametrize("name", ON_WINDOWS.values(), ids=ON_WINDOWS)
def test_names_that_windows_cannot_hold(name: str) -> None:
    assert hostile(FILE, contents(Member(name, 1, 2)), "windows-x86_64") is not None
    assert hostile(FILE, contents(Member(name, 1, 2)), "linux-x86_64") is None


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK])
def test_links_and_devices_are_refused(kind: int) -> None:
    assert hostile(FILE, contents(Member("evil/a", 1, 2, kind | 0o777)), "linux-x86_64") is not None


def test_rights_of_another_user_are_refused() -> None:
    assert hostile(FILE, contents(Member("evil/a", 1, 2, stat.S_IFREG | stat.S_ISUID | 0o755)), "linux-x86_64")


def test_collisions() -> None:
    same_place = contents(Member("evil/A.py", 1, 2), Member("evil/a.py", 1, 3))
    assert hostile(FILE, same_place, "windows-x86_64") is not None
    assert hostile(FILE, same_place, "macos-arm64") is not None
    assert hostile(FILE, same_place, "linux-x86_64") is None
    assert hostile(FILE, contents(Member("evil/a.py", 1, 2), Member("evil/a.py", 1, 3)), "linux-x86_64") is not None
    assert hostile(FILE, contents(Member("evil/a.py", 1, 2), Member("evil/a.py", 1, 2)), "linux-x86_64") is None
    assert hostile(FILE, contents(Member("evil/a", 1, 2), Member("evil/a/b", 1, 2)), "linux-x86_64") is not None


@pytest.mark.parametrize("script", ["../../evil", "a/b", "python", "Python3.11", "activate", "activate_this.py", "a\\b"])
def test_scripts_stay_in_their_folder(script: str) -> None:
    assert hostile(FILE, contents(scripts=(script,)), "linux-x86_64") is not None


def test_ordinary_wheels_pass() -> None:
    members = [
        Member("tensorflow/python/__init__.py", 1, 1, 0o100644),
        Member("tensorflow/include/aux.h", 1, 1, 0o100644),
        Member("tensorflow/lib.so", 1, 1, 0o100755),
        Member("tensorflow/folder/", 0, 0, stat.S_IFDIR | 0o755),
        Member("tensorflow-1.data/scripts/saved_model_cli", 1, 1),
        Member("tensorflow-1.data/data/share/jupyter/kernel.json", 1, 1),
        Member("tensorflow-1.dist-info/RECORD", 1, 1),
        Member("tensorflow/..hidden", 1, 1),
        Member("新/模块.py", 1, 1),
    ]
    scripts = ("activate-global-python-argcomplete", "tensorboard", "python-config-tool", "pip3.11")
    assert hostile(FILE, Contents(tuple(members), scripts), "linux-x86_64") is None


def test_the_directory_is_read_as_it_is_written(tmp_path: Path) -> None:
    """zipfile makes names harmless when it reads them; what counts is what another program will read."""
    import zipfile

    path = make_wheel(tmp_path, "evil", "1.0", entry_points={"console_scripts": {"../evil": "evil:main"}})
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("evil/ok\\..\\no", "")
        link = zipfile.ZipInfo("evil/link")
        link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    wheel = LocalFile(replace(artifact("evil", "1.0"), sha256=sha256(path)), str(path))
    for _ in range(2):
        found = unpacked.contents(wheel, tmp_path / "cache")
        assert found.scripts == ("../evil",)
        assert any("\\" in m.name for m in found.members)
        assert [stat.S_ISLNK(m.mode) for m in found.members if m.name == "evil/link"] == [True]


GOOD = Lock(
    profile="team", target="linux-x86_64", python="3.10", digests=Digests(profile="p", knowledge="k"),
    packages=(artifact("alpha", "1.0+cu118"), artifact("ruamel.yaml", "1!2.0rc1")),
    indexes=(Index(name="pytorch-cu118", url="https://x.invalid/whl", packages=("torch",)),),
)  # fmt: skip
BAD = {
    "an option": {"name": "--index-url=https://evil.invalid"},
    "a file to read": {"name": "-r /etc/passwd"},
    "a line more": {"version": "1.0\n-e /home/evil"},
    "a version that is an option": {"version": "-1"},
    "a marker": {"version": "1.0 ; x"},
    "a path": {"file": "../../etc/passwd"},
    "a path with a good end": {"file": "../x-1.0-py3-none-any.whl"},
    "an absolute file": {"file": "/tmp/x-1.0-py3-none-any.whl"},
    "no archive": {"file": "setup.py"},
    "an index that is a path": {"index": "../../elsewhere"},
    "a hash that is a path": {"sha256": "../" * 20 + "etc/"},
    "a file of this machine": {"url": "file:///etc/passwd"},
}


def test_a_good_lock_passes() -> None:
    check(GOOD)


@pytest.mark.parametrize("change", BAD.values(), ids=BAD)
def test_words_of_a_lock_are_what_they_claim(change: dict[str, str]) -> None:
    for field in ("packages", "build"):
        with pytest.raises(LockError) as error:
            check(replace(GOOD, **{field: (replace(artifact("alpha", "1.0"), **change),)}))
        assert error.value.findings[0].code == "hostile-lock"


def test_other_words_of_a_lock() -> None:
    for lock in (
        replace(GOOD, python="3.10 --system"),
        replace(GOOD, variables={"A=1\nLD_PRELOAD": "x"}),
        replace(GOOD, indexes=(Index(name="../x", url="https://x.invalid", packages=("torch",)),)),
    ):
        with pytest.raises(LockError):
            check(lock)


GB = 10**9


def test_each_disk_must_hold_what_is_written_to_it() -> None:
    """As in the report: a small root file system with the caches, a large one with the projects."""
    lock = replace(GOOD, packages=(replace(artifact("torch", "2.0"), size=2 * GB),))
    asked = Request(free=289 * GB, cache_free=int(2.9 * GB), one_disk=False)
    (finding,) = room(lock, asked)
    assert finding.code == "disk-full"
    assert "cache" in finding.summary
    assert "environment" not in finding.summary
    assert [r.command for r in finding.remedies if "PROVISION_CACHE" in r.command]
    assert not list(room(lock, replace(asked, cache_free=289 * GB, one_disk=True)))
    have = frozenset(a.sha256 for a in lock.packages)
    assert not list(room(lock, replace(asked, present=have))), "nothing comes into the cache"


def test_cache_and_environment_on_one_disk_are_added_up() -> None:
    lock = replace(GOOD, packages=(replace(artifact("torch", "2.0"), size=GB),))
    asked = Request(free=8 * GB, cache_free=8 * GB, one_disk=True)
    assert list(room(lock, asked))
    assert not list(room(lock, replace(asked, copies=False)))
    assert not list(room(lock, replace(asked, one_disk=False)))
