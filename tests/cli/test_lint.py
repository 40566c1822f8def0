"""provision lint: what people see, what programs get, and the exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Here
from tests.support.golden import golden

REQUIREMENTS = """\
# what a tutorial says
tf-estimator
tensorflow-gpu==2.12.0
numpy
torch
tensorflow==2.10.0
"""
PROFILE = """\
schema: 1
name: team
framework: {tensorflow: "==2.10.0"}
packages: [tf-estimator]
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "requirements.txt").write_text(REQUIREMENTS)
    (tmp_path / "team.yaml").write_text(PROFILE)
    return tmp_path


def test_what_people_see(files: Path, tiny: Here) -> None:
    ran = tiny("lint", "requirements.txt", "team.yaml")
    assert (ran.code, ran.err) == (1, "")
    golden("lint", ran.out)
    ran = tiny("lint", "requirements.txt", "team.yaml", "--verbose")
    assert ran.code == 1
    golden("lint-verbose", ran.out)
    assert ran.out.count("did you mean 'frameworks'?") == 1


def test_what_programs_get(files: Path, here: Here) -> None:
    ran = here("lint", "team.yaml", "--json")
    assert (ran.code, ran.err, ran.codes) == (1, "", ["unknown-key", "dead-name"])
    assert ran.document["files"] == ["team.yaml"]


def test_warnings_alone_are_no_failure(tmp_path: Path, here: Here) -> None:
    (tmp_path / "requirements.txt").write_text("tensorflow==2.10.0\n")
    ran = here("lint", "requirements.txt", "--json")
    assert (ran.code, ran.codes) == (0, ["missing-cap"])
    assert here("lint", "requirements.txt", "--strict").code == 1


def test_nothing_found(tmp_path: Path, here: Here) -> None:
    (tmp_path / "requirements.txt").write_text("tensorflow==2.10.0\nnumpy<2\n")
    assert here("lint", "requirements.txt", "--strict").out == "Nothing found in 1 file.\n"
    assert here("lint", "requirements.txt", "-q").out == ""


def test_standard_input(here: Here) -> None:
    ran = here("lint", "-", stdin="tf-estimator\n")
    assert ran.code == 1
    assert ran.out.startswith("requirements.txt\n  1:1  error")
    ran = here(
        "lint", "-", "--stdin-name", "environment.yml", "--json", stdin="dependencies: [{pip: [cann]}]"
    )
    assert (ran.code, ran.codes) == (1, ["dead-name"])


def test_a_folder_means_what_stands_in_it(files: Path, here: Here) -> None:
    (files / "profiles").mkdir()
    (files / "team.yaml").rename(files / "profiles" / "team.yaml")
    assert here("lint", ".", "--json").document["files"] == ["requirements.txt", "profiles/team.yaml"]
    assert here("lint", "profiles", "--json").document["files"] == ["profiles/team.yaml"]
    (files / "empty").mkdir()
    ran = here("lint", "empty", "--json")
    assert (ran.code, ran.codes) == (2, ["nothing-to-lint"])


def test_includes_and_bases_are_read_beside_the_file(tmp_path: Path, here: Here) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "more.txt").write_text("tf-estimator\n")
    (tmp_path / "sub" / "requirements.txt").write_text("-r more.txt\n")
    (tmp_path / "sub" / "base.yaml").write_text("schema: 1\nname: base\npython: '3.10'\n")
    (tmp_path / "sub" / "team.yaml").write_text("schema: 1\nname: team\nextends: base.yaml\n")
    ran = here("lint", "sub/requirements.txt", "sub/team.yaml", "--json")
    assert [f["evidence"][0]["source"] for f in ran.document["findings"]] == ["sub/more.txt:1:1"]


def test_a_file_that_is_not_there(here: Here) -> None:
    ran = here("lint", "none.txt", "--json")
    assert (ran.code, ran.codes) == (2, ["unreadable"])
    assert here("lint").code == 2


def test_files_of_other_kinds_are_left_out(files: Path, here: Here) -> None:
    (files / "notes.md").write_text("# Notes\n\n- install tf-estimator\n")
    ran = here("lint", "notes.md", "team.yaml", "--json")
    assert (ran.code, ran.codes) == (1, ["unknown-key", "dead-name", "not-read"])
    assert here("lint", "notes.md").code == 0
