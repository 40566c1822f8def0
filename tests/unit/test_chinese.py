"""What people are told in Chinese is Chinese throughout: findings of many stages, and the lines of locks, as the screen has
them. English are names, codes, commands, what another program said, and the sources of knowledge rows.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support import machines

from provision.cli.language import speak
from provision.cli.rendering import finding_lines
from provision.detecting import detect
from provision.detecting.rows import table
from provision.knowledge import KnowledgeError, load_knowledge
from provision.knowledge.reading import read_rows
from provision.knowledge.words import line_of_lock
from provision.linting import Document, lint
from provision.loading import load, load_file
from provision.messages import Bilingual, catalogue, joined, message, said
from provision.messages.recognising import recognised
from provision.model.finding import Finding, ProvisionError
from provision.resolving import python_choices, pythons, resolve
from provision.world.store import disk_full

TESTS = Path(__file__).parents[1]
KNOWLEDGE = load_knowledge()
CHINESE = re.compile("[\u4e00-\u9fff]")
#: Words that stand in English sentences and hardly in names, versions and commands.
ENGLISH = re.compile(r"\b(the|of|is|are|not|which|with|from|that|has|have|cannot|does|another|there|an|or)\b")
#: What is no sentence of ours: quoted text, another program's error, a command.
NOT_OURS = re.compile(
    r"`[^`]*`|'[^']*'|\"[^\"]*\"|\b\w*Error: [ -~]+|docker run [ -~]+|_ARRAY_API not found"
    r"|operator \S+ does not exist|--?[\w-]+"
)


@pytest.fixture(autouse=True)
def chinese() -> Iterator[None]:
    speak("zh")
    yield
    speak("en")


def english_left(text: str) -> str:
    """The first word of English that stands in a text, or nothing."""
    match = ENGLISH.search(NOT_OURS.sub("", text))
    return match[0] if match else ""


def check(finding: Finding) -> None:
    """The lines of the screen; those of the evidence quote files, programs and sources."""
    # libyaml's own words stand below ours.
    own = replace(finding, evidence=(), detail="" if finding.code == "yaml-syntax" else finding.detail)
    lines = [line for line in finding_lines(own, io.StringIO()) if line.strip()]
    commands = {remedy.command for remedy in finding.remedies}
    assert CHINESE.search(lines[0]), lines
    for line in lines:
        assert line.strip() in commands or not english_left(line), line


def refusal(action: Any, *arguments: Any) -> tuple[Finding, ...]:
    with pytest.raises(ProvisionError) as caught:
        action(*arguments)
    return caught.value.findings


@pytest.mark.parametrize("path", sorted((TESTS / "data/bad-profiles").glob("*.yaml")), ids=lambda p: p.stem)
def test_a_bad_profile_is_refused_in_chinese(path: Path) -> None:
    findings = refusal(load, path.read_bytes(), "profiles/bad.yaml")
    for finding in findings:
        check(finding)


def test_the_place_and_the_hint_beside_it() -> None:
    [finding] = refusal(load, "name: a\npyhton: '3.10'\ntargets: [linux-x86_64]\n", "profiles/a.yaml")
    assert finding_lines(finding, io.StringIO()) == [
        "错误：profiles/a.yaml:2:1: 未知的键 'pyhton'  [unknown-key]",
        "      2 | pyhton: '3.10'",
        "        | ^^^^^^ 您是不是想写 'python'？",
    ]
    assert finding.summary == "profiles/a.yaml:2:1: unknown key 'pyhton'"
    assert finding.evidence[0].text.endswith("^^^^^^ did you mean 'python'?")


def test_a_file_that_is_not_there() -> None:
    def read(path: str) -> bytes:
        raise FileNotFoundError(path)

    [finding] = refusal(load_file, "x.yaml", read)
    assert said(finding.summary, "zh") == "x.yaml: 没有这个文件"


@pytest.mark.parametrize("name", ["conflicts", "families", "names", "paths", "sources"])
def test_lint_speaks_chinese(name: str) -> None:
    spoken = 0
    for scenario in yaml.safe_load((TESTS / f"scenarios/lint/{name}.yaml").read_text("utf-8")):
        documents = [Document(file, text) for file, text in scenario["files"].items()]
        for finding in lint(documents, KNOWLEDGE, None, scenario.get("folder", "")):
            check(finding)
            spoken += 1
    assert spoken >= 5


@pytest.mark.parametrize("name", machines.names())
def test_what_is_wrong_with_a_machine_is_said_in_chinese(name: str) -> None:
    for finding in detect(machines.fake(machines.record(name)))[1]:
        check(finding)


def test_every_known_complaint_of_a_tool_is_in_both_languages() -> None:
    for row in table("troubles"):
        for text in (row["summary"], row.get("detail", {"en": "-", "zh": "无"}), *row["remedies"]):
            assert set(text) == {"en", "zh"}, row["id"]


@pytest.mark.parametrize("file", ["tensorflow", "torch", "dual", "vendors"])
def test_a_refusal_of_the_solver_is_in_chinese(file: str) -> None:
    scenarios = yaml.safe_load((TESTS / f"scenarios/solve/{file}.yaml").read_text("utf-8"))
    refused = [one for one in scenarios if "codes" in one and "choose" not in one][:8]
    assert refused
    for one in refused:
        document = {"schema": 1, "name": "scenario", "targets": [one["target"]], **one["profile"]}
        document |= {"python": one["python"]} if "python" in one else {}
        profile = load(yaml.safe_dump(document), "scenario.yaml")
        found = pythons(profile, one["target"], KNOWLEDGE) or python_choices(profile)
        for finding in refusal(resolve, profile, one["target"], found[0], KNOWLEDGE):
            check(finding)


def test_a_full_disk_is_told_in_chinese() -> None:
    check(disk_full(Path("/cache"), 2_000_000_000, 5_000_000))
    check(disk_full(Path("/cache"), None, None))


def test_every_row_that_people_read_is_in_both_languages() -> None:
    """Names and versions alone are the same in both."""
    seen = 0
    for row in KNOWLEDGE.list():
        for name in ("because", "instead", "why", "what_is_so"):
            value = getattr(row, name, "")
            for text in value if isinstance(value, tuple) else (value,):
                seen += isinstance(text, Bilingual)
                assert isinstance(text, Bilingual) or not english_left(text), (row.id, text)
                assert not isinstance(text, Bilingual) or CHINESE.search(said(text, "zh")), (row.id, text)
                assert not english_left(said(text, "zh")), (row.id, said(text, "zh"))
    assert seen > 200


ROW = """
rules:
- id: own
  when: {framework: torch}
  then: note
  because: BECAUSE
  source: a run of our own
  evidence: community
  verified-on: 2026-11-30
