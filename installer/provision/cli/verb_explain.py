"""provision explain"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from provision.cli.common import json_option
from provision.cli.helping import verb
from provision.cli.language import language, word
from provision.messages import message

if TYPE_CHECKING:
    from provision.diagnosing.explain import Explanation


@verb("explain")
@click.argument("what", required=False, metavar="FILE|-|CODE")
@click.option("--installed", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE")
@click.option("--env", "environment", metavar="PATH")
@click.option(
    "--machine", "machine_file", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE"
)
@json_option
def command(
    what: str | None, installed: Path | None, environment: str | None, machine_file: Path | None, as_json: bool,
) -> int:  # fmt: skip
    from provision.pipeline.explaining import explain_log, no_such_code, opened, page_of
    from provision.pipeline.session import Session

    session = Session(machine_file=machine_file)
    if what is None and sys.stdin.isatty():
        raise click.UsageError(message("usage.log-or-code"))
    if what not in (None, "-") and not (session.folder / str(what)).exists() and _is_code(str(what)):
        page = page_of(str(what), _lang(as_json))
        if page is None:
            raise no_such_code(str(what))
        _print_page(page, as_json)
        return 0
    with opened(what, session.folder) as stream:
        said = explain_log(stream, session, _lang(as_json), installed, environment)
    if as_json:
        from provision.cli.rendering import print_json

        print_json(said.to_json())
    else:
        _show(said, bool(installed or environment or machine_file))
    return int(said.verdict in ("fault", "unknown"))


def _is_code(text: str) -> bool:
    return re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", text) is not None


def _lang(as_json: bool) -> Any:
    """JSON is the same in every language."""
    return "zh" if language() == "zh" and not as_json else "en"


def _show(said: Explanation, told: bool) -> None:
    from provision.cli.rendering import finding_lines, say, table

    say(said.summary)
    for finding in said.findings:
        say()
        for line in finding_lines(finding, sys.stdout, elsewhere=True):
            say(line)
    follows, harmless = word("cli.explain.follows"), word("cli.explain.harmless")
    for title, group in ((follows, said.consequences), (harmless, said.noise)):
        if group:
            say()
            say(title)
            for line in table([(_place(f), f"{f.summary}  [{f.code}]") for f in group]):
                say(line)
    if said.suspects and said.verdict != "unknown":
        say()
        say(word("cli.explain.looks"))
        for line in table([(e.source, e.text) for e in said.suspects]):
            say(line)
    if said.verdict == "fault" and not told:
        say()
        say(word("cli.explain.facts"))


def _place(finding: Any) -> str:
    return finding.evidence[0].source if finding.evidence else ""


def _print_page(page: dict[str, Any], as_json: bool) -> None:
    from provision.cli.rendering import block, paint, print_json, say
    from provision.cli.rendering import row as labelled

    if as_json:
        print_json(page)
        return
    say(
        f"{paint(page['code'], bold=True)}   {' · '.join(filter(None, (page['kind'], page['framework'], page['vendor'])))}"
    )
    say(page["meaning"])
    for line in page["examples"][:2]:
        say(labelled(word("cli.explain.line"), line))
    label = word("cli.explain.cases" if page["kind"] == "provision" else "cli.explain.causes")
    for number, cause in enumerate(page["causes"]):
        for text in block(label if number == 0 else "", cause["text"]):
            say(text)
        for way in cause["remedies"]:
            _print_way("", way)
    for number, way in enumerate(page["remedies"]):
        _print_way(word("cli.explain.ways") if number == 0 else "", way)
    for number, text in enumerate(page["never"]):
        say(labelled(word("cli.explain.never") if number == 0 else "", text))
    if page["source"]:
        say(labelled(word("cli.explain.source"), ", ".join(page["source"])))


def _print_way(label: str, way: dict[str, str]) -> None:
    from provision.cli.rendering import paint, say
    from provision.cli.rendering import row as labelled

    say(labelled(label, f"- {way['text']}"))
    if way["command"]:
        say(labelled("", f"  {paint(way['command'], bold=True)}"))
