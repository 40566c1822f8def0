"""Every packaged row is whole: its shape, its sources, its versions; and what a bad row is told."""

import json
import re
from collections import Counter
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version
from pydantic import TypeAdapter

from provision.knowledge import (
    BuildRow,
    CompanionRow,
    FamilyRow,
    KnowledgeError,
    LibraryRow,
    MetadataRow,
    NameRow,
    PatchRow,
    Row,
    RuleRow,
    RuntimeRow,
    load_knowledge,
)
from provision.knowledge.base import _NOT_OURS
from provision.knowledge.reading import read_rows
from provision.knowledge.rows import EVIDENCE, KINDS
from provision.knowledge.schema import file_schema
from provision.model.profile import Target

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "installer/provision/knowledge").glob("*.yaml"))
OURS = [file for file in FILES if not file.name.startswith(_NOT_OURS)]
KNOWLEDGE = load_knowledge()


def document(value: Any) -> Any:
    """A row as it would stand in YAML: kebab-case keys."""
    if isinstance(value, dict):
        return {key: document(item) for key, item in value.items()}
    return list(map(document, value)) if isinstance(value, tuple) else value


def kebab(row: Any) -> dict[str, Any]:
    fields = {name.replace("_", "-"): value for name, value in asdict(row).items()}
    if isinstance(row, BuildRow):
        fields["vendor-files"] = [kebab(file) for file in row.vendor_files]
        fields["wheels"] = [kebab(wheels) for wheels in row.wheels]
    return {key: document(value) for key, value in fields.items()}


@pytest.mark.parametrize("name", KINDS)
def test_every_row_fits_its_schema(name: str) -> None:
    adapter = TypeAdapter(KINDS[name])
    rows = KNOWLEDGE.rows(KINDS[name])
    assert rows
    for row in rows:
        adapter.validate_python(kebab(row))


def test_every_row_has_source_evidence_and_day() -> None:
    for row in KNOWLEDGE.list():
        assert row.evidence in EVIDENCE, row.id
        assert len(row.source) > 5, row.id
        assert date.fromisoformat(row.verified_on) >= date(2026, 1, 1), row.id


def test_source_keys_of_a_file_are_all_resolved() -> None:
    """A misspelt key would pass as a text: no row's source may look like a key."""
    for row in KNOWLEDGE.list():
        assert not re.fullmatch(r"[a-z0-9-]+", row.source), (row.id, row.source)


def test_ids_are_unique_over_all_files() -> None:
    ids = Counter(row.id for file in OURS for row in read_rows(file.read_text("utf-8"), file.name))
    assert [name for name, count in ids.items() if count > 1] == []
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9_.+-]*", name) for name in ids)


def test_schema_file_is_current() -> None:
    """Names and required keys; the wording of descriptions may differ between versions of its generator."""
    written = json.loads((ROOT / "schemas/knowledge.schema.json").read_text("utf-8"))
    made = file_schema()
    assert set(written["properties"]) == set(made["properties"])
    for name, definition in made["$defs"].items():
        assert set(written["$defs"][name]["properties"]) == set(definition["properties"]), name


def test_every_key_of_every_file_is_in_the_schema() -> None:
    schema = file_schema()
    for file in OURS:
        written = yaml.load(file.read_text("utf-8"), Loader=yaml.CSafeLoader)
        assert set(written) <= set(schema["properties"]), file.name
        for name in set(written) & set(KINDS):
            known = set(schema["$defs"][KINDS[name].__name__]["properties"])
            for row in written[name]:
                assert set(row) <= known, (file.name, row["id"])


def test_ranges_and_requirements_can_be_read() -> None:
    for patch in KNOWLEDGE.rows(PatchRow):
        assert patch.versions
        assert all(SpecifierSet(text) is not None for text in patch.versions)
        SpecifierSet(patch.python)
        for text in (*patch.constraints, *patch.overrides, *patch.add_requirements):
            Requirement(text)
        does = (patch.constraints, patch.overrides, patch.add_requirements, patch.environment)
        assert any(does), f"{patch.id} does nothing"
    for name in KNOWLEDGE.rows(NameRow):
        assert all(SpecifierSet(text) is not None for text in name.versions)
    for metadata in KNOWLEDGE.rows(MetadataRow):
        assert all(SpecifierSet(text) is not None for text in metadata.versions)
        for package, text in metadata.declares.items():
            Requirement(f"{package}{text.split(' ;')[0]}")
    for companion in KNOWLEDGE.rows(CompanionRow):
        for leader, text in companion.match.items():
            assert leader[0] in "<>=!~" or Version(leader)
            SpecifierSet(text)


def test_builds_can_be_read() -> None:
    targets = set(get_args(Target))
    for framework in ("tensorflow", "torch"):
        for build in KNOWLEDGE.builds(framework):
            Version(build.version)
            Requirement(build.requirement)
            assert build.target in targets, build.row
            assert build.pythons, build.row
            assert all(re.fullmatch(r"3\.\d+", python) for python in build.pythons), build.row
            assert all(Requirement(text) for text in build.requires), build.row


def test_runtimes_can_be_read() -> None:
    for runtime in KNOWLEDGE.rows(RuntimeRow):
        assert all(Requirement(text) for text in runtime.requires), runtime.id
        assert all(re.fullmatch(r"3\.\d+", python) for python in runtime.pythons), runtime.id
        SpecifierSet(runtime.capabilities)