"""


def test_a_row_in_english_alone_is_said_in_english() -> None:
    [row] = read_rows(ROW.replace("BECAUSE", "it is old"), "own.yaml")
    assert said(getattr(row, "because"), "zh") == "it is old"  # noqa: B009 (a Row has it in one kind only)


def test_a_row_in_both_languages() -> None:
    [row] = read_rows(ROW.replace("BECAUSE", "{en: it is old, zh: 太旧}"), "own.yaml")
    texts = [getattr(row, field.name) for field in fields(row) if field.name == "because"]
    assert texts == ["it is old"]
    assert said(texts[0], "zh") == "太旧"


@pytest.mark.parametrize("because", ["{en: it is old}", "{en: it is old, zh: 太旧, fr: vieux}", "{zh: 太旧}"])
def test_a_row_in_other_languages_is_refused(because: str) -> None:
    with pytest.raises(KnowledgeError) as caught:
        list(read_rows(ROW.replace("BECAUSE", because), "own.yaml"))
    check(caught.value.findings[0])


# --- what was written down in English


LINES = [
    ("its maker tested it with cuda 11.2, cuDNN 8.1", "厂商用 cuda 11.2 和 cuDNN 8.1 测试过"),
    ("the profile's hardware", "配置文件里的硬件"),
    ("tensorflow, torch was built with 11.2 and brings none; its wheels stand beside it", "tensorflow、torch 用 11.2 构建"),
    ("build py3.11_cuda12.1_cudnn8_0 of pytorch", "pytorch 的构建 py3.11_cuda12.1_cudnn8_0"),
    ("the tag of a-1-cp39-abi3-manylinux_2_28_x86_64.whl", "a-1-cp39-abi3-manylinux_2_28_x86_64.whl 的标签"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "chinese"), LINES)
def test_a_line_of_a_lock_is_found_again(line: str, chinese: str) -> None:
    found = recognised(line, "resolving", "locking")
    assert found == line
    assert said(found, "zh").startswith(chinese)


def test_the_text_of_a_row_in_a_lock_is_found_by_its_rule() -> None:
    asked = []

    def knowledge() -> Any:
        asked.append(1)
        return KNOWLEDGE

    row = KNOWLEDGE.row("tf28x-211-numpy")
    assert row is not None
    text = str(getattr(row, "why"))  # noqa: B009
    assert said(line_of_lock(text, row.id, knowledge), "zh") == said(getattr(row, "why"), "zh")  # noqa: B009
    # A lock that was made with older words keeps them; what needs no row reads none.
    assert line_of_lock("an older text", row.id, knowledge) == "an older text"
    assert (
        said(line_of_lock("the profile's hardware", "x", lambda: pytest.fail("read")), "zh")
        == "配置文件里的硬件"
    )
    assert len(asked) == 2


def test_notes_on_a_wheel_are_found_again() -> None:
    note = joined(
        (
            message("artifacts.module.its-imports-lie-too-deep"),
            message("artifacts.with-samples.its-code-was-seen-in", taken=4),
        ),
        "; ",
    )
    found = recognised(str(note), "artifacts")
    assert found == note
    assert said(found, "zh") == said(note, "zh")
    assert CHINESE.search(said(note, "zh"))


def test_what_no_message_says_stays_as_it_is() -> None:
    text = "RuntimeError: Numpy is not available; and so on"
    assert recognised(text, "resolving", "locking", "artifacts") is text


@pytest.mark.parametrize("area", ["resolving", "locking", "artifacts"])
def test_every_message_is_recognised_as_itself(area: str) -> None:
    """With plain words in its places; two messages may have the same English."""
    for key, text in catalogue(area, "en").items():
        assert isinstance(text, str)
        values = {name: f"x{i}" for i, name in enumerate(sorted(re.findall(r"(?<!\{)\{(\w+)\}", text)))}
        made = message(key, **values)
        if sum(c.isalpha() for c in re.sub(r"\{\w+\}", "", text)) > 2:
            found = recognised(str(made), area)
            assert found == made
            assert said(found, "zh") == said(made, "zh"), key
