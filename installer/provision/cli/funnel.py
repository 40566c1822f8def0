"""One way out for every error: findings for people on stderr, or one JSON document on stdout; then the exit code."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys
from collections.abc import Sequence

import click

from provision.cli.language import default_language, speak, taken
from provision.messages import message
from provision.model.finding import Finding, ProvisionError, Remedy

INTERRUPTED = 130
BUG = 70


def run(arguments: Sequence[str]) -> int:
    """Run the command line; never raises. SIGTERM and SIGHUP undo and end it as Ctrl-C does."""
    lang, arguments = taken(arguments)
    speak(lang or default_language())
    as_json = "--json" in _own(arguments)
    _listen()
    try:
        from provision.cli.group import command

        result = command.main(list(arguments), prog_name="provision", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except ProvisionError as error:
        return _report(error.findings, error.exit_code, as_json, getattr(error, "document", None))
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return 2
    except click.ClickException as error:
        return _report((_usage(error),), 2, as_json)
    except Terminated as error:
        return _report((_interrupted(),), 128 + error.number, as_json)
    except (KeyboardInterrupt, click.Abort):
        return _report((_interrupted(),), INTERRUPTED, as_json)
    except BrokenPipeError:
        _drop_stdout()
        return 0
    except OSError as error:
        if error.filename is not None or error.errno not in (errno.ENOSPC, errno.EIO):
            return _report((_bug(error),), BUG, as_json)
        _drop_stdout()
        return _report((_not_written(error),), 1, as_json=False)
    except Exception as error:
        return _report((_bug(error),), BUG, as_json)


class Terminated(BaseException):
    """Somebody asked the process to end (SIGTERM, SIGHUP). No KeyboardInterrupt: click would make an Abort of it."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(number)


def _listen() -> None:
    """Without a handler the process would end at once, and only the next run would undo."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # One who started it with the signal ignored (nohup) wants that.
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            with contextlib.suppress(ValueError):  # Not the main thread.
                signal.signal(number, _terminate)


def _terminate(number: int, frame: object) -> None:
    raise Terminated(number)


def _own(arguments: Sequence[str]) -> Sequence[str]:
    """The arguments before `--`: what follows belongs to the command of `run`."""
    words = list(arguments)
    return words[: words.index("--")] if "--" in words else words


def _report(
    findings: Sequence[Finding], code: int, as_json: bool, document: dict[str, object] | None = None
) -> int:
    from provision.cli.rendering import print_findings, print_json

    try:
        if as_json:
            print_json({**(document or {}), "findings": [f.to_json() for f in findings]})
        else:
            print_findings(findings)
    except BrokenPipeError:
        _drop_stdout()
    return code


def _usage(error: click.ClickException) -> Finding:
    from provision.cli.usage import told

    context = getattr(error, "ctx", None)
    path = context.command_path if context else "provision"
    return Finding(
        "usage",
        "error",
        told(error.format_message()),
        remedies=(Remedy(message("cli.usage.way"), f"{path} --help"),),
    )


def _not_written(error: OSError) -> Finding:
    """Standard output is a file on a full disk: what was asked for was done, but could not be said."""
    return Finding(
        "output-not-written", "error", message("cli.output-not-written.summary", error=error.strerror)
    )


def _interrupted() -> Finding:
    return Finding("interrupted", "error", message("cli.interrupted.summary"))


def _bug(error: Exception) -> Finding:
    place = _write_traceback()
    return Finding(
        "bug",
        "error",
        message("cli.bug.summary", name=type(error).__name__, error=error),
        detail=(message("cli.bug.detail-if", place=place) if place else ""),
        remedies=(Remedy(message("cli.bug.way")),),
    )


def _write_traceback() -> str | None:
    """The traceback goes to a file, not over the person; PROVISION_DEBUG=1 shows it as well."""
    import tempfile
    import traceback

    if os.environ.get("PROVISION_DEBUG"):
        traceback.print_exc()
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="provision-bug-", suffix=".txt", delete=False, encoding="utf-8"
        ) as file:
            traceback.print_exc(file=file)
            return file.name
    except OSError:
        return None


def _drop_stdout() -> None:
    """The reader of a pipe has gone: nothing more can be written, also not at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