def test_examples_of_the_guide_are_rows() -> None:
    guide = (ROOT / "docs/knowledge.md").read_text("utf-8")
    rows = [
        row
        for row in re.findall(r"^```yaml\n(.*?)^```", guide, re.MULTILINE | re.DOTALL)
        if "patches:" in row
    ]
    assert [row.id for text in rows for row in read_rows(text, "guide")] == ["tf28x-211-numpy"]


def test_builds_come_from_an_index_that_is_known() -> None:
    for framework in ("tensorflow", "torch"):
        for build in KNOWLEDGE.builds(framework):
            if build.index == "vendor":
                assert build.vendor_files, f"{build.row} names no file to fetch"
            elif build.index != "pypi":
                assert KNOWLEDGE.index_url(build.index), build.row
                assert build.local in ("", build.index.removeprefix("pytorch-")), build.row


def test_gpu_code_is_spelt_alike() -> None:
    shapes = {"cuda": r"sm_\d+", "rocm": r"gfx[0-9a-f]+"}
    for framework in ("tensorflow", "torch"):
        for build in KNOWLEDGE.builds(framework):
            shape = shapes.get(build.runtime.kind)
            assert not shape or all(re.fullmatch(shape, code) for code in build.architectures), build.row
            assert all(re.fullmatch(r"compute_\d+", code) for code in build.ptx), build.row


def test_no_build_stands_twice() -> None:
    """The same wheel in two rows would give two answers; plugins on one wheel differ in `requires`."""
    for framework in ("tensorflow", "torch"):
        seen = Counter(
            (b.requirement, b.target, b.index, b.runtime.kind, b.requires, b.vendor_files)
            for b in KNOWLEDGE.builds(framework)
        )
        assert [key for key, count in seen.items() if count > 1] == []


def test_families_hold_distinct_members_and_their_pairs() -> None:
    for family in KNOWLEDGE.rows(FamilyRow):
        assert len(set(family.members)) == len(family.members) > 1
        assert all(set(pair) <= set(family.members) for pair in family.pairs)


def test_libraries_are_pinned_and_whole() -> None:
    for library in KNOWLEDGE.rows(LibraryRow):
        assert library.files or library.wheels, library.id
        for file in library.files:
            assert re.fullmatch(r"[0-9a-f]{64}", file.sha256), library.id
            assert library.holds[file.target.partition("-")[0]], library.id


def test_rules_ask_only_for_what_rules_yaml_names() -> None:
    head = (ROOT / "installer/provision/knowledge/rules.yaml").read_text("utf-8").partition("verified-on")[0]
    for rule in KNOWLEDGE.rows(RuleRow):
        for key in (*rule.when, *rule.when.get("not", {})):
            assert key == "not" or re.search(rf"\b{key}\b", head), (rule.id, key)


GOOD = """
names:
- {id: x, name: x, kind: dead, what-is-so: gone, source: seen it, evidence: metadata, verified-on: 2026-12-01}
"""


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("evidence: metadata, ", ""), "missing key 'evidence'"),
        (("evidence: metadata", "evidence: hearsay"), "'hearsay' is none of"),
        (("source: seen it, ", ""), "missing key 'source'"),
        (("source: seen it", "source: ''"), "a row needs source"),
        ((", verified-on: 2026-12-01", ""), "a row needs source"),
        (("what-is-so", "what-is-sew"), "unknown key 'what-is-sew'"),
        (("names:", "nmaes:"), "'nmaes' is no kind of row"),
        (("kind: dead", "kind: ded"), "'ded' is none of"),
        (("name: x", "name: 2.10"), "2.1 must be quoted"),
        (("gone", "gone, instead: nothing"), "'nothing' should be a list"),
        (("id: x,", "id: x, like: y,"), "no template 'y'"),
        (("- {id", "- [id"), "not YAML"),
        ((GOOD, "- a list"), "mapping of kinds to rows"),
    ],
)
def test_a_bad_row_is_told_what_is_wrong(change: tuple[str, str], says: str) -> None:
    with pytest.raises(KnowledgeError) as error:
        list(read_rows(GOOD.replace(*change), "team.yaml"))
    assert says in str(error.value)
    assert "team.yaml" in str(error.value)
    assert error.value.exit_code == 2


def test_a_good_row_is_read() -> None:
    (row,) = read_rows(GOOD, "team.yaml")
    assert isinstance(row, Row)
    assert (row.id, row.verified_on, row.origin) == ("x", "2026-12-01", "team.yaml")


def test_head_fills_rows_and_rows_win() -> None:
    text = """
verified-on: 2026-11-30
sources: {page: {text: the maker's page, evidence: official-table}}
templates: {old: {kind: dead, what-is-so: gone}}
defaults: {names: {source: page}}
names:
- {id: a, name: a, like: old}
- {id: b, name: b, like: old, what-is-so: moved, evidence: community, verified-on: 2026-12-02}
"""
    a, b = read_rows(text, "team.yaml")
    assert isinstance(a, NameRow)
    assert isinstance(b, NameRow)
    assert (a.source, a.evidence, a.verified_on, a.what_is_so) == (
        "the maker's page",
        "official-table",
        "2026-11-30",
        "gone",
    )
    assert (b.source, b.evidence, b.verified_on, b.what_is_so) == (
        "the maker's page",
        "community",
        "2026-12-02",
        "moved",
    )
