"""How an explanation is built: order, consequences, causes by facts, honesty about what is not known."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import yaml

import provision.knowledge.symptoms as symptoms
from provision.diagnosing.explain import explain, explain_bytes
from provision.diagnosing.facts import derive, facts_of, fill, holds, installed_facts, unknown
from provision.diagnosing.reading import Line
from provision.knowledge.symptoms import Symptoms, load_symptoms, read_symptoms
from provision.model.machine import Device, Machine

ROW = {
    "meaning": {"en": "it is broken", "zh": "坏了"},
    "source": "here",
    "evidence": "measured",
    "remedies": [{"en": "mend it", "zh": "修好它"}],
    "examples": ["x"],
}


def knowledge(tmp_path: Path, *rows: dict[str, object]) -> Symptoms:
    path = tmp_path / "rows.yaml"
    path.write_text(
        yaml.safe_dump({"symptoms": [{**ROW, **r} for r in rows]}, allow_unicode=True), encoding="utf-8"
    )
    return read_symptoms([path, Path(symptoms.__file__).parent / "base.yaml"])


def log(*texts: str) -> list[Line]:
    return [Line(i, t) for i, t in enumerate(texts, 1)]


def test_the_root_comes_first_and_what_it_explains_is_named_as_a_consequence(tmp_path: Path) -> None:
    rows = knowledge(
        tmp_path,
        {"code": "late-root", "patterns": ["the driver is old"], "rank": 10, "explains": ["symptom-above"]},
        {"code": "symptom-above", "patterns": ["it does not start"], "rank": 60},
        {"code": "follow-up", "patterns": ["giving up now"], "kind": "consequence"},
    )
    said = explain(log("it does not start", "giving up now", "the driver is old"), rows)
    assert [f.code for f in said.findings] == ["late-root"]
    assert [f.code for f in said.consequences] == ["symptom-above", "follow-up"]


def test_two_faults_of_their_own_are_both_roots_the_nearer_to_the_machine_first(tmp_path: Path) -> None:
    rows = knowledge(
        tmp_path,
        {"code": "of-the-model", "patterns": ["shapes differ"], "rank": 80},
        {"code": "of-the-driver", "patterns": ["driver is gone"], "rank": 10},
        {"code": "only-a-warning", "patterns": ["a yanked file"], "rank": 5, "severity": "warning"},
    )
    said = explain(log("a yanked file", "shapes differ", "driver is gone"), rows)
    assert [f.code for f in said.findings] == ["of-the-driver", "of-the-model", "only-a-warning"]


def test_two_that_explain_each_other_leave_one_root(tmp_path: Path) -> None:
    rows = knowledge(
        tmp_path,
        {"code": "one", "patterns": ["first thing"], "explains": ["two"]},
        {"code": "two", "patterns": ["second thing"], "explains": ["one"]},
    )
    said = explain(log("second thing", "first thing"), rows)
    assert len(said.findings) == len(said.consequences) == 1


def test_a_consequence_alone_becomes_the_finding(tmp_path: Path) -> None:
    rows = knowledge(tmp_path, {"code": "follow-up", "patterns": ["giving up now"], "kind": "consequence"})
    said = explain(log("giving up now"), rows)
    assert (said.verdict, [f.code for f in said.findings]) == ("fault", ["follow-up"])


CAUSES = [
    {"id": "old", "when": {"installed.thing": "<2"}, "en": "thing {installed.thing} is old", "zh": "太旧"},
    {"id": "gone", "when": {"installed.thing": "absent"}, "en": "thing is not there", "zh": "没有 thing"},
    {"id": "else", "en": "something else", "zh": "其他原因"},
]  # fmt: skip


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"installed.thing": "1.5"}, "thing 1.5 is old"),
        ({"installed.other": "1"}, "thing is not there"),
        ({"installed.thing": "2.1"}, "something else"),
    ],
)
def test_facts_decide_between_causes(tmp_path: Path, facts: dict[str, str], words: str) -> None:
    rows = knowledge(tmp_path, {"code": "broken", "patterns": ["it broke down"], "causes": CAUSES})
    assert explain(log("it broke down"), rows, facts).findings[0].detail == words


def test_without_facts_the_possible_causes_and_what_would_tell_them_apart_are_said(tmp_path: Path) -> None:
    rows = knowledge(tmp_path, {"code": "broken", "patterns": ["it broke down"], "causes": CAUSES})
    detail = explain(log("it broke down"), rows).findings[0].detail
    assert "thing is not there" in detail
    assert "something else" in detail
    assert "is old" not in detail  # it cannot be said without the version
    assert "the version of thing" in detail


def test_a_deciding_fact_is_among_the_evidence(tmp_path: Path) -> None:
    rows = knowledge(tmp_path, {"code": "broken", "patterns": ["it broke down"], "causes": CAUSES})
    evidence = explain(log("it broke down"), rows, {"installed.thing": "1.5"}).findings[0].evidence
    assert [(e.source, e.text) for e in evidence] == [
        ("line 1", "it broke down"),
        ("the version of thing (--installed)", "1.5"),
    ]


def test_harmless_on_a_machine_without_a_card_a_fault_on_one_with_it(tmp_path: Path) -> None:
    row = {"code": "no-gpu", "patterns": ["runs on the CPU"], "harmless": [{"gpu.vendor": "none"}]}
    rows = knowledge(tmp_path, row)
    assert explain(log("runs on the CPU"), rows, Machine(os="linux", arch="x86_64")).verdict == "harmless"
    card = Machine(os="linux", arch="x86_64", devices=(Device(vendor="nvidia", capability="8.6"),))
    assert explain(log("runs on the CPU"), rows, card).verdict == "fault"


def test_only_noise_says_so() -> None:
    text = (
        b"W tensorflow/compiler/tf2tensorrt/utils/py_utils.cc:38] TF-TRT Warning: Could not find TensorRT\n"
    )
    said = explain_bytes(io.BytesIO(text))
    assert said.summary == "No fault found; known harmless lines."
    assert [f.code for f in said.noise] == ["tf-tensorrt-missing"]
    assert not said.noise[0].remedies


def test_an_unknown_log_is_answered_honestly_with_the_lines_that_look_like_the_error() -> None:
    text = b"""step 1
