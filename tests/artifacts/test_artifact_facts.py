from __future__ import annotations

import json

import pytest
from artifact_builders import Bytes, bundle, compiled, fatbin, make_pe, make_wheel, noise, quick
from hypothesis import given
from hypothesis import strategies as st

from provision.artifacts.covers import covers, thorough, usual_architectures
from provision.artifacts.inspect import cache_key, inspect_cached, inspect_wheel, tag_glibc
from provision.artifacts.library import EVERYTHING, GLANCE
from provision.artifacts.reading import ptx_isa, reading_rows
from provision.artifacts.sonames import from_machine, missing, missing_finding, supplies
from provision.model.artifact import ArtifactError, ArtifactFacts, GpuCode, LibraryFacts
from provision.world.factstore import FolderFactStore

BUILD_INFO = b"""build_info = {'cuda_version': '64_112', 'cudnn_version': '64_8', 'is_cuda_build': True,
  'cuda_compute_capabilities': ['sm_35', 'compute_80']}"""


def facts_of(*code, reading="whole", **more):
    library = LibraryFacts(path="a.so", format="elf", reading=reading, code=tuple(code))
    return ArtifactFacts(file="tiny-1.0-py3-none-any.whl", libraries=(library,), **more)


def machine(arch, count=100):
    return GpuCode(kind="machine", arch=arch, count=count)


def ptx(arch, isa="8.0", count=100):
    return GpuCode(kind="ptx", arch=arch, isa=isa, count=count)


def test_a_windows_wheel():
    data = make_wheel(
        {
            "tensorflow/python/platform/build_info.py": BUILD_INFO,
            "tensorflow/python/_native.pyd": make_pe(
                ["KERNEL32.dll", "Helper.dll", "cudart64_110.dll"],
                ["nvcuda.dll"],
                {".nv_fatb": fatbin("sm_80", "compute_80")},
            ),
            "tensorflow/helper.dll": make_pe(["MSVCP140.dll"]),
        },
        name="tensorflow",
        version="2.10.1",
        tag="cp310-cp310-win_amd64",
        metadata="Requires-Dist: numpy",
    )
    facts = inspect_wheel(Bytes(data, "tensorflow-2.10.1-cp310-cp310-win_amd64.whl"), sha256="ab" * 32)
    assert (facts.name, facts.version, facts.tags) == ("tensorflow", "2.10.1", ("cp310-cp310-win_amd64",))
    assert (facts.cuda, facts.cudnn, facts.is_cuda_build) == ("11.2", "8", True)
    assert facts.declared == ("sm_35", "compute_80")
    assert (facts.machine, facts.ptx) == (("sm_80",), ("compute_80",))
    assert facts.needed == ("KERNEL32.dll", "MSVCP140.dll", "cudart64_110.dll", "nvcuda.dll")
    assert facts.requires == ("numpy",)
    assert facts.unread == ()
    assert facts.bytes_read > 0
    assert ArtifactFacts.from_json(json.loads(json.dumps(facts.to_json()))) == facts


def test_a_linux_wheel(tmp_path):
    other = compiled(tmp_path, "int other(void) { return 7; }", "libother.so.3")
    paths = "-Wl,-rpath,$ORIGIN/../../nvidia/cudnn/lib:$ORIGIN:/usr/local/cuda/lib64"
    library = compiled(
        tmp_path,
        "#include <string.h>\nint other(void);int f(char*a,char*b,int n){memcpy(a,b,n);return other();}",
        "libthis.so.1",
        str(other),
        paths,
    )
    files = {"tiny/lib/libthis.so.1": library.read_bytes(), "torch/version.py": b"cuda = None\nhip = '6.2'\n"}
    tag = "cp310-cp310-manylinux_2_17_x86_64"
    facts = inspect_wheel(Bytes(make_wheel(files, tag=tag), f"tiny-1.0-{tag}.whl"))
    assert "libother.so.3" in facts.needed
    assert "libthis.so.1" in facts.provided
    assert facts.runpaths == ("/usr/local/cuda/lib64", "nvidia/cudnn/lib")
    assert facts.tag_glibc == "2.17"
    assert (facts.cuda, facts.rocm, facts.is_cuda_build, facts.is_rocm_build) == ("", "6.2", False, True)
    brought = inspect_wheel(
        Bytes(make_wheel({**files, "tiny/lib/libother.so.3": other.read_bytes()}, tag=tag))
    )
    assert "libother.so.3" not in brought.needed


