"""The profiles, locks and catalogue of this repository: each lock matches its profile, and nothing in it is made up."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from provision.documents import read_lock
from provision.loading import load_file
from provision.locking.tags import rank
from provision.model.lock import PYPI, Lock
from provision.pipeline.locks import check_profile
from provision.pipeline.profiles import Source, variants_of
from provision.pipeline.session import Session
from provision.resolving import clashes
from provision.world.recorded_files import Catalogue, read_page, write_page

PROFILES = Path(__file__).parents[2] / "profiles"
CATALOG = Catalogue(PROFILES / "catalog")
LOCKS = sorted(PROFILES.glob("locks/*/*.lock.yaml"))


def sources() -> Iterator[Source]:
    for path in sorted(PROFILES.glob("*.yaml")):
        profile = load_file(str(path), lambda name: Path(name).read_bytes())
        yield from variants_of(Source(profile, path))


def lock_at(path: Path) -> Lock:
    return read_lock(path.read_text(encoding="utf-8"), str(path))


@pytest.mark.parametrize(
    "source", list(sources()), ids=lambda s: f"{s.profile.name}-{s.variant}" if s.variant else s.profile.name
)
def test_every_profile_has_its_locks(source: Source) -> None:
    findings = check_profile(source, Session(folder=PROFILES.parent))
    codes = {f.code for f in findings}
    assert codes <= {"vendor-files-missing", "lock-not-committed"}, findings
    if codes - {"lock-not-committed"}:
        assert "vendor/" in source.profile.description, "a profile without a lock says why"


@pytest.mark.parametrize("path", LOCKS, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_a_lock_holds_upstream_facts_only(path: Path) -> None:
    made = lock_at(path)
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"127\.0\.0\.1|localhost|file:/|(?<![\w.:/-])~?/[A-Za-z]", text)
    assert {a.index for a in made.packages} <= {PYPI, *(i.name for i in made.indexes)}
    for artifact in made.packages:
        assert re.fullmatch(r"[0-9a-f]{64}", artifact.sha256)
        assert set(artifact.sha256) != {"0"}
        if artifact.kind == "wheel":
            assert rank(artifact.file, made.python, made.target) is not None
        if artifact.index != PYPI:
            page = CATALOG.page(artifact.index, artifact.name)
            recorded = page.file(artifact.file) if page else None
            assert recorded is not None, "its hash is on record"
            assert (recorded.sha256, recorded.size) == (artifact.sha256, artifact.size)


def test_the_catalogue_is_as_it_would_be_written_and_names_its_sources() -> None:
    pages = sorted((PROFILES / "catalog").rglob("*.json"))
    assert pages
    for path in pages:
        text = path.read_text(encoding="utf-8")
        page = read_page(text)
        assert write_page(page) == text
        assert (page.index, page.project) == (path.parent.name, path.stem)
        assert page.source
        assert all(f.source and f.sha256 and f.url and f.described and f.described.source for f in page.files)
        assert all(f.url.startswith("https://download.pytorch.org/whl/") for f in page.files if f.url)


def test_nothing_in_the_catalogue_is_idle() -> None:
    """It holds what the profiles need, and no more."""
    used = {(a.index, a.file) for path in LOCKS for a in lock_at(path).packages}
    held = {(i, f.name) for i in CATALOG.indexes() for p in (PROFILES / "catalog" / i).glob("*.json")
            for f in read_page(p.read_text("utf-8")).files}  # fmt: skip
    waiting = {("pytorch-cpu", name) for name in (
        "torch-2.4.0+cpu-cp310-cp310-linux_x86_64.whl",
        "torch-2.10.0+cpu-cp310-cp310-manylinux_2_28_x86_64.whl",
        "torchvision-0.25.0+cpu-cp310-cp310-manylinux_2_28_x86_64.whl",
    )}  # fmt: skip
    assert held - used == waiting, "what the profiles with vendor files will need"


def test_the_dual_lock_has_one_cuda_and_one_cudnn() -> None:
    made = lock_at(PROFILES / "locks/nvidia-cuda12-dual/linux-x86_64-py312.lock.yaml")
    names = {a.name for a in made.packages}
    assert {n for n in names if "cudnn" in n} == {"nvidia-cudnn-cu12"}
    assert {n for n in names if "nccl" in n} == {"nvidia-nccl-cu12"}
    assert not {n for n in names if n.endswith(("-cu11", "-cu13"))}


@pytest.mark.parametrize("path", LOCKS, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_no_two_packages_of_a_lock_write_one_folder(path: Path) -> None:
    """Wheels, that is: conda's tensorflow-gpu is a name for a build of its tensorflow."""
    names = [a.name for a in lock_at(path).packages]
    assert clashes(names, Session(folder=PROFILES.parent).knowledge) == ()
