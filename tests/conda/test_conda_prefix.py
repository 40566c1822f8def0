"""A conda environment that something else made, read in place; variables and folders of `run`; mirrors."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from provision.condaprefix import double_findings, survey
from provision.model.finding import UsageError
from provision.pipeline.running import conda_variables
from provision.world.channels import ChannelConfig, read_channels
from provision.world.conda import RattlerEngine
from provision.world.files import HostFiles
from provision.world.indexes import IndexConfig
from tests.support.channels import Channel, Content, tree
from tests.support.command import provision
from tests.support.conda_lines import locked, write
from tests.support.fake_reader import FakeReader
from tests.support.index import LoopbackIndex


@pytest.fixture
def prefix(channel: Channel, folder: Path) -> Path:
    """alpha and a pytorch, linked by the engine itself into a prefix that is not ours."""
    channel.library("pytorch", "1.0")
    channel.index()
    made, findings = locked(write(folder, "packages: [alpha, pytorch]\n"))
    assert made is not None, findings
    engine = engine_of(channel, folder)
    where = folder / "theirs"
    engine.install(str(where), str(where), made.conda, engine.fetch(made.conda, lambda n: None), ["alpha"])
    return where


def engine_of(channel: Channel, folder: Path) -> RattlerEngine:
    places = ChannelConfig(custom={"tiny": channel.root.as_uri()})
    return RattlerEngine(places, IndexConfig(), folder / "cache")


def test_packages_are_read_in_place(prefix: Path) -> None:
    before = tree(prefix)
    found = survey(HostFiles(), str(prefix), {"pytorch": "torch"})
    assert found is not None
    assert [p[0] for p in found.packages] == ["alpha", "python", "pytorch"]
    assert {p[3] for p in found.packages} == {"tiny"}
    assert (found.wheels, found.doubles) == ((), ())
    assert tree(prefix) == before
    record = json.loads((prefix / "conda-meta" / "alpha-1.0-0.json").read_text())
    assert record["requested_specs"] == ["alpha"]


def test_two_managers_in_one_environment(prefix: Path, index: LoopbackIndex) -> None:
    """O32: pip put another version over conda's files; conda's record still says the old one."""
    index.wheel("alpha", "2.0", files={"alpha/__init__.py": "__version__ = '2.0'\n"})
    index.wheel("torch", "2.0")
    index.wheel("innocent", "1.0")
    from uv import find_uv_bin

    uv = [find_uv_bin(), "pip", "install", "-q", "--python", str(prefix / "bin" / "python")]
    subprocess.run([*uv, "alpha==2.0", "torch==2.0", "innocent"], check=True)
    ran = provision(prefix.parent, "status", prefix.name, "--json")
    assert ran.code == 1
    said = {f["summary"].split(" ")[0]: f["summary"] for f in ran.document["findings"]}
    assert set(said) == {"alpha", "torch"}
    assert "conda's record says 1.0" in said["alpha"]
    assert "2.0" in said["alpha"]
    found = survey(HostFiles(), str(prefix), {})
    assert found is not None
    assert [f.code for f in double_findings(found)] == ["two-owners"], "without the names torch is not seen"


def test_nothing_to_do_and_removal(prefix: Path, channel: Channel, folder: Path) -> None:
    engine = engine_of(channel, folder)
    made, _ = locked(folder / "team.yaml")
    assert made is not None
    files = engine.fetch(made.conda, lambda n: None)
    assert engine.present(made.conda) == {a.key for a in made.conda}
    before = tree(prefix)
    assert engine.install(str(prefix), str(prefix), made.conda, files, []) == 0
    assert tree(prefix) == before
    fewer = [a for a in made.conda if a.name != "alpha"]
    assert engine.install(str(prefix), str(prefix), fewer, files, []) == 1
    assert not [name for name in tree(prefix) if "alpha" in name]
    shutil.rmtree(folder / "cache" / "conda")
    assert (prefix / "lib").is_dir(), "what is linked does not hang on the cache"


def test_a_build_of_the_same_name_is_not_taken_from_the_cache(channel: Channel, folder: Path) -> None:
    """Two channels with one name, version and build, and other contents: the hash decides, not the name."""
    found = []
    for number in (1, 2):
        one = Channel(channel.root, f"c{number}")
        one.add("same", "1.0", {"share/same.txt": Content(f"from {number}\n".encode())})
        one.index()
        path = write(folder, "packages: [same]\n", f"p{number}")
        path.write_text(path.read_text().replace("[tiny]", f"[tiny, c{number}]"))
        condarc = f"custom_channels: {{tiny: {channel.root.as_uri()}, c{number}: {channel.root.as_uri()}}}\n"
        Path(channel.root.parent / "home" / ".condarc").write_text(condarc, encoding="utf-8")
        made, findings = locked(path)
        assert made is not None, findings
        engine = RattlerEngine(
            ChannelConfig(custom={"tiny": channel.root.as_uri(), f"c{number}": channel.root.as_uri()}),
            IndexConfig(), folder / "cache",
        )  # fmt: skip
        where = folder / f"prefix{number}"
        engine.install(str(where), str(where), made.conda, engine.fetch(made.conda, lambda n: None), [])
        found.append((where / "share" / "same.txt").read_text())
    assert found == ["from 1\n", "from 2\n"]


def test_variables_come_as_data_and_hooks_are_not_run(tmp_path: Path) -> None:
    folder = tmp_path / "etc" / "conda" / "env_vars.d"
    folder.mkdir(parents=True)
    (folder / "a.json").write_text('{"A": "1", "B": "1"}')
    (folder / "b.json").write_text('{"B": "2"}')
    (folder / "c.json").write_text("not json")
    hooks = tmp_path / "etc" / "conda" / "activate.d"
    hooks.mkdir()
    (hooks / "x.sh").write_text(f"touch {tmp_path}/ran\n")
    assert conda_variables(tmp_path) == {"A": "1", "B": "2"}
    assert not (tmp_path / "ran").exists()


CONDARC = """\
channel_alias: https://mirror.example.invalid/cloud
custom_channels: {nvidia: 'https://${HOST}/anaconda'}
default_channels: [https://mirror.example.invalid/pkgs/main]
mirrored_channels: {conda-forge: [https://first.example.invalid/cf/, https://second.example.invalid/cf]}
"""


def test_a_name_is_looked_up_on_the_machine() -> None:
    reader = FakeReader(
        files={"/home/me/.condarc": CONDARC, "/etc/conda/.condarc": "channel_alias: https://no.example\n"}
    )
    environ = {"HOME": "/home/me", "HOST": "here.example.invalid"}
    settings = read_channels(environ, reader, {"PYTORCH": "https://own.example.invalid/pytorch"})
    found = settings.channels(["pytorch", "nvidia", "conda-forge", "defaults", "bioconda"], "linux-64")
    assert [(c.upstream, c.place) for c in found] == [
        ("https://conda.anaconda.org/pytorch", "https://own.example.invalid/pytorch"),
        ("https://conda.anaconda.org/nvidia", "https://here.example.invalid/anaconda/nvidia"),
        ("https://conda.anaconda.org/conda-forge", "https://first.example.invalid/cf"),
        ("https://repo.anaconda.com/pkgs/main", "https://mirror.example.invalid/pkgs/main"),
        ("https://repo.anaconda.com/pkgs/r", "https://repo.anaconda.com/pkgs/r"),
        ("https://conda.anaconda.org/bioconda", "https://mirror.example.invalid/cloud/bioconda"),
    ]
    alias = read_channels({**environ, "CONDA_CHANNEL_ALIAS": "https://alias.example.invalid"}, reader, {})
    assert alias.channel("bioconda").place == "https://alias.example.invalid/bioconda"
    assert alias.channel("https://conda.anaconda.org/nvidia").name == "nvidia"
    named = FakeReader(files={"/x/rc": "custom_channels: {a: https://rc.example.invalid}\n"})
    assert (
        read_channels({**environ, "CONDARC": "/x/rc"}, named, {}).channel("a").place
        == "https://rc.example.invalid/a"
    )
    with pytest.raises(UsageError, match=r"\.condarc"):
        read_channels(environ, FakeReader(files={"/home/me/.condarc": "a: [b\n"}), {})
