"""conda-lock.yml and environment.yml, out and in."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from provision.exporting.conda import conda_lock, environment, explicit
from provision.loading import load
from provision.loading.conda_files import import_environment
from provision.locking.conda_lock_files import read_conda_lock
from provision.model.finding import ProfileError, UnsatisfiableError, UsageError
from provision.model.lock import Artifact, Lock
from provision.model.profile import Environment, Framework
from provision.pipeline.conda import adopt_conda_lock
from provision.pipeline.exchange import run_import
from provision.pipeline.locks import read_lock_file
from provision.pipeline.profiles import read
from provision.pipeline.session import Session

ROOT = Path(__file__).parents[2]
LOCKS = ROOT / "profiles" / "locks"
TORCH = [
    LOCKS / "conda-torch-cuda121" / f"{target}-x86_64-py311.lock.yaml" for target in ("linux", "windows")
]
WHEEL = Artifact(
    name="smplx",
    version="0.1.28",
    index="pypi",
    file="smplx-0.1.28-py3-none-any.whl",
    size=9,
    sha256="ab" * 32,
)
ADDRESS = {WHEEL.file: f"https://files.example.invalid/{WHEEL.file}"}


@pytest.fixture
def locks() -> list[Lock]:
    """torch with CUDA for two platforms, a wheel on top of the first."""
    linux, windows = (read_lock_file(path)[0] for path in TORCH)
    return [replace(linux, packages=(WHEEL,)), windows]


def test_conda_lock_and_back(locks: list[Lock]) -> None:
    text = conda_lock(locks, "team.yaml", ADDRESS)
    document = yaml.safe_load(text)
    assert document["version"] == 1
    assert document["metadata"]["platforms"] == ["linux-64", "win-64"]
    assert not any(name.startswith("__") for row in document["package"] for name in row["dependencies"])
    for made, subdir in zip(locks, ("linux-64", "win-64"), strict=True):
        conda, wheels = read_conda_lock(text, "x", subdir)
        assert {(a.url, a.sha256, a.md5) for a in conda} == {(a.url, a.sha256, a.md5) for a in made.conda}
        assert {a.name: a.noarch for a in conda} == {a.name: a.noarch for a in made.conda}
        assert [w.file for w in wheels] == [w.file for w in made.packages]


def test_a_lock_is_taken_over(locks: list[Lock], tmp_path: Path) -> None:
    file = tmp_path / "conda-lock.yml"
    file.write_text(conda_lock(locks, "team.yaml", ADDRESS), encoding="utf-8")
    profile = read("profiles/conda-torch-cuda121.yaml", ROOT).profile
    made = adopt_conda_lock(profile, "linux-x86_64", "3.11", file, Session(folder=tmp_path))
    assert made.pins == locks[0].pins
    assert made.needs == locks[0].needs
    assert made.stack == locks[0].stack
    document = yaml.safe_load(file.read_text())
    document["package"][0]["hash"] = {}
    file.write_text(yaml.safe_dump(document))
    with pytest.raises(UnsatisfiableError, match="No hash is known"):
        adopt_conda_lock(profile, "linux-x86_64", "3.11", file, Session(folder=tmp_path))
    with pytest.raises(UsageError, match="pins nothing for osx-arm64"):
        read_conda_lock(file.read_text(), "x", "osx-arm64")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"python": "3.12"}, "The profile asks for python 3.12.*; the file pins python 3.11."),
        (
            {"frameworks": {"torch": Framework(version="==2.1.0")}},
            "pytorch ==2.1.0 *cuda*; the file pins pytorch 2.2.0",
        ),
        ({"packages": ("openssl >=9", "h5py")}, "openssl >=9; the file pins openssl 3."),
        ({"packages": ("nvidia::openssl",)}, "of conda-forge"),
        ({"packages": ("h5py",)}, "asks for h5py; the file pins no h5py"),
        (
            {"environment": Environment(manager="conda", wheels=("smplx>=2",))},
            "smplx>=2; the file pins smplx 0.1.28",
        ),
        ({"absent": ("smplx",)}, "pins smplx, and the profile says that it must be absent"),
    ],
)
def test_a_file_that_pins_another_environment(
    more: dict[str, Any], said: str, locks: list[Lock], tmp_path: Path
) -> None:
    file = tmp_path / "conda-lock.yml"
    file.write_text(conda_lock(locks, "team.yaml", ADDRESS), encoding="utf-8")
    profile = read("profiles/conda-torch-cuda121.yaml", ROOT).profile
    python = more.pop("python", "3.11")
    if "environment" in more:
        more["environment"] = replace(more["environment"], channels=profile.environment.channels)
    with pytest.raises(UnsatisfiableError, match=re.escape(said)) as refused:
        adopt_conda_lock(replace(profile, **more), "linux-x86_64", python, file, Session(folder=tmp_path))
    assert all(f.remedies for f in refused.value.findings)


def test_two_torches_are_refused(locks: list[Lock], tmp_path: Path) -> None:
    """O33: a file that pins conda's pytorch and the index's torch beside it."""
    torch = replace(WHEEL, name="torch", version="2.2.0", file="torch-2.2.0-cp311-none-any.whl")
    file = tmp_path / "conda-lock.yml"
    address = {torch.file: f"https://files.example.invalid/{torch.file}"}
    file.write_text(conda_lock([replace(locks[0], packages=(torch,))], "x", address), encoding="utf-8")
    profile = read("profiles/conda-torch-cuda121.yaml", ROOT).profile
    with pytest.raises(UnsatisfiableError) as refused:
        adopt_conda_lock(profile, "linux-x86_64", "3.11", file, Session(folder=tmp_path))
    assert [f.code for f in refused.value.findings] == ["two-owners"]


def test_a_wheel_without_an_address_is_refused(locks: list[Lock]) -> None:
    with pytest.raises(UsageError, match="No address is known"):
        conda_lock(locks, "team.yaml", {})


def test_the_explicit_file_is_read_by_rattler(locks: list[Lock]) -> None:
    rattler = pytest.importorskip("rattler.explicit_environment.environment")
    spec = rattler.ExplicitEnvironmentSpec.from_str(explicit(locks[0]))
    assert str(spec.platform) == "linux-64"
    assert len(spec.packages) == len(locks[0].conda)


def test_environment_yml_comes_back(locks: list[Lock]) -> None:
    text = environment(locks[0])
    profile, findings = import_environment(text, "environment.yml", "x")
    assert findings == ()
    assert profile.environment.channels == locks[0].channels
    assert profile.environment.wheels == ("smplx==0.1.28",)
    assert profile.python == "==3.11.*"


IMPORTED = """\
name: my env
channels: [pytorch, conda-forge, nodefaults]
dependencies:
- python=3.7
- pytorch=1.5.1
- cudatoolkit=10.1
- numpy=1.18.5
- conda-forge::h5py >=2.10,<3
- pip
- pip:
  - tensorflow==2.4.1
  - -r requirements.txt
