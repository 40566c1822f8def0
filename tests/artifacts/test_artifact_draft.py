from __future__ import annotations

import pytest
import yaml
from artifact_builders import Bytes, bundle, fatbin, gpu_code, make_pe, make_wheel

from provision.artifacts.draft import draft_rows
from provision.artifacts.inspect import inspect_wheel
from provision.artifacts.truth import disagreements, tag_findings
from provision.model.artifact import ArtifactFacts, GpuCode, LibraryFacts

TORCH = "torch-9.1.0-cp311-cp311-manylinux_2_28_x86_64.whl"
WINDOWS = "torch-9.1.0-cp311-cp311-win_amd64.whl"
FILES = [
    TORCH,
    WINDOWS,
    "torch-9.1.0-cp312-cp312-manylinux_2_28_x86_64.whl",
    "torch-9.1.0-cp310-cp310-manylinux_2_28_x86_64.whl",
    "torch-9.1.0-cp314-cp314t-manylinux_2_28_x86_64.whl",
    "torch-9.1.0-cp312-cp312-manylinux_2_28_aarch64.whl",
    "torch-9.0.0-cp39-cp39-manylinux_2_28_x86_64.whl",
]


def torch_facts():
    requires = (
        "Requires-Dist: nvidia-cudnn-cu13==9.26.0.51; platform_system == 'Linux'\n"
        "Requires-Dist: sympy>=1.13.3\nRequires-Dist: filelock\n"
        "Requires-Dist: optree>=0.13; extra == 'optree'"
    )
    linux = make_wheel(
        {
            "torch/version.py": b"cuda = '13.0'\nhip = None\n",
            "torch/lib/libtorch_cuda.so": b"no ELF file, but code" + gpu_code(3) + fatbin("sm_90a"),
        },
        name="torch",
        version="9.1.0",
        metadata=requires,
        tag="cp311-cp311-manylinux_2_28_x86_64",
    )
    windows = make_wheel(
        {
            "torch/version.py": b"cuda = None\n",
            "torch/lib/torch_cpu.dll": make_pe(["KERNEL32.dll", "MSVCP140.dll"]),
        },
        name="torch",
        version="9.1.0",
        metadata=requires,
        tag="cp311-cp311-win_amd64",
    )
    return inspect_wheel(Bytes(linux, TORCH), sha256="ab" * 32), inspect_wheel(Bytes(windows, WINDOWS))


def test_a_new_release_becomes_rows():
    text = draft_rows(FILES, torch_facts(), verified_on="2026-11-30")
    document = yaml.safe_load(text)
    linux, windows = document["builds"]
    assert linux == {
        "id": "torch-9.1.0-cuda-linux-x86_64",
        "framework": "torch",
        "distributions": ["torch"],
        "runtime": {"kind": "cuda", "version": "13.0"},
        "cudnn": "9.26.0.51",
        "libraries": "wheels",
        "wheels": [
            {
                "versions": ["9.1.0"],
                "pythons": ["3.10", "3.11", "3.12"],
                "targets": ["linux-x86_64"],
                "glibc": "2.28",
            }
        ],
        "architectures": ["sm_70", "sm_80", "sm_86"],
        "ptx": ["compute_86"],
        "source": "artifact",
    }
    assert windows["runtime"] == {"kind": "cpu"}
    assert windows["needs"] == {"msvc": "msvcp140.dll"}
    assert windows["wheels"][0]["pythons"] == ["3.11"]
    requires, on_windows = document["metadata"]
    assert requires["declares"] == {"nvidia-cudnn-cu13": "==9.26.0.51", "sympy": ">=1.13.3"}
    assert requires["targets"] == ["linux-x86_64"]
    assert on_windows["declares"] == {"sympy": ">=1.13.3"}
    assert str(document["verified-on"]) == "2026-11-30"
    assert "tested" in text.split("\n")[1]


def test_an_extra_that_brings_the_libraries_is_a_build_of_its_own():
    facts = ArtifactFacts(
        file="tensorflow-9.0-cp311-cp311-manylinux_2_17_x86_64.whl",
        name="tensorflow",
        version="9.0",
        tags=("cp311-cp311-manylinux_2_17_x86_64",),
        top_level=("tensorflow",),
        requires=("numpy<3", 'nvidia-cudnn-cu12 (<10.0,>=9.3) ; extra == "and-cuda"'),
        cuda="12.5.1",
        cudnn="9",
        is_cuda_build=True,
        declared=("sm_60", "compute_90"),
    )
    text = draft_rows([], [facts], verified_on="2026-11-30")
    plain, extra = yaml.safe_load(text)["builds"]
    assert (plain["libraries"], plain["cudnn"], plain["runtime"]["version"]) == ("system", "9", "12.5")
    assert (extra["libraries"], extra["extras"], extra["id"]) == (
        "wheels",
        ["and-cuda"],
        plain["id"] + "-and-cuda",
    )
    assert "no GPU code was seen; its build file says sm_60 compute_90" in text


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({"torch_npu/lib/a.dll": make_pe(["libascendcl.so"])}, "cann"),
        ({"tensorflow-plugins/directml/DirectML.abc.dll": make_pe([])}, "directml"),
        (
            {
                "torch/version.py": b"hip = '6.2'\n",
                "torch/lib/libx.so": bundle("hip-amdgcn-amd-amdhsa-gfx906"),
            },
            "rocm",
        ),
        ({"torch/a.dll": make_pe(["cudart64_12.dll"])}, "cuda"),
        ({"torch/__init__.py": b""}, "cpu"),
    ],
)
def test_libraries_tell_the_runtime(files, kind):
    facts = inspect_wheel(Bytes(make_wheel(files), "tiny-1.0-cp311-cp311-win_amd64.whl"))
    (row,) = yaml.safe_load(draft_rows([], [facts], verified_on="2026-11-30"))["builds"]
    assert row["runtime"]["kind"] == kind


def test_the_knowledge_base_reads_what_is_drafted():
    reading = pytest.importorskip("provision.knowledge.reading")
    rows = list(reading.read_rows(draft_rows(FILES, torch_facts(), verified_on="2026-11-30"), "draft.yaml"))
    assert [type(row).__name__ for row in rows] == ["BuildRow", "BuildRow", "MetadataRow", "MetadataRow"]


def with_code(**more):
    code = (GpuCode(kind="machine", arch="sm_80", count=90), GpuCode(kind="ptx", arch="compute_80", count=90))
    return ArtifactFacts(
        file="a.whl",
        name="a",
        version="1",
        libraries=(LibraryFacts(path="a.so", code=code, floors={"GLIBC": "2.17"}),),
        **more,
    )


def test_a_tag_that_promises_too_much():
    (finding,) = tag_findings(with_code(glibc="2.17", tag_glibc="2.5"))
    assert finding.code == "manylinux-untrue"
    assert finding.evidence[0].source == "a.whl: a.so"
    assert tag_findings(with_code(glibc="2.17", tag_glibc="2.17")) == ()
    assert tag_findings(with_code(glibc="2.17")) == ()


def test_rows_that_an_artifact_contradicts():
    facts = with_code(cuda="11.2", cudnn="8", glibc="2.17")
    found = disagreements(
        facts, "row", cuda="11.8", cudnn="8.6", glibc="2.12", architectures=["sm_70"], ptx=["compute_80"]
    )
    assert [f.summary.split(":")[0] for f in found] == ["CUDA", "glibc", "machine code"]
    assert all(f.code == "knowledge-disagrees" for f in found)
    assert disagreements(facts, "row", cuda="11.2.1", architectures=["sm_80"]) == ()
    assert disagreements(facts, "row") == ()
