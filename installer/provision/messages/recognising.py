"""Texts that were written down in English (in a lock, a receipt, a journal), or that click said, as the messages that they
were, to say them in the reader's language. Slow beside `message`: for the few lines of a screen.
"""

from __future__ import annotations

import re
from functools import cache

from provision.messages import _PLACE, Template, Text, catalogue, joined, message

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
    found = [
        (_fixed(form), key, form) for key, text in catalogue(area, "en").items() for form in _forms(text)
    ]
    found = [one for one in found if one[0] > 2]
    return tuple((_pattern(text), key) for _, key, text in sorted(found, key=lambda one: -one[0]))


def _forms(text: Template) -> tuple[str, ...]:
    return (text,) if isinstance(text, str) else tuple(text.values())


def _fixed(text: str) -> int:
    return sum(c.isalpha() for c in _PLACE.sub("", text))


def _pattern(text: str) -> re.Pattern[str]:
    parts, end, seen = [], 0, set()
    for match in _PLACE.finditer(text):
        parts.append(re.escape(text[end : match.start()]))
        end, name = match.end(), match[1]
        parts.append(
            re.escape(match[0][0]) if name is None else f"(?P={name})" if name in seen else f"(?P<{name}>.*?)"
        )
        seen.add(name)
    return re.compile("".join([*parts, re.escape(text[end:])]), re.DOTALL)
