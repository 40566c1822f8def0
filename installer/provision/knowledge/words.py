"""Words in both languages for the lines of a lock, which are written down in English. Only for people who read Chinese:
the English is the line itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields

from provision.knowledge.base import Knowledge
from provision.knowledge.rows import Row
from provision.messages import Bilingual, Text
from provision.messages.recognising import recognised

#: The areas whose messages stand in locks.
_AREAS = ("resolving", "locking")


def line_of_lock(text: str, rule: str, knowledge: Callable[[], Knowledge]) -> str:
    """Why a choice, a need, a patch or a note of a lock is there, in both languages where they are known.

    `knowledge` is asked for only where the line is no message of the solver, but the text of a row.
    """
    found = recognised(text, *_AREAS)
    return found if isinstance(found, Text) or not rule else words_of(text, rule, knowledge())


def words_of(text: str, rule: str, knowledge: Knowledge) -> str:
    """The text of the row with this id that is this text in English, in both languages; else the text as it is: there is
    no such row any more, or it says something else today.
    """
    row = knowledge.row(rule) if rule else None
    return next((one for one in _words(row) if one == text), text) if row else text


def _words(row: Row) -> Iterator[Bilingual]:
    for field in fields(row):
        value = getattr(row, field.name)
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, Bilingual):
                yield one
