"""provision explain"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from provision.cli.common import json_option, lang_option

if TYPE_CHECKING:
    from provision.diagnosing.explain import Explanation

#: Texts of the screens, by language.
_WORDS = {
    "en": {
        "follows": "Follows from it:", "harmless": "Harmless:", "looks": "Looks like an error:",
        "causes": "causes", "ways": "ways out", "never": "not", "line": "line", "source": "source",
        "facts": "Tell more and the answer is sharper: --installed FILE (pip freeze), --env PATH, --machine FILE.",
    },
    "zh": {
        "follows": "由此引起：", "harmless": "无害：", "looks": "看起来像错误：",
        "causes": "原因", "ways": "解决办法", "never": "不要", "line": "日志行", "source": "来源",
        "facts": "提供更多信息，回答会更准确：--installed FILE（pip freeze）、--env PATH、--machine FILE。",
    },
}  # fmt: skip


@click.command("explain", short_help="Say what an error means: a log or a traceback in, cause and way out.")
@click.argument("what", required=False, metavar="FILE|-|CODE")
@click.option(
    "--installed", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
    help="A list of the packages there: pip freeze, pip list, conda list.",
)  # fmt: skip
@click.option("--env", "environment", metavar="PATH", help="The environment that the log comes from.")
@click.option(
    "--machine", "machine_file", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
    help="The machine that the log comes from, made by `detect --save`.",
)  # fmt: skip
@lang_option
@json_option
def command(
    what: str | None, installed: Path | None, environment: str | None, machine_file: Path | None, lang: str,
    as_json: bool,
) -> int:  # fmt: skip
    """Explain a log or a traceback: what broke, why, and the one thing to do. Exit 1 with faults, 0 with none.

    Logs of any size and encoding are read; `-` is standard input. A CODE that a finding ended with prints all
    that is known about it.

    \b
        provision explain train.log
        python train.py 2>&1 | provision explain -
        provision explain tf-duplicate-op-kernel
    """
    from provision.pipeline.explaining import explain_log, no_such_code, opened, page_of
    from provision.pipeline.session import Session

    session = Session(machine_file=machine_file)
    if what is None and sys.stdin.isatty():
        raise click.UsageError("Name a log, `-` for standard input, or a code.")
    if what not in (None, "-") and not (session.folder / str(what)).exists() and _is_code(str(what)):
        page = page_of(str(what), _lang(lang))
        if page is None:
            raise no_such_code(str(what))
        _print_page(page, lang, as_json)
        return 0
    with opened(what, session.folder) as stream:
        said = explain_log(stream, session, _lang(lang), installed, environment)
    if as_json:
        from provision.cli.rendering import print_json

        print_json(said.to_json())
    else:
        _show(said, lang, bool(installed or environment or machine_file))
    return int(said.verdict in ("fault", "unknown"))


def _is_code(word: str) -> bool:
    return re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", word) is not None


def _lang(lang: str) -> Any:
    return "zh" if lang == "zh" else "en"


def _show(said: Explanation, lang: str, told: bool) -> None:
    from provision.cli.rendering import finding_lines, say, table

    words = _WORDS[lang]
    say(said.summary)
    for finding in said.findings:
        say()
        for line in finding_lines(finding, sys.stdout):
            say(line)
    for title, group in (("follows", said.consequences), ("harmless", said.noise)):
        if group:
            say()
            say(words[title])
            for line in table([(_place(f), f"{f.summary}  [{f.code}]") for f in group]):
                say(line)
    if said.suspects and said.verdict != "unknown":
        say()
        say(words["looks"])
        for line in table([(e.source, e.text) for e in said.suspects]):
            say(line)
    if said.verdict == "fault" and not told:
        say()
        say(words["facts"])


def _place(finding: Any) -> str:
    return finding.evidence[0].source if finding.evidence else ""


def _print_page(page: dict[str, Any], lang: str, as_json: bool) -> None:
    from provision.cli.rendering import block, paint, print_json, say
    from provision.cli.rendering import row as labelled

    if as_json:
        print_json(page)
        return
    words = _WORDS[lang]
    say(f"{paint(page['code'], bold=True)}   {' · '.join(filter(None, (page['kind'], page['framework'], page['vendor'])))}")
    say(page["meaning"])
    for line in page["examples"][:2]:
        say(labelled(words["line"], line))
    for number, cause in enumerate(page["causes"]):
        for text in block(words["causes"] if number == 0 else "", cause["text"]):
            say(text)
        for way in cause["remedies"]:
            _print_way("", way)
    for number, way in enumerate(page["remedies"]):
        _print_way(words["ways"] if number == 0 else "", way)
    for number, text in enumerate(page["never"]):
        say(labelled(words["never"] if number == 0 else "", text))
    if page["source"]:
        say(labelled(words["source"], ", ".join(page["source"])))


def _print_way(label: str, way: dict[str, str]) -> None:
    from provision.cli.rendering import paint, say
    from provision.cli.rendering import row as labelled

    say(labelled(label, f"- {way['text']}"))
    if way["command"]:
        say(labelled("", f"  {paint(way['command'], bold=True)}"))
