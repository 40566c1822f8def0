"""What the stages ask the knowledge base, answered from the packaged rows: the cases it was made for."""

import pytest

from provision.knowledge import (
    Build,
    KnowledgeError,
    LibraryRow,
    NameRow,
    PatchRow,
    RuleRow,
    gpu_code,
    kind_of,
    load_knowledge,
)

KNOWLEDGE = load_knowledge()


def build(framework: str, **wanted: object) -> Build:
    """The one build with these attributes."""
    found = [b for b in KNOWLEDGE.builds(framework) if all(getattr(b, k) == v for k, v in wanted.items())]
    assert len(found) == 1, [b.row for b in found]
    return found[0]


def constraints(package: str, version: str, python: str, target: str = "linux-x86_64") -> set[str]:
    return {c for row in KNOWLEDGE.patches(package, version, python, target) for c in row.constraints}


# --- patches ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("package", "version", "python", "target", "expected"),
    [
        ("tensorflow", "1.15.5", "3.7", "linux-x86_64", {"protobuf<3.21", "h5py<3"}),
        ("tensorflow", "2.0.2", "3.7", "linux-x86_64", {"protobuf<3.21", "h5py<3"}),
        ("tensorflow", "2.1.0", "3.7", "linux-x86_64", {"protobuf<3.21", "h5py<3"}),
        ("tensorflow-cpu", "2.5.0", "3.9", "linux-x86_64", {"protobuf<3.21"}),
        ("tensorflow", "2.6.5", "3.9", "linux-x86_64", set()),
        ("tensorflow", "2.7.1", "3.8", "linux-x86_64", {"protobuf<3.21", "numpy<2"}),
        ("tensorflow", "2.7.4", "3.8", "linux-x86_64", {"numpy<2"}),
        ("tensorflow", "2.8.1", "3.9", "linux-x86_64", {"protobuf<3.21", "numpy<2"}),
        ("tensorflow-gpu", "2.10.1", "3.10", "windows-x86_64", {"numpy<2"}),
        ("tensorflow", "2.11.0", "3.10", "linux-x86_64", {"numpy<2"}),
        ("tensorflow", "2.12.1", "3.11", "linux-x86_64", set()),
        ("tensorflow", "2.14.0", "3.11", "linux-x86_64", {"numpy<2"}),
        ("tensorflow", "2.14.1", "3.11", "linux-x86_64", set()),
        ("tensorflow", "2.18.1", "3.12", "linux-x86_64", set()),
        ("tensorboard", "2.20.0", "3.12", "linux-x86_64", {"setuptools<82"}),
        ("tensorboard", "2.19.0", "3.12", "linux-x86_64", {"setuptools<82"}),
        ("tensorboard", "2.20.0", "3.8", "linux-x86_64", set()),
        ("tensorboard", "2.21.0", "3.12", "linux-x86_64", set()),
        ("torch", "2.0.1+cu118", "3.10", "windows-x86_64", {"numpy<2"}),
        ("torch", "2.2.2", "3.10", "linux-x86_64", {"numpy<2"}),
        ("torch", "2.3.0", "3.10", "linux-x86_64", set()),
        ("torch", "2.3.1+cu121", "3.10", "windows-x86_64", {"numpy<2"}),
        ("torch", "2.4.1", "3.10", "windows-x86_64", set()),
        ("tensorflow_directml_plugin", "0.4.0.dev230202", "3.10", "windows-x86_64", {"numpy<2"}),
        (
            "tensorflow-directml-plugin",
            "0.2.0.dev221020",
            "3.10",
            "windows-x86_64",
            {"numpy<2", "tensorflow-cpu==2.10.0"},
        ),
    ],
)
def test_what_metadata_lacks(
    package: str, version: str, python: str, target: str, expected: set[str]
) -> None:
    assert constraints(package, version, python, target) == expected


def test_a_patch_that_adds_and_one_that_overrides() -> None:
    (absent,) = KNOWLEDGE.patches("tensorflow", "2.21.0", "3.11", "linux-x86_64")
    assert absent.add_requirements == ("tensorboard",)
    overrides = [
        row.overrides for row in KNOWLEDGE.patches("torch-npu", "2.6.0.post5", "3.10", "linux-x86_64")
    ]
    assert ("torch==2.6.0",) in overrides
    assert not any(
        row.overrides for row in KNOWLEDGE.patches("torch-npu", "2.6.0.post5", "3.10", "linux-aarch64")
    )


