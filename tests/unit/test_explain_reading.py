"""Any log is read: huge, coloured, in any encoding, with junk and progress bars, in bounded memory."""

from __future__ import annotations

import io
import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provision.diagnosing.explain import explain, explain_bytes
from provision.diagnosing.reading import BLOCK, Line, Words, interesting, lines

ERROR = "RuntimeError: operator torchvision::nms does not exist"
CODE = "torchvision-other-build"


class Repeated(io.RawIOBase):
    """A stream of many equal lines and an end, never held in memory as a whole."""

    def __init__(self, line: bytes, times: int, end: bytes) -> None:
        self._parts: Iterator[bytes] = self._make(line * 1000, times // 1000, end)
        self._rest = b""

    @staticmethod
    def _make(piece: bytes, times: int, end: bytes) -> Iterator[bytes]:
        for _ in range(times):
            yield piece
        yield end

    def read(self, size: int = -1) -> bytes:
        while len(self._rest) < size:
            piece = next(self._parts, None)
            if piece is None:
                break
            self._rest += piece
        out, self._rest = self._rest[:size], self._rest[size:]
        return out


def found(raw: bytes) -> list[str]:
    return [f.code for f in explain_bytes(io.BytesIO(raw)).findings]


@pytest.mark.parametrize(
    "encoding",
    ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "gbk", "gb18030", "latin-1"],
)
def test_encodings(encoding: str) -> None:
    text = f"训练开始\r\n{ERROR}\r\n结束\r\n" if encoding != "latin-1" else f"Jörg\r\n{ERROR}\r\n"
    assert found(text.encode(encoding)) == [CODE]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "gbk"])
def test_chinese_messages_in_their_encodings(encoding: str) -> None:
    text = "ImportError: DLL load failed while importing _pywrap_tensorflow_internal: 找不到指定的模块。\n"
    said = explain_bytes(io.BytesIO(text.encode(encoding)))
    assert [f.code for f in said.findings] == ["tf-dll-not-found"]
    assert "找不到指定的模块" in said.findings[0].evidence[0].text


def test_utf16_appended_to_utf8_as_old_shells_do() -> None:
    assert found(b"step 1 ok\n" + (ERROR + "\r\n").encode("utf-16-le")) == [CODE]


@pytest.mark.parametrize(
    "raw",
    [
        "\x1b[31mRuntimeError\x1b[0m: operator \x1b[1mtorchvision::nms\x1b[0m does not exist",
        "\\u001b[0;31mRuntimeError\\u001b[0m: operator torchvision::nms does not exist",
        "^[[31mRuntimeError^[[0m: operator torchvision::nms does not exist",
        f"\x1b]0;title\x07{ERROR}",
    ],
)
def test_colours_are_taken_off(raw: str) -> None:
    assert found(raw.encode()) == [CODE]


def test_a_progress_bar_does_not_hide_what_comes_after_it() -> None:
    bar = "".join(f"\r{i:3d}%|{'#' * (i // 10)}| {i}/100" for i in range(100))
    said = explain_bytes(io.BytesIO(f"start\n{bar}\r{ERROR}\n".encode()))
    assert [f.code for f in said.findings] == [CODE]
    assert said.findings[0].evidence[0].source == "line 2"


def test_binary_junk_is_no_obstacle() -> None:
    junk = bytes(range(256)) * 300
    assert found(junk + b"\n" + ERROR.encode() + b"\n" + junk) == [CODE]


@given(st.binary(max_size=3000))
def test_no_bytes_make_it_fail(raw: bytes) -> None:
    explain_bytes(io.BytesIO(raw))
    explain(lines(io.BytesIO(raw)))


@given(st.text(max_size=400))
def test_no_line_makes_it_fail(text: str) -> None:
    said = explain([Line(1, text)])
    assert said.verdict in ("fault", "unknown", "harmless", "nothing")


