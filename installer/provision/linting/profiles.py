"""A profile as one scope per target: what it wants, and the index that each package is bound to.

That a profile is well formed is the business of `loading`; here whatever can be read is read.
"""

from __future__ import annotations

import re
from dataclasses import replace

from provision.documents.nodes import Node, Scalar, Table
from provision.linting.conda import items, match_spec, place_of, scalars
from provision.linting.nouns import Kind, Manager, Scope, Setting, Wanted, canonical
from provision.linting.requirements import requirement

#: A key that only a profile has.
SIGNS = ("frameworks", "hardware", "targets", "accelerator", "smoke", "extends", "indexes", "absent")


def read_profile(root: Table) -> Scope:
    bound = _bindings(root)
    wanted = [_bind(one, bound) for one in (*_frameworks(root), *_packages(root))]
    channels = scalars(_inside(root, "environment", "channels"))
    return Scope(
        name=_text(root.get("name")),
        wanted=(*wanted, *_conda_packages(root)),
        settings=(*_path(root), *(Setting(place_of(c, c.text), "channel", c.text) for c in channels)),
        targets=tuple(node.text for node in scalars(root.get("targets"))),
        python=_python(_text(root.get("python"))),
        vendor=_text(_inside(root, "hardware", "vendor")) or "cpu",
        manager=_manager(root),
    )


def _text(node: Node | None) -> str:
    return node.text if isinstance(node, Scalar) else ""


def _inside(root: Table, *keys: str) -> Node | None:
    node: Node | None = root
    for key in keys:
        node = node.get(key) if isinstance(node, Table) else None
    return node


def _manager(root: Table) -> Manager:
    return "conda" if _text(_inside(root, "environment", "manager")) == "conda" else "pip"


def _frameworks(root: Table) -> list[Wanted]:
    """Each framework as a requirement on the distribution that carries it, placed at its version or its name."""
    table = root.get("frameworks")
    found = []
    for name, (key, value) in table.entries.items() if isinstance(table, Table) else ():
        inner = value if isinstance(value, Table) else Table(value.source, value.start, value.end)
        version = inner.get("version") or (value if isinstance(value, Scalar) else None)
        found.append(
            Wanted(
                place=place_of(key),
                name=canonical(_text(inner.get("package")) or name),
                extras=tuple(node.text for node in scalars(inner.get("extras"))),
                specifier="" if _text(version) == "*" else _text(version).replace(" ", ""),
                solved=True,
            )
        )
    return [one for one in found if _is_specifier(one.specifier)]


def _is_specifier(text: str) -> bool:
    return re.fullmatch(r"((===|[<>=!~]=|[<>])[\w.*+!]+,?)*", text) is not None


def _packages(root: Table) -> list[Wanted]:
    """What an index serves: with conda these are the wheels on top."""
    of_conda = _manager(root) == "conda"
    nodes = scalars(_inside(root, "environment", "wheels") if of_conda else root.get("packages"))
    return [
        one for node in nodes if (one := requirement(place_of(node, node.text), node.text, [])) is not None
    ]


def _conda_packages(root: Table) -> list[Wanted]:
    if _manager(root) != "conda":
        return []
    return [one for node in scalars(root.get("packages")) if (one := match_spec(node)) is not None]


def _bindings(root: Table) -> dict[str, str]:
    """Package -> address of the index that serves it."""
    return {
        canonical(node.text): _text(index.get("url"))
        for index in items(root.get("indexes"))
        if isinstance(index, Table)
        for node in scalars(index.get("packages"))
    }


def _bind(one: Wanted, bound: dict[str, str]) -> Wanted:
    return replace(one, bound=bound.get(one.name, ""))


def _path(root: Table) -> list[Setting]:
    kind: Kind = "path"
    node = _inside(root, "environment", "path")
    if isinstance(node, Scalar):
        return [Setting(place_of(node, node.text), kind, node.text)]
    name = root.entries.get("name", (None, None))[0]
    return [Setting(place_of(name), kind, ".venv")] if name is not None else []


def _python(text: str) -> str:
    return f"=={text}.*" if re.fullmatch(r"3\.\d+", text) else text
