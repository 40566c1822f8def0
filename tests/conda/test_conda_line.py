"""The whole line with conda packages of a local channel: apply, run, status; no conda on the machine."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from tests.support.channels import PLACEHOLDER, Channel, Content, link_script
from tests.support.command import provision, running_python
from tests.support.conda_lines import write
from tests.support.index import LoopbackIndex


def test_from_profile_to_proven_environment(
    channel: Channel, index: LoopbackIndex, folder: Path, isolated_home: Path
) -> None:
    """The bundled cpu-conda, its channel a local one. The tiny torch cannot train: it is imported only."""
    index.wheel("extra", "1.0")
    channel.add("pytorch", "2.4.0", build="cpu_py_0", subdir="linux-64", depends=["python"])
    module = {"site-packages/bare_thing/__init__.py": Content(b"X = 1\n")}
    channel.add("bare-thing", "1.0", module, noarch="python", depends=["python"])
    channel.index()
    (isolated_home / ".condarc").write_text(
        f"mirrored_channels: {{conda-forge: ['{channel.folder.as_uri()}']}}\n"
    )
    base = os.path.relpath(Path(__file__).parents[2] / "profiles" / "cpu-conda.yaml", folder)
    path = folder / "team.yaml"
    path.write_text(
        f"schema: 1\nname: team\nextends: {base}\npython: '{running_python()}'\ntargets: [linux-x86_64]\n"
        "packages: [alpha, native, bare-thing]\nenvironment: {path: .env, wheels: [extra]}\nsmoke: {jobs: [imports]}\n",
        encoding="utf-8",
    )
    ran = provision(folder, "apply", path.name, "--json")
    assert ran.code == 0, ran.err
    assert ran.document["receipt"]["verdict"] == "passed"
    (job,) = ran.document["receipt"]["jobs"]
    assert "bare_thing" in json.dumps(job), "conda's own record names the modules where no wheel's does"
    environment = folder / ".env"
    assert os.readlink(environment).endswith("/generations/1")

    script = subprocess.run([environment / "bin" / "alpha"], capture_output=True, text=True, check=True)
    assert script.stdout.split(maxsplit=1)[1].strip() == str(environment), "a script goes through the pointer"
    assert str(environment) in (environment / "bin" / "tool").read_text(encoding="utf-8")
    tool = subprocess.run([environment / "bin" / "tool"], capture_output=True, text=True, check=True)
    assert tool.stdout.strip() == str(environment), (
        "a package's own script runs though a space is in the path"
    )
    data = (environment / "lib" / "data.bin").read_bytes()
    assert data.startswith(b"\0\1" + str(environment).encode() + b"/etc\0")
    assert len(data) == len(PLACEHOLDER) + 10, "a binary keeps its length"

    record = json.loads((environment / "conda-meta" / "alpha-1.0-0.json").read_text(encoding="utf-8"))
    assert record["url"] == "https://conda.anaconda.org/conda-forge/noarch/alpha-1.0-0.conda"
    code = "import alpha, extra, os, sys; print(os.environ['CONDA_PREFIX'], extra.__file__.startswith(sys.prefix))"
    inside = provision(folder, "run", "--", "python", "-c", code)
    assert (inside.code, inside.out.strip()) == (0, f"{environment} True")
    again = provision(folder, "apply", path.name, "--json")
    assert (again.code, again.document["outcome"]) == (0, "unchanged")
    _files_are_held_against_condas_records(folder)


def test_conda_packages_and_wheels_are_carried_in_a_bundle(
    channel: Channel, index: LoopbackIndex, folder: Path, tmp_path: Path
) -> None:
    index.wheel("extra", "1.0")
    path = write(folder, "packages: [alpha, native]\nsmoke: {jobs: [imports]}\n", more=", wheels: [extra]")
    assert provision(folder, "lock", path.name).code == 0
    ran = provision(folder, "bundle", path.name, "-o", "carry", "--json")
    assert ran.code == 0, ran
    names = sorted(
        p.relative_to(folder / "carry/files").as_posix() for p in (folder / "carry/files").rglob("*.*")
    )
    assert "conda/alpha-1.0-0.conda" in names
    assert "pypi/extra-1.0-py3-none-any.whl" in names
    assert ran.document["locks"][0]["files"] == len(names)
    channel.folder.rename(tmp_path / "gone")
    nowhere = "http://127.0.0.1:9/simple"
    alone = {"PROVISION_CACHE": str(tmp_path / "other"), "UV_DEFAULT_INDEX": nowhere, "UV_INDEX_URL": nowhere}
    refused = provision(folder, "apply", path.name, "--offline", "--json", env=alone)
    assert (refused.code, set(refused.codes)) == (5, {"offline-missing"})
    applied = provision(folder, "apply", path.name, "--bundle", "carry", "--json", env=alone)
    assert (applied.code, applied.document["outcome"]) == (0, "changed"), applied


def _files_are_held_against_condas_records(folder: Path) -> None:
    """Wheels by RECORD, conda's packages by conda-meta; a file with the prefix written into it as it stands there."""
    sound = provision(folder, "verify", "--files", "--json")
    assert (sound.code, sound.document["findings"]) == (0, []), sound.out
    environment = folder / ".env"
    packages = next((environment / "lib").glob("python*/site-packages"))
    (packages / "alpha" / "__init__.py").write_text("altered = True\n")
    (environment / "bin" / "tool").unlink()
    (packages / "stray.py").write_text("")
    (environment / "conda-meta" / "bare-thing-1.0-0.json").rename(folder / "kept.json")
    broken = provision(folder, "verify", "--files", "--json")
    found = {finding["code"]: json.dumps(finding) for finding in broken.document["findings"]}
    assert (broken.code, sorted(found)) == (
        1,
        ["file-altered", "file-foreign", "file-missing", "package-missing"],
    )
    assert "alpha/__init__.py" in found["file-altered"]
    assert "1 file of alpha" in found["file-altered"]
    assert "bin/tool" in found["file-missing"]
    assert "bare-thing" in found["package-missing"]
    assert "stray.py" in found["file-foreign"]