Traceback (most recent call last):
  File "train.py", line 3, in <module>
    frobnicate()
frob.FrobError: the flux is out of range
step 2
"""
    said = explain_bytes(io.BytesIO(text))
    assert said.verdict == "unknown"
    assert [f.code for f in said.findings] == ["unknown-error"]
    assert [(e.source, e.text) for e in said.findings[0].evidence] == [
        ("line 5", "frob.FrobError: the flux is out of range")
    ]


def test_a_log_of_a_good_run_says_nothing() -> None:
    said = explain_bytes(io.BytesIO(b"epoch 1 loss 0.5\nepoch 2 loss 0.4\nmean_absolute_error: 0.1\n"))
    assert (said.verdict, said.findings, said.suspects) == ("nothing", (), ())


def test_an_explanation_is_plain_data() -> None:
    said = explain_bytes(
        io.BytesIO(b"RuntimeError: Numpy is not available\n"), facts={"installed.numpy": "2.2.6"}
    )
    assert yaml.safe_load(yaml.safe_dump(said.to_json()))["findings"][0]["code"] == "torch-numpy-unavailable"


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ({"v": "<2"}, True),
        ({"v": ">=2"}, False),
        ({"v": ["9", "~^1\\.5"]}, True),
        ({"v": "!~5"}, False),
        ({"v": "present"}, True),
        ({"v": "absent"}, False),
        ({"v": "1.5.0"}, True),
        ({"missing": "absent"}, None),
        ({"installed.nothing": "absent"}, True),
        ({"seen.nothing": "absent"}, True),
        ({"seen.nothing": "present"}, False),
        ({"v": "<2", "missing": "1"}, None),
        ({"v": ">2", "missing": "1"}, False),
        ({}, None),
        ({"v": "=={installed.x}"}, False),
        ({"word": "<2"}, False),
    ],
)
def test_conditions(when: dict[str, object], expected: bool | None) -> None:
    facts = {"v": "1.5.0", "word": "not a version", "installed.x": "3"}
    wanted = {k: tuple(v) if isinstance(v, list) else str(v) for k, v in when.items()}
    assert holds(wanted, facts) is expected


def test_what_is_not_known_is_named() -> None:
    assert unknown({"a": "1", "b": "2"}, {"a": "1"}) == ("b",)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{a} and {b|two}", "1 and two"),
        ("{c}", "…"),
        ("{a|x}", "1"),
        ("{installed.torch-npu|}", ""),
        ("{}", "{}"),
    ],
)
def test_places_in_texts(template: str, text: str) -> None:
    assert fill(template, {"a": "1"}) == text


@pytest.mark.parametrize(
    "text",
    [
        "torch==2.0.1+cu118\nnumpy==1.26.4\n# comment\n-e .\n",
        "Package    Version\n---------- -------\ntorch      2.0.1+cu118\nnumpy      1.26.4\n",
        '[{"name": "torch", "version": "2.0.1+cu118"}, {"name": "numpy", "version": "1.26.4"}]',
        "# packages in environment at /home/user/env:\n#\n# Name  Version  Build  Channel\n"
        "numpy  1.26.4  py310_0\ntorch  2.0.1+cu118  pypi_0  pypi\n",
    ],
)
def test_package_lists_of_every_tool(text: str) -> None:
    assert installed_facts(text) == {"installed.torch": "2.0.1+cu118", "installed.numpy": "1.26.4"}


@pytest.mark.parametrize("text", ["", "[", "[1, 2]", "not a list at all", "\x00\x01"])
def test_a_package_list_that_is_none_gives_nothing(text: str) -> None:
    assert installed_facts(text) == {}


def test_facts_that_follow_from_others() -> None:
    facts = derive({"installed.tensorflow-cpu": "2.10.1", "installed.torch": "2.0.1+cu118"}, load_symptoms())
    assert facts["tf"] == "2.10.1"
    assert (facts["tf.minor"], facts["tf.cuda"], facts["tf.cudnn"]) == ("2.10", "11.2", "8.1")
    assert (facts["torch.build"], facts["torch.public"], facts["torch.vision"]) == ("cu118", "2.0.1", "0.15")


def test_a_machine_becomes_facts() -> None:
    machine = Machine(
        os="linux",
        arch="x86_64",
        libc="glibc-2.36",
        cpu_flags=("avx", "avx2"),
        devices=(Device(vendor="nvidia", name="RTX 3070", capability="8.6"),),
        drivers={"nvidia": "535.154.05"},
        environment={"LD_LIBRARY_PATH": "/usr/local/cuda/lib64"},
        traits=("wsl",),
    )
    facts = facts_of(machine)
    assert facts["cpu.flags"] == "avx avx2"
    assert facts["driver.nvidia"] == "535.154.05"
    assert facts["gpu.capability"] == "8.6"
    assert facts["env.LD_LIBRARY_PATH"] == "/usr/local/cuda/lib64"
    assert facts["wsl"] == "yes"


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"code": "x-one", "patterns": ["some text"], "color": "red"}, "unknown keys"),
        ({"code": "x-two", "patterns": ["\\d+"]}, "anchor"),
        ({"code": "x-three"}, "patterns"),
        ({"code": "pip-yanked", "patterns": ["some text"], "meaning": {"en": "only English"}}, "zh"),
    ],
)
def test_a_row_that_is_wrong_is_refused_by_name(tmp_path: Path, row: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        knowledge(tmp_path, row)


def test_a_code_stands_for_one_row(tmp_path: Path) -> None:
    row = {"code": "same", "patterns": ["some text"]}
    with pytest.raises(ValueError, match="used twice: same"):
        knowledge(tmp_path, row, row)
