"""Options that several verbs share, and the session they make."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from provision.cli.language import local, word
from provision.messages import message
from provision.pipeline.session import Quiet, Session

if TYPE_CHECKING:
    from provision.applying.recovery import Recovered
    from provision.cli.progress import HumanReporter
    from provision.model.receipt import JobResult

F = TypeVar("F", bound=Callable[..., Any])


def json_option(function: F) -> F:
    return click.option("--json", "as_json", is_flag=True)(function)


def quiet_option(function: F) -> F:
    return click.option("-q", "--quiet", is_flag=True)(function)


def world_options(function: F) -> F:
    """Options about where facts and files come from."""
    return machine_option(click.option("--offline", is_flag=True)(function))


def machine_option(function: F) -> F:
    return click.option(
        "--machine",
        "machine_file",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
    )(function)


def bundle_option(function: F) -> F:
    return click.option(
        "--bundle", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR"
    )(function)


def gate_options(function: F) -> F:
    """Options about the machine that the environment must run on."""
    function = click.option("--force", metavar="REASON", default="")(function)
    return click.option(
        "--for-machine", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE"
    )(function)


def set_option(function: F) -> F:
    return click.option("--set", "overrides", multiple=True, metavar="NAME=VALUE", callback=_pairs)(function)


def _pairs(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    for value in values:
        if "=" not in value:
            raise click.BadParameter(message("usage.not-a-value-pair", value=repr(value)), ctx, param)
    return {name: text for name, _, text in (value.partition("=") for value in values)}


def environment_option(function: F) -> F:
    return click.option("--environment", metavar="PATH")(function)


def variant_option(function: F) -> F:
    return click.option("--variant", metavar="NAME")(function)


def target_option(name: str, multiple: bool = False) -> Callable[[F], F]:
    from typing import get_args

    from provision.model.profile import Target

    return click.option("--target", name, multiple=multiple, type=click.Choice(get_args(Target)))


def device_option(function: F) -> F:
    return click.option(
        "--device",
        metavar="DEVICE",
        type=click.Choice(
            ["cpu", "gpu", "cuda", "directml", "rocm", "xpu", "npu", "mlu", "musa", "supa", "mps"]
        ),
    )(function)


def complete_profiles(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
    """Bundled names and YAML files, for the shell's completion."""
    from click.shell_completion import CompletionItem

    from provision.pipeline.profiles import bundled

    names = [CompletionItem(name) for name in bundled() if name.startswith(incomplete)]
    return [*names, CompletionItem(incomplete, type="file")]


def profile_argument(required: bool = True) -> Callable[[F], F]:
    return click.argument("profile", required=required, shell_complete=complete_profiles)


def reference_argument(function: F) -> F:
    """A profile, or the path of an environment, or nothing."""
    return click.argument("reference", required=False, shell_complete=complete_profiles)(function)


def quick_session(quiet: bool) -> Session:
    """A session whose reporter costs nothing to load; for verbs that answer at once."""
    return Session() if quiet else Session(reporter=_Lines())


class _Lines(Quiet):
    """A Reporter of plain lines on stderr."""

    def stage(self, title: str, text: str) -> None:
        from provision.cli.rendering import pad, paint, say

        say(f"  {paint(pad(local(title), 13), sys.stderr, fg='green')}{local(text)}", err=True)


def recovered_json(recovered: Recovered | None) -> dict[str, Any] | None:
    """What recovery did before the verb did its own work, for `--json`."""
    if recovered is None:
        return None
    return {"what": recovered.what, "verb": recovered.verb, "generation": recovered.generation}


def library_options(function: F) -> F:
    """Options about the libraries that are placed beside the packages."""
    function = click.option(
        "--library", "libraries", multiple=True, metavar="NAME=PATH", callback=_library_paths
    )(function)
    return click.option("--accept-licence", is_flag=True)(function)


def _library_paths(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> dict[str, Path]:
    pairs = [text.partition("=") for text in value]
    if wrong := next((text for text, (_, _, path) in zip(value, pairs, strict=True) if not path), None):
        raise click.BadParameter(message("usage.not-a-path-pair", value=wrong))
    return {name: Path(path).expanduser().absolute() for name, _, path in pairs}


def make_session(
    *, quiet: bool, as_json: bool, offline: bool = False, machine_file: Path | None = None,
    overrides: Mapping[str, str] | None = None,
    libraries: dict[str, Path] | None = None, bundle: Path | None = None,
) -> Session:  # fmt: skip
    from provision.cli.progress import HumanReporter

    reporter = HumanReporter(quiet=quiet)
    session = Session(
        offline=offline or bundle is not None, machine_file=machine_file, overrides=overrides or {},
        reporter=reporter, libraries=libraries or {}, bundle_folder=bundle.absolute() if bundle else None,
    )  # fmt: skip
    session.confirm = _asker(as_json)
    session.judged = _teller(reporter)
    return session


def _teller(reporter: HumanReporter) -> Callable[[JobResult], None]:
    """One line a judged job, as a stage of its own."""

    def tell(result: JobResult) -> None:
        from provision.cli.showing import job_line

        reporter.stage(word(f"cli.stage.{result.verdict}"), job_line(result))

    return tell


def _asker(as_json: bool) -> Callable[[str], bool]:
    """Questions go to a person at a terminal; a program gets no for an answer (it should pass --yes)."""

    def ask(question: str) -> bool:
        if as_json or not sys.stdin.isatty():
            return False
        return _confirmed(local(question))

    return ask


def _confirmed(question: str) -> bool:
    """Asked until it is answered; nothing typed is no, the end of the input ends the verb."""
    while True:
        click.echo(word("cli.question", question=question), nl=False, err=True)
        line = sys.stdin.readline()
        if not line:
            raise click.Abort
        answer = line.strip().lower()
        if answer in _YES + _NO:
            return answer in _YES
        click.echo(word("cli.question.again"), err=True)


_YES = ("y", "yes", "是")
_NO = ("", "n", "no", "否")