def test_what_was_run_and_what_follows_are_told_apart() -> None:
    ran, rest = KNOWLEDGE.row("tf28x-211-numpy"), KNOWLEDGE.row("tf-numpy-rest")
    assert isinstance(ran, PatchRow)
    assert isinstance(rest, PatchRow)
    assert (ran.evidence, rest.evidence) == ("artifact", "metadata")
    assert rest.verified.startswith("not run")


def test_no_patch_sets_a_variable_unasked() -> None:
    """TORCH_DEVICE_BACKEND_AUTOLOAD=0 would take the card away where CANN is: it is a conditional rule."""
    assert all(not row.environment for row in KNOWLEDGE.rows(PatchRow))


# --- names and families ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "version", "kind"),
    [
        ("tf-estimator", "2.6.0", "never-existed"),
        ("tf_estimator", None, "never-existed"),
        ("tensorflow-gpu", None, "dead"),
        ("tensorflow-gpu", "2.12.0", "dead"),
        ("tensorflow-directml-plugin", "0.2.0.dev221012", "never-existed"),
        ("nvidia-cudnn-cu11", "8.6.0", "never-existed"),
        ("torch", "2.6.0+cu121", "never-existed"),
        ("torchtriton", None, "hostile"),
        ("numpy", "2.4.0", "yanked"),
        ("cann", None, "placeholder"),
        ("rocm", None, "placeholder"),
        ("suda", None, "look-alike"),
        ("nvidia-cuda-runtime-cu13", "0.0.1", "placeholder"),
        ("pytorch", None, "dead"),
    ],
)
def test_names_that_are_not_what_they_seem(name: str, version: str | None, kind: str) -> None:
    row = KNOWLEDGE.dead_name(name, version)
    assert row is not None
    assert row.kind == kind
    assert row.instead


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("tensorflow-gpu", "2.10.1"),
        ("tensorflow-directml-plugin", "0.4.0.dev230202"),
        ("nvidia-cudnn-cu11", "8.6.0.163"),
        ("torch", "2.6.0+cu124"),
        ("numpy", "2.4.1"),
        ("tensorflow-estimator", None),
        ("torch", None),
    ],
)
def test_good_names_stay_good(name: str, version: str | None) -> None:
    assert KNOWLEDGE.dead_name(name, version) is None


def test_families() -> None:
    (tensorflow,) = KNOWLEDGE.families_of("tensorflow_directml")
    assert {"tensorflow", "tensorflow-intel", "tf-nightly", "tensorflow-rocm"} <= set(tensorflow.members)
    assert ("tensorflow-cpu", "tensorflow-intel") in tensorflow.pairs
    assert KNOWLEDGE.families_of("nvidia-cudnn-cu13")[0].folder == "nvidia/cudnn"
    assert KNOWLEDGE.families_of("numpy") == ()


# --- builds ----------------------------------------------------------------------------------------------


def test_tensorflow_windows_gpu_ends_with_210() -> None:
    last = build("tensorflow", distribution="tensorflow", version="2.10.1", target="windows-x86_64")
    assert last.runtime.kind == "cuda"
    assert (last.runtime.version, last.cudnn, last.libraries) == ("11.2", "8.1", "system")
    assert last.pythons == ("3.7", "3.8", "3.9", "3.10")
    assert last.tested is not None
    after = [b for b in KNOWLEDGE.builds("tensorflow", {"cuda"}) if b.target == "windows-x86_64"]
    assert max(tuple(map(int, b.version.split("."))) for b in after) == (2, 10, 1)


def test_a_stub_reaches_as_far_as_what_it_brings() -> None:
    """tensorflow 2.13.1 has a Windows wheel for Python 3.8, tensorflow-intel 2.13.1 has none."""
    stub = build("tensorflow", distribution="tensorflow", version="2.13.1", target="windows-x86_64")
    assert stub.runtime.kind == "cpu"
    assert stub.pythons == ("3.9", "3.10", "3.11")


def test_one_torch_version_has_many_builds() -> None:
    found = {
        b.requirement
        for b in KNOWLEDGE.builds("torch", {"cuda", "cpu"})
        if (b.version, b.target) == ("2.0.1", "windows-x86_64")
    }
    assert found == {"torch==2.0.1", "torch==2.0.1+cu117", "torch==2.0.1+cu118", "torch==2.0.1+cpu"}
    cu118 = build("torch", version="2.0.1", local="cu118", target="windows-x86_64")
    assert (cu118.index, cu118.cudnn, cu118.libraries) == ("pytorch-cu118", "8.7.0.84", "bundled")
    assert build("torch", version="2.5.1", local="cu124", target="linux-x86_64").libraries == "wheels"
    assert build("torch", version="2.5.1", local="cu124", target="windows-x86_64").libraries == "bundled"


