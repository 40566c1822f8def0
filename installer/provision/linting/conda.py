"""environment.yml and .condarc: conda packages, channels, and the pip section inside."""

from __future__ import annotations

import re

from provision.documents.nodes import Listing, Node, Scalar, Table
from provision.linting.nouns import Place, Scope, Setting, Wanted, canonical
from provision.linting.requirements import Lines, read_line
from provision.model.finding import Finding

#: channel::name[version=..] or name=1.2=build, `name >=1,<2`, `name==1.2`
_SPEC = re.compile(
    r"(?:(?P<channel>[\w./:-]+)::)?(?P<name>[\w.-]+)\s*(?P<version>[<>=!~ ]*[^=\s\[]*)?(?:=(?P<build>[^=\s\[]+))?.*"
)


def place_of(node: Node, text: str = "") -> Place:
    """Where a node stands; for text in quotes without the quotes."""
    shift = 1 if isinstance(node, Scalar) and not node.plain and node.end - node.start >= len(text) + 2 else 0
    return Place(node.source, node.start + shift, node.end - shift)


def items(node: Node | None) -> list[Node]:
    return node.items if isinstance(node, Listing) else []


def scalars(node: Node | None) -> list[Scalar]:
    return [item for item in items(node) if isinstance(item, Scalar)]


def read_environment(root: Table) -> tuple[Scope, list[Finding]]:
    """The one scope of an environment.yml. Its pip section may also name options."""
    lines = Lines()
    conda: list[Wanted] = []
    for item in items(root.get("dependencies")):
        if isinstance(item, Scalar):
            conda += filter(None, [match_spec(item)])
        elif isinstance(item, Table):
            for entry in scalars(item.get("pip")):
                read_line(place_of(entry, entry.text), entry.text.strip(), lines)
    python = next((one.specifier for one in conda if one.name == "python"), "")
    channels = [Setting(place_of(c, c.text), "channel", c.text) for c in scalars(root.get("channels"))]
    name = root.get("name")
    named = [Setting(place_of(name, name.text), "name", name.text)] if isinstance(name, Scalar) else []
    return Scope(
        name=name.text if isinstance(name, Scalar) else "",
        wanted=(*conda, *lines.wanted),
        settings=(*named, *channels, *lines.settings),
        python=python,
        manager="conda",
    ), lines.findings


def match_spec(node: Scalar) -> Wanted | None:
    """A conda package as a file asks for it; None for what is no match spec."""
    match = _SPEC.fullmatch(node.text.strip())
    if match is None:
        return None
    return Wanted(
        place=place_of(node, node.text),
        name=canonical(match["name"]),
        manager="conda",
        specifier=_specifier((match["version"] or "").strip()),
        build=match["build"] or "",
        bound=match["channel"] or "",
    )


def _specifier(version: str) -> str:
    """conda's version in PEP 440 terms, or nothing where there is no such thing. `=1.2` is a prefix there."""
    plain = version.lstrip("=")
    if not plain or re.search(r"[|*]", plain):
        return f"=={plain}" if re.fullmatch(r"[\d.]+\.\*", plain) else ""
    if re.match(r"[<>!~]", plain):
        return plain if re.fullmatch(r"([<>!~]=?[\w.]+,?)+", plain) else ""
    exact = version.startswith("==") or plain.count(".") >= 2
    return (f"=={plain}" if exact else f"=={plain}.*") if re.fullmatch(r"[\w.]+", plain) else ""


def read_condarc(root: Table) -> list[Setting]:
    """Channels, and the channels that are mapped to a mirror (`custom_channels`)."""
    settings = [
        Setting(place_of(node, node.text), "channel", node.text) for node in scalars(root.get("channels"))
    ]
    mirrors = root.get("custom_channels")
    if isinstance(mirrors, Table):
        settings += [
            Setting(place_of(key), "channel-mirror", name) for name, (key, _) in mirrors.entries.items()
        ]
    if root.get("default_channels") is not None:
        settings.append(Setting(place_of(root.entries["default_channels"][0]), "channel-mirror", "defaults"))
    return settings
