"""Help in the language of the process: its texts are in the catalogue `help`, not beside the options.

A verb is `@verb("lock.diff")`; its help is `help.text.lock.diff`, the line in a list of verbs `help.verb.lock.diff`, an
option's `help.option.NAME.lock.diff` or, where several verbs share it, `help.option.NAME`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

import click

from provision.cli.language import language, local, word
from provision.cli.rendering import width
from provision.cli.usage import told
from provision.messages import LANGUAGES, catalogue

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


@cache
def _token() -> re.Pattern[str]:
    """A run without blanks, or a wide character with the marks that must stay with it, and the blanks behind.

    Compiled late: it takes milliseconds, and only help in Chinese needs it.
    """
    return re.compile(r"[（《「]*(?:[^\s\u2e80-\uffef]+|[\u2e80-\uffef])[，。：；、？！）》」…]*\s*")


def wrap(text: str, columns: int) -> list[str]:
    """Lines of a text that may break between any two wide characters, and elsewhere at blanks."""
    lines, line = [], ""
    for token in _token().findall(text):
        if line and width((line + token).rstrip()) > columns:
            lines.append(line.rstrip())
            line = ""
        line += token
    return [*lines, line.rstrip()]


def _paragraphs(text: str, columns: int) -> list[list[str]]:
    """Lines of each paragraph; of one that begins with a backspace as they are."""
    return [
        part.splitlines()[1:] if part.startswith("\b") else wrap(" ".join(part.splitlines()), columns)
        for part in text.split("\n\n")
    ]


class Formatter(click.HelpFormatter):
    """click's, with words of the catalogue; it knows nothing of wide characters, so Chinese is laid out here."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        prefix = word("help.usage")
        if language() == "en":
            super().write_usage(prog, args, prefix)
            return
        head = f"{prefix}{prog} "
        lines = wrap(args, self.width - width(head)) if args else [""]
        self.write(
            "\n".join((head + lines[0], *(" " * width(head) + line for line in lines[1:]))).rstrip() + "\n"
        )

    def write_heading(self, heading: str) -> None:
        self.write(f"{'':>{self.current_indent}}{word('help.heading', heading=heading)}\n")

    def write_text(self, text: str) -> None:
        if language() == "en":
            super().write_text(text)
            return
        indent = " " * self.current_indent
        parts = _paragraphs(text, self.width - self.current_indent)
        self.write("\n\n".join("\n".join(indent + line for line in lines) for lines in parts) + "\n")

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        rows = list(rows)
        if language() == "en":
            super().write_dl(rows, col_max, col_spacing)
            return
        first = min(max(width(name) for name, _ in rows), col_max) + col_spacing
        blank = " " * (self.current_indent + first)
        for name, text in rows:
            lines = wrap(text, max(self.width - len(blank), 20))
            head = " " * self.current_indent + name
            if width(name) > first - col_spacing:
                self.write(f"{head}\n")
                head = ""
            self.write((head + " " * (len(blank) - width(head)) + lines[0]).rstrip() + "\n")
            self.write("".join(f"{blank}{line}\n" for line in lines[1:]))


class Context(click.Context):
    formatter_class = Formatter


class Verb(click.Command):
    """A command whose texts are in the catalogue. `--lang` is taken by the funnel; here it is named, and what is no
    language refused."""

    context_class = Context

    def __init__(self, *args: Any, key: str, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.key = key
        self._lang = click.Option(["--lang"], type=click.Choice(LANGUAGES), expose_value=False)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        own = super().get_params(ctx)
        place = len(own) - (len(own) > len(self.params))  # The help option, where there is one, is the last.
        return [*own[:place], self._lang, *own[place:]]

    def get_short_help_str(self, limit: int = 45) -> str:
        return word(f"help.verb.{self.key}")

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [local(told(piece)) for piece in super().collect_usage_pieces(ctx)]

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(word(f"help.text.{self.key}"))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        rows = [(r[0], self._help(param, r[1])) for param in options if (r := param.get_help_record(ctx))]
        with formatter.section(word("help.options")):
            formatter.write_dl(rows)

    def _help(self, param: click.Parameter, record: str) -> str:
        """An option's text, and what click adds to it (`[default: 2; x>=1]`)."""
        extra = re.search(r"\[([^]]*)\]$", record) if not getattr(param, "help", "") else None
        more = "; ".join(local(told(part)) for part in extra[1].split("; ")) if extra else ""
        return self.option_help(param) + (f"  [{more}]" if more else "")

    def option_help(self, param: click.Parameter) -> str:
        name = max(param.opts, key=len).lstrip("-")
        own = f"help.option.{name}.{self.key}"
        choices = ", ".join(map(str, getattr(param.type, "choices", ())))
        return word(own if own in catalogue("help", "en") else f"help.option.{name}", choices=choices)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        params = {opt: p for p in self.get_params(ctx) if isinstance(p, click.Option) for opt in p.opts}
        items = super().shell_complete(ctx, incomplete)
        for item in items:
            if item.value in params:
                item.help = self.option_help(params[item.value])
        return items


class VerbGroup(Verb, click.Group):
    """A verb that has verbs of its own."""

    command_class = Verb

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(ctx, formatter)
        self.format_commands(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        names = self.list_commands(ctx)
        rows = [(name, one.get_short_help_str()) for name in names if (one := self.get_command(ctx, name))]
        with formatter.section(word("help.commands")):
            formatter.write_dl(rows)


def verb(key: str, **settings: Any) -> Callable[[Callable[..., Any]], Verb]:
    """A command; the last part of its key is its name."""
    return click.command(key.rpartition(".")[2], cls=Verb, key=key, **settings)


def verb_group(key: str, **settings: Any) -> Callable[[Callable[..., Any]], VerbGroup]:
    return click.group(key.rpartition(".")[2], cls=VerbGroup, key=key, **settings)
