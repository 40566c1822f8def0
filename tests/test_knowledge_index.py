"""What the package index can confirm of the rows: names, versions, Pythons and targets of wheels.

Marked `index`: needs the network. The index is PROVISION_TEST_INDEX, else what pip or uv is configured with.
"""

import os
import re
import subprocess
from collections import defaultdict
from functools import cache
from typing import Any

import httpx
import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import (
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version
from uv import find_uv_bin

from provision.knowledge import (
    CompanionRow,
    FamilyRow,
    LibraryRow,
    MetadataRow,
    NameRow,
    PatchRow,
    load_knowledge,
)

pytestmark = pytest.mark.index
KNOWLEDGE = load_knowledge()
JSON = {"Accept": "application/vnd.pypi.simple.v1+json"}


@cache
def index() -> str:
    """The address of the default index, as this machine has it."""
    for name in ("PROVISION_TEST_INDEX", "PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL"):
        if os.environ.get(name):
            return os.environ[name].rstrip("/")
    command = [find_uv_bin(), "pip", "compile", "-", "--emit-index-url", "--no-deps", "--quiet"]
    said = subprocess.run(command, input="packaging", text=True, capture_output=True, check=True).stdout
    found = re.search(r"^--index-url (\S+)", said, re.MULTILINE)
    assert found, said
    return found[1].rstrip("/")


@cache
def files(project: str) -> tuple[dict[str, Any], ...] | None:
    """The files that the index lists for a project, or None where it does not know the name."""
    answer = httpx.get(f"{index()}/{project}/", headers=JSON, follow_redirects=True, timeout=60)
    if answer.status_code == 404:
        return None
    answer.raise_for_status()
    return tuple(answer.json()["files"])


@cache
def versions(project: str) -> frozenset[Version]:
    return frozenset(filter(None, (version_of(file["filename"]) for file in files(project) or ())))


def version_of(name: str) -> Version | None:
    try:
        return parse_wheel_filename(name)[1] if name.endswith(".whl") else parse_sdist_filename(name)[1]
    except (InvalidWheelFilename, InvalidVersion, ValueError):
        return None


@cache
def wheels(project: str) -> dict[tuple[Version, str], set[str]]:
    """(version, target) -> Pythons of the wheels, without free-threaded ones."""
    found: dict[tuple[Version, str], set[str]] = defaultdict(set)
    for file in files(project) or ():
        if file["filename"].endswith(".whl") and version_of(file["filename"]):
            _, version, _, tags = parse_wheel_filename(file["filename"])
            for tag in tags:
                python = re.fullmatch(r"cp3(\d+)", tag.interpreter)
                if python and target_of(tag.platform) and not re.fullmatch(r"cp3\d+t", tag.abi):
                    found[version, target_of(tag.platform)].add(f"3.{python[1]}")
    return found


def target_of(platform: str) -> str:
    if platform == "win_amd64":
        return "windows-x86_64"
    system = {"manylinux": "linux", "linux": "linux", "macosx": "macos"}.get(re.match(r"[a-z]+", platform)[0])  # type: ignore[index]
    arch = re.search(r"(x86_64|aarch64|arm64)$", platform)
    return f"{system}-{arch[1]}" if system and arch else ""


def exists(project: str, specifiers: str) -> bool:
    known = SpecifierSet(specifiers)
    return any(known.contains(version, prereleases=True) for version in versions(project))


@pytest.mark.parametrize("framework", ["tensorflow", "torch"])
def test_wheels_of_the_default_index(framework: str) -> None:
    """Each build's Pythons are those of the wheels; of a Windows stub those that tensorflow-intel has too."""
    wrong = []
    for build in KNOWLEDGE.builds(framework):
        if build.index != "pypi":
            continue
        listed = wheels(build.distribution)[Version(build.version), build.target]
        plugins = build.requires or build.runtime.kind in ("musa", "neuware")
        intel = wheels("tensorflow-intel")[Version(build.version), build.target]
        if (
            framework == "tensorflow"
            and "windows" in build.target
            and intel
            and "gpu" not in build.distribution
        ):
            listed = listed & intel if build.runtime.kind == "cpu" else listed
        if not (set(build.pythons) <= listed if plugins else set(build.pythons) == listed):
            wrong.append((build.row, build.version, build.target, build.pythons, sorted(listed)))
    assert wrong == []


def test_plugins_exist() -> None:
    for framework in ("tensorflow", "torch"):
        for build in KNOWLEDGE.builds(framework):
            by_hand = {canonicalize_name(file.package) for file in build.vendor_files}
            for requirement in map(Requirement, build.requires):
                if canonicalize_name(requirement.name) not in by_hand:
                    assert exists(requirement.name, str(requirement.specifier)), (build.row, str(requirement))


def test_plugins_have_a_wheel_for_every_python_of_the_build() -> None:
    for framework in ("tensorflow", "torch"):
        for build in KNOWLEDGE.builds(framework):
            for requirement in map(Requirement, build.requires):
                name = canonicalize_name(requirement.name)
                if name in ("torch-npu", "torch-directml", "tensorflow-directml-plugin"):
                    version = Version(str(requirement.specifier).removeprefix("=="))
                    listed = wheels(name)[version, build.target]
                    assert set(build.pythons) <= listed, (build.row, build.target)


def test_names_that_never_existed_do_not() -> None:
    for row in KNOWLEDGE.rows(NameRow):
        if row.kind == "never-existed" and not row.versions:
            assert files(row.name) is None, row.id
        if row.kind == "never-existed" and row.versions:
            assert not any(exists(row.name, text) for text in row.versions), row.id
        if row.kind in ("placeholder", "look-alike", "dead", "yanked"):
            assert files(row.name), row.id


def test_yanked_versions_are_yanked() -> None:
    for row in KNOWLEDGE.rows(NameRow):
        if row.kind == "yanked":
            listed = [file for file in files(row.name) or () if matches(file["filename"], row.versions)]
            assert listed, row.id
            assert all(file.get("yanked") for file in listed), row.id


def matches(name: str, ranges: tuple[str, ...]) -> bool:
    version = version_of(name)
    return version is not None and any(
        SpecifierSet(text).contains(version, prereleases=True) for text in ranges
    )


def test_patches_speak_of_versions_that_exist() -> None:
    for row in KNOWLEDGE.rows(PatchRow):
        for text in row.versions:
            assert any(exists(name, text) for name in row.packages), (row.id, text)
        for requirement in map(Requirement, (*row.constraints, *row.overrides, *row.add_requirements)):
            assert exists(requirement.name, str(requirement.specifier)), (row.id, str(requirement))


def test_companions_exist() -> None:
    for row in KNOWLEDGE.rows(CompanionRow):
        for leader, text in row.match.items():
            assert exists(row.leader, leader if leader[0] in "<>=!~" else f"=={leader}"), (row.id, leader)
            assert exists(row.package, text), (row.id, text)


def test_declared_requirements_exist() -> None:
    """A pin that the index does not have makes the build impossible: of that a rule must speak."""
    impossible = {"tensorflow-2.15.0-and-cuda": "tf-2150-and-cuda"}
    for row in KNOWLEDGE.rows(MetadataRow):
        if row.id in impossible:
            assert KNOWLEDGE.row(impossible[row.id]), row.id
            continue
        if not row.local:
            assert all(exists(name, text) for name in row.packages for text in row.versions), row.id
        for name, text in row.declares.items():
            assert exists(name, text.partition(" ;")[0].strip()), (row.id, name, text)


def test_family_members_exist() -> None:
    elsewhere = {"triton-rocm", "pytorch-triton-xpu", "torchtriton"}
    for row in KNOWLEDGE.rows(FamilyRow):
        for member in set(row.members) - elsewhere:
            assert files(member), (row.id, member)


def test_library_wheels_exist() -> None:
    for row in KNOWLEDGE.rows(LibraryRow):
        for name, version in row.wheels.items():
            listed = {
                target_of(tag.platform)
                for file in files(name) or ()
                if file["filename"].endswith(".whl") and version_of(file["filename"]) == Version(version)
                for tag in parse_wheel_filename(file["filename"])[3]
            }
            assert set(row.targets) <= listed, (row.id, name, listed)
