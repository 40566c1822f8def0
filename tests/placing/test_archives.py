"""Library sets from archives: the user's own file, placing, the user's zlibwapi."""

from __future__ import annotations

import hashlib
import json
import zipfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from provision.applying.placing import PlaceLibraries, hook_text
from provision.model.finding import LockError, ProvisionError, UsageError
from provision.model.lock import Digests, Lock
from provision.model.stack import Archive, Library
from provision.pipeline.session import Quiet
from provision.ports import LocalFile
from provision.prefix import placed_files, snapshot
from provision.world.catalog import HostCatalog
from provision.world.files import HostFiles
from provision.world.indexes import IndexConfig
from provision.world.supply import HostSupply
from provision.world.unpacking import HostPlacer


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "cudnn-windows.zip"
    with zipfile.ZipFile(path, "w") as out:
        out.writestr("cuda/bin/cudnn64_8.dll", b"cudnn")
        out.writestr("cuda/bin/cudnn_ops_infer64_8.dll", b"ops")
        out.writestr("cuda/LICENSE", b"text")
    return path


def lock(archive: Path, **more: Any) -> Lock:
    content = archive.read_bytes()
    library = Library(
        id="cudnn-test", library="cudnn", version="8.6.0.163", licence="test",
        holds=("cudnn_ops_infer64_8.dll", "cudnn64_8.dll"),
        archive=Archive(
            file="cudnn.zip", url="https://cudnn.invalid/cudnn.zip", folder="cuda/bin", size=len(content),
            sha256=hashlib.sha256(content).hexdigest(),
        ),
        **more,
    )  # fmt: skip
    return Lock(
        profile="team", target="windows-x86_64", python="3.10", digests=Digests(profile="", knowledge=""),
        frameworks=("tensorflow",), libraries=(library,),
    )  # fmt: skip


def supply(tmp_path: Path, **given: Path) -> HostSupply:
    config = IndexConfig()
    return HostSupply(
        config, tmp_path / "cache", HostCatalog(config, tmp_path / "cache"), offline=True, given=given
    )


def test_a_file_of_the_user_is_taken_by_its_hash(tmp_path: Path, archive: Path) -> None:
    made = lock(archive)
    (local,) = supply(tmp_path, cudnn=archive).fetch(made, lambda count: None)
    assert Path(local.path).read_bytes() == archive.read_bytes()
    assert supply(tmp_path).present(made.artifacts) == {made.archives[0].sha256}, "and kept for the next time"


def test_another_file_of_the_user_is_refused(tmp_path: Path, archive: Path) -> None:
    made = lock(archive)
    archive.write_bytes(archive.read_bytes()[:-1] + b"x")
    with pytest.raises(LockError) as caught:
        supply(tmp_path, cudnn=archive).fetch(made, lambda count: None)
    assert caught.value.findings[0].code == "hash-mismatch"


def test_a_file_that_is_not_there(tmp_path: Path, archive: Path) -> None:
    with pytest.raises(UsageError):
        supply(tmp_path, cudnn=tmp_path / "absent.zip").fetch(lock(archive), lambda count: None)


def place(tmp_path: Path, made: Lock, archive: Path, **given: str) -> Path:
    prefix = tmp_path / "generation"
    (prefix / "Lib" / "site-packages" / "tensorflow").mkdir(parents=True)
    local = {a.sha256: LocalFile(a, str(archive)) for a in made.archives}
    effects = SimpleNamespace(files=HostFiles(), placer=HostPlacer(), reporter=Quiet(), given=given)
    context: Any = SimpleNamespace(effects=effects, folder=str(prefix), lock=made, wheels=local)
    handler = PlaceLibraries()
    handler.do(context, ())
    assert handler.holds(context, ())
    return prefix


def test_placing_from_an_archive(tmp_path: Path, archive: Path) -> None:
    prefix = place(tmp_path, lock(archive), archive)
    placed = prefix / "Lib" / "site-packages" / "provision_libraries" / "cudnn"
    assert sorted(p.name for p in placed.iterdir()) == ["cudnn64_8.dll", "cudnn_ops_infer64_8.dll"]
    rows = {row["path"]: row for row in placed_files(HostFiles(), str(prefix))}
    assert rows["Lib/site-packages/provision_libraries/cudnn/cudnn64_8.dll"]["size"] == 5
    assert "Lib/site-packages/provision_libraries.pth" in rows
    before = snapshot(HostFiles(), str(prefix))
    (placed / "cudnn64_8.dll").write_bytes(b"other")
    assert snapshot(HostFiles(), str(prefix)) != before
    document = json.loads((prefix / "provision-libraries.json").read_text())
    assert [one["licence"] for one in document["libraries"]] == ["test"]


def test_a_needed_file_that_the_user_gave_comes_first(tmp_path: Path, archive: Path) -> None:
    (tmp_path / "zlibwapi.dll").write_bytes(b"zlib")
    made = lock(archive, needs=("zlibwapi.dll",))
    prefix = place(tmp_path, made, archive, **{"zlibwapi.dll": str(tmp_path / "zlibwapi.dll")})
    hook = (prefix / "Lib" / "site-packages" / "_provision_libraries.py").read_text()
    assert hook.index("zlibwapi.dll") < hook.index("cudnn64_8.dll")


def test_a_set_that_lacks_a_part(tmp_path: Path, archive: Path) -> None:
    made = lock(archive)
    wanting = replace(made, libraries=(replace(made.libraries[0], holds=("cudnn_adv64_8.dll",)),))
    with pytest.raises(ProvisionError) as caught:
        place(tmp_path, wanting, archive)
    assert caught.value.findings[0].code == "library-incomplete"


def test_the_hook_is_python_that_old_interpreters_read(tmp_path: Path) -> None:
    text = hook_text(("tensorflow",), {"libcudnn.so.8": "nvidia/cudnn/lib/libcudnn.so.8"})
    space: dict[str, Any] = {"__file__": str(tmp_path / "hook.py")}
    exec(compile(text.replace("if FRAMEWORKS:", "if False:"), "hook", "exec"), space)
    other = tmp_path / "other"
    other.mkdir()
    assert space["shadows"](str(other)) == []
    (other / "libcudnn.so.8").write_bytes(b"")
    assert space["shadows"](f"/nowhere:{other}") == [str(other / "libcudnn.so.8")]
