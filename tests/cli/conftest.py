"""Verbs run in this process: quick, and with the streams as a pipe sees them."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

import provision.knowledge
from provision.cli import funnel
from provision.cli.language import speak
from tests.support.command import Ran

Here = Callable[..., Ran]
#: The rows are read once for all these tests: that is most of what a quick verb does.
KNOWLEDGE = provision.knowledge.load_knowledge()
TINY = Path(__file__).parents[1] / "data" / "tiny_knowledge.yaml"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    """`here("lint", "a.txt", stdin="...")` runs the command in tmp_path."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(provision.knowledge, "load_knowledge", lambda *_: KNOWLEDGE)

    def run(*words: str, stdin: str = "") -> Ran:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8"))
        capsys.readouterr()
        code = funnel.run(words)
        speak("en")  # The language is the process's: the next test begins in English.
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    return run


@pytest.fixture
def tiny(here: Here, monkeypatch: pytest.MonkeyPatch) -> Here:
    """Like `here`, with a knowledge base of a few rows that only changes when a test asks for it."""
    knowledge = provision.knowledge.Knowledge([("knowledge/tiny.yaml", TINY.read_text(encoding="utf-8"))])
    monkeypatch.setattr(provision.knowledge, "load_knowledge", lambda *_: knowledge)
    return here
