from __future__ import annotations

import contextlib
import io
import zipfile

import pytest
from artifact_builders import Bytes, make_wheel, noise, quick, served
from hypothesis import given
from hypothesis import strategies as st

from provision.artifacts import wheel as wheels
from provision.artifacts.seekable import SourceFile
from provision.artifacts.wheel import Wheel
from provision.model.artifact import ArtifactError
from provision.model.finding import ProvisionError
from provision.world.ranges import FileSource, HttpSource


def codes(error):
    return [f.code for f in error.value.findings]


def test_what_a_wheel_says_of_itself():
    data = make_wheel(
        {
            "tiny/__init__.py": b"x = 1\n",
            "tiny_tools.py": b"",
            "tiny-1.0.dist-info/entry_points.txt": b"[console_scripts]\ntiny = tiny:main\nTwo=tiny:two\n",
        },
        metadata="Requires-Python: >=3.8\nRequires-Dist: numpy (<2)\n"
        "Requires-Dist: h5py ; extra == 'io'\nProvides-Extra: io",
        tag="cp310-cp310-win_amd64",
    )
    wheel = Wheel(Bytes(data))
    core = wheels.metadata(wheel)
    assert (core.name, core.version, core.requires_python) == ("tiny", "1.0", ">=3.8")
    assert core.requires == ("numpy (<2)", "h5py ; extra == 'io'")
    assert core.extras == ("io",)
    assert wheels.tags(wheel) == ("cp310-cp310-win_amd64",)
    assert wheels.top_level(wheel) == ("tiny", "tiny_tools")
    assert wheels.entry_points(wheel) == (
        "console_scripts: tiny = tiny:main",
        "console_scripts: Two = tiny:two",
    )
    record = {line.path: line for line in wheels.record(wheel)}
    assert record["tiny/__init__.py"].size == 6
    assert record["tiny/__init__.py"].digest.startswith("sha256=")


def test_tags_of_the_file_name_stand_in_for_absent_ones():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("tiny-1.0.dist-info/METADATA", "Name: tiny\nVersion: 1.0\n")
    wheel = Wheel(Bytes(packed.getvalue(), "tiny-1.0-py2.py3-none-any.whl"))
    assert wheels.tags(wheel) == ("py2-none-any", "py3-none-any")
    assert wheels.record(wheel) == ()


def test_a_small_member_of_a_large_wheel_costs_few_and_small_reads():
    files = {f"tiny/{i}.bin": noise(200_000, i) for i in range(40)} | {"tiny/a.txt": b"wanted" * 100}
    source = Bytes(make_wheel(files))
    wheel = Wheel(source)
    assert wheel.text("tiny/a.txt") == "wanted" * 100
    assert len(source.reads) <= 3
    assert wheel.file.bytes_read < 200_000 < source.size() / 20


def test_members_larger_than_the_limit_are_refused_and_absent_ones_named():
    wheel = Wheel(Bytes(make_wheel({"tiny/big.txt": b"x" * 10_000})))
    with pytest.raises(ArtifactError) as error:
        wheel.read("tiny/big.txt", limit=9_999)
    assert codes(error) == ["artifact-member-too-large"]
    with pytest.raises(ArtifactError) as error:
        wheel.read("tiny/none.txt")
    assert codes(error) == ["artifact-member-absent"]


def test_a_prefix_of_a_member_ends_after_the_stored_bytes_it_may_cost():
    content = noise(3 << 20)
    source = Bytes(make_wheel({"tiny/big.bin": content}))
    wheel = Wheel(source)
    prefix = b"".join(wheel.stream("tiny/big.bin", 100_000))
    assert 50_000 < len(prefix) < 110_000
    assert content.startswith(prefix)
    assert wheel.file.bytes_read < 400_000


@pytest.mark.parametrize("place", [0.3, 0.6])
def test_damage_is_found(place):
    content = noise(100_000)
    data = bytearray(make_wheel({"tiny/big.bin": content}))
    data[int(100_000 * place)] ^= 0x55
    with pytest.raises(ArtifactError) as error:
        Wheel(Bytes(bytes(data))).read("tiny/big.bin")
    assert codes(error) == ["artifact-member-broken"]


def test_a_directory_that_promises_less_than_comes_out_is_not_believed():
    data = make_wheel({"tiny/bomb.bin": bytes(5_000_000)})
    at = data.rindex(b"PK\x01\x02", 0, data.rindex(b"tiny/bomb.bin"))
    lie = data[: at + 24] + (1000).to_bytes(4, "little") + data[at + 28 :]
    with pytest.raises(ArtifactError) as error:
        Wheel(Bytes(lie)).read("tiny/bomb.bin")
    assert codes(error) == ["artifact-member-broken"]


@pytest.mark.parametrize(
    "data", [b"", b"PK", b"not a zip at all" * 100, make_wheel({})[:-30], make_wheel({})[100:]]
)
def test_what_is_no_zip_file_is_a_finding(data):
    with pytest.raises(ArtifactError) as error:
        wheels.metadata(Wheel(Bytes(data)))
    assert codes(error)[0].startswith("artifact-")
    assert isinstance(error.value, ProvisionError)


