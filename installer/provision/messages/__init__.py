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
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Final

LANGUAGES: Final = ("en", "zh")
_FOLDER = Path(__file__).parent
_PLACE = re.compile(r"\{\{|\}\}|\{(\w+)\}")
#: What stands between texts in English -> in Chinese. Full stops and brackets of Chinese need no space beside them.
_BETWEEN = {", ": "、", "; ": "；", " ": "", " and ": " 和 ", " or ": " 或 "}
_STOPS = ".。"
_ENDS = tuple(".!?。！？")

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
        return _between(self.between, lang).join(said(part, lang) for part in self.parts)


class Bilingual(Text):
    """A text that stands in both languages where it was written, such as a knowledge row; in English without the other."""

    __slots__ = ("chinese",)
    chinese: str

    def __new__(cls, english: str, chinese: str) -> Bilingual:
        text: Bilingual = str.__new__(cls, english)
        text.key, text.values, text.chinese = "", {}, chinese
        return text

    def __reduce__(self) -> tuple[type[Bilingual], tuple[str, str]]:  # type: ignore[override]
        return type(self), (str(self), self.chinese)

    def said(self, lang: str) -> str:
        return (self.chinese if lang == "zh" else "") or str(self)


class Changed(Text):
    """A text that a function changes in whatever language it is said."""

    __slots__ = ("how", "text")
    text: str
    how: Callable[[str], str]

    def __new__(cls, text: str, how: Callable[[str], str]) -> Changed:
        made: Changed = str.__new__(cls, how(text))
        made.key, made.values, made.text, made.how = "", {}, text, how
        return made

    def __reduce__(self) -> tuple[type[Changed], tuple[str, Callable[[str], str]]]:  # type: ignore[override]
        return type(self), (self.text, self.how)

    def said(self, lang: str) -> str:
        return self.how(said(self.text, lang))


def message(key: str, /, **values: object) -> Text:
    """The message of a key, `area.finding-code.part`, with its places filled.

    Values are shown as `str` shows them; those that are messages themselves are said in the reader's language, and of
    a tuple or list the items with commas between them. KeyError: the catalogue has no such key or a value is missing.
    """
    return Text(key, values)


def joined(parts: Iterable[str], between: str = "") -> Text:
    """Texts in a row, as `between.join(parts)` would have them; ", ", "; ", " and " and " or " become those of the reader's
    language, and a space between sentences goes where that language has none."""
    return Joined(tuple(parts), between)


def bilingual(text: str | Mapping[str, str]) -> str:
    """What was written as `{en: ..., zh: ...}`, or in English alone. KeyError: it lacks one of the two."""
    return text if isinstance(text, str) else Bilingual(text["en"], text["zh"])


def changed(text: str, how: Callable[[str], str]) -> str:
    """What a function (one that can be named, for copies) makes of a text; of a message, in each language."""
    return Changed(text, how) if isinstance(text, Text) else how(text)


def sentence(text: str) -> str:
    """With a capital letter and a full stop."""
    return changed(text, _sentence)


def stopped(text: str) -> str:
    """With a full stop at its end."""
    return changed(text, _stopped)


def unstopped(text: str) -> str:
    """Without the full stop at its end, for a place inside a sentence or to go on after it."""
    return changed(text, _unstopped)


def lowered(text: str) -> str:
    """With a small first letter, for a place inside a sentence; Chinese stays, a name may begin it."""
    return changed(text, _lowered)


def raised(text: str) -> str:
    """With a capital first letter, for the beginning of a sentence."""
    return changed(text, _raised)


def unplaced(text: str, place: str) -> str:
    """Without the file that the text begins with, where that is shown beside it."""
    return changed(text, partial(_unplaced, place=place))


def _sentence(text: str) -> str:
    return _stopped(_raised(text))


def _is_chinese(text: str) -> bool:
    """No pattern: compiling one over so many characters takes milliseconds, which every command would pay."""
    return any("\u4e00" <= char <= "\u9fff" for char in text)


def _stopped(text: str) -> str:
    if text.endswith(_ENDS):
        return text
    return text + ("。" if _is_chinese(text) else ".")


def _raised(text: str) -> str:
    """Chinese stays: a name may begin it."""
    return text if _is_chinese(text) else text[:1].upper() + text[1:]


def _lowered(text: str) -> str:
    return text if _is_chinese(text) else text[:1].lower() + text[1:]


def _unplaced(text: str, place: str) -> str:
    return text.removeprefix(f"{place}: ").removeprefix(f"{place}：")


def _unstopped(text: str) -> str:
    return text.rstrip(_STOPS)


def said(text: object, lang: str) -> str:
    """A text in a language; what is no message stays what it is."""
    if isinstance(text, Text):
        return text.said(lang)
    if isinstance(text, (tuple, list)):
        return _between(", ", lang).join(said(item, lang) for item in text)
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


def exists(key: str) -> bool:
    return key in catalogue(key.partition(".")[0], "en")


def areas() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in (_FOLDER / "en").glob("*.json")))


def places(text: Template) -> frozenset[str]:
    """The names of the places that a template has."""
    forms = (text,) if isinstance(text, str) else text.values()
    return frozenset(m[1] for form in forms for m in _PLACE.finditer(form) if m[1])


def _between(mark: str, lang: str) -> str:
    return _BETWEEN.get(mark, mark) if lang == "zh" else mark


def _filled(key: str, values: Mapping[str, object], lang: str) -> str:
    text = template(key, lang)
    if not isinstance(text, str):
        text = text["one"] if values["count"] == 1 and "one" in text else text["other"]
    return _PLACE.sub(lambda m: said(values[m[1]], lang) if m[1] else m[0][0], text)
