from __future__ import annotations

import contextlib
import importlib.util
from pathlib import Path

import pytest
from artifact_builders import Bytes, compiled, entry, fatbin, gpu_code, make_pe, make_wheel, noise, quick
from hypothesis import given
from hypothesis import strategies as st

from provision.artifacts import elf, pe
from provision.artifacts.library import EVERYTHING, Budget, Limits, inspect_library, read_part, read_whole
from provision.artifacts.view import Miss, PartsView
from provision.artifacts.wheel import Wheel
from provision.model.artifact import ArtifactError

PART = Limits(whole=0, start=1 << 20, end=1 << 18, sample=1 << 18, total=1 << 30, small=0, large=9)


def view(data):
    return PartsView(len(data), (0, data))


@pytest.fixture
def library(tmp_path):
    """A library that needs another one, with a run path and a need of a versioned symbol of libc."""
    other = compiled(tmp_path, "int other(void) { return 7; }", "libother.so.3")
    source = """#include <string.h>
        int other(void); int f(char *a, char *b, int n) { memcpy(a, b, n); return other(); }"""
    return compiled(tmp_path, source, "libthis.so.1", str(other), "-Wl,-rpath,$ORIGIN/../other/lib:$ORIGIN")


def in_wheel(data, name="tiny/lib/libthis.so.1"):
    wheel = Wheel(Bytes(make_wheel({name: data})))
    return wheel, next(m for m in wheel.members if m.name == name)


def test_what_a_library_asks_for_and_brings(library):
    facts = elf.read(view(library.read_bytes()))
    assert facts.soname == "libthis.so.1"
    assert "libother.so.3" in facts.needed
    assert facts.runpaths == ("$ORIGIN/../other/lib", "$ORIGIN")
    assert facts.arch in ("x86_64", "aarch64")
    if "libc.so.6" in facts.needed:
        assert facts.floors["GLIBC"].startswith("2.")


def test_symbol_versions_are_ordered_as_numbers_and_private_ones_left_out():
    assert elf.highest(
        ["GLIBC_2.4", "GLIBC_2.17", "GLIBC_PRIVATE", "CXXABI_1.3.9", "CXXABI_1.3.13", "OPENSSL_3"]
    ) == {
        "GLIBC": "2.17",
        "CXXABI": "1.3.13",
    }


def test_a_library_says_the_same_whole_and_as_it_goes_by(library, monkeypatch):
    data = library.read_bytes() + noise(300_000) + fatbin("sm_80") + bytes(10)
    wheel, member = in_wheel(data)
    at_once = read_whole(wheel, member)
    monkeypatch.setattr("provision.artifacts.library.IN_MEMORY", 1000)
    assert read_whole(wheel, member) == at_once
    assert at_once.needed
    assert [c.arch for c in at_once.code] == ["sm_80"]
    source = Bytes(data, "libthis.so.1")
    on_disk = inspect_library(source)
    assert sum(length for _, length in source.reads) == len(data), "one pass is enough"
    assert (on_disk.needed, on_disk.code, on_disk.floors) == (at_once.needed, at_once.code, at_once.floors)


def large_elf(library, folder, gpu):
    """The library with megabytes of code in a section of its own, as frameworks are built."""
    blob = folder / "blob.bin"
    blob.write_bytes(gpu)
    section = f'".section .nv_fatbin,\\"a\\"\\n.incbin \\"{blob}\\"\\n.text"'
    source = f"__asm__({section}); int other(void); int f(void) {{ return other(); }}"
    return compiled(folder, source, "liblarge.so.2", str(library.parent / "libother.so.3"))


def test_a_large_library_read_in_part_says_what_it_says_whole(library, tmp_path):
    data = large_elf(library, tmp_path, gpu_code(30)).read_bytes()
    wheel, member = in_wheel(data, "tiny/liblarge.so.2")
    whole = read_whole(wheel, member)
    fresh = Wheel(Bytes(make_wheel({member.name: data})))
    part = read_part(fresh, member, PART, Budget(fresh, PART.total))
    assert part.reading == "part"
    assert set(part.needed) == set(whole.needed)
    assert part.floors == whole.floors
    assert (
        {c.arch for c in part.code}
        == {c.arch for c in whole.code}
        == {"sm_70", "sm_80", "sm_86", "compute_86"}
    )
    assert fresh.file.bytes_read < len(data) / 2


