from __future__ import annotations

import zlib

import pytest
from artifact_builders import noise, prose, quick
from hypothesis import given
from hypothesis import strategies as st

from provision.artifacts.deflate import CONFIRM, PASTS, resume


def deflated(data, level=6):
    packer = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


def agreeing(found):
    return [a == b for a, b in zip(found.first, found.second, strict=True)]


def test_the_two_pasts_agree_nowhere():
    assert all(a != b for a, b in zip(*PASTS, strict=True))


@pytest.mark.parametrize("make", [prose, noise], ids=["code", "what does not pack"])
@pytest.mark.parametrize("level", [1, 9])
def test_the_end_of_a_stream_is_read_alone(make, level):
    data = make(1_500_000)
    packed = deflated(data, level)
    found = resume(packed[-400_000:], final=True)
    assert found is not None
    end = data[-len(found.first) :]
    certain = agreeing(found)
    assert sum(certain) > 0.9 * len(end) > 100_000
    assert all(a == b for a, b, sure in zip(found.first, end, certain, strict=True) if sure)


def test_a_stretch_from_the_middle_is_read_alone():
    data = prose(2_000_000)
    packed = deflated(data)
    found = resume(packed[500_000:800_000], final=False)
    certain = agreeing(found)
    known = found.first
    place = data.find(known[200_000:200_100])
    assert place > 0
    assert all(a == b for a, b, sure in zip(known, data[place - 200_000 :], certain, strict=False) if sure)


def test_what_is_no_deflate_stream_gives_nothing():
    assert resume(noise(100_000), final=True) is None
    assert resume(deflated(prose(600_000))[:-9][-100_000:], final=True) is None


def test_too_little_gives_nothing():
    assert resume(deflated(prose(200_000))[-(CONFIRM // 2) :], final=True) is None
    assert resume(b"", final=False) is None


@quick
@given(st.binary(max_size=400), st.booleans())
def test_junk_is_survived(data, final):
    resume(data * 10, final)
