"""The language of this process: `--lang`, else PROVISION_LANG, else the locale. Only the command line asks for it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from provision.messages import LANGUAGES, Text, message, said

if TYPE_CHECKING:
    from provision.knowledge import Knowledge
    from provision.model.lock import Lock

_language = "en"


def language() -> str:
    return _language


def speak(lang: str) -> None:
    global _language
    _language = lang


def word(key: str, /, **values: object) -> str:
    """A message in the language of the process."""
    return message(key, **values).said(_language)


def local(text: object) -> str:
    """A text in the language of the process; what is no message stays what it is."""
    return said(text, _language)


def lock_line(text: str, rule: str = "") -> str:
    """A line of a lock, which is written in English, in the language of the process."""
    if _language == "en" or isinstance(text, Text):
        return local(text)
    from provision.knowledge.words import line_of_lock

    return local(line_of_lock(text, rule, _knowledge))


def lock_said(lock: Lock) -> Lock:
    """A lock with its reasons as messages, for a page that says them in the language of the process."""
    if _language == "en":
        return lock
    from provision.knowledge.words import line_of_lock

    return replace(
        lock,
        stack=tuple(replace(c, because=line_of_lock(c.because, c.rule, _knowledge)) for c in lock.stack),
        patches=tuple(replace(p, because=line_of_lock(p.because, p.rule, _knowledge)) for p in lock.patches),
    )


def written(text: str, *areas: str) -> str:
    """A text of these areas that was kept in English, in the language of the process."""
    if _language == "en" or isinstance(text, Text):
        return local(text)
    from provision.messages.recognising import recognised

    return local(recognised(text, *areas))


@cache
def _knowledge() -> Knowledge:
    from provision.knowledge import load_knowledge

    return load_knowledge()


def default_language(environ: Mapping[str, str] = os.environ) -> str:
    """`zh` where PROVISION_LANG or the locale is Chinese; codes and JSON are the same in both."""
    for name in ("PROVISION_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        if value := environ.get(name, ""):
            return "zh" if value.lower().startswith("zh") else "en"
    return "en"


def taken(arguments: Sequence[str]) -> tuple[str | None, list[str]]:
    """The value of `--lang` anywhere before `--`, and the arguments without it. What is no language stays in them,
    so that the one who reads options says so."""
    words, rest, lang = list(arguments), [], None
    own = words.index("--") if "--" in words else len(words)
    place = 0
    while place < own:
        name, equals, value = words[place].partition("=")
        if name == "--lang" and not equals and place + 1 < own:
            value, equals = words[place + 1], " "
        if name == "--lang" and value in LANGUAGES:
            lang, place = value, place + (2 if equals == " " else 1)
            continue
        rest.append(words[place])
        place += 1
    return lang, rest + words[own:]