def test_a_failed_apply_leaves_the_old_environment(channel: Channel, folder: Path) -> None:
    path = write(folder, "packages: [alpha]\n")
    assert provision(folder, "apply", path.name).code == 0
    write(folder, "packages: [alpha, native]\n")
    assert provision(folder, "lock", path.name).code == 0
    broken = channel.folder / "linux-64" / "native-1.0-h1_0.tar.bz2"
    broken.write_bytes(broken.read_bytes()[:-3] + b"xyz")
    ran = provision(folder, "apply", path.name, "--yes", "--json")
    assert (ran.code, ran.codes) == (4, ["hash-mismatch"])
    assert os.readlink(folder / ".env").endswith("/1")
    assert not (folder / ".provision" / ".env" / "generations" / "2").exists()
    assert provision(folder, "status").code == 0
    (folder / ".env" / "conda-meta" / "alpha-1.0-0.json").unlink()
    assert provision(folder, "status").code == 1, "a package whose record is gone is drift"


def test_link_scripts_run_by_consent_only(channel: Channel, folder: Path) -> None:
    text = 'echo "$PKG_NAME $PKG_VERSION" > "$PREFIX/ran.txt"'
    channel.add("linky", "1.0", {"bin/.linky-post-link.sh": link_script(text)}, subdir="linux-64")
    bad = {"bin/.bad-post-link.sh": link_script("echo no luck; exit 3")}
    channel.add("bad", "1.0", bad, subdir="linux-64")
    channel.index()
    path = write(folder, "packages: [alpha, linky]\n")
    ran = provision(folder, "apply", path.name)
    assert ran.code == 0, ran.err
    assert "link-scripts: [linky]" in ran.err
    assert not (folder / ".env" / "ran.txt").exists()
    write(folder, "packages: [alpha, linky, bad]\n", more=", link-scripts: [bad, linky]")
    ran = provision(folder, "apply", path.name, "--yes", "--json")
    assert (ran.code, ran.codes) == (6, ["link-script-failed"])
    assert "no luck" in ran.document["findings"][0]["detail"]
    assert os.readlink(folder / ".env").endswith("/1")
    write(folder, "packages: [alpha, linky]\n", more=", link-scripts: [linky]")
    ran = provision(folder, "apply", path.name, "--yes")
    assert ran.code == 0, ran.err
    assert (folder / ".env" / "ran.txt").read_text() == "linky 1.0\n"
