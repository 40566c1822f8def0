from __future__ import annotations

import shutil
import subprocess

import pytest
from artifact_builders import bundle, entry, fatbin, noise, quick
from hypothesis import given
from hypothesis import strategies as st

from provision.artifacts.gpucode import CodeScanner, scan, scan_sample


def found(code):
    return {c.arch: c.count for c in code}


def test_all_kinds_of_code_are_named_and_counted():
    data = (
        noise(5000)
        + fatbin("sm_75", "sm_86", "sm_90a", "sm_100f", "compute_86", "lto_80")
        + noise(77)
        + fatbin("sm_86")
    )
    code = scan([data])
    assert found(code) == {"sm_75": 1, "sm_86": 2, "sm_90a": 1, "sm_100f": 1, "compute_86": 1, "lto_80": 1}
    assert {c.arch: c.isa for c in code if c.kind == "ptx"} == {"compute_86": "8.5"}
    assert {c.kind for c in code} == {"machine", "ptx", "lto"}


def test_the_highest_ptx_version_of_an_architecture_counts():
    code = scan(
        [
            fatbin("compute_80", isa=(7, 8))
            + fatbin("compute_80", isa=(7, 10))
            + fatbin("compute_80", isa=(7, 9))
        ]
    )
    assert [(c.arch, c.count, c.isa) for c in code] == [("compute_80", 3, "7.10")]


@quick
@given(st.integers(1, 300), st.integers(0, 40))
def test_pieces_of_any_size_show_the_same(size, before):
    data = (
        bytes(before)
        + fatbin("sm_70", "sm_80", "compute_80")
        + b"between"
        + bundle("host-x86_64--", "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-")
        + fatbin("sm_120")
    )
    pieces = [data[i : i + size] for i in range(0, len(data), size)]
    assert scan(pieces) == scan([data])
    assert found(scan([data])) == {"sm_70": 1, "sm_80": 1, "sm_120": 1, "compute_80": 1, "gfx90a": 1}


def test_an_entry_that_cannot_be_one_ends_its_fat_binary_and_the_search_goes_on():
    broken = fatbin("sm_70") + b""
    body = entry("sm_80") + b"\2\0\1\1" + b"\xff" * 124
    whole = broken[:8] + len(body).to_bytes(8, "little") + body
    assert found(scan([whole + fatbin("sm_86")])) == {"sm_80": 1, "sm_86": 1}


def test_the_magic_number_alone_is_no_code():
    assert scan([b"\x50\xed\x55\xba" + noise(4000)]) == ()
    assert scan([b"\x50\xed\x55\xba" * 50]) == ()


def test_a_fat_binary_that_is_cut_short_shows_what_is_there():
    data = fatbin("sm_70", "sm_80", payload=bytes(1000))
    assert found(scan([data[:900]])) == {"sm_70": 1}


def test_amd_targets():
    data = noise(100) + bundle(
        "host-x86_64-unknown-linux-gnu-", "hip-amdgcn-amd-amdhsa-gfx906", "hipv4-amdgcn-amd-amdhsa--gfx1100"
    )
    assert found(scan([data])) == {"gfx906": 1, "gfx1100": 1}
    assert {c.kind for c in scan([data])} == {"gfx"}


def test_packed_amd_bundles_are_counted_as_such():
    scanner = CodeScanner()
    scanner.feed(noise(50) + b"CCOB\2\0\1\0" + noise(200))
    assert (scanner.code(), scanner.packed_bundles) == ((), 1)


def test_a_sample_shows_entries_whose_fat_binary_began_before_it():
    data = fatbin("sm_50", "sm_60", "sm_70", payload=bytes(500))[700:]
    assert scan([data]) == ()
    assert found(scan_sample(data, data)) == {"sm_60": 0, "sm_70": 1} or found(scan_sample(data, data)) == {
        "sm_70": 1
    }


def test_what_only_one_reading_of_a_sample_holds_does_not_count():
    both, one = entry("sm_70"), entry("sm_80")
    assert found(scan_sample(both + one, both + entry("sm_86"))) == {"sm_70": 1}


@quick
@given(
    st.binary(max_size=3000),
    st.lists(
        st.sampled_from(
            [b"\x50\xed\x55\xba\1\0\x10\0", b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB", b"\2\0\1\1\x40\0\0\0"]
        ),
        max_size=8,
    ),
)
def test_junk_is_survived(data, magics):
    junk = data[: len(data) // 2] + b"".join(magics) + data[len(data) // 2 :]
    scan([junk[:100], junk[100:]])
    scan_sample(junk, junk[::-1])


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no CUDA compiler here")
def test_what_the_cuda_compiler_writes_is_read(tmp_path):
    listed = subprocess.run(
        ["nvcc", "--list-gpu-arch"], capture_output=True, text=True, check=False
    ).stdout.split()
    numbers = [name.removeprefix("compute_") for name in listed if name.startswith("compute_")][:2]
    if len(numbers) < 2:
        pytest.skip("this CUDA compiler does not list its architectures")
    source, fat = tmp_path / "k.cu", tmp_path / "k.fatbin"
    source.write_text("__global__ void k(float *p) { p[threadIdx.x] *= 2.f; }")
    flags = [f"-gencode=arch=compute_{n},code=[sm_{n},compute_{n}]" for n in numbers]
    done = subprocess.run(
        ["nvcc", "-fatbin", *flags, "-o", str(fat), str(source)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"the CUDA compiler does not work here: {done.stderr[:200]}")
    assert set(found(scan([fat.read_bytes()]))) == {
        f"{word}_{n}" for word in ("sm", "compute") for n in numbers
    }