def test_tags_and_the_glibc_they_claim():
    rows = reading_rows()
    assert (
        tag_glibc(["cp310-cp310-manylinux_2_17_x86_64", "cp310-cp310-manylinux2014_x86_64"], rows) == "2.17"
    )
    assert tag_glibc(["cp37-cp37m-manylinux2010_x86_64"], rows) == "2.12"
    assert tag_glibc(["py3-none-manylinux_2_28_aarch64", "py3-none-manylinux_2_5_aarch64"], rows) == "2.5"
    assert tag_glibc(["py3-none-win_amd64", "cp310-cp310-linux_x86_64"], rows) == ""


def test_rocm_wheels_name_their_targets_in_files_and_in_code():
    files = {
        "torch/lib/rocblas/library/TensileLibrary_gfx1030.hsaco": b"x",
        "torch/lib/rocblas/library/Kernels.so-000-gfx90a.hsaco": b"x",
        "torch/lib/libtorch_hip.so": noise(50) + bundle("hipv4-amdgcn-amd-amdhsa--gfx906"),
    }
    facts = inspect_wheel(Bytes(make_wheel(files)))
    assert facts.gfx == ("gfx1030", "gfx906", "gfx90a")


def test_the_list_that_torch_compiles_in():
    files = {"torch/lib/libtorch_python.so": noise(100) + b"\0sm_50 sm_60 sm_70 compute_70\0" + noise(100)}
    assert inspect_wheel(Bytes(make_wheel(files))).declared == ("sm_50", "sm_60", "sm_70", "compute_70")


def test_a_broken_library_is_a_note_not_the_end():
    facts = inspect_wheel(
        Bytes(make_wheel({"tiny/a.so": b"\x7fELF\2\1\1" + noise(500), "tiny/b.dll": make_pe(["A.dll"])}))
    )
    assert facts.needed == ("A.dll",)
    assert any(note.startswith("tiny/a.so: ") for note in facts.notes)
    assert facts.unread == ("tiny/a.so (0.0 MB): not read",)


def test_a_glance_names_what_it_does_not_read():
    files = {f"tiny/{i}.dll": make_pe([f"Need{i}.dll"], padding=5000 * i) for i in range(20)}
    facts = inspect_wheel(Bytes(make_wheel(files)), limits=GLANCE)
    assert len(facts.libraries) == 20
    assert len(facts.unread) == 20 - GLANCE.small
    assert {f"{i}.dll" for i in range(20)} == set(facts.provided)


def test_facts_are_kept_by_hash_and_depth(tmp_path):
    source, store = Bytes(make_wheel({"tiny/a.py": b""})), FolderFactStore(tmp_path / "facts")
    first = inspect_cached(source, "ab" * 32, store)
    reads = len(source.reads)
    assert inspect_cached(source, "ab" * 32, store) == first
    assert len(source.reads) == reads
    inspect_cached(source, "ab" * 32, store, limits=GLANCE)
    assert len(source.reads) > reads
    assert cache_key("a", GLANCE) != cache_key("a", EVERYTHING)


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"schema": 99}', '{"schema": 1, "libraries": [3]}', "not json"]
)
def test_a_spoilt_store_is_read_past(tmp_path, text):
    source, store = Bytes(make_wheel({"tiny/a.py": b""})), FolderFactStore(tmp_path)
    store.put(cache_key("cd" * 32, EVERYTHING), text)
    assert inspect_cached(source, "cd" * 32, store).name == "tiny"
    assert json.loads(store.get(cache_key("cd" * 32, EVERYTHING)))["name"] == "tiny"


def test_a_store_that_cannot_write_is_no_trouble(tmp_path):
    (tmp_path / "file").write_text("")
    store = FolderFactStore(tmp_path / "file" / "folder")
    store.put("key", "text")
    assert store.get("key") is None