def test_fewer_kinds_are_a_part_of_all() -> None:
    for framework in ("tensorflow", "torch"):
        everything = KNOWLEDGE.builds(framework)
        for kind in {b.runtime.kind for b in everything}:
            assert set(KNOWLEDGE.builds(framework, {kind})) == {
                b for b in everything if b.runtime.kind == kind
            }


def test_extra_brings_the_libraries() -> None:
    both = [
        b
        for b in KNOWLEDGE.builds("tensorflow")
        if (b.version, b.distribution, b.target) == ("2.15.1", "tensorflow", "linux-x86_64")
    ]
    assert {(b.requirement, b.libraries) for b in both} >= {
        ("tensorflow==2.15.1", "system"),
        ("tensorflow[and-cuda]==2.15.1", "wheels"),
    }


def test_ascend_builds_name_the_index_that_can_serve_them() -> None:
    arm = build("torch", requires=("torch-npu==2.6.0.post5",), target="linux-aarch64")
    x86 = build("torch", requires=("torch-npu==2.6.0.post5",), target="linux-x86_64")
    assert (arm.requirement, arm.index) == ("torch==2.6.0", "pypi")
    assert (x86.requirement, x86.index) == ("torch==2.6.0+cpu", "pytorch-cpu")
    assert arm.runtime.version == "8.5.0"
    assert any(b.version == "2.9.1" and b.runtime.kind == "cann" for b in KNOWLEDGE.builds("torch"))


def test_vendor_files_say_what_to_fetch() -> None:
    adapter = build("tensorflow", row="tensorflow-2.6.5-npu-aarch64", version="2.6.5", target="linux-aarch64")
    assert {file.package for file in adapter.vendor_files} == {"npu_device", "tensorflow"}
    assert all(file.where for file in adapter.vendor_files)


@pytest.mark.parametrize(
    ("version", "local", "target", "capability", "expected"),
    [
        ("2.6.0", "cu124", "linux-x86_64", "12.0", "none"),
        ("2.7.1", "cu128", "linux-x86_64", "12.0", "native"),
        ("2.7.1", "cu126", "linux-x86_64", "12.0", "none"),
        ("2.8.0", "cu128", "linux-x86_64", "6.1", "none"),
        ("2.8.0", "cu126", "linux-x86_64", "6.1", "native"),
        ("2.8.0", "cu128", "linux-x86_64", "7.0", "native"),
        ("2.11.0", "cu128", "linux-x86_64", "7.0", "none"),
        ("2.0.1", "cu118", "linux-x86_64", "8.9", "native"),
        ("2.10.0", "cu130", "linux-x86_64", "12.1", "native"),
        ("2.12.1", "cu129", "linux-x86_64", "8.6", "unknown"),
    ],
)
def test_gpu_code_of_torch(version: str, local: str, target: str, capability: str, expected: str) -> None:
    assert gpu_code(build("torch", version=version, local=local, target=target), capability) == expected


@pytest.mark.parametrize(
    ("version", "capability", "expected"),
    [
        ("2.10.1", "8.6", "native"),
        ("2.10.1", "9.0", "ptx"),
        ("2.10.1", "7.5", "native"),
        ("2.10.1", "3.0", "none"),
        ("2.1.0", "3.0", "none"),
        ("2.1.0", "7.5", "unknown"),
    ],
)
def test_gpu_code_of_tensorflow(version: str, capability: str, expected: str) -> None:
    wheel = build("tensorflow", distribution="tensorflow", version=version, target="windows-x86_64")
    assert gpu_code(wheel, capability) == expected


# --- declared requirements and companions ----------------------------------------------------------------


def test_two_frameworks_that_pin_different_cudnn() -> None:
    tensorflow = build("tensorflow", version="2.15.1", extras=("and-cuda",), target="linux-x86_64")
    torch = build("torch", row="torch-2.4-pypi-linux", version="2.4.1")
    assert KNOWLEDGE.declares(tensorflow)["nvidia-cudnn-cu12"] == "==8.9.4.25"
    assert KNOWLEDGE.declares(torch)["nvidia-cudnn-cu12"] == "==9.1.0.70"
    plain = build("tensorflow", row="tensorflow-2.15-cuda", version="2.15.1")
    assert "nvidia-cudnn-cu12" not in KNOWLEDGE.declares(plain)