def test_an_empty_log_has_no_fault() -> None:
    assert explain_bytes(io.BytesIO(b"")).verdict == "nothing"


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_line_numbers_hold_over_blocks(ends: str) -> None:
    text = ends.join(f"step {i} loss 0.5 and some more words to fill the line" for i in range(60_000))
    said = explain_bytes(io.BytesIO((text + ends + ERROR).encode()))
    assert len(text) > 2 * BLOCK
    assert said.findings[0].evidence[0].source == "line 60001"


def test_all_lines_and_the_interesting_ones_tell_the_same() -> None:
    raw = f"one\n\r\ntwo\rthree\n{ERROR}\nfive".encode()
    assert list(interesting(io.BytesIO(raw), Words(["torchvision::nms"]))) == [Line(4, ERROR)]
    assert Line(4, ERROR) in list(lines(io.BytesIO(raw)))
    assert explain(lines(io.BytesIO(raw))).to_json() == explain_bytes(io.BytesIO(raw)).to_json()


def test_a_line_without_end_is_read_in_bounded_memory() -> None:
    stream = Repeated(b"x" * 90 + b" loss: 0.5 ", 100_000, ERROR.encode())
    tracemalloc.start()
    said = explain_bytes(stream)  # type: ignore[arg-type]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [f.code for f in said.findings] == [CODE]
    assert peak < 40 << 20


def test_memory_does_not_grow_with_the_log() -> None:
    stream = Repeated(b"step 1 loss 0.5 mean_squared_error: 0.1 Error" * 4 + b"\n", 30_000, ERROR.encode())
    tracemalloc.start()
    said = explain_bytes(stream)  # type: ignore[arg-type]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [f.code for f in said.findings] == [CODE]
    assert peak < 20 << 20


def test_the_last_error_is_seen_although_the_log_is_full_of_others() -> None:
    flood = b"ValueError: something that nobody knows\n" * 6_000
    said = explain_bytes(io.BytesIO(flood + b"KeyError: 'the one that ended it'\n"))
    assert said.verdict == "unknown"
    assert any("the one that ended it" in e.text for e in said.findings[0].evidence)


def test_a_flood_of_one_known_error_is_counted_up_to_a_limit_and_others_still_found() -> None:
    flood = b"CUDA out of memory. Tried to allocate 2.00 GiB\n" * 5_000
    said = explain_bytes(io.BytesIO(flood + ERROR.encode()))
    assert {f.code for f in said.findings} == {"cuda-out-of-memory", CODE}


@given(
    st.lists(st.text(alphabet="ab09 :\t", max_size=12), max_size=40),
    st.lists(st.text(alphabet="ab09 :", min_size=1, max_size=6), min_size=1, max_size=6),
)
def test_numbers_do_not_hide_a_line(rows: list[str], words: list[str]) -> None:
    """Lines that differ in digits alone are looked at once, and yet each that holds a word is found."""
    found = {line.number for line in interesting(io.BytesIO("\n".join(rows).encode()), Words(words))}
    held = {at for at, row in enumerate(rows, 1) if any(word in row for word in words)}
    assert held <= found


def test_a_word_with_digits_is_told_from_another() -> None:
    text = "".join(f"process ended with exit code {n}\n" for n in (*range(100), 139, *range(100)))
    told = [line.text for line in interesting(io.BytesIO(text.encode()), Words(["exit code 139"]))]
    assert "process ended with exit code 139" in told


def test_a_log_of_lines_that_are_all_new_is_read_as_well() -> None:
    words = ["".join(chr(97 + (n >> shift) % 26) for shift in range(0, 20, 2)) for n in range(60_000)]
    rows = [" ".join([word] * 12) for word in words]
    assert len("\n".join(rows)) > 6 * BLOCK
    rows[50_000] = ERROR
    said = explain_bytes(io.BytesIO("\n".join(rows).encode()))
    assert [f.code for f in said.findings] == [CODE]
    assert said.findings[0].evidence[0].source == "line 50001"
