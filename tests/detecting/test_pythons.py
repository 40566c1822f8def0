"""Which interpreters are found here, how their versions are known, and which of them fit a specifier."""

from __future__ import annotations

import json
import os
import struct
import sys
from pathlib import Path

import pytest

from provision.detecting.pythons import pythons_for, specifier_text
from provision.model.machine import Interpreter
from provision.world import binaries, interpreter_facts, interpreter_places
from provision.world.interpreter_places import Candidate
from provision.world.interpreters import HostInterpreters

posix = pytest.mark.skipif(sys.platform == "win32", reason="folders laid out as on Linux and macOS")
HERE = ".".join(str(number) for number in sys.version_info[:3])


def python(version: str, **more: str) -> Interpreter:
    return Interpreter(path=f"/{version}/python", version=version, **more)


FOUND = tuple(python(version) for version in ("3.13.0", "3.12.1", "3.11.7", "3.10.13", "3.9.18", "3.14.0rc1"))


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("3.10", ["3.10.13"]),
        (">=3.10,<3.13", ["3.12.1", "3.11.7", "3.10.13"]),
        ("3.12.1", ["3.12.1"]),
        ("*", ["3.13.0", "3.12.1", "3.11.7", "3.10.13", "3.9.18"]),
        ("==3.9.*", ["3.9.18"]),
        ("3.8", []),
        (">=3.14.0rc1", ["3.14.0rc1"]),
    ],
)
def test_pythons_for_a_specifier(spec: str, expected: list[str]) -> None:
    assert [found.version for found in pythons_for(spec, FOUND)] == expected


def test_another_processor_or_implementation_does_not_fit() -> None:
    found = (
        python("3.10.1", arch="x86"),
        python("3.10.2", implementation="pypy"),
        python("3.10.3", implementation="cpython-freethreaded"),
        python("3.10.4", arch="universal2"),
        python("3.10.5", arch="x86_64"),
        python("3.10.6"),
    )
    assert [one.version for one in pythons_for("3.10", found, "x86_64")] == ["3.10.6", "3.10.5", "3.10.4"]


@pytest.mark.parametrize("spec", ["three", ">=3.10 or 3.12", "=>3"])
def test_a_specifier_that_is_none(spec: str) -> None:
    with pytest.raises(ValueError):
        pythons_for(spec, FOUND)


def test_specifier_text() -> None:
    assert [specifier_text(text) for text in ("3.10", " 3.10.13 ", "", "3", "~=3.10")] == [
        "==3.10.*", "==3.10.13", "", "==3.*", "~=3.10",
    ]  # fmt: skip


@posix
@pytest.mark.parametrize(
    ("prefix", "name", "files", "expected"),
    [
        ("versions/3.10.13", "python3.10", {}, "3.10.13"),
        ("uv/python/cpython-3.12.4-linux-x86_64-gnu", "python3.12", {}, "3.12.4"),
        ("envs/tf", "python3.9", {"conda-meta/python-3.9.18-h955ad1f_0.json": "{}"}, "3.9.18"),
        (
            "usr",
            "python3.11",
            {"include/python3.11/patchlevel.h": '#define PY_VERSION  "3.11.2+"\n'},
            "3.11.2",
        ),
        ("old", "python3.7m", {"include/python3.7m/patchlevel.h": '#define PY_VERSION "3.7.16"\n'}, "3.7.16"),
        ("usr", "python3.11", {"include/python3.9/patchlevel.h": '#define PY_VERSION "3.9.1"\n'}, None),
        ("versions/pypy3.9-7.3.11", "pypy3.9", {}, None),
        ("versions/3.13.0t", "python3.13t", {}, None),
        ("uv/python/cpython-3.13.0+freethreaded-linux-x86_64-gnu", "python3.13", {}, None),
        ("3.10.13", "python3.10", {}, None),
    ],
)
def test_version_by_files(
    tmp_path: Path, prefix: str, name: str, files: dict[str, str], expected: str | None
) -> None:
    for path, text in {**files, f"bin/{name}": ""}.items():
        target = tmp_path / prefix / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    told = interpreter_facts.told_by_files(tmp_path / prefix / "bin" / name)
    assert told == ((expected, "cpython") if expected else None)


@posix
def test_an_interpreter_that_no_file_describes_is_asked(tmp_path: Path) -> None:
    fake = tmp_path / "bin" / "python3"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho 3.10.4\necho pypy\necho 0\n")
    fake.chmod(0o755)
    found = interpreter_facts.describe(fake, "path")
    assert found is not None
    assert (found.version, found.implementation, found.source) == ("3.10.4", "pypy", "path")


@posix
@pytest.mark.parametrize(
    "script", ["exit 1", "echo no version", "echo 2.7.18; echo cpython; echo 0", "kill -9 $$"]
)
def test_a_broken_or_old_interpreter_is_none(tmp_path: Path, script: str) -> None:
    fake = tmp_path / "python"
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(0o755)
    assert interpreter_facts.describe(fake, "path") is None


