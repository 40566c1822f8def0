"""The bundled conda profiles against the recorded channels: what is committed, and what is refused for lack of a record."""

from __future__ import annotations

from pathlib import Path

import pytest

from provision.documents import dump_yaml
from provision.model.finding import ProvisionError, UnsatisfiableError, UsageError
from provision.pipeline.locks import make_lock, read_lock_file
from provision.pipeline.profiles import find_lock, read
from provision.pipeline.session import Session
from provision.world.recorded_channels import replayed

ROOT = Path(__file__).parents[2]
CATALOG = ROOT / "profiles" / "catalog"
LOCKED = [
    ("nvidia-cuda101-tf21-conda", "linux-x86_64", "3.7"),
    ("conda-torch-cuda121", "linux-x86_64", "3.11"),
    ("conda-torch-cuda121", "windows-x86_64", "3.11"),
]


@pytest.fixture
def session(tmp_path: Path, isolated_home: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    pytest.importorskip("rattler", reason="the extra conda is not installed")
    monkeypatch.setenv("PROVISION_CACHE", str(tmp_path / "cache"))
    return Session(folder=ROOT, replay=CATALOG, offline=True)


@pytest.mark.parametrize(("name", "target", "python"), LOCKED)
def test_the_committed_lock_is_what_the_records_give(
    session: Session, name: str, target: str, python: str
) -> None:
    source = read(f"profiles/{name}.yaml", ROOT)
    path = find_lock(source, ROOT, target, python)
    assert path is not None
    text = path.read_text(encoding="utf-8")
    assert dump_yaml(make_lock(source.profile, target, python, session)) == text
    former, _ = read_lock_file(path)
    assert dump_yaml(make_lock(source.profile, target, python, session, former)) == text, (
        "and again from itself"
    )


def test_what_is_weak_in_a_lock_is_said(session: Session) -> None:
    source = read("profiles/nvidia-cuda101-tf21-conda.yaml", ROOT)
    made, _ = read_lock_file(ROOT / "profiles/locks/nvidia-cuda101-tf21-conda/linux-x86_64-py37.lock.yaml")
    weak = [a for a in made.conda if not a.sha256]
    assert all(a.md5 for a in weak)
    (said,) = [n for n in made.notes if n.rule == "conda-md5-only"]
    assert said.because.startswith(f"{len(weak)} of {len(made.conda)} conda packages")
    assert {a.name: a.version for a in made.conda}["cudatoolkit"] == "10.1.243"
    assert source.profile.accelerator == {"cuda": "10.1", "cudnn": "7.6"}


def test_a_build_without_any_hash_is_not_locked(session: Session) -> None:
    source = read("profiles/nvidia-cuda101-tf21-conda.yaml", ROOT)
    with pytest.raises(UnsatisfiableError) as refused:
        make_lock(source.profile, "windows-x86_64", "3.7", session)
    (finding,) = refused.value.findings
    assert finding.code == "no-hash"
    assert "tensorflow 2.1.0 gpu_py37h7db9008_0" in finding.summary


def test_a_closure_that_is_not_on_record_is_refused(session: Session) -> None:
    source = read("profiles/conda-forge-torch-cuda.yaml", ROOT)
    with pytest.raises(ProvisionError) as refused:
        make_lock(source.profile, "linux-x86_64", "3.12", session)
    assert refused.value.findings[0].code == "no-such-package"


def test_a_catalogue_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "conda").mkdir()
    (tmp_path / "conda" / "x.yaml").write_text("channels: {c: {linux-64: [{md5: 1}]}}\n")
    with pytest.raises(UsageError, match=r"x\.yaml"):
        replayed(tmp_path, tmp_path / "cache")
