"""What people are told, in English and Chinese: catalogues beside this file, one JSON file an area and a language.

`message("world.wrong-hash.summary", file=...)` is a string in English that still knows its key and values, so that the
edge, which knows the person, can say it in another language (`said`). Stages never ask for a language, and what is
written down (locks, journals, receipts, JSON) is English whatever the locale is.

A template holds `{name}` for a value and `{{` for a brace. Where a count changes the words, the catalogue has
`{"one": ..., "other": ...}` and the value `count` chooses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Final

LANGUAGES: Final = ("en", "zh")
_FOLDER = Path(__file__).parent
_PLACE = re.compile(r"\{\{|\}\}|\{(\w+)\}")
_COMMA = {"en": ", ", "zh": "、"}

Template = str | Mapping[str, str]


class Text(str):
    """A message in English that can be said in another language."""

    __slots__ = ("key", "values")
    key: str
    values: Mapping[str, object]

    def __new__(cls, key: str, values: Mapping[str, object]) -> Text:
        text = super().__new__(cls, _filled(key, values, "en"))
        text.key, text.values = key, values
        return text

    def __reduce__(self) -> tuple[type[Text], tuple[str, Mapping[str, object]]]:
        return type(self), (self.key, self.values)

    def said(self, lang: str) -> str:
        return _filled(self.key, self.values, lang)

    def __add__(self, other: str) -> Text:
        return joined((self, other))

    def __radd__(self, other: str) -> Text:
        return joined((other, self))


class Joined(Text):
    """Texts one after another; each is said in the language that is asked for."""

    __slots__ = ("between", "parts")
    parts: tuple[str, ...]
    between: str

    def __new__(cls, parts: tuple[str, ...], between: str) -> Joined:
        text: Joined = str.__new__(cls, between.join(parts))
        text.key, text.values, text.parts, text.between = "", {}, parts, between
        return text

    def __reduce__(self) -> tuple[type[Joined], tuple[tuple[str, ...], str]]:  # type: ignore[override]
        return type(self), (self.parts, self.between)

    def said(self, lang: str) -> str:
        between = _COMMA[lang] if self.between == _COMMA["en"] else self.between
        return between.join(said(part, lang) for part in self.parts)


class Bent(Text):
    """A text as a part of another one: without its full stop, with another first letter, without its place."""

    __slots__ = ("how", "place", "text")
    text: Text
    how: str
    place: str

    def __new__(cls, text: Text, how: str, place: str = "") -> Bent:
        bent: Bent = str.__new__(cls, _bent(str(text), how, place, "en"))
        bent.key, bent.values, bent.text, bent.how, bent.place = "", {}, text, how, place
        return bent

    def __reduce__(self) -> tuple[type[Bent], tuple[Text, str, str]]:  # type: ignore[override]
        return type(self), (self.text, self.how, self.place)

    def said(self, lang: str) -> str:
        return _bent(self.text.said(lang), self.how, self.place, lang)


def _bent(text: str, how: str, place: str, lang: str) -> str:
    if how == "lowered":
        return text[:1].lower() + text[1:] if lang == "en" else text
    if how == "raised":
        return text[:1].upper() + text[1:] if lang == "en" else text
    if how == "unstopped":
        return text.rstrip(".。")
    return text.removeprefix(f"{place}: ").removeprefix(f"{place}：")


def _bend(text: str, how: str, place: str = "") -> str:
    return Bent(text, how, place) if isinstance(text, Text) else _bent(text, how, place, "en")


def unstopped(text: str) -> str:
    """Without the full stop, for a place inside a sentence."""
    return _bend(text, "unstopped")


def raised(text: str) -> str:
    """With a capital first letter, for the beginning of a sentence; languages without case stay."""
    return _bend(text, "raised")


def lowered(text: str) -> str:
    """With a small first letter, for a place inside a sentence; languages without case stay."""
    return _bend(text, "lowered")


def unplaced(text: str, place: str) -> str:
    """Without the file that the text begins with, where that is shown beside it."""
    return _bend(text, "unplaced", place)


def message(key: str, /, **values: object) -> Text:
    """The message of a key, `area.finding-code.part`, with its places filled.

    Values are shown as `str` shows them; those that are messages themselves are said in the reader's language, and of
    a tuple or list the items with commas between them. KeyError: the catalogue has no such key or a value is missing.
    """
    return Text(key, values)


def joined(parts: Iterable[str], between: str = "") -> Text:
    """Texts in a row, as `between.join(parts)` would have them; ", " becomes the comma of the reader's language."""
    return Joined(tuple(parts), between)


def said(text: object, lang: str) -> str:
    """A text in a language; what is no message stays what it is."""
    if isinstance(text, Text):
        return text.said(lang)
    if isinstance(text, (tuple, list)):
        return _COMMA[lang].join(said(item, lang) for item in text)
    return str(text)


def template(key: str, lang: str = "en") -> Template:
    """The template of a key, the English one where the language lacks it. KeyError: there is none."""
    area = key.partition(".")[0]
    return catalogue(area, lang).get(key) or catalogue(area, "en")[key]


@cache
def catalogue(area: str, lang: str) -> Mapping[str, Template]:
    """All templates of an area in a language, by key."""
    path = _FOLDER / lang / f"{area}.json"
    document: dict[str, Template] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return document


def recalled(text: str, area: str) -> str:
    """The message of an area that an English text is, such as one that a receipt kept or that click said; what no
    template fits stays a text. Values may be messages of the area themselves."""
    if isinstance(text, Text) or not text:
        return text
    for key, pattern in _patterns(area):
        if found := pattern.fullmatch(text):
            return message(
                key, **{name: _value(name, value, area) for name, value in found.groupdict().items()}
            )
    return text


def _value(name: str, text: str, area: str) -> object:
    return int(text) if name == "count" and text.isdigit() else recalled(text, area)


@cache
def _patterns(area: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Those that say most first: `{value} is not {choice}.` fits too much. A template of places alone fits all."""
    forms = [
        (key, form)
        for key, text in catalogue(area, "en").items()
        for form in ((text,) if isinstance(text, str) else text.values())
        if any(c.isalpha() for c in _PLACE.sub("", form))
    ]
    forms.sort(key=lambda pair: len(_PLACE.sub("", pair[1])), reverse=True)
    return tuple((key, re.compile(_pattern(form), re.DOTALL)) for key, form in forms)


def _pattern(form: str) -> str:
    """A place that stands twice holds the same twice."""
    parts, end, seen = [], 0, set()
    for place in _PLACE.finditer(form):
        name = place[1]
        parts.append(re.escape(form[end : place.start()]))
        if not name:
            parts.append(re.escape(place[0][0]))
        else:
            parts.append(f"(?P={name})" if name in seen else f"(?P<{name}>.*?)")
            seen.add(name)
        end = place.end()
    return "".join((*parts, re.escape(form[end:])))


def exists(key: str) -> bool:
    return key in catalogue(key.partition(".")[0], "en")


def areas() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in (_FOLDER / "en").glob("*.json")))


def places(text: Template) -> frozenset[str]:
    """The names of the places that a template has."""
    forms = (text,) if isinstance(text, str) else text.values()
    return frozenset(m[1] for form in forms for m in _PLACE.finditer(form) if m[1])


def _filled(key: str, values: Mapping[str, object], lang: str) -> str:
    text = template(key, lang)
    if not isinstance(text, str):
        text = text["one"] if values["count"] == 1 and "one" in text else text["other"]
    return _PLACE.sub(lambda m: said(values[m[1]], lang) if m[1] else m[0][0], text)
