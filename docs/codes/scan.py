"""What the code says under each finding code: the keys of its messages, read from the source text.

A finding is made by a call or a tuple in which the code (a word with hyphens) stands before the message of its summary:
`Finding("disk-full", "error", message("world.disk-full.summary"), ...)`, `("disk-full", message(...), Remedy(...))`,
`place.finding("dead-name", severity, said, ...)`. A name that holds a message (`said`, `ways`) is followed to where the
function sets it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2] / "installer" / "provision"
#: They say their findings from rows that have pages already, or say none.
LEFT_OUT = {"messages", "jobs", "diagnosing"}
CODE = re.compile(
    r"[a-z][a-z0-9]*(-[a-z0-9]+)+|disk|usage|bug|interrupted|conflict|held|absent|unreadable|yanked"
)
#: Calls whose first words are kinds and titles, not codes.
NO_FINDINGS = {"Step", "Choice", "Need", "word", "row", "say", "Rejected"}
Names = Mapping[str, list[ast.expr]]


def scan() -> dict[str, dict[str, list[str]]]:
    """code -> {"says": keys of summaries and details, "ways": keys of remedies}, in the order of the source."""
    found: dict[str, dict[str, list[str]]] = {}
    for path in sorted(ROOT.rglob("*.py")):
        if LEFT_OUT & set(path.relative_to(ROOT).parts):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for code, says, ways in _findings(tree, _module_names(tree)):
            entry = found.setdefault(code, {"says": [], "ways": []})
            entry["says"] += [key for key in says if key not in entry["says"]]
            entry["ways"] += [key for key in ways if key not in entry["ways"]]
    return {code: entry for code, entry in sorted(found.items()) if entry["says"]}


def _module_names(tree: ast.Module) -> dict[str, list[ast.expr]]:
    names: dict[str, list[ast.expr]] = {}
    for node in tree.body:
        _note(node, names)
    return names


def _note(node: ast.AST, names: dict[str, list[ast.expr]]) -> None:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name):
                names.setdefault(target.id, []).append(node.value)
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
        names.setdefault(node.target.id, []).append(node.value)


def _findings(tree: ast.Module, known: Names) -> Iterator[tuple[str, list[str], list[str]]]:
    for function in ast.walk(tree):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        names = {name: list(values) for name, values in known.items()}
        for node in ast.walk(function):
            _note(node, names)
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") not in NO_FINDINGS:
                parts = [*node.args, *(k.value for k in node.keywords)]
                if getattr(node.func, "id", "") == "Finding" and parts:
                    yield from _of_finding(parts, names)
                    continue
            elif isinstance(node, ast.Tuple):
                parts = list(node.elts)
            else:
                continue
            yield from _said(parts, names)


def _of_finding(parts: list[ast.expr], names: Names) -> Iterator[tuple[str, list[str], list[str]]]:
    """A finding's first word is its code, whatever it looks like."""
    first = parts[0]
    for choice in (first.body, first.orelse) if isinstance(first, ast.IfExp) else (first,):
        if isinstance(choice, ast.Constant) and isinstance(choice.value, str):
            keys = [key for value in parts[1:] for key in _keys(value, names, 2)]
            yield choice.value, [k for k in keys if not _is_way(k)], [k for k in keys if _is_way(k)]


def _said(parts: list[ast.expr], names: Names) -> Iterator[tuple[str, list[str], list[str]]]:
    for place, part in enumerate(parts):
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and CODE.fullmatch(part.value):
            keys = [key for value in parts[place + 1 :] for key in _keys(value, names, 2)]
            # A word that only happens to look like a code stands before no message.
            if _keys_near(parts[place + 1 : place + 3], names):
                yield part.value, [k for k in keys if not _is_way(k)], [k for k in keys if _is_way(k)]
            return


def _keys_near(parts: Iterable[ast.expr], names: Names) -> bool:
    return any(True for value in parts for _ in _keys(value, names, 2))


def _keys(value: ast.expr, names: Names, depth: int) -> Iterator[str]:
    for node in _walk(value):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "message" and node.args:
            first = node.args[0]
            choices = [first.body, first.orelse] if isinstance(first, ast.IfExp) else [first]
            yield from (c.value for c in choices if isinstance(c, ast.Constant))
        elif isinstance(node, ast.Name) and depth:
            for known in names.get(node.id, ()):
                yield from _keys(known, names, depth - 1)


def _walk(value: ast.expr) -> Iterator[ast.AST]:
    """All parts of an expression, but for what was read and where."""
    yield value
    for child in ast.iter_child_nodes(value):
        if not (isinstance(child, ast.Call) and getattr(child.func, "id", "") == "Evidence"):
            yield from _walk(child)  # type: ignore[arg-type]


def _is_way(key: str) -> bool:
    last = key.rpartition(".")[2]
    return last.startswith("way") or last in ("take-out", "remove", "add")
