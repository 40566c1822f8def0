"""explain: a log, or a code, to what is known about it; the facts of a machine and an environment decide."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from provision.messages import message
from provision.model.finding import Finding, Remedy, UsageError

if TYPE_CHECKING:
    from provision.diagnosing.explain import Explanation
    from provision.knowledge.symptoms import Lang
    from provision.pipeline.session import Session


def explain_log(
    stream: BinaryIO,
    session: Session,
    lang: Lang,
    installed: Path | None = None,
    environment: str | None = None,
) -> Explanation:
    """Explain a log with the facts of a package list, of an environment, of this machine or a machine file."""
    from provision.diagnosing.explain import explain_bytes

    return explain_bytes(stream, None, facts(session, installed, environment), lang)


def facts(session: Session, installed: Path | None, environment: str | None) -> dict[str, str]:
    """Named by file or place; a log comes from anywhere, so that this machine speaks only beside an
    environment."""
    from provision.diagnosing.facts import facts_of, installed_facts

    found = {"shell": "powershell"} if sys.platform == "win32" else {}
    if environment or session.machine_file:
        found |= facts_of(session.machine)
    if environment:
        found |= _of_environment(session, environment)
    if installed:
        found |= installed_facts(installed.read_text(encoding="utf-8", errors="replace"))
    return found


def _of_environment(session: Session, environment: str) -> Mapping[str, str]:
    from provision.diagnosing.environments import read_environment
    from provision.pipeline.subjects import subject_of
    from provision.world.reader import HostReader

    where = subject_of(session, environment)
    there = read_environment(HostReader(), where.prefix, where.python)
    found = {f"installed.{name}": version for name, version in there.installed.items()}
    return found | ({"python": there.version} if there.version else {})


@contextmanager
def opened(name: str | None, folder: Path) -> Iterator[BinaryIO]:
    """The log as bytes: a file, or standard input for `-`. Raises UsageError for what cannot be read."""
    if name in (None, "-"):
        yield sys.stdin.buffer
        return
    try:
        stream = (folder / str(name)).open("rb")
    except OSError as error:
        raise UsageError(Finding("unreadable", "error", f"{name}: {error.strerror or error}.")) from None
    with stream:
        yield stream


def page_of(code: str, lang: Lang) -> dict[str, Any] | None:
    """What is known under a code of `explain` or `doctor`; None if it is none."""
    from provision.diagnosing.pages import page

    return page(code, lang)


def no_such_code(word: str) -> UsageError:
    """For a word that is neither a file nor a code."""
    from provision.diagnosing.pages import all_codes

    near = difflib.get_close_matches(word, all_codes(), 3)
    return UsageError(
        Finding(
            "no-such-log", "error", message("pipeline.no-such-log.summary", word=word),
            (message("pipeline.no-such-log.detail-if", near=', '.join(near)) if near else ''),
            remedies=(Remedy(message("pipeline.no-such-log.way"), "python train.py 2>&1 | provision explain -"),),
        )
    )  # fmt: skip