@posix
def test_names_of_one_interpreter_are_one(tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "python3.10").write_text("one")
    (folder / "python3").symlink_to("python3.10")
    (folder / "python").symlink_to("python3")
    os.link(folder / "python3.10", folder / "python3.10m")
    names = ("python", "python3", "python3.10", "python3.10m")
    found = interpreter_places.distinct(Candidate(str(folder / name), "path") for name in names)
    assert found == [Candidate(str(folder / "python3.10"), "path")]


@posix
def test_a_virtual_environment_leads_to_its_base(tmp_path: Path) -> None:
    base = tmp_path / "base" / "bin" / "python3.10"
    venv = tmp_path / "venv"
    for folder in (base.parent, venv / "bin"):
        folder.mkdir(parents=True)
    base.write_text("")
    (venv / "pyvenv.cfg").write_text(f"home = {base.parent}\n")
    (venv / "bin" / "python").symlink_to(base)
    found = interpreter_places.distinct([Candidate(str(venv / "bin" / "python"), "path")])
    assert found == [Candidate(str(base), "path")]


@posix
def test_shims_are_no_interpreters(tmp_path: Path) -> None:
    assert interpreter_places.distinct([Candidate(str(tmp_path / "shims" / "python3.10"), "path")]) == []


@posix
def test_conda_and_tool_cache_are_searched(tmp_path: Path) -> None:
    tool = tmp_path / "tools" / "Python" / "3.12.9" / "x64" / "bin" / "python3"
    listed = tmp_path / "far" / "env" / "bin" / "python"
    env = tmp_path / "home" / "miniconda3" / "envs" / "tf" / "bin" / "python"
    for path in (tool, listed, env):
        path.parent.mkdir(parents=True)
        path.write_text("")
    (tmp_path / "home" / ".conda").mkdir()
    (tmp_path / "home" / ".conda" / "environments.txt").write_text(f"{tmp_path}/far/env\n\n")
    environ = {"HOME": str(tmp_path / "home"), "RUNNER_TOOL_CACHE": str(tmp_path / "tools")}
    found = interpreter_places.candidates(environ)
    assert Candidate(str(tool), "tool-cache") in found
    assert Candidate(str(listed), "conda") in found
    assert Candidate(str(env), "conda") in found


@posix
def test_find_here_with_a_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache" / "interpreters.json"
    first = HostInterpreters(cache).find()
    assert any(found.version == HERE for found in first)
    assert [found.version for found in pythons_for(HERE, first)] != []

    def search(environ: object) -> list[Candidate]:
        raise AssertionError("searched again although nothing changed")

    monkeypatch.setattr(interpreter_places, "candidates", search)
    assert HostInterpreters(cache).find() == first


@posix
def test_a_new_interpreter_is_seen_in_spite_of_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, pyenv = tmp_path / "interpreters.json", tmp_path / "pyenv"
    (pyenv / "versions").mkdir(parents=True)
    monkeypatch.setenv("PYENV_ROOT", str(pyenv))
    before = HostInterpreters(cache).find()
    program = pyenv / "versions" / "3.10.99" / "bin" / "python3.10"
    program.parent.mkdir(parents=True)
    program.write_text("")
    program.chmod(0o755)
    os.utime(pyenv / "versions", (1, 1))
    after = HostInterpreters(cache).find()
    assert {found.version for found in after} - {found.version for found in before} == {"3.10.99"}
    program.unlink()
    assert HostInterpreters(cache).find() == before


@posix
@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "{}",
        "\x00",
        '{"schema": 1}',
        '{"schema": 1, "found": [{}]}',
        '{"schema": 1, "found": 3}',
    ],
)
def test_a_spoilt_cache_is_no_cache(tmp_path: Path, text: str) -> None:
    cache = tmp_path / "interpreters.json"
    cache.write_text(text)
    assert any(found.version == HERE for found in HostInterpreters(cache).find())
    assert json.loads(cache.read_text())["schema"] == 1


@posix
def test_no_cache_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert HostInterpreters(tmp_path / "file" / "interpreters.json").find() != ()


ELF = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HH", 3, 62)
PE = b"MZ" + bytes(0x3A) + struct.pack("<I", 0x40) + b"PE\0\0" + struct.pack("<H", 0x14C)


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (ELF, "x86_64"),
        (ELF[:18] + struct.pack("<H", 183), "aarch64"),
        (ELF[:19], ""),
        (PE, "x86"),
        (PE[:0x40], ""),
        (b"\xcf\xfa\xed\xfe" + struct.pack("<I", 0x0100000C), "arm64"),
        (b"\xca\xfe\xba\xbe", "universal2"),
        (b"#!/bin/sh", ""),
        (b"", ""),
    ],
)
def test_architecture(head: bytes, expected: str) -> None:
    assert binaries.architecture_of(head) == expected