def test_a_zip_file_without_metadata_is_no_wheel():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.txt", "x")
    with pytest.raises(ArtifactError) as error:
        wheels.metadata(Wheel(Bytes(packed.getvalue())))
    assert codes(error) == ["artifact-not-a-wheel"]


GOOD = make_wheel({"tiny/__init__.py": b"x = 1\n" * 50, "tiny/lib.so": b"\x7fELF" + noise(300)})


@quick
@given(
    st.lists(st.tuples(st.integers(0, len(GOOD) - 1), st.integers(0, 255)), max_size=6),
    st.integers(0, len(GOOD)),
)
def test_a_damaged_wheel_is_read_or_refused_but_never_a_crash(changes, end):
    data = bytearray(GOOD)
    for place, value in changes:
        data[place] = value
    with contextlib.suppress(ArtifactError):
        wheel = Wheel(Bytes(bytes(data[: end or None])))
        wheels.metadata(wheel), wheels.tags(wheel), wheels.record(wheel), wheels.entry_points(wheel)
        for member in wheel.members:
            wheel.read(member.name, 1 << 16)


@quick
@given(st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 900)), max_size=20), st.integers(100, 3000))
def test_the_remembering_file_reads_what_the_source_holds(reads, keep):
    data = noise(4000)
    file = SourceFile(Bytes(data), keep=keep)
    for offset, length in reads:
        file.seek(offset)
        assert file.read(length) == data[offset : offset + length]


def test_reading_in_order_takes_few_requests():
    source = Bytes(noise(3 << 20))
    file = SourceFile(source)
    while file.read(4096):
        pass
    assert len(source.reads) < 12
    assert file.bytes_read == source.size()


def test_a_file_on_disk(tmp_path):
    path = tmp_path / "tiny-1.0-py3-none-any.whl"
    path.write_bytes(GOOD)
    source = FileSource(path)
    assert wheels.metadata(Wheel(source)).name == "tiny"
    source.close()
    with pytest.raises(ArtifactError) as error:
        FileSource(tmp_path / "none.whl")
    assert codes(error) == ["artifact-unreadable"]


def test_a_wheel_on_a_server_is_read_by_ranges():
    data = make_wheel({f"tiny/{i}.bin": noise(100_000, i) for i in range(20)})
    log = []
    with served(data, log=log) as url:
        source = HttpSource(url)
        wheel = Wheel(source)
        assert (source.name, source.size()) == ("tiny-1.0-py3-none-any.whl", len(data))
        assert wheels.metadata(wheel).name == "tiny"
        assert wheel.read("tiny/7.bin") == noise(100_000, 7)
        source.close()
    assert len(log) <= 5
    assert wheel.file.bytes_read < 300_000


def test_a_server_that_fails_now_and_then_is_asked_again(monkeypatch):
    monkeypatch.setattr("provision.world.ranges.PAUSE", 0.0)
    with served(GOOD, "flaky") as url:
        assert wheels.metadata(Wheel(HttpSource(url))).name == "tiny"


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ("no-ranges", "artifact-no-ranges"),
        ("lying", "artifact-no-ranges"),
        ("missing", "artifact-unreachable"),
        ("truncated", "artifact-unreachable"),
        ("changing", "artifact-changed"),
        ("auth", "artifact-unreachable"),
    ],
)
def test_trouble_with_the_server_is_a_finding_with_a_way_out(how, code, monkeypatch):
    monkeypatch.setattr("provision.world.ranges.PAUSE", 0.0)
    with served(GOOD, how) as url, pytest.raises(ArtifactError) as error:
        Wheel(HttpSource(url)).read("tiny/__init__.py")
    assert codes(error) == [code]
    assert error.value.findings[0].remedies


def test_nobody_there_is_a_finding(monkeypatch):
    monkeypatch.setattr("provision.world.ranges.PAUSE", 0.0)
    with pytest.raises(ArtifactError) as error:
        HttpSource("http://127.0.0.1:9/x.whl").size()
    assert codes(error) == ["artifact-unreachable"]


def test_credentials_come_from_netrc_and_are_shown_nowhere(tmp_path, monkeypatch):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("NETRC", str(netrc))
    with served(GOOD, "auth") as url:
        assert wheels.metadata(Wheel(HttpSource(url))).name == "tiny"


def test_credentials_in_an_address_are_shown_nowhere(monkeypatch):
    monkeypatch.setattr("provision.world.ranges.PAUSE", 0.0)
    with served(GOOD, "missing") as url, pytest.raises(ArtifactError) as error:
        HttpSource(url.replace("http://", "http://me:hunter2@") + "?token=hunter2#hunter2").size()
    assert "hunter2" not in str([f.to_json() for f in error.value.findings])
    assert "127.0.0.1" in str(error.value)