def test_typing_extensions_clash_is_visible() -> None:
    tensorflow = build("tensorflow", row="tensorflow-2.13-cuda", version="2.13.0")
    torch = build("torch", row="torch-2.3-pypi-linux", version="2.3.0")
    assert KNOWLEDGE.declares(tensorflow)["typing-extensions"] == "<4.6.0,>=3.6.6"
    assert KNOWLEDGE.declares(torch)["typing-extensions"] == ">=4.8.0"
    assert KNOWLEDGE.declares(torch)["nvidia-cuda-nvrtc-cu12"] == "==12.1.105"


def test_a_local_build_declares_its_own() -> None:
    cu118 = build("torch", version="2.4.0", local="cu118", target="linux-x86_64")
    assert KNOWLEDGE.declares(cu118)["nvidia-cudnn-cu11"] == "==9.1.0.70"


@pytest.mark.parametrize(
    ("leader", "version", "expected"),
    [
        (
            "torch",
            "2.0.1+cu118",
            {"torchvision": "==0.15.2", "torchaudio": "==2.0.2", "xformers": "==0.0.20"},
        ),
        ("torch", "2.7.0", {"torchvision": "==0.22.0", "torchaudio": "==2.7.0"}),
        ("tensorflow", "2.17.0", {"tf-keras": "==2.17.*"}),
        ("tensorflow", "2.14.0", {"keras": "==2.14.*"}),
        ("numpy", "1.26.4", {}),
    ],
)
def test_what_belongs_together(leader: str, version: str, expected: dict[str, str]) -> None:
    assert {name: text for name, text, _ in KNOWLEDGE.companions(leader, version)} == expected


# --- runtimes, names of files, libraries -----------------------------------------------------------------


def test_driver_floors() -> None:
    cuda = KNOWLEDGE.runtime("cuda", "11.8")
    assert cuda is not None
    assert (cuda.driver["linux"], cuda.driver_floor["linux"], cuda.driver_floor["windows"]) == (
        "520.61.05",
        "450.80.02",
        "452.39",
    )
    old = KNOWLEDGE.runtime("cuda", "10.1")
    assert old is not None
    assert old.driver_floor == {"linux": "418.39", "windows": "418.96"}
    missing = KNOWLEDGE.runtime("cuda", "12.7")
    assert missing is not None
    assert not missing.exists
    assert KNOWLEDGE.runtime("cuda", "12.99") is None
    assert {row.version for row in KNOWLEDGE.runtimes("cann")} >= {"8.5.0", "9.1.0"}


def test_names_that_programs_open() -> None:
    (line,) = KNOWLEDGE.loaders("cuda", "11.2")
    assert line.windows["cudart"] == "cudart64_110.dll"
    assert KNOWLEDGE.loaders("cuda", "11.8") == (line,)
    assert KNOWLEDGE.loaders("cuda", "10.1")[0].windows["cudart"] == "cudart64_101.dll"
    assert len(KNOWLEDGE.loaders("cudnn", "8.6.0.163")[0].windows) == 7


def test_libraries_that_can_be_placed() -> None:
    cudnn = KNOWLEDGE.library("cudnn", "8.6", "11.8")
    assert isinstance(cudnn, LibraryRow)
    assert cudnn.version == "8.6.0.163"
    assert {file.target for file in cudnn.files} == {"linux-x86_64", "windows-x86_64"}
    assert KNOWLEDGE.library("cudnn", "8.6", "12.2") is None
    assert KNOWLEDGE.library("cudnn", "8", "11.2") == KNOWLEDGE.row("cudnn-8.1.0.77-cuda11.2")


def test_indexes() -> None:
    assert KNOWLEDGE.index_url("pytorch-cu118") == "https://download.pytorch.org/whl/cu118"
    assert KNOWLEDGE.index_url("pypi") is None


# --- asking in words, overlays ---------------------------------------------------------------------------


def test_search_and_list() -> None:
    found = {row.id for row in KNOWLEDGE.search("windows 2.11 stub")}
    assert "tf-211-windows-gpu" in found
    assert KNOWLEDGE.search("no such words anywhere") == ()
    assert all(kind_of(row) == "rule" for row in KNOWLEDGE.list("rule"))
    assert len(KNOWLEDGE.list()) == sum(
        len(KNOWLEDGE.list(kind)) for kind in {kind_of(row) for row in KNOWLEDGE.list()}
    )


