"""Texts that were written down in English (in a lock, a receipt, a journal), or that click said, as the messages that they
were, to say them in the reader's language. Slow beside `message`: for the few lines of a screen.
"""

from __future__ import annotations

import re
from functools import cache

from provision.messages import _PLACE, Template, Text, catalogue, joined, message

#: What places hold that may be empty; all others hold something.
_SHAPES = {"where": "(?: in the order .+?)?"}
#: How deep a message may stand in a message.
_DEPTH = 3


def recognised(text: str, *areas: str) -> str:
    """The message of these areas whose English is this text, or the text as it is where none is.

    Of several that fit, the one with most words of its own. Its values are looked at in the same way.
    """
    found = _recognised(text, areas, _DEPTH)
    if isinstance(found, Text):
        return found
    parts = [_recognised(part, areas, _DEPTH) for part in text.split("; ")]
    return joined(parts, "; ") if all(isinstance(part, Text) for part in parts) else text


def _recognised(text: str, areas: tuple[str, ...], depth: int) -> str:
    for area in areas if depth else ():
        for pattern, key in _patterns(area):
            if match := pattern.fullmatch(text):
                places = match.groupdict().items()
                return message(key, **{name: _value(name, value, areas, depth - 1) for name, value in places})
    return text


def _value(name: str, text: str, areas: tuple[str, ...], depth: int) -> object:
    """What stood in a place; several words with commas between them are a list again."""
    if name == "count" and text.isdigit():
        return int(text)
    items = text.split(", ")
    listed = len(items) > 1 and not any(" " in item for item in items)
    return items if listed else _recognised(text, areas, depth)


@cache
def _patterns(area: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    """What matches the texts of an area, those with most fixed letters first. What is nearly all places says nothing."""
    forms = [(form, key) for key, text in catalogue(area, "en").items() for form in _forms(text)]
    found = sorted(((_fixed(form), form, key) for form, key in forms), key=lambda one: one[0], reverse=True)
    return tuple((_pattern(form), key) for (letters, marks), form, key in found if letters > 2 or marks > 5)


def _forms(text: Template) -> tuple[str, ...]:
    return (text,) if isinstance(text, str) else tuple(text.values())


def _fixed(text: str) -> tuple[int, int]:
    """How many letters stand fast, and how many marks in all."""
    fast = _PLACE.sub("", text)
    return sum(c.isalpha() for c in fast), len(fast)


def _pattern(text: str) -> re.Pattern[str]:
    """A place that stands twice holds the same twice."""
    parts, end, seen = [], 0, set()
    for match in _PLACE.finditer(text):
        name = match[1]
        parts.append(re.escape(text[end : match.start()]))
        if not name:
            parts.append(re.escape(match[0][0]))
        elif name in seen:
            parts.append(f"(?P={name})")
        else:
            parts.append(f"(?P<{name}>{_SHAPES.get(name, '.+?')})")
            seen.add(name)
        end = match.end()
    return re.compile("".join([*parts, re.escape(text[end:])]), re.DOTALL)
