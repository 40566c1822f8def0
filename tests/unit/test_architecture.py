"""The arrows of docs/architecture.md: imports go to lower levels only, stages do not know one another or the world."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "installer" / "provision"

LEVELS = {
    "messages": -1,
    "model": 0,
    "knowledge": 1, "ports": 1, "documents": 1, "parsed": 0, "shells": 0,
    "prefix": 2, "condaprefix": 2.5,
    "loading": 3, "linting": 3, "detecting": 3, "resolving": 3, "locking": 3, "artifacts": 3, "inspecting": 3,
    "stocktaking": 3, "repairing": 3,
    "planning": 3, "applying": 3, "verifying": 3, "diagnosing": 3, "exporting": 3, "schemas": 3, "world": 3,
    "pipeline": 4,
    "cli": 5,
    "__main__": 6,
}  # fmt: skip
STAGE = 3
#: Scripts that run inside provisioned environments import nothing of ours at all.
JOBS = ROOT / "verifying" / "jobs"
FILES = sorted(p for p in ROOT.rglob("*.py") if p.relative_to(ROOT).parts[0] != "__init__.py")


def part(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(path: Path) -> Iterator[tuple[str, int]]:
    """Every part of provision that a file imports, at any depth of nesting."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "provision":
            words = node.module.split(".")
            names = [words[1]] if len(words) > 1 else [a.name for a in node.names]
            yield from ((name, node.lineno) for name in names)
        elif isinstance(node, ast.Import):
            yield from (
                (a.name.split(".")[1], node.lineno) for a in node.names if a.name.startswith("provision.")
            )


def test_there_is_something_to_hold() -> None:
    assert len(FILES) > 40
    assert {part(p) for p in FILES} <= set(LEVELS)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_down(path: Path) -> None:
    own = part(path)
    for name, line in imported(path):
        where = f"{path.relative_to(ROOT)}:{line} imports {name}"
        if name == "__version__" or name == own:
            continue
        assert path.parent != JOBS, f"{where}: a smoke job runs where provision is not installed"
        assert LEVELS[name] < LEVELS[own], f"{where}: level {LEVELS[name]} from level {LEVELS[own]}"
        if LEVELS[own] == STAGE:
            assert name != "world", f"{where}: a stage meets the world through its ports only"


def test_stages_do_not_import_one_another() -> None:
    stages = {name for name, level in LEVELS.items() if level == STAGE}
    for path in FILES:
        if part(path) in stages:
            others = {name for name, _ in imported(path)} & stages - {part(path)}
            assert not others, f"{path.relative_to(ROOT)} imports {others}"


def test_the_source_root_is_no_package() -> None:
    assert not (ROOT.parent / "__init__.py").exists(), (
        "another distribution owns the package name `installer`"
    )


def test_the_nouns_do_not_load_pydantic_or_yaml() -> None:
    """Quick verbs load them; each of the two costs more than a no-op apply may take."""
    import subprocess
    import sys

    code = "import sys, provision.pipeline.quick, provision.cli.verb_apply, provision.cli.group, provision.world.files\n"
    code += "print(sorted({'pydantic', 'yaml', 'rich', 'httpx', 'packaging'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
