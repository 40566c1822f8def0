"""One suite over the real Reader and the fake one, so that the fake cannot lie."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import psutil
import pytest

from provision.ports import Output, Reader
from provision.world.reader import HostReader
from tests.support.fake_reader import FakeReader

FILES = {
    "/etc/os-release": "ID=debian\n",
    "/etc/empty": "",
    "/opt/cuda-11.8/version.json": "{}",
    "/opt/cuda-12.1/version.json": "{}",
    "/opt/.hidden/file": "x",
    "/opt/Grüße/名前.txt": "é",
}
LINKS = {"/opt/cuda": "cuda-12.1", "/opt/lost": "nowhere"}
#: name -> shell text, and what it must come to.
TOOLS: dict[str, tuple[str, Output]] = {
    "says": ("echo out; echo err >&2; exit 3", Output(3, "out\n", "err\n")),
    "hangs": ("echo before; sleep 60 & sleep 60", Output(None, "before\n", "", 60.0)),
    "dies": ("kill -9 $$", Output(-9, "", "")),
    "local": (r"printf '\311\250\r\n'", Output(0, "ɨ\n", "")),
    "bad": (r"printf '\377x'", Output(0, "�x", "")),
}

Build = Callable[[], Reader]


def real(folder: Path) -> Reader:
    for path, text in FILES.items():
        target = folder / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")
    for path, to in LINKS.items():
        (folder / path.lstrip("/")).symlink_to(to)
    programs = folder / "programs"
    programs.mkdir()
    for name, (script, _) in TOOLS.items():
        tool = programs / name
        tool.write_text(f"#!/bin/sh\n{script}\n")
        tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    return HostReader(root=folder, environ={"PATH": f"{programs}{os.pathsep}{os.defpath}", "LANG": "C"})


def fake(folder: Path) -> Reader:
    return FakeReader(
        files=FILES,
        links=LINKS,
        variables={"PATH": "/programs", "LANG": "C"},
        tools={name: f"{folder}/programs/{name}" for name in TOOLS},
        commands={name: output for name, (_, output) in TOOLS.items()},
    )


@pytest.fixture(params=[real, fake], ids=["real", "fake"])
def reader(request: pytest.FixtureRequest, tmp_path: Path) -> Reader:
    if request.param is real and sys.platform == "win32":
        pytest.skip("the tools of this suite are shell scripts")
    build: Callable[[Path], Reader] = request.param
    return build(tmp_path)


def test_text_of_a_file(reader: Reader) -> None:
    assert reader.read_text("/etc/os-release") == "ID=debian\n"
    assert reader.read_text("/etc/empty") == ""
    assert reader.read_text("/opt/Grüße/名前.txt") == "é"


def test_text_through_a_link(reader: Reader) -> None:
    assert reader.read_text("/opt/cuda/version.json") == "{}"


def test_text_up_to_a_limit(reader: Reader) -> None:
    assert reader.read_text("/etc/os-release", limit=3) == "ID="


def test_a_character_cut_by_the_limit_is_replaced(reader: Reader) -> None:
    assert reader.read_text("/opt/Grüße/名前.txt", limit=1) == "�"


@pytest.mark.parametrize("path", ["/etc/none", "/etc", "/opt/lost", "/etc/os-release/below", "/nul\0byte"])
def test_no_text(reader: Reader, path: str) -> None:
    assert reader.read_text(path) is None


@pytest.mark.parametrize("path", ["/etc/os-release", "/etc", "/opt/cuda", "/opt/cuda/version.json"])
def test_exists(reader: Reader, path: str) -> None:
    assert reader.exists(path)


@pytest.mark.parametrize("path", ["/etc/none", "/opt/lost", "/opt/cuda/none", "/nul\0byte"])
def test_exists_not(reader: Reader, path: str) -> None:
    assert not reader.exists(path)


def test_names_in_a_folder(reader: Reader) -> None:
    assert reader.listdir("/opt") == (".hidden", "Grüße", "cuda", "cuda-11.8", "cuda-12.1", "lost")
    assert reader.listdir("/opt/cuda") == ("version.json",)


@pytest.mark.parametrize("path", ["/none", "/etc/os-release", "/opt/lost"])
def test_no_names(reader: Reader, path: str) -> None:
    assert reader.listdir(path) == ()


def test_glob(reader: Reader) -> None:
    assert reader.glob("/opt/cuda*/version.json") == (
        "/opt/cuda-11.8/version.json",
        "/opt/cuda-12.1/version.json",
        "/opt/cuda/version.json",
    )
    assert reader.glob("/opt/cuda-1?.*") == ("/opt/cuda-11.8", "/opt/cuda-12.1")
    assert reader.glob("/opt/*/file") == ()
    assert reader.glob("/etc/os-release") == ("/etc/os-release",)
    assert reader.glob("/none/*") == ()


def test_realpath(reader: Reader) -> None:
    assert reader.realpath("/opt/cuda/version.json") == "/opt/cuda-12.1/version.json"
    assert reader.realpath("/etc/os-release") == "/etc/os-release"
    assert reader.realpath("/etc/none") == "/etc/none"


def test_variables(reader: Reader) -> None:
    assert reader.environ()["LANG"] == "C"
    assert "HOME" not in reader.environ()


def test_which(reader: Reader, tmp_path: Path) -> None:
    assert reader.which("says") == str(tmp_path / "programs" / "says")
    assert reader.which("no-such-tool") is None


@pytest.mark.parametrize("name", ["says", "dies", "local", "bad"])
def test_a_tool_that_ends(reader: Reader, name: str) -> None:
    output = reader.run([name])
    assert output is not None
    assert (output.code, output.stdout, output.stderr) == _parts(TOOLS[name][1])


def test_a_tool_by_its_path(reader: Reader) -> None:
    path = reader.which("says")
    assert path is not None
    output = reader.run([path])
    assert output is not None
    assert _parts(output) == _parts(TOOLS["says"][1])


def test_a_tool_that_hangs_is_ended_with_what_it_said(reader: Reader) -> None:
    output = reader.run(["hangs"], timeout=0.5)
    assert output is not None
    assert (output.code, output.stdout) == (None, "before\n")
    assert output.seconds < 20


@pytest.mark.parametrize("command", [["no-such-tool"], ["/no/such/tool"], ["/etc/os-release"]])
def test_a_tool_that_is_none(reader: Reader, command: list[str]) -> None:
    assert reader.run(command) is None


def test_usable(reader: Reader) -> None:
    assert reader.usable("/etc/os-release")
    assert not reader.usable("/etc/none")


def test_no_registry_here(reader: Reader) -> None:
    assert reader.registry(r"HKEY_LOCAL_MACHINE\SOFTWARE\None") is None


def _parts(output: Output) -> tuple[int | None, str, str]:
    return output.code, output.stdout, output.stderr


def test_the_children_of_a_hanging_tool_are_gone(tmp_path: Path) -> None:
    reader = real(tmp_path)
    tool = tmp_path / "programs" / "parent"
    tool.write_text(f"#!/bin/sh\nsleep 61 &\necho $! > {tmp_path}/child\nsleep 61\n")
    tool.chmod(0o755)
    output = reader.run(["parent"], timeout=0.5)
    assert output is not None
    assert output.code is None
    child = int((tmp_path / "child").read_text())
    deadline = time.monotonic() + 10
    while _is_alive(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not _is_alive(child)


def _is_alive(number: int) -> bool:
    try:
        return psutil.Process(number).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_tool_gets_the_readers_variables_and_more(tmp_path: Path) -> None:
    reader = real(tmp_path)
    tool = tmp_path / "programs" / "shows"
    tool.write_text('#!/bin/sh\necho "$LANG $MORE $HOME"\n')
    tool.chmod(0o755)
    output = reader.run(["shows"], env={"MORE": "more"})
    assert output is not None
    assert output.stdout == "C more \n"


def test_the_environment_of_the_process_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROVISION_TEST", "1")
    variables: Mapping[str, str] = HostReader().environ()
    assert variables["PROVISION_TEST"] == "1"


def test_space(tmp_path: Path) -> None:
    space = HostReader().space(str(tmp_path))
    assert space is not None
    assert 0 <= space.free <= space.total
    assert HostReader().space(str(tmp_path / "none")) is None


def test_sizes_and_digests(reader: Reader) -> None:
    assert reader.sizes("/etc") == {"os-release": 10, "empty": 0}
    assert reader.sizes("/opt")["lost"] == -1
    assert reader.sizes("/opt/cuda") == {"version.json": 2}
    assert reader.sizes("/nowhere") == {}
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert reader.sha256("/etc/empty") == empty
    assert reader.sha256("/opt/cuda/version.json") == hashlib.sha256(b"{}").hexdigest()
    assert reader.sha256("/etc") is None
    assert reader.sha256("/nowhere") is None
