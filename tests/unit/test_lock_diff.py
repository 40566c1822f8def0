"""Two locks -> what changed: the pure part."""

from __future__ import annotations

from dataclasses import replace

import pytest

from provision.locking.diffing import Change, diff, markdown, sections, summary, versions
from provision.model.lock import Artifact, Digests, Lock
from provision.model.stack import Choice, Need, Patch


def artifact(name: str, version: str, sha: str = "0", **more: str) -> Artifact:
    return Artifact(
        name=name, version=version, index="pypi", file=f"{name}-{version}.whl", size=1, sha256=sha * 64, **more  # type: ignore[arg-type]
    )  # fmt: skip


OLD = Lock(
    profile="team",
    target="linux-x86_64",
    python="3.10",
    digests=Digests(profile="a", knowledge="b"),
    stack=(Choice(axis="tensorflow", value="tensorflow==2.10.0", because="older", rule="r1"),),
    patches=(Patch(requirement="numpy<2", because="it cannot be imported", rule="tf-numpy"),),
    needs=(Need(what="glibc", value=">=2.17"),),
    absent=("tensorflow-gpu",),
    packages=(artifact("numpy", "1.26.4"), artifact("six", "1.17.0"), artifact("tensorflow", "2.10.0")),
)


def changed(**fields: object) -> list[tuple[str, str, str]]:
    found = diff(OLD, replace(OLD, **fields))  # type: ignore[arg-type]
    return [(c.kind, c.name, versions(c)) for c in found.packages]


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (artifact("six", "1.18.0"), ("up", "six", "1.17.0 -> 1.18.0")),
        (artifact("six", "1.9.0"), ("down", "six", "1.17.0 -> 1.9.0")),
        (artifact("six", "1.17.0+cu118"), ("up", "six", "1.17.0 -> 1.17.0+cu118")),
        (artifact("six", "of its own"), ("other", "six", "1.17.0 -> of its own")),
        (artifact("six", "1.17.0", "1"), ("rebuilt", "six", "1.17.0")),
        (artifact("six", "1.17.0", "1", kind="sdist"), ("rebuilt", "six", "1.17.0 -> 1.17.0 (source)")),
    ],
)
def test_one_package(after: Artifact, expected: tuple[str, str, str]) -> None:
    packages = tuple(after if a.name == "six" else a for a in OLD.packages)
    assert changed(packages=packages) == [expected]


def test_added_and_removed() -> None:
    assert changed(packages=(*OLD.packages[1:], artifact("absl-py", "2.0"))) == [
        ("added", "absl-py", "2.0"),
        ("removed", "numpy", "1.26.4"),
    ]


def test_a_change_has_the_reason_that_the_new_lock_gives() -> None:
    packages = (artifact("numpy", "1.26.0"), OLD.packages[1], artifact("tensorflow", "2.10.1"))
    choice = Choice(axis="tensorflow", value="tensorflow==2.10.1", because="tested with CUDA 11.2", rule="r2")
    found = diff(OLD, replace(OLD, packages=packages, stack=(choice,)))
    assert found.packages == (
        Change(
            name="numpy", kind="down", before="1.26.4", after="1.26.0",
            why="numpy<2: it cannot be imported (tf-numpy)",
        ),
        Change(name="tensorflow", kind="up", before="2.10.0", after="2.10.1", why="tested with CUDA 11.2"),
    )  # fmt: skip
    assert [(t.what, versions(t)) for t in found.stack] == [
        ("tensorflow", "tensorflow==2.10.0 -> tensorflow==2.10.1")
    ]
    assert summary(found) == "1 up, 1 down"


def test_what_is_said_besides_packages() -> None:
    new = replace(
        OLD, patches=(), needs=(Need(what="glibc", value=">=2.28"), Need(what="device", value="nvidia")),
        absent=("tensorflow-cpu",), variables={"TF_USE_LEGACY_KERAS": "1"}, path="env",
    )  # fmt: skip
    found = diff(OLD, new)
    assert summary(found) == "packages unchanged"
    assert [(title, [row[:3] for row in rows]) for title, rows in sections(found)] == [
        ("held", [("removed", "constraint", "numpy<2")]),
        ("needs", [("changed", "glibc", ">=2.17 -> >=2.28"), ("added", "device", "nvidia")]),
        (
            "other",
            [
                ("added", "TF_USE_LEGACY_KERAS", "1"),
                ("removed", "must not be", "tensorflow-gpu"),
                ("added", "must not be", "tensorflow-cpu"),
                ("changed", "path", ".venv -> env"),
            ],
        ),
    ]


def test_a_digest_alone_is_no_change() -> None:
    assert diff(OLD, replace(OLD, digests=Digests(profile="x", knowledge="y"))).empty
    assert not diff(None, OLD).empty
    assert summary(diff(None, OLD)) == "new lock, 3 packages"
    assert summary(diff(OLD, None)) == "lock removed"


def test_locks_that_changed_alike_share_one_part_of_a_comment() -> None:
    new = replace(OLD, packages=(*OLD.packages, artifact("a|b", "1")))
    other = [replace(lock, python="3.11") for lock in (OLD, new)]
    text = markdown([diff(OLD, new), diff(*other)])
    assert text.count("###") == 1
    assert "team · linux-x86_64 · Python 3.10; team · linux-x86_64 · Python 3.11" in text
    assert markdown([]) == "No lock changed.\n"