@pytest.mark.parametrize(
    ("code", "capability", "how"),
    [
        ([machine("sm_80"), machine("sm_86")], "8.6", "machine-code"),
        ([machine("sm_80")], "8.9", "machine-code"),
        ([machine("sm_86")], "8.0", "no"),
        ([machine("sm_80")], "9.0", "no"),
        ([machine("sm_80"), ptx("compute_80")], "9.0", "ptx-jit"),
        ([machine("sm_80"), ptx("compute_90")], "8.9", "machine-code"),
        ([machine("sm_60"), ptx("compute_90")], "8.9", "no"),
        ([machine("sm_90a")], "9.0", "machine-code"),
        ([machine("sm_100a")], "10.3", "no"),
        ([machine("sm_100f")], "10.3", "machine-code"),
        ([machine("sm_100f")], "12.0", "no"),
        ([ptx("compute_90a")], "10.0", "no"),
        ([ptx("compute_100f")], "10.3", "ptx-jit"),
        ([ptx("compute_100f")], "12.0", "no"),
        ([machine("sm_120")], "12.1", "machine-code"),
        ([machine("sm_75"), machine("sm_80")], "6.1", "no"),
        ([GpuCode(kind="lto", arch="lto_80")], "8.0", "unknown"),
        ([], "8.6", "unknown"),
    ],
)
def test_coverage(code, capability, how):
    found = covers(facts_of(*code), capability)
    assert found.how == how
    assert found.because


def test_a_driver_compiles_only_ptx_that_it_knows():
    facts = facts_of(machine("sm_80"), ptx("compute_90", "8.5"))
    assert covers(facts, "12.0", ptx_isa("12.8")).how == "ptx-jit"
    old = covers(facts, "12.0", ptx_isa("12.2"))
    assert (old.how, old.because) == ("no", "its PTX is of version 8.5, the driver compiles up to 8.2")


def test_ptx_versions_by_cuda():
    assert [ptx_isa(v) for v in ("11.8", "12.6", "13.5", "99.0", "8.0", "")] == [
        "7.8",
        "8.5",
        "9.5",
        "9.5",
        "",
        "",
    ]


def test_a_few_special_pieces_are_no_build_for_an_architecture():
    assert covers(facts_of(machine("sm_80", 1000), machine("sm_90a", 12)), "9.0").how == "no"
    assert covers(facts_of(machine("sm_80", 1000), machine("sm_90", 900)), "9.0").how == "machine-code"
    assert usual_architectures(facts_of(machine("sm_100", 449), machine("sm_100a", 59)), "machine") == (
        "sm_100",
    )
    assert usual_architectures(facts_of(machine("sm_90a", 59)), "machine") == ("sm_90a",)


def test_a_sample_that_showed_little_says_no_to_nothing():
    few = facts_of(machine("sm_80", 2), machine("sm_86", 1), reading="part")
    many = facts_of(machine("sm_80", 9), machine("sm_86", 8), reading="part")
    assert (covers(few, "6.1").how, covers(many, "6.1").how) == ("unknown", "no")
    assert covers(few, "8.6").how == "machine-code"
    assert (thorough(few), thorough(many), thorough(facts_of())) == (False, True, False)


def test_the_main_library_decides():
    """torch 2.13.0 has code of sm_89 in a small library only."""
    main = LibraryFacts(path="libtorch_cuda.so", size=470, code=(machine("sm_80"),))
    side = LibraryFacts(path="libtorch_nvshmem.so", size=4, code=(machine("sm_90"), ptx("compute_90")))
    facts = ArtifactFacts(file="torch.whl", libraries=(side, main))
    assert [covers(facts, capability).how for capability in ("8.0", "9.0", "10.0")] == [
        "machine-code",
        "no",
        "no",
    ]


def test_the_header_of_tensorflow_stands_in_for_its_build_file():
    """tensorflow 2.22.0rc0 says `is_cuda_build` in build_info.py, and the versions in cuda_config.h only."""
    header = b'#ifndef A_H_\n#define A_H_\n#define TF_CUDA_VERSION "12.5.1"\n  #define TF_CUDNN_VERSION "9"\n'
    files = {
        "tensorflow/include/external/local_config_cuda/cuda/cuda/cuda_config.h": header
        + b"#define TF_CUDA_COMPUTE_CAPABILITIES 60, 70, 100\n#endif",
        "tensorflow/python/platform/build_info.py": b"build_info = dict([('is_cuda_build', True)])",
    }
    facts = inspect_wheel(Bytes(make_wheel(files)))
    assert (facts.cuda, facts.cudnn, facts.is_cuda_build) == ("12.5.1", "9", True)
    assert facts.declared == ("sm_60", "sm_70", "sm_100")


