"""pip.conf: which indexes and folders pip is sent to."""

from __future__ import annotations

import re
from collections.abc import Iterator

from provision.documents.source import Source
from provision.linting.nouns import Kind, Place, Setting
from provision.messages import message
from provision.model.finding import Finding

_KINDS: dict[str, Kind] = {
    "index-url": "index-url",
    "extra-index-url": "extra-index-url",
    "find-links": "find-links",
    "no-index": "no-index",
    "pre": "pre",
}


def read_pip_conf(source: Source) -> Iterator[Setting]:
    """Each value with its place. A list of values stands on indented lines, or behind one key with spaces."""
    kind: Kind | None = None
    for line in re.finditer(r"[^\r\n]+", source.text):
        text = line[0]
        if re.match(r"\s*[#;\[]", text):
            kind = None if text.lstrip().startswith("[") else kind
            continue
        key = re.match(r"([\w.-]+)\s*[=:]\s*", text)
        if key:
            kind = _KINDS.get(key[1].lower().replace("_", "-"))
        if kind is not None:
            yield from _values(source, kind, line.start(), text, key.end() if key else 0)


def unreadable_lines(source: Source) -> Iterator[Finding]:
    """What pip cannot read: it then refuses every command, whatever the rest says."""
    in_section = False
    for line in re.finditer(r"[^\r\n]+", source.text):
        text = line[0]
        if not text.strip() or text.lstrip()[0] in "#;":
            continue
        if text.startswith("["):
            in_section = True
        elif not in_section or not (text[0].isspace() or re.match(r"[^=:]*[^=:\s][^=:]*[=:]", text)):
            said = message("linting.pip-conf.no-setting")
            ways = (message("linting.pip-conf.way"),)
            yield Place(source, line.start(), line.end()).finding("bad-pip-conf", "error", said, ways=ways)
            return


def _values(source: Source, kind: Kind, begin: int, text: str, skip: int) -> Iterator[Setting]:
    for word in re.finditer(r"\S+", text[skip:]):
        if kind in ("no-index", "pre") and word[0].lower() in ("0", "no", "false", "off"):
            continue
        start = begin + skip + word.start()
        yield Setting(Place(source, start, start + len(word[0])), kind, word[0])
