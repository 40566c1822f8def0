"""The command and its verbs; a verb's file is loaded when it is called (or when help lists it)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import click

from provision.cli.helping import Verb, VerbGroup
from provision.cli.language import word
from provision.messages import Text, message

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

#: In the order of the list of verbs; help lists them without loading their files.
VERBS = (
    "apply",
    "plan",
    "lock",
    "verify",
    "receipt",
    "status",
    "history",
    "rollback",
    "gc",
    "recover",
    "run",
    "import",
    "detect",
    "inspect",
    "profiles",
    "lint",
    "why",
    "why-not",
    "doctor",
    "explain",
    "report",
    "init",
    "export",
    "bundle",
    "knowledge",
    "schema",
    "completion",
)


#: Verbs of two words: the first is a verb of its own, whose arguments are profiles.
PAIRS = {"lock diff": "lock_diff"}


class Verbs(VerbGroup):
    """A group whose commands are modules."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        command: click.Command = import_module(f"provision.cli.verb_{cmd_name.replace('-', '_')}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section(word("help.verbs")):
            formatter.write_dl([(verb, word(f"help.verb.{verb}")) for verb in VERBS])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(word("help.exit-codes"))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Names come from the list, so that no verb's file is loaded."""
        from click.shell_completion import CompletionItem as Item

        verbs = [Item(v, help=word(f"help.verb.{v}")) for v in VERBS if v.startswith(incomplete)]
        return verbs if verbs and incomplete else [*verbs, *Verb.shell_complete(self, ctx, incomplete)]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        words = " ".join(args[:2])
        if words in PAIRS:
            pair: click.Command = import_module(f"provision.cli.verb_{PAIRS[words]}").command
            return words, pair, args[2:]
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            ctx.fail(_no_verb(args[0]))
        return super().resolve_command(ctx, args)


def _no_verb(name: str) -> Text:
    import difflib

    near = difflib.get_close_matches(name, VERBS, 1)
    return (
        message("usage.no-verb-near", name=name, near=near[0])
        if near
        else message("usage.no-verb", name=name)
    )


@click.group(
    cls=Verbs,
    key="provision",
    invoke_without_command=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(
    None,
    "-V",
    "--version",
    package_name="dl-provision",
    prog_name="provision",
    message="%(prog)s %(version)s",
)
def command() -> None:
    pass
