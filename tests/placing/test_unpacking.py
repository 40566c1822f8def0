"""Archives hostile to extraction: refused as a whole, and nothing is left of them."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from provision.model.finding import ApplyError, LockError, ProvisionError
from provision.world.unpacking import HostPlacer

FOLDER = "cudnn-8/lib"


def tar(path: Path, *members: tuple[str, Any]) -> Path:
    """Members are (name, bytes) or (name, changes of a TarInfo)."""
    with tarfile.open(path, "w:gz") as archive:
        for name, what in members:
            info = tarfile.TarInfo(name)
            if isinstance(what, bytes):
                info.size = len(what)
                archive.addfile(info, io.BytesIO(what))
            else:
                for key, value in what.items():
                    setattr(info, key, value)
                archive.addfile(info)
    return path


def unpack(path: Path, folder: str = FOLDER) -> Path:
    destination = path.parent / "placed"
    HostPlacer().unpack(str(path), hashlib.sha256(path.read_bytes()).hexdigest(), folder, str(destination))
    return destination


def code(error: ProvisionError) -> str:
    return error.findings[0].code


def test_the_listed_folder_alone_is_taken(tmp_path: Path) -> None:
    link = {"type": tarfile.SYMTYPE, "linkname": "libcudnn.so.8.6.0"}
    path = tar(
        tmp_path / "a.tgz", ("cudnn-8/LICENSE", b"text"), ("cudnn-8/include/cudnn.h", b"int;"),
        (f"{FOLDER}/libcudnn.so.8", link), (f"{FOLDER}/libcudnn.so.8.6.0", b"binary"), (f"{FOLDER}/libcudnn_static.a", b"x"),
        (f"{FOLDER}/stubs/libcuda.so", b"x"),
    )  # fmt: skip
    placed = unpack(path)
    assert sorted(os.listdir(placed)) == ["libcudnn.so.8", "libcudnn.so.8.6.0"]
    assert (placed / "libcudnn.so.8").read_bytes() == b"binary"


def test_a_zip_with_dlls(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("cuda/bin/cudnn64_7.dll", b"dll")
        archive.writestr("cuda/lib/x64/cudnn.lib", b"lib")
    assert os.listdir(unpack(path, "cuda/bin")) == ["cudnn64_7.dll"]


@pytest.mark.parametrize(
    "members",
    [
        [(f"{FOLDER}/../../../libevil.so", b"x")],
        [("/tmp/libevil.so", b"x"), (f"{FOLDER}/liba.so", b"x")],
        [("C:\\windows\\evil.dll", b"x"), (f"{FOLDER}/liba.so", b"x")],
        [(f"{FOLDER}/liba.so", {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"})],
        [(f"{FOLDER}/liba.so", {"type": tarfile.SYMTYPE, "linkname": "../../outside.so"})],
        [(f"{FOLDER}/liba.so", {"type": tarfile.LNKTYPE, "linkname": "/etc/passwd"})],
        [(f"{FOLDER}/liba.so", {"type": tarfile.CHRTYPE, "devmajor": 1, "devminor": 3})],
        [(f"{FOLDER}/liba.so", {"type": tarfile.FIFOTYPE})],
        [(f"{FOLDER}/con.dll", b"x")],
        [(f"{FOLDER}/a:b.dll", b"x")],
        [(f"{FOLDER}/Cudnn.dll", b"x"), (f"{FOLDER}/cudnn.dll", b"y")],
        [(f"{FOLDER}/liba.so", b"x"), (f"{FOLDER}/liba.so", b"y")],
    ],
    ids=[
        "parent", "absolute", "drive", "link-absolute", "link-parent", "hard-link", "device", "fifo", "reserved", "colon",
        "case", "twice",
    ],
)  # fmt: skip
def test_a_hostile_archive_is_refused(tmp_path: Path, members: list[tuple[str, Any]]) -> None:
    path = tar(tmp_path / "a.tgz", *members)
    with pytest.raises(ApplyError) as caught:
        unpack(path)
    assert code(caught.value) == "archive-hostile"
    assert os.listdir(tmp_path) == ["a.tgz"]


def test_another_file_than_the_locks(tmp_path: Path) -> None:
    path = tar(tmp_path / "a.tgz", (f"{FOLDER}/liba.so", b"x"))
    with pytest.raises(LockError) as caught:
        HostPlacer().unpack(str(path), "0" * 64, FOLDER, str(tmp_path / "placed"))
    assert code(caught.value) == "hash-mismatch"
    assert os.listdir(tmp_path) == ["a.tgz"]


def test_an_archive_that_is_cut_short(tmp_path: Path) -> None:
    path = tar(tmp_path / "a.tgz", (f"{FOLDER}/liba.so", os.urandom(100_000)))
    path.write_bytes(path.read_bytes()[:50_000])
    with pytest.raises(ApplyError) as caught:
        unpack(path)
    assert code(caught.value) == "archive-broken"
    assert os.listdir(tmp_path) == ["a.tgz"]


def test_an_archive_without_libraries(tmp_path: Path) -> None:
    with pytest.raises(ApplyError) as caught:
        unpack(tar(tmp_path / "a.tgz", ("other/liba.so", b"x")))
    assert code(caught.value) == "archive-empty"


def test_more_than_the_disk_holds(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    info = tarfile.TarInfo(f"{FOLDER}/liba.so")
    info.size = 1 << 50
    path.write_bytes(info.tobuf(tarfile.GNU_FORMAT) + bytes(1024))
    with pytest.raises(ApplyError) as caught:
        unpack(path)
    assert code(caught.value) in ("disk-full", "archive-broken")
    assert os.listdir(tmp_path) == ["a.tar"]
