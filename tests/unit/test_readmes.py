"""README.md and README.zh-CN.md: the same commands and links, and each names the other."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ENGLISH = (ROOT / "README.md").read_text(encoding="utf-8")
CHINESE = (ROOT / "README.zh-CN.md").read_text(encoding="utf-8")


def commands(text: str) -> list[str]:
    """What is typed: code blocks without their remarks, and the first cell of each row of the table."""
    typed = re.findall(
        r"^    ((?:pip|python3|schema|name|targets|frameworks)\b.*?)(?:\s{3,}#.*)?$", text, re.MULTILINE
    )
    return [*typed, *re.findall(r"^\| (`.*?) \| ", text, re.MULTILINE)]


def test_both_say_the_same_commands() -> None:
    assert len(commands(ENGLISH)) > 25
    assert commands(CHINESE) == commands(ENGLISH)


def test_both_have_the_same_links_and_headings() -> None:
    assert "(README.zh-CN.md)" in ENGLISH
    assert "(README.md)" in CHINESE
    own = r"\]\((?!README)([^)]*)\)"
    assert re.findall(own, CHINESE) == re.findall(own, ENGLISH)
    assert len(re.findall("^#+ ", CHINESE, re.MULTILINE)) == len(re.findall("^#+ ", ENGLISH, re.MULTILINE))
