"""provision lock: many at once, pins that stay, and what is told about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import Here
from tests.support.golden import golden
from tests.support.index import LoopbackIndex
from tests.support.stacks import TF221

CPU = """\
schema: 1
name: {name}
targets: [linux-x86_64]
python: "3.10"
frameworks: {{tensorflow: "*"}}
"""


@pytest.fixture
def old_index(tiny_tensorflow: LoopbackIndex) -> LoopbackIndex:
    """The index as it was before TensorFlow 2.21 and numpy 1.26."""
    for name, version in (("tensorflow-cpu", "2.21.0"), ("numpy", "1.26.4"), ("six", "1.17.0")):
        for path in (tiny_tensorflow.root / "simple" / name).glob(f"*{version}*"):
            path.unlink()
    return tiny_tensorflow


def profile(folder: Path, name: str, text: str = CPU) -> Path:
    (folder / "profiles").mkdir(exist_ok=True)
    path = folder / "profiles" / f"{name}.yaml"
    path.write_text(text.format(name=name))
    return path


def versions(folder: Path, name: str = "a") -> dict[str, str]:
    (path,) = (folder / "profiles" / "locks" / name).glob("*.lock.yaml")
    packages: list[dict[str, Any]] = yaml.safe_load(path.read_text())["packages"]
    return {p["name"]: p["version"] for p in packages}


def test_pins_stay_and_single_ones_are_let_go(old_index: LoopbackIndex, tmp_path: Path, tiny: Here) -> None:
    profile(tmp_path, "a")
    ran = tiny("lock", "--all")
    assert ran.code == 0
    golden("lock-new", ran.out)
    first = versions(tmp_path)
    assert (first["tensorflow-cpu"], first["numpy"]) == ("2.10.1", "1.21.6")

    old_index.wheel("tensorflow-cpu", "2.21.0", requires=TF221)
    old_index.wheel("numpy", "1.26.4")
    ran = tiny("lock", "profiles/a.yaml")
    assert (ran.code, versions(tmp_path)) == (0, first), "a pin of a framework stays, too"
    assert ran.out == "1 lock unchanged: profiles/locks/a/linux-x86_64-py310.lock.yaml\n"

    ran = tiny("lock", "profiles/a.yaml", "--upgrade", "NumPy")
    assert versions(tmp_path) == {**first, "numpy": "1.26.4"}
    golden("lock-upgrade-one", ran.out)

    ran = tiny("lock", "--upgrade=tensorflow", "profiles/a.yaml", "--json")
    (lock,) = ran.document["locks"]
    assert (lock["status"], lock["changes"]["stack"][0]["after"]) == ("written", "tensorflow-cpu==2.21.0")
    assert versions(tmp_path)["numpy"] == "1.26.4", "what need not move does not"

    old_index.wheel("protobuf", "6.33.0")
    assert tiny("lock", "--upgrade", "profiles/a.yaml").code == 0, "a profile is no name of a package"
    assert versions(tmp_path)["protobuf"] == "6.33.0"


def test_all_asks_only_for_what_would_be_another_lock(
    old_index: LoopbackIndex, tmp_path: Path, tiny: Here
) -> None:
    for name in ("a", "b"):
        profile(tmp_path, name)
    assert tiny("lock", "--all").code == 0
    asked = len(old_index.requests)
    ran = tiny("lock", "--all")
    assert (ran.code, ran.out) == (0, "2 locks: 2 unchanged\n")
    assert len(old_index.requests) == asked, "locks that stand are not asked about"

    profile(tmp_path, "b", CPU + "packages: [six]\n")
    old_index.wheel("six", "1.17.0")
    assert tiny("lock", "--all").out.endswith("2 locks: 1 written, 1 unchanged\n")
    assert len(old_index.requests) > asked

    (path,) = (tmp_path / "profiles" / "locks" / "a").glob("*.lock.yaml")
    whole = path.read_text()
    path.write_text(whole.replace("because: ", "because: by hand, ", 1))
    assert tiny("lock", "--all").out.endswith("2 locks: 1 written, 1 unchanged\n")
    assert path.read_text() == whole, "a lock that says something else is made again"


def test_many_at_once(tiny_tensorflow: LoopbackIndex, tmp_path: Path, tiny: Here) -> None:
    for name in ("a", "b", "c"):
        profile(tmp_path, name)
    more = "variants:\n- {name: new, python: '3.12'}\n- {name: old, python: '3.10', frameworks: {tensorflow: ==2.10.1}}\n"
    profile(
        tmp_path,
        "d",
        CPU.replace("linux-x86_64", "linux-x86_64, windows-x86_64")
        + more.replace("{", "{{").replace("}", "}}"),
    )
    ran = tiny("lock", "--all")
    assert ran.code == 0, ran
    told = sorted(line.split(":")[0].split(maxsplit=1)[1] for line in ran.err.splitlines())
    assert told == [
        "a · linux-x86_64 · Python 3.10", "b · linux-x86_64 · Python 3.10", "c · linux-x86_64 · Python 3.10",
        "d · new · linux-x86_64 · Python 3.12", "d · new · windows-x86_64 · Python 3.12",
        "d · old · linux-x86_64 · Python 3.10", "d · old · windows-x86_64 · Python 3.10",
    ]  # fmt: skip
    assert ran.out.endswith("7 locks: 7 written\n")
    assert len(list((tmp_path / "profiles" / "locks").rglob("*.lock.yaml"))) == 7
    document = tiny("lock", "--all", "--json").document
    assert [(d["profile"], d["variant"], d["status"]) for d in document["locks"]] == [
        ("a", None, "unchanged"), ("b", None, "unchanged"), ("c", None, "unchanged"),
        ("d", "new", "unchanged"), ("d", "new", "unchanged"), ("d", "old", "unchanged"), ("d", "old", "unchanged"),
    ]  # fmt: skip
    assert tiny("lock", "--all", "--check").out == "5 profiles match their locks.\n"


def test_one_that_cannot_be_locked_does_not_keep_the_others(
    tiny_tensorflow: LoopbackIndex, tmp_path: Path, tiny: Here
) -> None:
    profile(tmp_path, "a")
    profile(tmp_path, "b", CPU + "packages: [no-such-thing]\n")
    profile(tmp_path, "c", CPU.replace('tensorflow: "*"', "tensorflow: ==2.11.0"))
    ran = tiny("lock", "--all", "--json")
    assert ran.code == 3
    assert {(d["profile"], d["status"]) for d in ran.document["locks"]} == {
        ("a", "written"), ("b", "failed"), ("c", "failed"),
    }  # fmt: skip
    assert sorted(ran.codes) == ["no-build", "no-such-package"]
    assert versions(tmp_path)["tensorflow-cpu"] == "2.21.0"
    ran = tiny("lock", "--all", "--check", "--json")
    assert (ran.code, ran.codes) == (4, ["lock-missing", "no-build"])


def test_a_lock_that_is_missing_for_a_reason(
    tiny_tensorflow: LoopbackIndex, tmp_path: Path, tiny: Here
) -> None:
    """The profile says why there is none: the check repeats it, and is content. Otherwise it says how to say so."""
    profile(tmp_path, "a", CPU + "unlocked: {{linux-x86_64: no public hash of the build is known}}\n")
    profile(tmp_path, "b")
    ran = tiny("lock", "profiles/a.yaml", "--check", "--json")
    assert (ran.code, ran.codes) == (0, ["lock-not-committed"])
    assert "says why: no public hash of the build is known." in ran.document["findings"][0]["summary"]
    ran = tiny("lock", "--all", "--check", "--json")
    assert (ran.code, sorted(ran.codes)) == (4, ["lock-missing", "lock-not-committed"])
    assert "unlocked: {linux-x86_64" in ran.out
    assert tiny("lock", "--all").code == 0, "it can be made all the same"
    assert tiny("lock", "--all", "--check", "--json").codes == []
    profile(tmp_path, "a", CPU + "unlocked: {{macos-arm64: nobody asked}}\n")
    ran = tiny("lock", "profiles/a.yaml", "--check", "--json")
    assert (ran.code, ran.codes) == (2, ["contradiction"])


def test_nothing_to_lock(tiny_tensorflow: LoopbackIndex, tmp_path: Path, tiny: Here) -> None:
    profile(tmp_path, "a")
    ran = tiny("lock", "--all", "--python", "3.12", "--json")
    assert (ran.code, ran.codes) == (2, ["nothing-to-lock"])
    assert tiny("lock").code == 2


MIXED = """\
schema: 1
name: {name}
targets: [linux-x86_64, windows-x86_64]
python: "3.10"
frameworks: {{tensorflow: "*"}}
variants:
- {{name: old-windows, targets: [windows-x86_64], frameworks: {{tensorflow: ==2.10.1}}}}
- {{name: any}}
"""


@pytest.mark.parametrize(("target", "variant"), [("windows-x86_64", "old-windows"), ("linux-x86_64", "any")])
def test_the_lock_of_one_machine(
    tiny_tensorflow: LoopbackIndex, tmp_path: Path, tiny: Here, target: str, variant: str
) -> None:
    profile(tmp_path, "m", MIXED)
    system, arch = target.split("-")
    (tmp_path / "there.yaml").write_text(f"os: {system}\narch: {arch}\n")
    ran = tiny("lock", "profiles/m.yaml", "--machine", "there.yaml", "--json")
    assert ran.code == 0, ran
    assert [(d["variant"], d["target"]) for d in ran.document["locks"]] == [(variant, target)]


def test_what_the_knowledge_has_against_a_line_comes_first(
    tiny_tensorflow: LoopbackIndex, tmp_path: Path, tiny: Here
) -> None:
    profile(
        tmp_path,
        "a",
        "schema: 1\nname: a\npython: '3.10'\ntargets: [linux-x86_64]\npackages: [tensorflow-gpu==2.12.0, six]\n",
    )
    tiny_tensorflow.wheel("tensorflow-gpu", "2.10.1")
    ran = tiny("lock", "profiles/a.yaml", "--json")
    assert (ran.code, ran.codes) == (3, ["dead-name", "no-such-version"])


def test_two_packages_that_only_the_closure_brings_together(
    tiny_tensorflow: LoopbackIndex, tmp_path: Path, tiny: Here
) -> None:
    """Neither stands beside the other in the profile: one of them comes with a third package."""
    tiny_tensorflow.wheel("tensorflow-gpu", "2.10.1")
    tiny_tensorflow.wheel("addons", "1.0", requires=["tensorflow-gpu"])
    profile(tmp_path, "a", CPU + "packages: [addons]\n")
    ran = tiny("lock", "profiles/a.yaml", "--json")
    assert (ran.code, ran.codes) == (3, ["family-conflict"])
    said = ran.document["findings"][0]["summary"]
    assert said == "tensorflow-cpu and tensorflow-gpu would both be installed, and both write tensorflow."
    assert not (tmp_path / "profiles" / "locks").exists()
