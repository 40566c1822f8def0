"""click's own messages in both languages: the English templates of the catalogue `usage` are click's, so that its text
tells which message it is and what its values are. What no template fits stays English."""

from __future__ import annotations

import re
from functools import cache

from provision.messages import Text, catalogue, message

_PLACE = re.compile(r"\{\{|\}\}|\{(\w+)\}")


def told(text: str) -> str:
    """A text of click as a message; its English is the same. Values may be messages themselves."""
    if isinstance(text, Text):
        return text
    for key, pattern in _patterns():
        if found := pattern.fullmatch(text):
            return message(key, **{name: told(value) for name, value in found.groupdict().items()})
    return text


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Those that say most first: `{value} is not {choice}.` fits too much."""
    templates = [(key, text) for key, text in catalogue("usage", "en").items() if isinstance(text, str)]
    templates.sort(key=lambda pair: len(_PLACE.sub("", pair[1])), reverse=True)
    return tuple((key, re.compile(_pattern(text), re.DOTALL)) for key, text in templates)


def _pattern(template: str) -> str:
    parts, end = [], 0
    for place in _PLACE.finditer(template):
        inner = f"(?P<{place[1]}>.+?)" if place[1] else re.escape(place[0][0])
        parts += [re.escape(template[end : place.start()]), inner]
        end = place.end()
    return "".join((*parts, re.escape(template[end:])))