OVERLAY = """
verified-on: 2026-12-01
sources: {ours: {text: our own measurement of 2026-12-01, evidence: artifact}}
patches:
- id: our-pandas
  packages: [tensorflow]
  versions: ==2.10.1
  constraints: [pandas<2]
  why: our pipeline needs it
  source: ours
names:
- {id: name-numpy-2.4.0, name: numpy, kind: yanked, versions: ==2.4.0, what-is-so: ours says so, source: ours}
builds:
- id: our-torch
  framework: torch
  distributions: [torch]
  index: pypi
  runtime: {"kind": "cuda", "version": "12.6"}
  wheels: [{versions: [2.99.0], pythons: '3.12', targets: [linux-x86_64]}]
  source: ours
"""


def test_a_team_adds_and_corrects_rows() -> None:
    knowledge = load_knowledge([("team/rows.yaml", OVERLAY)])
    added = knowledge.patches("tensorflow", "2.10.1", "3.10", "linux-x86_64")
    assert {row.id for row in added} == {"tf28x-211-numpy", "our-pandas"}
    corrected = knowledge.dead_name("numpy", "2.4.0")
    assert corrected is not None
    assert (corrected.what_is_so, corrected.origin) == ("ours says so", "team/rows.yaml")
    assert len(knowledge.rows(NameRow)) == len(KNOWLEDGE.rows(NameRow))
    assert [b.requirement for b in knowledge.builds("torch", {"cuda"}) if b.row == "our-torch"] == [
        "torch==2.99.0"
    ]


def test_a_bad_overlay_is_told_at_once() -> None:
    with pytest.raises(KnowledgeError, match="unknown key 'verzions'"):
        load_knowledge([("team/rows.yaml", OVERLAY.replace("  versions: ==2.10.1", "  verzions: ==2.10.1"))])


def test_digest_follows_the_rows_that_were_used() -> None:
    changed = load_knowledge([("team/rows.yaml", OVERLAY)])
    assert KNOWLEDGE.digest(["tf28x-211-numpy"]) == changed.digest(["tf28x-211-numpy"])
    assert KNOWLEDGE.digest(["name-numpy-2.4.0"]) != changed.digest(["name-numpy-2.4.0"])
    assert KNOWLEDGE.digest(["a", "tf21-protobuf"]) == KNOWLEDGE.digest(["tf21-protobuf", "tf21-protobuf"])


# --- claims that are told and not so ---------------------------------------------------------------------


def test_wrong_seed_claims_are_encoded_as_what_is_so() -> None:
    assert KNOWLEDGE.dead_name("tensorflow-directml-plugin", "0.2.0.dev221012") is not None
    assert KNOWLEDGE.dead_name("tf-estimator", "2.6.0") is not None
    assert KNOWLEDGE.dead_name("nvidia-cudnn-cu11", "8.6.0") is not None
    tf213 = build("tensorflow", row="tensorflow-2.13-cuda", version="2.13.0")
    assert (tf213.runtime.version, tf213.cudnn) == ("11.8", "8.6")
    tf210 = build("tensorflow", distribution="tensorflow", version="2.10.1", target="windows-x86_64")
    assert tf210.tested is not None
    assert (tf210.tested.runtime, tf210.tested.cudnn) == ("11.2", "8.1")
    mended = {row.id for row in KNOWLEDGE.search("not_so") if getattr(row, "not_so", "")}
    assert mended >= {"cudnn-same-major", "cudnn-conda-real", "ascend-public-tensorflow", "biren-tensorflow"}
    conda = KNOWLEDGE.row("torch-conda-channel")
    assert isinstance(conda, RuleRow)
    assert "cudatoolkit=11.8 -c pytorch" in conda.never
    family = KNOWLEDGE.families_of("tensorflow")[0]
    assert {"tensorflow-cpu", "tensorflow-intel", "tf-nightly"} <= set(family.members)
    assert "keras-nightly" in KNOWLEDGE.families_of("keras")[0].members


@pytest.mark.parametrize("row", ["wddm-geforce", "tf-windows-dll-names", "tf-memory-info-name"])
def test_claims_without_a_rule_have_a_fact(row: str) -> None:
    fact = KNOWLEDGE.row(row)
    assert fact is not None
    assert getattr(fact, "not_so", "")


def test_reports_of_the_kinds_solve_and_lint_are_answered() -> None:
    solve = (5, 8, 9, 12, 15, 16, 19, 23, 26, 27, 29, 30, 31, 48, 53, 54, 57, 58)
    lint = (6, 7, 39, 40, 41, 43, 44, 45, 55)
    reports = {f"O{number:02}" for number in (*solve, *lint)}
    assert reports <= {case for row in KNOWLEDGE.list() for case in row.cases}
