"""why and why-not: the solver's own reasons, on a screen and as a document."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Here
from tests.support.golden import golden
from tests.support.index import LoopbackIndex

WINDOWS = """\
schema: 1
name: windows-gpu
targets: [windows-x86_64]
hardware: {vendor: nvidia, compute-capability: "8.0"}
python: ">=3.9,<3.12"
frameworks: {tensorflow: "<2.11"}
"""
CPU = """\
schema: 1
name: cpu
targets: [linux-x86_64]
python: "3.10"
frameworks: {tensorflow: "*"}
"""


@pytest.fixture
def windows(tmp_path: Path) -> None:
    (tmp_path / "win.yaml").write_text(WINDOWS)


@pytest.fixture
def cpu(tmp_path: Path) -> None:
    (tmp_path / "cpu.yaml").write_text(CPU)


def test_why_as_people_see_it(windows: None, tiny: Here) -> None:
    ran = tiny("why", "win.yaml")
    assert (ran.code, ran.err) == (0, "")
    golden("why", ran.out)
    golden("why-tensorflow", tiny("why", "win.yaml", "tensorflow").out)
    golden("why-python", tiny("why", "win.yaml", "python", "--python", "3.9").out)


def test_every_loser_has_its_reason_and_none_is_chosen(windows: None, tiny: Here) -> None:
    document = tiny("why", "win.yaml", "--json").document
    assert [(c["axis"], c["value"]) for c in document["choices"]] == [
        ("python", "3.10"), ("tensorflow", "tensorflow==2.10.1"), ("cuda", "11.2"), ("cudnn", "8.1"),
    ]  # fmt: skip
    losers = {(g["rule"], value) for g in document["rejected"] for value in g["values"]}
    assert ("preference", "tensorflow==2.10.0 (cuda 11.2, windows-x86_64)") in losers
    assert ("target", "tensorflow==2.10.1 (cuda 11.2, linux-x86_64)") in losers
    assert ("no-stack", "3.11") in losers
    assert ("python-range", "3.12") in losers
    assert not any(value.startswith("tensorflow==2.10.1 (cuda 11.2, windows") for _, value in losers)
    assert document["patches"][0]["rule"] == "tf210-numpy"
    assert all(g["because"] for g in document["rejected"])


def test_two_frameworks_that_clash(tmp_path: Path, tiny: Here) -> None:
    text = WINDOWS.replace('{tensorflow: "<2.11"}', '{tensorflow: "<2.11", torch: "*"}')
    (tmp_path / "win.yaml").write_text(text)
    ran = tiny("why", "win.yaml", "--json")
    assert ran.code == 0, ran
    assert [c["value"] for c in ran.document["choices"]][1:3] == ["tensorflow==2.10.1", "torch==2.0.1+cu118"]


def test_no_stack_is_a_refusal(tmp_path: Path, tiny: Here) -> None:
    (tmp_path / "win.yaml").write_text(WINDOWS.replace("<2.11", "==2.11.*"))
    ran = tiny("why", "win.yaml", "--json")
    assert (ran.code, ran.codes) == (3, ["tf-no-windows-gpu"])


def test_an_axis_that_is_none(windows: None, tiny: Here) -> None:
    ran = tiny("why", "win.yaml", "rocm", "--json")
    assert (ran.code, ran.codes) == (2, ["no-such-axis"])
    assert "tensorflow, cuda" in ran.document["findings"][0]["summary"]


def test_a_package_of_the_lock(cpu: None, tiny: Here, tiny_tensorflow: LoopbackIndex) -> None:
    Path("cpu.yaml").write_text(CPU.replace('"*"', '"==2.10.1"'))
    assert tiny("why", "cpu.yaml", "numpy", "--json").code == 0, "the stack holds it"
    assert tiny("why", "cpu.yaml", "protobuf", "--json").codes == ["no-such-axis"]
    assert tiny("lock", "cpu.yaml").code == 0
    ran = tiny("why", "cpu.yaml", "protobuf")
    assert (ran.code, "3.19.6   from pypi: protobuf-3.19.6-py3-none-any.whl" in ran.out) == (0, True), ran
    assert "numpy<2   TypeError" in tiny("why", "cpu.yaml", "numpy").out
    assert tiny("why", "cpu.yaml", "--json").document["settled"]


def test_a_stack_that_could_not_be_locked_is_told(
    cpu: None, tiny: Here, tiny_tensorflow: LoopbackIndex
) -> None:
    for path in (tiny_tensorflow.root / "simple" / "tensorflow-cpu").glob("*2.21*"):
        path.unlink()
    assert tiny("lock", "cpu.yaml").code == 0
    document = tiny("why", "cpu.yaml", "--json").document
    assert document["choices"][1]["value"] == "tensorflow-cpu==2.10.1"
    (group,) = [g for g in document["rejected"] if g["axis"] == "closure"]
    assert group["values"] == ["tensorflow-cpu==2.21.0"]


def test_a_refusal_as_people_see_it(windows: None, tiny: Here) -> None:
    ran = tiny("why-not", "win.yaml", "tensorflow==2.11", "--offline")
    assert (ran.code, ran.err) == (3, "")
    golden("why-not", ran.out)


@pytest.mark.parametrize(
    ("wish", "code", "says"),
    [
        ("numpy>=2", "held", "the stack holds numpy<2"),
        ("tensorflow-gpu==2.12.0", "dead-name", "fails on purpose"),
        ("tf-estimator", "dead-name", "no such project"),
        ("tensorflow-cpu", "no-build", "this build is for cpu"),
        ("python==3.13", "no-build", "not for 3.13"),
        ("python==3.99", "no-python", "3.6 to 3.14"),
        ("cuda==12.1", "no-build", "built for cuda 11.2"),
        ("torchvision==0.15.1", "", ""),
        ("numpy<2", "", ""),
        ("tensorflow==2.10.0", "", ""),
        ("torch", "", ""),
    ],
)
def test_wishes(windows: None, tiny: Here, wish: str, code: str, says: str) -> None:
    ran = tiny("why-not", "win.yaml", wish, "--offline", "--json")
    assert ran.document["fits"] == (not code)
    assert (ran.code, ran.codes[:1]) == ((3, [code]) if code else (0, []))
    assert says in ran.out


def test_companions_are_held_against_the_chosen_version(tmp_path: Path, tiny: Here) -> None:
    (tmp_path / "t.yaml").write_text(CPU.replace("tensorflow", "torch"))
    ran = tiny("why-not", "t.yaml", "torchvision==0.15.2", "--offline", "--json")
    assert (ran.code, ran.codes) == (3, ["companion-mismatch"])
    assert tiny("why-not", "t.yaml", "torchvision==0.28.0", "--offline").code == 0


def test_the_index_has_the_last_word(cpu: None, tiny: Here, tiny_tensorflow: LoopbackIndex) -> None:
    ran = tiny("why-not", "cpu.yaml", "keras==2.10.0", "--json")
    assert (ran.code, ran.document["fits"]) == (0, True), ran
    assert ran.document["answers"][0]["packages"]["tensorflow-cpu"] == "2.10.1", "the framework gives way"
    ran = tiny("why-not", "cpu.yaml", "gast==9", "--json")
    assert (ran.code, ran.codes) == (3, ["no-such-version"])
    ran = tiny("why-not", "cpu.yaml", "tensorflow==2.10.0")
    assert (ran.code, "7, all of them can be locked" in ran.out) == (0, True), ran
    assert not list(Path.cwd().rglob("*.lock.yaml")), "nothing is written"


def test_what_is_no_requirement(cpu: None, tiny: Here) -> None:
    ran = tiny("why-not", "cpu.yaml", "tensorflow 2.11 please", "--json")
    assert (ran.code, ran.codes) == (2, ["usage"])


def test_variants_answer_each_for_itself(tmp_path: Path, tiny: Here) -> None:
    text = (
        CPU
        + "variants:\n- {name: cuda, hardware: {vendor: nvidia}, python: '3.10'}\n- {name: cpu, python: '3.13'}\n"
    )
    (tmp_path / "cpu.yaml").write_text(text)
    assert tiny("why", "cpu.yaml", "--json").document["variant"] == "cuda"
    assert tiny("why", "cpu.yaml", "--variant", "cpu", "--json").document["python"] == "3.13"
    document = tiny("why-not", "cpu.yaml", "tensorflow==2.21.0", "--offline", "--json").document
    assert [(a["variant"], a["fits"]) for a in document["answers"]] == [("cuda", False), ("cpu", True)]


def test_for_the_machine_of_a_file(tiny: Here, tmp_path: Path) -> None:
    """Where a profile names no target, it is that machine's."""
    (tmp_path / "any.yaml").write_text("schema: 1\nname: any\npython: '3.10'\nframeworks: {tensorflow: '*'}\n")
    for system in ("windows", "linux"):
        (tmp_path / "there.yaml").write_text(f"os: {system}\narch: x86_64\n")
        ran = tiny("why", "any.yaml", "--machine", "there.yaml", "--json")
        assert ran.code == 0, ran.out
        assert ran.document["target"] == f"{system}-x86_64"
        assert tiny("why-not", "any.yaml", "python==3.13", "--machine", "there.yaml", "--offline").code in (0, 3)