def test_the_budget_ends_sampling(library, tmp_path):
    data = large_elf(library, tmp_path, gpu_code(30)).read_bytes()
    wheel, member = in_wheel(data, "tiny/liblarge.so.2")
    part = read_part(wheel, member, PART, Budget(wheel, 0))
    assert part.code == ()
    assert "0 samples" in part.note


def test_dll_imports():
    facts = pe.read(
        view(make_pe(["KERNEL32.dll", "cudart64_110.dll", "KERNEL32.dll"], delayed=["nvcuda.dll"]))
    )
    assert facts.needed == ("KERNEL32.dll", "cudart64_110.dll")
    assert facts.delayed == ("nvcuda.dll",)
    assert facts.arch == "x86_64"


def test_a_dll_that_imports_nothing():
    assert pe.read(view(make_pe([]))) == pe.PeFacts(arch="x86_64")


def test_real_programs_for_windows():
    spec = importlib.util.find_spec("distlib") or importlib.util.find_spec("setuptools")
    programs = sorted(Path(spec.submodule_search_locations[0]).glob("*64*.exe")) if spec else []
    if not programs:
        pytest.skip("no Windows programs in this environment's packages")
    for program in programs:
        facts = pe.read(view(program.read_bytes()))
        assert "kernel32.dll" in {name.lower() for name in facts.needed}
        assert facts.arch in ("x86_64", "aarch64")


def test_a_large_dll_in_part(monkeypatch):
    data = make_pe(["KERNEL32.dll", "cublas64_11.dll"], sections={".nv_fatb": gpu_code(30)}, padding=70_000)
    wheel, member = in_wheel(data, "tiny/_native.pyd")
    monkeypatch.setattr("provision.artifacts.library.IN_MEMORY", 1000)
    whole = read_whole(wheel, member)
    part = read_part(wheel, member, PART, Budget(wheel, PART.total))
    assert part.needed == whole.needed == ("KERNEL32.dll", "cublas64_11.dll")
    assert (
        {c.arch for c in part.code}
        == {c.arch for c in whole.code}
        == {"sm_70", "sm_80", "sm_86", "compute_86"}
    )


def test_what_is_no_library_is_noted_as_such():
    wheel, member = in_wheel(b"INPUT(-lother)\n")
    assert read_whole(wheel, member).note == "neither an ELF nor a PE file"


def test_parts_that_are_not_at_hand_are_missed_not_made_up():
    parts = PartsView(1000, (0, b"a" * 100), (900, b"z" * 100))
    assert parts.read(990, 50) == b"z" * 10
    with pytest.raises(Miss) as miss:
        parts.read(95, 10)
    assert (miss.value.offset, miss.value.length) == (95, 10)


def survives(data):
    for read in (elf.read, pe.read, lambda v: elf.sections(v, v)):
        with contextlib.suppress(ArtifactError, Miss):
            read(view(data))
    elf.hints(view(data))
    pe.hints(view(data))
    with contextlib.suppress(ArtifactError):
        inspect_library(Bytes(data, "lib.so"))


@quick
@given(st.binary(max_size=2000), st.sampled_from([b"", b"\x7fELF\2\1\1", b"MZ", b"\x7fELF\1\2\1"]))
def test_junk_is_survived(data, magic):
    survives(magic + data)


PE = make_pe(["KERNEL32.dll", "a.dll"], delayed=["b.dll"])


@quick
@given(st.lists(st.tuples(st.integers(0, 1500), st.binary(min_size=1, max_size=8)), min_size=1, max_size=5))
def test_damaged_dlls_are_survived(changes):
    data = bytearray(PE)
    for place, value in changes:
        data[place : place + len(value)] = value
    survives(bytes(data))


@pytest.fixture(scope="module")
def elf_bytes(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("elf"), "int f(void) { return 7; }", "libf.so").read_bytes()


@quick
@given(
    changes=st.lists(
        st.tuples(st.integers(0, 3000), st.binary(min_size=1, max_size=8)), min_size=1, max_size=5
    ),
    end=st.integers(0, 16000),
)
def test_damaged_elf_files_are_survived(elf_bytes, changes, end):
    data = bytearray(elf_bytes)
    for place, value in changes:
        data[place : place + len(value)] = value
    survives(bytes(data[: end or None]))


def test_everything_has_no_limits():
    assert EVERYTHING.whole > 1 << 50
    assert entry("sm_80").startswith(b"\2\0\1\1")
