"""verify --files: a sound environment says nothing, every kind of damage is named."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from provision.model.lock import Artifact, Digests, Lock
from provision.ports import FileFact
from provision.verifying.files import Distribution, Tree, check_files, verdict

SITE = "lib/python3.10/site-packages"


def digest(content: str) -> bytes:
    return hashlib.sha256(content.encode()).digest()


def fact(content: str) -> FileFact:
    return FileFact(size=len(content), sha256=digest(content).hex())


def distribution(name: str, version: str, **files: str) -> Distribution:
    rows = [
        f"{path},sha256={base64.urlsafe_b64encode(digest(content)).decode().rstrip('=')},{len(content)}"
        for path, content in files.items()
    ]
    return Distribution(
        name=name,
        version=version,
        folder=f"{name}.dist-info",
        record="\n".join([*rows, "x/__pycache__/a.pyc,,"]),
    )


def tree(*distributions: Distribution, **files: str) -> Tree:
    return Tree(
        packages=SITE,
        distributions=distributions,
        files={f"{SITE}/{path}": fact(text) for path, text in files.items()},
    )


def lock(*packages: tuple[str, str], **more: Any) -> Lock:
    artifacts = tuple(
        Artifact(name=n, version=v, index="pypi", file=f"{n}.whl", size=1, sha256="0" * 64)
        for n, v in packages
    )
    return Lock(
        profile="p", target="linux-x86_64", python="3.10", digests=Digests(profile="", knowledge=""),
        packages=artifacts, **more,
    )  # fmt: skip


A = distribution("alpha", "1.0", **{"alpha/__init__.py": "x", "../../../bin/alpha": "script"})
SOUND = replace(
    tree(A, **{"alpha/__init__.py": "x"}),
    files={
        f"{SITE}/alpha/__init__.py": fact("x"),
        "bin/alpha": fact("script"),
        "bin/python": fact("p"),
        "pyvenv.cfg": fact("c"),
    },
)
LOCK = lock(("alpha", "1.0"))


def codes(found: Tree, made: Lock = LOCK) -> list[str]:
    return sorted(f.code for f in check_files(found, made))


def test_a_sound_environment_says_nothing() -> None:
    assert check_files(SOUND, LOCK) == ()


def without(path: str) -> Callable[[Tree], Tree]:
    return lambda found: replace(found, files={k: v for k, v in found.files.items() if k != path})


def having(path: str, content: str) -> Callable[[Tree], Tree]:
    return lambda found: replace(found, files={**found.files, path: fact(content)})


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (without(f"{SITE}/alpha/__init__.py"), "file-missing"),
        (without("bin/alpha"), "file-missing"),
        (having(f"{SITE}/alpha/__init__.py", "y"), "file-altered"),
        (having(f"{SITE}/alpha/more.py", "y"), "file-foreign"),
        (lambda found: replace(found, distributions=(replace(A, version="2.0"),)), "package-version"),
    ],
)
def test_damage_is_named(change: Callable[[Tree], Tree], expected: str) -> None:
    assert codes(change(SOUND)) == [expected]


def test_bytecode_and_what_installers_write_is_nobodys_business() -> None:
    more = {
        f"{SITE}/alpha/__pycache__/a.cpython-310.pyc": fact("b"),
        f"{SITE}/alpha.dist-info/INSTALLER": fact("uv"),
    }
    assert check_files(replace(SOUND, files={**SOUND.files, **more}), LOCK) == ()


def test_two_distributions_that_wrote_one_file() -> None:
    cpu = distribution("tensorflow-cpu", "2.10.1", **{"tensorflow/a.py": "cpu"})
    gpu = distribution("tensorflow-gpu", "2.10.1", **{"tensorflow/a.py": "gpu"})
    made = lock(("tensorflow-gpu", "2.10.1"), hardware="nvidia", absent=("tensorflow-cpu",))
    found = check_files(tree(cpu, gpu, **{"tensorflow/a.py": "cpu"}), made)
    assert sorted(f.code for f in found) == ["cpu-build", "file-owned-twice", "package-unwanted"]
    assert "tensorflow-cpu and tensorflow-gpu" in next(
        f.summary for f in found if f.code == "file-owned-twice"
    )


def test_a_namespace_file_that_many_packages_hold_alike_is_fine() -> None:
    one = distribution("nvidia-a", "1", **{"nvidia/__init__.py": ""})
    two = distribution("nvidia-b", "1", **{"nvidia/__init__.py": ""})
    assert (
        codes(tree(one, two, **{"nvidia/__init__.py": ""}), lock(("nvidia-a", "1"), ("nvidia-b", "1"))) == []
    )


def test_a_cpu_build_of_torch_where_a_cuda_build_was_locked() -> None:
    installed = distribution("torch", "2.0.1+cpu", **{"torch/a.py": "x"})
    made = lock(("torch", "2.0.1+cu118"), hardware="nvidia")
    assert codes(tree(installed, **{"torch/a.py": "x"}), made) == ["cpu-build", "package-version"]


def test_a_package_that_is_gone_and_one_too_many() -> None:
    assert codes(SOUND, lock(("alpha", "1.0"), ("beta", "1.0"))) == ["package-missing"]
    assert codes(SOUND, lock()) == ["package-foreign"]


def test_two_cudnns_are_a_warning() -> None:
    torch = distribution("torch", "2.0.1", **{"torch/lib/libcudnn.so.8": "a"})
    wheel = distribution("nvidia-cudnn-cu11", "8.9", **{"nvidia/cudnn/lib/libcudnn.so.8": "b"})
    found = tree(torch, wheel, **{"torch/lib/libcudnn.so.8": "a", "nvidia/cudnn/lib/libcudnn.so.8": "b"})
    made = lock(("torch", "2.0.1"), ("nvidia-cudnn-cu11", "8.9"))
    assert codes(found, made) == ["two-cudnn"]
    assert verdict(check_files(found, made))


def test_a_distribution_without_a_record() -> None:
    assert codes(
        replace(SOUND, distributions=(A, replace(A, name="beta", record=None))),
        lock(("alpha", "1.0"), ("beta", "1.0")),
    ) == ["record-missing"]


def test_placed_libraries_and_links() -> None:
    row = {"path": f"{SITE}/tensorflow/libcudnn.so.8", "link": "../nvidia/cudnn/lib/libcudnn.so.8"}
    good = FileFact(size=1, sha256="", link=row["link"])
    placed = replace(SOUND, placed=(row,), files={**SOUND.files, row["path"]: good})
    assert codes(placed) == []
    assert codes(
        replace(placed, files={**SOUND.files, row["path"]: replace(good, link="/usr/lib/libcudnn.so.8")})
    ) == ["link-altered"]
    assert codes(replace(placed, files=SOUND.files)) == ["file-missing"]