variables: {A: '1'}
"""


def test_a_profile_is_made_of_an_environment_file(tmp_path: Path) -> None:
    """O32: the pip section becomes wheels on top; what cannot be taken over is said, and lint speaks of the file."""
    (tmp_path / "environment.yml").write_text(IMPORTED)
    done = run_import("environment.yml", None, False, Session(folder=tmp_path))
    text = done.path.read_text(encoding="utf-8")
    assert text.startswith("schema: 1\n"), "no line that names a schema which is not there"
    profile = load(text, str(done.path))
    assert profile == done.profile
    assert (profile.name, profile.python, profile.hardware.vendor) == ("my-env", "==3.7.*", "nvidia")
    assert profile.frameworks["torch"].version == "==1.5.1.*"
    assert profile.accelerator == {"cuda": "10.1"}
    assert profile.packages == ("numpy=1.18.5", "conda-forge::h5py >=2.10,<3")
    assert profile.environment.channels == ("pytorch", "conda-forge")
    assert profile.environment.wheels == ("tensorflow==2.4.1",)
    assert profile.variables == {"A": "1"}
    assert [f.evidence[0].text for f in done.findings if f.code == "not-taken-over"] == [
        "-r requirements.txt"
    ]
    with pytest.raises(UsageError, match="there already"):
        run_import("environment.yml", None, False, Session(folder=tmp_path))


def test_a_file_that_is_no_environment(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="no list of dependencies"):
        import_environment("name: x\n", "x.yml", "x")


@pytest.mark.slow
def test_conda_lock_itself_reads_and_renders_it(locks: list[Lock], tmp_path: Path) -> None:
    """In an environment of its own: conda-lock is heavy and asks for old versions of others."""
    from uv import find_uv_bin

    uv, venv = find_uv_bin(), tmp_path / "venv"
    subprocess.run([uv, "venv", "-q", "--python", sys.executable, venv], check=True)
    subprocess.run(
        [uv, "pip", "install", "-q", "--python", venv / "bin" / "python", "conda-lock>=4,<5"], check=True
    )
    (tmp_path / "conda-lock.yml").write_text(conda_lock(locks, "team.yaml", ADDRESS), encoding="utf-8")
    code = (
        "import json, pathlib; from conda_lock.lockfile import parse_conda_lock_file as parse\n"
        "found = parse(pathlib.Path('conda-lock.yml'))\n"
        "print(json.dumps(sorted([p.name, p.platform, p.manager, p.url] for p in found.package)))\n"
    )
    python = [venv / "bin" / "python", "-c", code]
    done = subprocess.run(python, cwd=tmp_path, capture_output=True, text=True, check=True)
    theirs = json.loads(done.stdout)
    conda = [
        [a.name, p, "conda", a.url]
        for m, p in zip(locks, ("linux-64", "win-64"), strict=True)
        for a in m.conda
    ]
    assert theirs == sorted([*conda, ["smplx", "linux-64", "pip", ADDRESS[WHEEL.file]]])
    render = [venv / "bin" / "conda-lock", "render", "-p", "linux-64", "conda-lock.yml"]
    subprocess.run(render, cwd=tmp_path, capture_output=True, text=True, check=True)
    rendered = (tmp_path / "conda-linux-64.lock").read_text()
    assert all(artifact.url in rendered for artifact in locks[0].conda)


def test_what_is_not_a_list_of_texts_is_said_and_no_secret_is(tmp_path: Path) -> None:
    (tmp_path / "environment.yml").write_text(
        "name: x\nchannels: ['https://me:SECRET@host/ch', conda-forge]\ndependencies:\n  - 3.10\n  - null\n"
        "  - numpy=1.26.4=py310h5f9d8c6_0\n  - {conda: [x]}\n  - pip: numpy\n  - pip:\n"
        "    - git+https://me:SECRET@host/a\n    - --index-url https://me:SECRET@host/simple\n"
    )
    done = run_import("environment.yml", None, False, Session(folder=tmp_path))
    assert (done.profile.packages, done.profile.environment.wheels) == (("numpy=1.26.4=py310h5f9d8c6_0",), ())
    left = [f.evidence[0].text for f in done.findings if f.code == "not-taken-over"]
    assert left == [
        "3.1", "None", "conda:", "pip:", "https://***@host/ch", "git+https://***@host/a",
        "--index-url https://***@host/simple",
    ]  # fmt: skip
    assert "SECRET" not in "".join(str(f.to_json()) for f in done.findings)
