"""What `--help` says, in both languages: every verb has an example that it takes, every option a text."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from provision.cli import helping
from provision.cli.group import PAIRS, VERBS, command
from provision.cli.helping import Verb, wrap
from provision.cli.rendering import width
from provision.messages import catalogue, template
from tests.cli.conftest import Here
from tests.support.golden import golden

ALL = [*VERBS, *PAIRS]


def found(verb: str) -> click.Command:
    with click.Context(command) as context:
        name, one, _ = command.resolve_command(context, verb.split())
    assert (name, one is not None) == (verb, True)
    assert one is not None
    return one


@pytest.mark.parametrize("verb", ALL)
def test_every_verb_has_an_example_with_words_that_it_knows(verb: str, here: Here) -> None:
    ran = here(*verb.split(), "--help")
    assert ran.code == 0
    examples = re.findall(rf"^ {{6,}}.*?(provision {verb}(?: .*|$))", ran.out, re.MULTILINE)
    assert examples, ran.out
    one = found(verb)
    options = {word for param in one.params for word in (*param.opts, *param.secondary_opts)}
    if isinstance(one, click.Group):
        options |= {w for sub in one.commands.values() for param in sub.params for w in param.opts}
    for example in examples:
        words = re.split(r"\s{3,}|\s\|\s| -- ", example)[0].split()
        assert [
            w for w in words if w.startswith("-") and w not in ("-", "--") and w.split("=")[0] not in options
        ] == []


def test_the_list_of_verbs_is_short_enough_to_read(here: Here) -> None:
    ran = here("--help")
    assert all(verb in ran.out for verb in VERBS)
    lines = [catalogue("help", "en")[f"help.verb.{verb}"] for verb in VERBS]
    assert all(isinstance(text, str) and text[0].isupper() and text.endswith(".") for text in lines)


def every_command() -> Iterator[Verb]:
    todo: list[click.Command] = [command, *map(found, ALL)]
    while todo:
        one = todo.pop()
        assert isinstance(one, Verb)
        yield one
        if isinstance(one, click.Group) and one is not command:
            todo += one.commands.values()


def option_keys(one: Verb, key: str) -> Iterator[str]:
    with click.Context(one, help_option_names=["-h", "--help"]) as context:
        for param in one.get_params(context):
            if isinstance(param, click.Option):
                name = max(param.opts, key=len).lstrip("-")
                own = f"help.option.{name}.{key}"
                yield own if own in catalogue("help", "en") else f"help.option.{name}"


def test_every_verb_and_option_has_its_text_and_no_text_is_left_over() -> None:
    used = {"help.commands", "help.exit-codes", "help.heading", "help.options", "help.usage", "help.verbs"}
    for one in every_command():
        used |= {f"help.text.{one.key}", *option_keys(one, one.key)}
        used |= {f"help.verb.{one.key}"} if one is not command else set()
    assert used == set(catalogue("help", "en")) == set(catalogue("help", "zh"))


def test_examples_are_the_same_in_both_languages() -> None:
    def commands(lang: str, key: str) -> list[str]:
        text = template(key, lang)
        assert isinstance(text, str)
        return [re.split(r"\s{5,}", line.strip())[0] for line in text.splitlines() if line.startswith("    ")]

    for one in every_command():
        key = f"help.text.{one.key}"
        assert commands("zh", key) == commands("en", key)


@pytest.mark.parametrize("verb", ["", *ALL])
def test_chinese_help_is_aligned_and_fits(verb: str, here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ran = here(*verb.split(), "--help", "--lang", "zh")
    assert ran.code == 0
    body, _, rest = ran.out.partition("选项：\n")
    options = rest.split("\n\n")[0].splitlines()
    columns = {width(m[1]) for line in options if (m := re.match(r"(  \S.*?\s{2,}| {6,})\S", line))}
    assert len(columns) <= 2, options  # An option longer than its column has its text below.
    prose = [line for line in body.splitlines() if not line.startswith("      ")]
    texts = [line for line in options if "  " in line.strip() or line.startswith("      ")]  # No name alone.
    assert all(width(line) <= 78 for line in (*prose, *texts))
    assert "--lang [en|zh]" in rest


def test_golden_help_in_chinese(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    golden("help-zh", here("--help", "--lang", "zh").out)
    golden("help-why-not-zh", here("why-not", "--help", "--lang=zh").out)


def test_marks_stay_with_their_words() -> None:
    lines = wrap("环境（见下文）一旦失败，就保持原样；不会有任何改动。", 10)
    assert all(width(line) <= 12 for line in lines)
    assert not any(line[0] in "，；。）" or line[-1] == "（" for line in lines)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("plan", "缺少参数 'PROFILE'。"),
        ("plan x --devic cpu", "没有 '--devic' 这个选项。是不是想写 '--device'？"),
        ("plan x --device foo", "'--device' 的值无效：'foo' 不在可选值之中："),
        ("gc --keep 0", "'--keep' 的值无效：0 不在范围 x>=1 之内。"),
        ("gc --keep x", "'--keep' 的值无效：'x' 不是有效的整数。"),
        ("detect --machine nofile", "'--machine' 的值无效：文件 'nofile' 不存在。"),
        ("detect a", "多出了一个参数（a）"),
        ("detect --json=4", "选项 '--json' 不带值。"),
        ("detect --set a", "'--set' 的值无效：'a' 不是 NAME=VALUE 的形式"),
        ("explain --env", "选项 '--env' 需要一个值。"),
        ("export x", "缺少选项 '--format'。可选："),
        ("receipt foo", "没有 'foo' 这个命令。"),
        ("plna", "没有“plna”这个命令。是不是想写“plan”？"),
    ],
)
def test_usage_errors_in_both_languages(words: str, said: str, here: Here) -> None:
    english, chinese = here(*words.split()), here(*words.split(), "--lang", "zh")
    assert english.code == chinese.code == 2
    assert english.err.startswith("error: ")
    assert english.err.isascii()
    assert chinese.err.startswith(f"错误：{said}")


def test_what_is_no_language_is_refused(here: Here) -> None:
    for words in (("--lang", "fr"), ("detect", "--lang", "fr"), ("lock", "diff", "a", "b", "--lang=fr")):
        ran = here(*words)
        assert (ran.code, "'fr' is not one of 'en', 'zh'" in ran.err) == (2, True)


def test_completion_knows_verbs_and_options(monkeypatch: pytest.MonkeyPatch) -> None:
    with command.make_context("provision", [], resilient_parsing=True) as context:
        names = {item.value: item.help for item in command.shell_complete(context, "pl")}
        assert names == {"plan": "Show what apply would do. Changes nothing."}
    with found("plan").make_context("plan", [], resilient_parsing=True) as context:
        options = {item.value: item.help for item in context.command.shell_complete(context, "--")}
        assert options["--json"] == "One JSON document on stdout, all else on stderr."
        assert "--lang" in options


def test_help_texts_stand_in_the_catalogue_only() -> None:
    """Not beside the options: they would be in one language."""
    for path in Path(helping.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).startswith(
                ("click.", "verb", "command.")
            ):
                literal = [k for k in node.keywords if k.arg in ("help", "short_help", "epilog")]
                assert not literal, f"{path.name}:{node.lineno}"


def test_schema_prints_what_the_repository_holds(here: Here) -> None:
    folder = Path(__file__).parents[2] / "schemas"
    for file in sorted(folder.iterdir()):
        if file.name != "knowledge.schema.json":
            name = file.name.removesuffix(".schema.json")
            assert here("schema", name).out == file.read_text(encoding="utf-8"), name
    assert here("schema").out == (folder / "profile.schema.json").read_text(encoding="utf-8")
    assert "properties" in json.loads(here("schema", "knowledge", "--json").out)
