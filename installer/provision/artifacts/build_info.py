"""What a framework's build file says (TensorFlow's build_info.py, torch/version.py): parsed, never run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

#: Longer texts are no build file.
LIMIT = 1 << 20
LINE = 400
DEFINE = re.compile(r'\s*#\s*define\s+(\w+)\s+(?:"([^"]*)"|([\d., ]+))\s*')


def parse(text: str) -> dict[str, str]:
    """The constants that a build file assigns, by name; those of a mapping (`build_info = {...}`) by key.

    Values are text: True and False as such, None as nothing at all (the name is left out), lists with
    commas. A text that is not Python gives no facts.
    """
    if len(text) > LIMIT:
        return {}
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    found: dict[str, str] = {}
    for name, value in _assigned(tree):
        for key, item in _items(name, value):
            words = _words(item)
            if words is not None:
                found.setdefault(key, words)
    return found


def parse_header(text: str) -> dict[str, str]:
    """The macros of a C header that stand for a text or numbers, by name; empty ones are left out."""
    lines = (line for line in text[:LIMIT].splitlines() if len(line) < LINE)
    found = (match.groups("") for line in lines if (match := DEFINE.fullmatch(line)))
    return {name: (quoted or plain).strip() for name, quoted, plain in found if (quoted or plain).strip()}


def nothing(text: str) -> frozenset[str]:
    """The names that the file assigns None: a torch whose `cuda` is None is a build without CUDA."""
    try:
        tree = ast.parse(text[:LIMIT])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    return frozenset(n for n, v in _assigned(tree) if isinstance(v, ast.Constant) and v.value is None)


def version(text: str) -> str:
    """A version as a build file writes it, made plain: Windows files of TensorFlow say `64_112` for 11.2."""
    plain = text.strip().removeprefix("64_")
    return re.sub(r"^(\d\d)(\d)$", r"\1.\2", plain)


def architectures(text: str) -> tuple[str, ...]:
    """The architectures in a list of words: `sm_80,compute_80`; `3.5, 7.0` and `35, 70` are sm_35, sm_70."""
    words = [word.strip() for word in re.split(r"[,;\s]+", text) if word.strip()]
    return tuple(f"sm_{w.replace('.', '')}" if re.fullmatch(r"\d+\.\d|\d{2,3}", w) else w for w in words)


def _assigned(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in tree.body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield target.id, node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            yield node.target.id, node.value


def _items(name: str, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """A mapping's items; of anything else the thing itself."""
    if isinstance(value, ast.Call) and _is_mapping(value.func):
        yield from ((k.arg, k.value) for k in value.keywords if k.arg)
        for argument in value.args[:1]:
            yield from _items("", argument)
    elif isinstance(value, ast.Dict):
        items = zip(value.keys, value.values, strict=True)
        yield from ((str(k.value), v) for k, v in items if isinstance(k, ast.Constant))
    elif isinstance(value, ast.List | ast.Tuple) and all(_is_pair(e) for e in value.elts) and value.elts:
        yield from ((e.elts[0].value, e.elts[1]) for e in value.elts)  # type: ignore[attr-defined]
    elif name:
        yield name, value


def _is_mapping(function: ast.expr) -> bool:
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in ("dict", "OrderedDict")


def _is_pair(value: ast.expr) -> bool:
    return (
        isinstance(value, ast.Tuple)
        and len(value.elts) == 2
        and isinstance(value.elts[0], ast.Constant)
        and isinstance(value.elts[0].value, str)
    )


def _words(value: ast.expr) -> str | None:
    try:
        plain = ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    if isinstance(plain, list | tuple):
        return ",".join(str(item) for item in plain)
    return str(plain) if isinstance(plain, str | int | float) else None
