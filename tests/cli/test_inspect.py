"""`inspect` and `knowledge learn` over the loopback index and over files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from provision.knowledge import load_knowledge
from tests.cli.conftest import Here
from tests.support.index import LoopbackIndex

_VERSION = "from typing import Optional\n__version__ = '{0}'\ncuda: Optional[str] = {1}\nhip: Optional[str] = None\n"
_PYTHONS = ("cp310", "cp311")


@pytest.fixture
def shop(index: LoopbackIndex) -> Callable[..., Path]:
    """`shop("9.9.0", "'12.8'")` serves wheels of torch for Linux and two Pythons."""

    def serve(version: str, cuda: str) -> Path:
        made = Path()
        for python in _PYTHONS:
            made = index.wheel(
                "torch", version, tag=f"{python}-{python}-manylinux_2_28_x86_64", requires=["filelock", "sympy>=1.13"],
                files={"torch/__init__.py": "", "torch/version.py": _VERSION.format(version, cuda)},
            )  # fmt: skip
        return made

    return serve


def test_a_wheel_of_an_index_is_read_where_it_lies(shop: Callable[..., Path], index: LoopbackIndex, here: Here) -> None:
    shop("9.8.0", "None")
    shop("9.9.0", "'12.8'")
    asked = ("inspect", "torch", "--target", "linux-x86_64", "--json")
    ran = here(*asked)
    assert ran.code == 0, ran.err
    document = ran.document
    assert (document["file"], document["cuda"]) == ("torch-9.9.0-cp311-cp311-manylinux_2_28_x86_64.whl", "12.8")
    assert document["requires"] == ["filelock", "sympy>=1.13"]
    assert document["row"] == ""
    assert document["requests"] > 0
    again = here(*asked).document
    assert (again["requests"], again["cuda"]) == (0, "12.8"), "by its hash"
    older = here("inspect", "torch<9.9", "--python", "3.10", "--target", "linux-x86_64", "--json").document
    assert older["file"] == "torch-9.8.0-cp310-cp310-manylinux_2_28_x86_64.whl"
    assert older["is_cuda_build"] is False
    shown = here("inspect", "torch", "--target", "linux-x86_64")
    assert "CUDA 12.8" in shown.out
    assert "read before" in shown.out
    assert "provision knowledge learn" in shown.out


def test_a_file_and_what_contradicts_the_rows(shop: Callable[..., Path], here: Here) -> None:
    """A wheel named as a known release that says something else: the artifact counts, and the row is named."""
    made = shop("2.8.0", "'12.9'")
    ran = here("inspect", str(made), "--json")
    assert ran.code == 0, ran.err
    assert (ran.document["cuda"], ran.document["row"]) == ("12.9", "torch-2.8-pypi-linux")
    assert ran.codes == ["knowledge-disagrees"]
    shown = here("inspect", str(made))
    assert "12.9" in shown.err
    assert "The artifact counts" in shown.err


def test_what_cannot_be_inspected_is_a_finding(shop: Callable[..., Path], here: Here) -> None:
    shop("9.9.0", "None")
    assert here("inspect", "no-such-project", "--json").codes == ["no-such-package"]
    assert here("inspect", "torch==1", "--target", "linux-x86_64", "--json").codes == ["no-such-wheel"]
    assert here("inspect", "what is this", "--json").codes == ["bad-requirement"]
    assert here("inspect", "gone.whl", "--json").codes == ["artifact-unreadable"]
    Path("broken.whl").write_bytes(b"no zip")
    assert here("inspect", "broken.whl", "--json").code == 1
    assert here("inspect", "torch", "--index", "pytorch", "--json").codes == ["no-such-index"]
    assert here("inspect", "torch", "--target", "linux-arm", "--json").code == 2


def test_rows_of_a_release_that_nobody_knows_yet(shop: Callable[..., Path], here: Here, tmp_path: Path) -> None:
    shop("9.9.0", "'12.8'")
    ran = here("knowledge", "learn", "torch==9.9.0", "--output", "draft.yaml", "--json")
    assert ran.code == 0, ran.err
    assert ran.document["known"] == []
    assert [w["file"] for w in ran.document["wheels"]] == ["torch-9.9.0-cp311-cp311-manylinux_2_28_x86_64.whl"]
    text = (tmp_path / "draft.yaml").read_text()
    assert yaml.safe_load(text) == yaml.safe_load(ran.document["rows"])
    learned = load_knowledge([("draft.yaml", text)])
    (build,) = [b for b in learned.builds("torch") if b.version == "9.9.0"]
    assert (build.runtime.version, build.pythons, build.target) == ("12.8", ("3.10", "3.11"), "linux-x86_64")


def test_learning_what_is_known_says_so(shop: Callable[..., Path], here: Here) -> None:
    shop("2.8.0", "'12.8'")
    ran = here("knowledge", "learn", "torch==2.8.0")
    assert ran.code == 0
    assert "torch-2.8-pypi-linux" in ran.err
    assert "builds:" in ran.out
    none = here("knowledge", "learn", "torch==2.8.0", "--target", "windows-x86_64", "--json")
    assert none.codes == ["no-such-wheel"]
