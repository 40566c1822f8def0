"""Knowledge kept parsed: the same data as the YAML text gives, never that of another text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from provision.knowledge import load_knowledge
from provision.parsed import NotYaml, keep_parsed, parsed
from provision.world.kept import KeptFiles

FILES = sorted((Path(__file__).parents[2] / "installer" / "provision").rglob("*.yaml"))


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Path]:
    keep_parsed(KeptFiles(tmp_path / "kept"))
    yield tmp_path / "kept"
    keep_parsed(None)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_what_is_kept_says_the_same(path: Path, kept: Path) -> None:
    text = path.read_text(encoding="utf-8")
    first = parsed(text)
    (file,) = kept.iterdir()
    assert json.loads(file.read_text(encoding="utf-8")) == first
    file.write_text(json.dumps({"mark": 1}))
    assert parsed(text) == {"mark": 1}, "the second time it is taken from there"
    assert parsed(text + "\n# changed\n") == first, "another text is never answered with it"


def test_the_knowledge_base_is_the_same(kept: Path) -> None:
    keep_parsed(None)
    without = load_knowledge().list()
    keep_parsed(KeptFiles(kept))
    assert load_knowledge().list() == without == load_knowledge().list()


def test_a_torn_file_is_read_anew(kept: Path) -> None:
    assert parsed("a: 1") == {"a": 1}
    (file,) = kept.iterdir()
    file.write_text('{"a": ')
    assert parsed("a: 1") == {"a": 1}
    assert json.loads(file.read_text()) == {"a": 1}


def test_a_folder_that_cannot_be_written_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    keep_parsed(KeptFiles(tmp_path / "file" / "below"))
    try:
        assert parsed("a: 2020-01-02") == {"a": "2020-01-02"}
    finally:
        keep_parsed(None)


def test_old_ones_go(kept: Path) -> None:
    for number in range(205):
        parsed(f"a: {number}")
    assert len(list(kept.iterdir())) <= 200


def test_what_is_no_yaml_is_said() -> None:
    with pytest.raises(NotYaml):
        parsed("a: [")
