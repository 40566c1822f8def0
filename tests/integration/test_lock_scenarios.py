"""Closures over catalogues written in the scenarios: no index is asked."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from provision.loading import load
from provision.model.finding import Finding, UnsatisfiableError
from provision.pipeline.locks import make_lock
from provision.pipeline.session import Session
from provision.world.recorded_files import Described, RecordedFile, RecordedPage, write_page

CASES = yaml.safe_load((Path(__file__).parents[1] / "scenarios/lock/cases.yaml").read_text("utf-8"))


def catalogue(folder: Path, pages: Mapping[str, Mapping[str, Any]]) -> Path:
    for index, projects in pages.items():
        for project, rows in projects.items():
            page = RecordedPage(index=index, project=project, files=tuple(map(recorded, rows)))
            path = folder / index / f"{project}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(write_page(page), encoding="utf-8")
    return folder


def recorded(row: Mapping[str, Any]) -> RecordedFile:
    name = row["file"]
    what = Described(requires_dist=tuple(row.get("requires", ())))
    return RecordedFile(
        name=name,
        url=f"https://files.invalid/{name}",
        sha256=hashlib.sha256(name.encode()).hexdigest(),
        yanked=row.get("yanked"),
        described=what,
    )


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_case(case: Mapping[str, Any], tmp_path: Path, isolated_home: Path) -> None:
    document = {
        "schema": 1,
        "name": "case",
        "python": case["python"],
        "targets": case["targets"],
        **case["profile"],
    }
    profile = load(yaml.safe_dump(document), "case.yaml")
    folder = catalogue(tmp_path / "catalogue", case["catalog"])
    session = Session(folder=tmp_path, offline=True, replay=folder)
    findings: list[Finding] = []
    for target in case["targets"]:
        try:
            made = make_lock(profile, target, case["python"], session)
        except UnsatisfiableError as error:
            findings += error.findings
            continue
        held = {package.name: package.version for package in made.packages}
        assert held == {**held, **case.get("packages", {}).get(target, {})}
        assert not set(case.get("without", {}).get(target, ())) & set(held)
        assert all(len(package.sha256) == 64 and package.size is None for package in made.packages)
    assert [f.code for f in findings] == case.get("codes", []), findings
    text = "\n".join(f"{f.summary}\n{f.detail}\n" + "\n".join(e.text for e in f.evidence) for f in findings)
    ways = "\n".join(r.text for f in findings for r in f.remedies)
    assert [word for word in case.get("says", ()) if word not in text] == [], text
    assert [word for word in case.get("ways", ()) if word not in ways] == [], ways