def test_amd_targets_are_covered_by_name():
    facts = facts_of(gfx=("gfx1030", "gfx90a"))
    read = facts_of(GpuCode(kind="gfx", arch="gfx90a", count=9), gfx=("gfx90a",))
    glanced = facts_of(GpuCode(kind="gfx", arch="gfx90a", count=2), gfx=("gfx90a",), reading="part")
    assert [covers(f, "gfx1010").how for f in (read, glanced)] == ["no", "unknown"]
    assert [covers(facts, target).how for target in ("gfx1030", "gfx1010")] == ["machine-code", "no"]
    assert covers(facts_of(), "gfx1010").how == "unknown"


def wheel_facts(file, needed=(), provided=()):
    libraries = (LibraryFacts(path="a/_C.so", needed=tuple(needed)),)
    return ArtifactFacts(file=file, libraries=libraries, provided=tuple(provided))


def test_a_build_that_forgets_its_cuda_libraries_is_found():
    """pytorch/pytorch#146679: the +cu126 wheel of torch 2.6.0 lacks requirements that +cu124 has."""
    torch = wheel_facts(
        "torch-2.6.0+cu126.whl",
        ["libc.so.6", "libcuda.so.1", "libcudnn.so.9", "libcusparseLt.so.0", "libcudart.so.12"],
    )
    runtime = wheel_facts("nvidia_cuda_runtime_cu12.whl", ["libc.so.6"], ["libcudart.so.12"])
    lacking = missing([torch, runtime])
    assert {(m.soname, m.by) for m in lacking} == {
        ("libcudnn.so.9", "nvidia-cudnn-cu{cuda}"),
        ("libcusparseLt.so.0", "nvidia-cusparselt-cu{cuda}"),
    }
    assert lacking[0].wanted_by == ("torch-2.6.0+cu126.whl: a/_C.so",)
    finding = missing_finding(lacking[0], cuda="12.6")
    assert (finding.code, finding.severity) == ("soname-missing", "error")
    assert "nvidia-cudnn-cu12" in finding.remedies[0].text
    assert "{" not in "".join(remedy.text for remedy in missing_finding(lacking[0]).remedies)
    cudnn, sparse = (
        wheel_facts("cudnn.whl", (), ["libcudnn.so.9"]),
        wheel_facts("lt.whl", (), ["libcusparseLt.so.0"]),
    )
    assert missing([torch, runtime, cudnn, sparse]) == ()


def test_what_the_machine_brings_is_not_missing_but_named():
    planned = [
        wheel_facts(
            "a.whl",
            [
                "libc.so.6",
                "libcuda.so.1",
                "libascendcl.so",
                "MSVCP140.dll",
                "KERNEL32.dll",
                "python310.dll",
                "api-ms-win-crt-heap-l1-1-0.dll",
            ],
        )
    ]
    assert missing(planned) == ()
    assert from_machine(planned) == {
        "driver": ("libcuda.so.1",),
        "msvc": ("MSVCP140.dll",),
        "sdk": ("libascendcl.so",),
    }


def test_what_nothing_loads_at_import_is_a_warning():
    """torch 2.15.0 ships a libgfortran that needs libquadmath, and nothing in it needs libgfortran."""
    gfortran = LibraryFacts(
        path="torch/lib/libgfortran.so.5", soname="libgfortran.so.5", needed=("libquadmath.so.0",)
    )
    alone = ArtifactFacts(file="torch.whl", libraries=(gfortran,), provided=("libgfortran.so.5",))
    (lacking,) = missing([alone])
    assert (lacking.fatal, missing_finding(lacking).severity) == (False, "warning")
    user = LibraryFacts(path="torch/lib/libtorch_cpu.so", needed=("libgfortran.so.5",))
    (lacking,) = missing([alone, ArtifactFacts(file="b.whl", libraries=(user,))])
    assert (lacking.fatal, missing_finding(lacking).severity) == (True, "error")


def test_windows_does_not_tell_cases_apart_and_linux_does():
    planned = [wheel_facts("a.whl", ["CuDNN64_8.dll", "libA.so"], ["cudnn64_8.DLL", "liba.so"])]
    assert [m.soname for m in missing(planned)] == ["libA.so"]


def test_the_packaged_rows_are_sourced():
    assert all(row.source and row.by for row in supplies())
    assert len({row.id for row in supplies()}) == len(supplies())


@quick
@given(st.binary(max_size=500))
def test_junk_is_no_wheel_and_no_crash(data):
    with pytest.raises(ArtifactError):
        inspect_wheel(Bytes(data))
