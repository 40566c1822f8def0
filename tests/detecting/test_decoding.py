"""Tools write in many encodings: none of them may break the reading of their words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provision.world.processes import decode

_CHINESE = "Microsoft 基本显示适配器\n"


@pytest.mark.parametrize(
    ("data", "pages"),
    [
        (_CHINESE.encode("gbk"), ("cp936",)),
        (_CHINESE.encode("utf-8"), ("cp936",)),
        (_CHINESE.encode("utf-8-sig"), ("cp936",)),
        (_CHINESE.encode("utf-16"), ("cp936",)),
        (_CHINESE.replace("\n", "\r\n").encode("gbk"), ("cp65001", "cp936")),
    ],
)
def test_chinese_windows(data: bytes, pages: tuple[str, ...]) -> None:
    assert decode(data, pages) == _CHINESE


def test_utf16_without_a_mark_as_wsl_writes_it() -> None:
    assert decode("Ubuntu-22.04\r\n".encode("utf-16-le")) == "Ubuntu-22.04\n"


def test_german_console() -> None:
    assert decode("Gerät läuft".encode("cp850"), ("cp850",)) == "Gerät läuft"


def test_an_unknown_code_page_is_passed_over() -> None:
    assert decode(b"caf\xe9", ("cp99999", "cp1252")) == "café"


@given(st.binary(max_size=64), st.sampled_from([(), ("cp936",), ("cp932", "cp1252"), ("ascii",)]))
def test_any_bytes_become_text(data: bytes, pages: tuple[str, ...]) -> None:
    assert isinstance(decode(data, pages), str)


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1))
def test_utf8_stays_what_it_is(text: str) -> None:
    assert decode(text.encode("utf-8")) == text.removeprefix("\ufeff")
