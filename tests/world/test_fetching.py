"""The fetcher against a real server that fails in every way we know of."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import random
import resource
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from provision.model.finding import ApplyError, BlockedError, Finding, LockError, ProvisionError
from provision.world import store
from provision.world.fetching import Fetcher
from provision.world.indexes import IndexConfig
from provision.world.store import Wanted
from provision.world.web import Limits
from tests.support import index as faults
from tests.support.index import LoopbackIndex

SIZE = 400_000
DATA = hashlib.shake_256(b"wheel").digest(SIZE)
QUICK = Limits(attempts=4, pause=0.01, longest_pause=0.02, stall=30, patience=2)
NAME = "big-1.0-py3-none-any.whl"
PATH = f"/files/simple/big/{NAME}"


@pytest.fixture
def wanted(index: LoopbackIndex, tmp_path: Path) -> Wanted:
    """A file that the index serves."""
    (tmp_path / NAME).write_bytes(DATA)
    served = index.add(tmp_path / NAME, "big")
    (tmp_path / NAME).unlink()
    digest = hashlib.sha256(DATA).hexdigest()
    return Wanted(filename=NAME, sha256=digest, size=SIZE, urls=(index.file_url(served),))


@pytest.fixture
def fetcher(tmp_path: Path) -> Fetcher:
    return Fetcher(cache=tmp_path / "cache", limits=QUICK)


def arrives(fetcher: Fetcher, wanted: Wanted) -> bool:
    path = fetcher.fetch([wanted])[wanted.sha256]
    left = {p.name for p in path.parent.iterdir()} - {".lock"}
    return path.read_bytes() == DATA and left == {wanted.filename}


def failure(fetcher: Fetcher, *wanted: Wanted, kind: type[ProvisionError]) -> tuple[Finding, ...]:
    with pytest.raises(kind) as error:
        fetcher.fetch(wanted)
    assert type(error.value) is kind
    for finding in error.value.findings:
        assert finding.summary
        assert finding.remedies or finding.code == "not-found"
    return error.value.findings


def part(fetcher: Fetcher, wanted: Wanted) -> Path:
    return store.part_of(store.Store(fetcher.cache).path(wanted))


def leave_part(fetcher: Fetcher, wanted: Wanted, data: bytes) -> None:
    part(fetcher, wanted).parent.mkdir(parents=True)
    part(fetcher, wanted).write_bytes(data)


def test_a_file_comes_and_is_kept(fetcher: Fetcher, wanted: Wanted, index: LoopbackIndex) -> None:
    told: list[int] = []
    paths = fetcher.fetch([wanted], told.append)
    expected = fetcher.cache / "files/pypi" / wanted.sha256[:2] / wanted.sha256 / NAME
    assert paths == {wanted.sha256: expected}
    assert told[-1] == SIZE
    assert arrives(fetcher, wanted)
    assert arrives(replace(fetcher, offline=True), wanted)
    assert len(index.requests) == 1


def test_without_a_size_the_hash_decides(fetcher: Fetcher, wanted: Wanted) -> None:
    assert arrives(fetcher, replace(wanted, size=None))


def test_many_files(fetcher: Fetcher, index: LoopbackIndex) -> None:
    all_wanted = []
    for number in range(20):
        path = index.wheel("many", f"1.{number}", files={"many.py": "#" * number * 1000})
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        all_wanted.append(
            Wanted(filename=path.name, sha256=digest, size=path.stat().st_size, urls=(index.file_url(path),))
        )
    paths = fetcher.fetch([*all_wanted, all_wanted[0]])
    assert [paths[w.sha256].name for w in all_wanted] == [w.filename for w in all_wanted]
    assert len(index.requests) == 20


@pytest.mark.parametrize(
    ("fault", "times"),
    [
        (faults.status(503), 2),
        (faults.status(500), 1),
        (faults.status(429, Retry_After="0"), 2),
        (faults.truncated(0.7), 1),
        (faults.truncated(0.5), 4),
        (faults.reset(0.6), 1),
        (faults.reset(70_000), 9),
        (faults.stalled(0.3), 1),
        (faults.mute(), 1),
        (faults.drip(40_000, 0.01), None),
        (faults.no_ranges(), None),
        (faults.wrong_length(SIZE + 50), 1),
        (faults.wrong_length(SIZE - 50), 1),
        (faults.shifted_range(), None),
    ],
)
def test_passing_trouble_is_outlived(
    fetcher: Fetcher, wanted: Wanted, index: LoopbackIndex, fault: faults.Fault, times: int | None
) -> None:
    index.fail(PATH, fault, times)
    stalls = fault.silent or fault.end == "stall"
    assert arrives(replace(fetcher, limits=replace(QUICK, stall=0.5)) if stalls else fetcher, wanted)


def test_a_reset_download_goes_on_where_it_broke(
    fetcher: Fetcher, wanted: Wanted, index: LoopbackIndex
) -> None:
    index.fail(PATH, faults.reset(0.8), times=1)
    assert arrives(fetcher, wanted)
    assert [r.range for r in index.requests] == ["", "bytes=320000-"]
    assert index.sent(PATH) == SIZE


def test_the_next_run_goes_on_where_the_last_one_gave_up(
    fetcher: Fetcher, wanted: Wanted, index: LoopbackIndex
) -> None:
    index.fail(PATH, faults.reset(0.8), times=1)
    index.fail(PATH, faults.status(503))
    (finding,) = failure(fetcher, wanted, kind=ApplyError)
    assert "0.3 MB of 0.4 MB are kept" in finding.summary
    assert finding.evidence[0].text == "503 Service Unavailable"
    index.heal()
    assert arrives(fetcher, wanted)
    assert index.sent(PATH) == SIZE


def test_a_killed_process_leaves_what_the_next_one_continues(
    fetcher: Fetcher, wanted: Wanted, index: LoopbackIndex
) -> None:
    index.fail(PATH, faults.stalled(0.5), times=1)
    process = in_process(fetcher, wanted, stall=600)
    wait_until(lambda: store.size_of(part(fetcher, wanted)) > SIZE // 8)
    process.kill()
    process.wait()
    index.heal()
    held = store.size_of(part(fetcher, wanted))
    assert SIZE // 8 < held <= SIZE // 2
    assert arrives(fetcher, wanted)
    assert index.requests[-1].range == f"bytes={held}-"
    assert index.requests[-1].sent == SIZE - held


def test_ctrl_c_leaves_a_part_and_no_waiting(fetcher: Fetcher, wanted: Wanted, index: LoopbackIndex) -> None:
    index.fail(PATH, faults.stalled(0.5), times=1)
    process = in_process(fetcher, wanted, stall=600)
    wait_until(lambda: store.size_of(part(fetcher, wanted)) > SIZE // 8)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=120)
    assert stderr.rstrip().endswith("KeyboardInterrupt")
    held = store.size_of(part(fetcher, wanted))
    assert SIZE // 8 < held <= SIZE // 2
    assert arrives(fetcher, wanted)
    assert index.requests[-1].range == f"bytes={held}-"


def in_process(fetcher: Fetcher, wanted: Wanted, stall: float) -> subprocess.Popen[str]:
    code = f"""
        import json, sys
        from pathlib import Path
        from provision.world.fetching import Fetcher
        from provision.world.store import Wanted
        from provision.world.web import Limits
        wanted = json.loads(sys.stdin.read())
        wanted["urls"] = tuple(wanted["urls"])
        Fetcher(cache=Path({str(fetcher.cache)!r}), limits=Limits(stall={stall})).fetch([Wanted(**wanted)])
    """
    import provision

    paths = [str(Path(provision.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
    )  # fmt: skip
    assert process.stdin
    names = ("filename", "sha256", "size", "urls")
    process.stdin.write(json.dumps({name: getattr(wanted, name) for name in names}))
    process.stdin.close()
    process.stdin = None
    return process


def wait_until(true: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_two_processes_bring_one_file_once(fetcher: Fetcher, wanted: Wanted, index: LoopbackIndex) -> None:
    index.fail(PATH, faults.drip(20_000, 0.02))
    both = [in_process(fetcher, wanted, stall=600) for _ in range(2)]
    for process in both:
        _, stderr = process.communicate(timeout=120)
        assert process.returncode == 0, stderr
    assert index.sent(PATH) == SIZE
    assert arrives(fetcher, wanted)


# Wrong bytes.


def test_equal_size_and_another_hash_is_refused(
    fetcher: Fetcher, wanted: Wanted, index: LoopbackIndex
) -> None:
    index.fail(PATH, faults.corrupt())
    (finding,) = failure(fetcher, wanted, kind=LockError)
    assert finding.code == "hash-mismatch"
    got = hashlib.sha256(bytes(b ^ 0xFF for b in DATA)).hexdigest()
    for text in (NAME, wanted.sha256, got, f"127.0.0.1:{index.port}"):
        assert text in finding.summary + finding.detail
    assert not part(fetcher, wanted).exists()
    assert len(index.requests) == 1
    index.heal()
    assert arrives(fetcher, wanted)


def test_a_bad_part_is_thrown_away_before_anyone_is_blamed(
    fetcher: Fetcher, wanted: Wanted, index: LoopbackIndex
) -> None:
    leave_part(fetcher, wanted, b"x" * 1000)
    assert arrives(fetcher, wanted)
    assert [r.range for r in index.requests] == ["bytes=1000-", ""]


def test_a_part_that_is_too_long_or_whole(fetcher: Fetcher, wanted: Wanted, index: LoopbackIndex) -> None:
    leave_part(fetcher, wanted, DATA)
    assert arrives(fetcher, wanted)
    assert not index.requests
    store.Store(fetcher.cache).path(wanted).unlink()
    part(fetcher, wanted).write_bytes(DATA + b"x")
    assert arrives(fetcher, wanted)
    store.Store(fetcher.cache).path(wanted).unlink()
    part(fetcher, wanted).write_bytes(DATA)
    assert arrives(fetcher, replace(wanted, size=None))


def test_a_file_that_changed_on_the_server_is_not_glued_to_its_old_part(
    fetcher: Fetcher, wanted: Wanted, index: LoopbackIndex
) -> None:
    index.fail(PATH, faults.reset(0.5), times=1)
    index.fail(PATH, faults.status(503))
    failure(fetcher, wanted, kind=ApplyError)
    index.heal()
    new = bytes(reversed(DATA))
    (index.root / "simple/big" / NAME).write_bytes(new)
    digest = hashlib.sha256(new).hexdigest()
    folder = part(fetcher, replace(wanted, sha256=digest)).parent
    folder.parent.mkdir()
    part(fetcher, wanted).parent.rename(folder)
    path = fetcher.fetch([replace(wanted, sha256=digest)])[digest]
    assert path.read_bytes() == new
    assert [r.status for r in index.requests][-1] == 200


def test_a_shorter_file_there_is_refused(fetcher: Fetcher, wanted: Wanted) -> None:
    (finding,) = failure(fetcher, replace(wanted, size=SIZE + 7, sha256="0" * 64), kind=LockError)
    assert finding.code == "hash-mismatch"
    assert f"({SIZE + 7} bytes)" in finding.detail
    assert f"({SIZE} bytes)" in finding.detail


def test_a_longer_file_there_is_refused(fetcher: Fetcher, wanted: Wanted) -> None:
    (finding,) = failure(fetcher, replace(wanted, size=SIZE // 2), kind=LockError)
    assert finding.code == "hash-mismatch"


def test_always_truncated_without_ranges_ends(fetcher: Fetcher, wanted: Wanted, index: LoopbackIndex) -> None:
    index.fail(PATH, faults.Fault(cut=0.7, ranges=False))
    (finding,) = failure(fetcher, wanted, kind=ApplyError)
    assert finding.code == "network"
    assert len(index.requests) == QUICK.attempts


def test_the_next_place_is_tried(fetcher: Fetcher, wanted: Wanted, index: LoopbackIndex) -> None:
    index.fail("/files/bad/*", faults.corrupt())
    bad = index.root / "bad"
    bad.mkdir()
    (bad / NAME).write_bytes(DATA)
    urls = (index.address("/files/none.whl"), index.address(f"/files/bad/{NAME}"), *wanted.urls)
    assert arrives(fetcher, replace(wanted, urls=urls))


@pytest.mark.parametrize("seed", range(10))
def test_any_run_of_faults_ends_well(
    fetcher: Fetcher, wanted: Wanted, index: LoopbackIndex, seed: int
) -> None:
    dice = random.Random(seed)
    kinds = [
        lambda: faults.status(dice.choice([500, 502, 503, 429])),
        lambda: faults.truncated(dice.random()),
        lambda: faults.reset(dice.random()),
        lambda: faults.no_ranges(),
        lambda: faults.shifted_range(dice.randrange(1, 99)),
        lambda: faults.wrong_length(dice.randrange(1, 2 * SIZE)),
        lambda: faults.Fault(cut=dice.random(), end="reset", ranges=False),
        lambda: faults.Fault(cut=dice.random(), corrupt=True, end="reset"),
    ]
    for _ in range(6):
        index.fail(PATH, dice.choice(kinds)(), times=1)
    patient = replace(fetcher, limits=replace(QUICK, attempts=8))
    try:
        assert arrives(patient, wanted)
    except LockError:
        # A server that sends wrong bytes may be caught at it; what it sent must not stay.
        assert not part(fetcher, wanted).exists()
    index.heal()
    assert arrives(fetcher, wanted)


# Trouble that stays.


def test_all_missing_files_are_named(fetcher: Fetcher, wanted: Wanted, index: LoopbackIndex) -> None:
    lost = [
        replace(wanted, filename=f"{n}.whl", sha256=n * 64, urls=(index.address(f"/files/{n}.whl"),))
        for n in "abc"
    ]
    findings = failure(fetcher, *lost, wanted, kind=ApplyError)
    assert sorted(f.summary for f in findings) == [
        f"127.0.0.1:{index.port} does not have {n}.whl" for n in "abc"
    ]  # fmt: skip
    assert {f.code for f in findings} == {"not-found"}
    assert store.Store(fetcher.cache).holds(wanted)


def test_an_unreachable_index(fetcher: Fetcher, wanted: Wanted) -> None:
    (finding,) = failure(fetcher, replace(wanted, urls=("http://127.0.0.1:9/big.whl",)), kind=ApplyError)
    assert finding.code == "index-unreachable"
    assert "127.0.0.1:9" in finding.summary


def test_a_stall_that_stays(fetcher: Fetcher, wanted: Wanted, index: LoopbackIndex) -> None:
    index.fail(PATH, faults.stalled(1000))
    quick = replace(fetcher, limits=replace(QUICK, attempts=2, stall=0.3))
    (finding,) = failure(quick, wanted, kind=ApplyError)
    assert finding.code == "network"
    assert "sent nothing for 0.3 s" in finding.summary


def test_a_server_that_wants_us_to_wait_for_long(
    fetcher: Fetcher, wanted: Wanted, index: LoopbackIndex
) -> None:
    index.fail(PATH, faults.status(429, Retry_After="3600"))
    (finding,) = failure(fetcher, wanted, kind=ApplyError)
    assert "3600" in finding.summary
    assert len(index.requests) == 1


def test_offline_names_what_is_missing(fetcher: Fetcher, wanted: Wanted, index: LoopbackIndex) -> None:
    (finding,) = failure(replace(fetcher, offline=True), wanted, kind=BlockedError)
    assert finding.code == "offline-missing"
    assert NAME in finding.summary
    assert not index.requests


@pytest.mark.parametrize("name", ["../up.whl", "a/b.whl", "..", "", "c:x", "nul.whl", "a\\b", "x ", "x\0"])
def test_names_cannot_leave_the_store(fetcher: Fetcher, wanted: Wanted, name: str) -> None:
    for bad in (replace(wanted, filename=name), replace(wanted, index=name)):
        with pytest.raises(LockError) as error:
            fetcher.fetch([bad])
        assert error.value.findings[0].code == "bad-file-name"


# The disk.


def test_a_full_disk(fetcher: Fetcher, wanted: Wanted, monkeypatch: pytest.MonkeyPatch) -> None:
    (finding,) = failure(fetcher, replace(wanted, size=1 << 60), kind=ApplyError)
    assert finding.code == "disk-full"
    # No real quota here: a limit on the size of files makes the same write fail, with EFBIG.
    monkeypatch.setattr(errno, "ENOSPC", errno.EFBIG)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (SIZE // 2, limits[1]))
    try:
        (finding,) = failure(fetcher, wanted, kind=ApplyError)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert finding.code == "disk-full"
    assert "are free" in finding.detail
    assert part(fetcher, wanted).stat().st_size == SIZE // 2
    assert arrives(fetcher, wanted)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_device(fetcher: Fetcher, wanted: Wanted) -> None:
    part(fetcher, wanted).parent.mkdir(parents=True)
    part(fetcher, wanted).symlink_to("/dev/full")
    (finding,) = failure(fetcher, wanted, kind=ApplyError)
    assert finding.code == "disk-full"


def test_a_cache_that_is_no_folder(fetcher: Fetcher, wanted: Wanted) -> None:
    fetcher.cache.write_text("in the way")
    with pytest.raises(ApplyError) as error:
        fetcher.fetch([wanted])
    assert error.value.findings[0].code == "disk"


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs a user whom permissions bind")
def test_a_cache_that_is_not_ours(fetcher: Fetcher, wanted: Wanted) -> None:
    fetcher.cache.mkdir(mode=0o500)
    (finding,) = failure(fetcher, wanted, kind=ApplyError)
    assert finding.code == "no-permission"


# Files of this machine.


@pytest.mark.parametrize("form", ["path", "url", "folder", "folder url", "symlink"])
def test_files_of_this_machine(fetcher: Fetcher, wanted: Wanted, tmp_path: Path, form: str) -> None:
    folder = tmp_path / "with space and 中文"
    folder.mkdir()
    source = folder / NAME
    source.write_bytes(DATA)
    if form == "symlink":
        (tmp_path / NAME).symlink_to(source)
    places = {
        "path": str(source),
        "url": source.as_uri(),
        "folder": str(folder),
        "folder url": folder.as_uri(),
        "symlink": str(tmp_path / NAME),
    }
    wanted = replace(wanted, urls=(places[form],))
    assert arrives(fetcher, wanted)
    assert not store.Store(fetcher.cache).path(wanted).is_symlink()


def test_a_wrong_file_of_this_machine_is_left_alone(fetcher: Fetcher, wanted: Wanted, tmp_path: Path) -> None:
    source = tmp_path / NAME
    source.write_bytes(b"wrong")
    (finding,) = failure(fetcher, replace(wanted, urls=(str(source),)), kind=LockError)
    assert str(source) in finding.summary
    assert arrives(fetcher, replace(wanted, urls=(str(source), *wanted.urls)))
    assert source.read_bytes() == b"wrong"
    none = str(tmp_path / "no")
    (finding,) = failure(fetcher, replace(wanted, sha256="1" * 64, urls=(none,)), kind=ApplyError)
    assert finding.code == "not-found"
    away = "http://127.0.0.1:9/x.whl"
    (finding,) = failure(fetcher, replace(wanted, sha256="1" * 64, urls=(none, away)), kind=ApplyError)
    assert finding.code == "index-unreachable"


# The way there.


def test_redirects_are_followed_and_logins_stay_behind(
    fetcher: Fetcher, wanted: Wanted, index: LoopbackIndex
) -> None:
    index.fail("/same", faults.redirect(PATH))
    index.fail("/other", faults.redirect(index.address(PATH, host="localhost")))
    headers = {"Authorization": "Basic c2VjcmV0"}
    assert arrives(fetcher, replace(wanted, urls=(index.address("/same"),), headers=headers))
    store.Store(fetcher.cache).path(wanted).unlink()
    assert arrives(fetcher, replace(wanted, urls=(index.address("/other"),), headers=headers))
    assert [r.authorized for r in index.requests] == [True, True, True, False]
    index.fail("/round", faults.redirect("/round"))
    (finding,) = failure(
        fetcher, replace(wanted, sha256="2" * 64, urls=(index.address("/round"),)), kind=ApplyError
    )
    assert "circle" in finding.summary


def test_logins_from_the_url_the_index_and_netrc(
    fetcher: Fetcher, wanted: Wanted, index: LoopbackIndex, isolated_home: Path
) -> None:
    index.fail(PATH, faults.requires_login("me", "sesame@open"))
    (finding,) = failure(fetcher, wanted, kind=ApplyError)
    assert finding.code == "unauthorized"
    with_login = index.address(PATH).replace("://", "://me:sesame%40open@")
    wrong = replace(wanted, urls=(with_login.replace("me:", "you:"),))
    assert "sesame" not in repr(failure(fetcher, wrong, kind=ApplyError))
    assert arrives(replace(fetcher, cache=fetcher.cache / "1"), replace(wanted, urls=(with_login,)))
    config = IndexConfig(extra_urls=(with_login.replace(PATH, "/simple"),))
    assert arrives(replace(fetcher, cache=fetcher.cache / "2", config=config), wanted)
    netrc = "machine 127.0.0.1 login me password sesame@open\n"
    (isolated_home / ".netrc").write_text(netrc, encoding="utf-8")
    assert arrives(replace(fetcher, cache=fetcher.cache / "3"), wanted)


def test_logins_are_not_written_down(fetcher: Fetcher, wanted: Wanted, index: LoopbackIndex) -> None:
    index.fail(PATH, faults.reset(0.5), times=1)
    index.fail(PATH, faults.status(503))
    with_login = index.address(PATH).replace("://", "://me:sesame@")
    assert "sesame" not in repr(failure(fetcher, replace(wanted, urls=(with_login,)), kind=ApplyError))
    (note,) = fetcher.cache.rglob("*.json")
    assert "127.0.0.1" in note.read_text()
    assert "sesame" not in note.read_text()


def test_plain_http_to_elsewhere_must_be_trusted(
    fetcher: Fetcher, wanted: Wanted, index: LoopbackIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"127.0.0.1:{index.port}")
    away = replace(wanted, urls=(f"http://mirror.example{PATH}",))
    (finding,) = failure(fetcher, away, kind=BlockedError)
    assert finding.code == "insecure-index"
    assert any("trusted-host mirror.example" in r.command for r in finding.remedies)
    assert not index.requests
    trusting = replace(fetcher, config=IndexConfig(trusted_hosts=("mirror.example",)))
    assert arrives(trusting, away)
    assert index.requests[0].host == "mirror.example"


def test_pips_proxy_and_no_proxy(
    fetcher: Fetcher, wanted: Wanted, index: LoopbackIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = replace(wanted, urls=(f"http://mirror.invalid{PATH}",))
    config = IndexConfig(trusted_hosts=("mirror.invalid",), proxy=f"http://me:pw@127.0.0.1:{index.port}")
    assert arrives(replace(fetcher, config=config), away)
    monkeypatch.setenv("NO_PROXY", "mirror.invalid")
    again = replace(away, sha256="3" * 64)
    (finding,) = failure(replace(fetcher, config=config), again, kind=ApplyError)
    assert finding.code == "index-unreachable"


def test_a_socks_proxy_without_its_package(
    fetcher: Fetcher, wanted: Wanted, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("httpx")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setenv("ALL_PROXY", "socks5://me:secret@127.0.0.1:1080")
    away = replace(wanted, urls=(f"https://mirror.example{PATH}",))
    (finding,) = failure(fetcher, away, kind=BlockedError)
    assert finding.code == "proxy-socks"
    assert "ALL_PROXY" in finding.summary
    assert "secret" not in repr(finding)
    assert any("NO_PROXY=mirror.example" in r.command for r in finding.remedies)
    assert arrives(fetcher, wanted)


def test_certificates(
    tmp_path: Path, fetcher: Fetcher, wanted: Wanted, monkeypatch: pytest.MonkeyPatch, isolated_home: Path
) -> None:
    with LoopbackIndex(tmp_path / "index", tls=True) as secure:
        wanted = replace(wanted, urls=(secure.address(PATH),))
        (finding,) = failure(fetcher, wanted, kind=ApplyError)
        assert finding.code == "tls"
        assert len(secure.requests) == 0
        ways = {
            "pip": IndexConfig(cert=str(faults.CERTIFICATE)),
            "trusted": IndexConfig(trusted_hosts=("127.0.0.1",)),
            "REQUESTS_CA_BUNDLE": IndexConfig(),
            "SSL_CERT_FILE": IndexConfig(),
        }
        for name, config in ways.items():
            if name.isupper():
                monkeypatch.setenv(name, str(faults.CERTIFICATE))
            way = replace(fetcher, cache=fetcher.cache / name, config=config)
            assert arrives(way, wanted), name
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("SSL_CERT_FILE", "/no/such.pem")
        (finding,) = failure(fetcher, wanted, kind=BlockedError)
        assert "SSL_CERT_FILE" in finding.summary


def test_one_failure_for_all_ends_the_others(fetcher: Fetcher, wanted: Wanted, index: LoopbackIndex) -> None:
    """A host that is down is not asked for each of sixty files, five times each."""
    index.fail("/files/*", faults.status(503))
    lost = [
        replace(wanted, filename=f"{n}.whl", sha256=f"{n:064x}", urls=(index.address(f"/files/{n}.whl"),))
        for n in range(60)
    ]
    failure(fetcher, *lost, kind=ApplyError)
    assert len(index.requests) <= 2 * fetcher.threads * QUICK.attempts


def test_threads_end_with_the_fetch(fetcher: Fetcher, wanted: Wanted) -> None:
    before = threading.active_count()
    assert arrives(fetcher, wanted)
    # The server's own thread for the connection may still be there.
    assert threading.active_count() <= before + 1
