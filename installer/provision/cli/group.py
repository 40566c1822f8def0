"""The command and its verbs; a verb's file is loaded when it is called (or when help lists it)."""

from __future__ import annotations

from importlib import import_module

import click

#: verb -> (one line for the list of verbs, module). Kept here so that help need not load the verbs.
VERBS = {
    "apply": "Make the environment what the profile says, and prove that it trains.",
    "plan": "Show what apply would do. Changes nothing.",
    "lock": "Pin the stack: every file with its hash, for each target and Python.",
    "verify": "Prove an environment again: its smoke jobs train on the device.",
    "receipt": "Show what was proven: one receipt, all of them, or two side by side.",
    "status": "Say whether the environment still is what was proven.",
    "history": "List the generations of an environment.",
    "rollback": "Go back to an earlier generation, at once.",
    "gc": "Remove generations that nothing needs.",
    "recover": "Make whole what an interrupted run left.",
    "run": "Run a command inside the environment.",
    "import": "Make a profile of an environment.yml.",
    "detect": "Show this machine: hardware, drivers, Pythons, each with where it was read.",
    "inspect": "Show what a wheel says of itself: builds, GPU code, libraries, glibc.",
    "profiles": "List the profiles that come with provision.",
    "lint": "Check files before anything runs: profiles, requirements, environment.yml, pyproject, pip.conf.",
    "why": "Say why the stack is what it is, and what was rejected by which rule.",
    "why-not": "Say why something does not fit a profile, and the ways out.",
    "doctor": "Find the first broken link, from the hardware to the framework, of any environment.",
    "explain": "Say what an error means: a log or a traceback in, cause and way out.",
    "report": "Write a bundle for a bug report, with names, paths and secrets replaced.",
    "init": "Write a first profile for given frameworks and this (or named) hardware.",
    "export": "Write a lock as requirements.txt, pylock.toml, environment.yml, Dockerfile or conda-lock.yml.",
    "knowledge": "List, show, search and learn the facts that decisions rest on, each with its source.",
    "completion": "Print the completion script of a shell.",
}


#: Verbs of two words: the first is a verb of its own, whose arguments are profiles.
PAIRS = {"lock diff": "lock_diff"}


class Verbs(click.Group):
    """A group whose commands are modules."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        command: click.Command = import_module(f"provision.cli.verb_{cmd_name.replace('-', '_')}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))

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


def _no_verb(word: str) -> str:
    import difflib

    near = difflib.get_close_matches(word, VERBS, 1)
    return f"There is no verb '{word}'." + (
        f" Did you mean '{near[0]}'?" if near else " See provision --help."
    )


@click.group(
    cls=Verbs,
    invoke_without_command=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done or nothing to do, 1 findings, 2 usage or bad profile, 3 unsatisfiable, 4 lock, "
    "5 blocked, 6 failed and rolled back, 7 rollback incomplete, 70 a bug of provision, 130 interrupted.",
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
    """A hardware profile becomes a deep-learning environment that is proven to train.

    \b
        provision apply cpu-tensorflow           a profile that comes with provision
        provision apply profiles/team.yaml       your own
    """
