"""pyproject.toml: dependencies of a project, its extras and groups, and the indexes that uv or poetry bind."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from provision.documents.source import Source
from provision.linting.nouns import Place, Scope, Setting, Wanted, canonical
from provision.linting.requirements import requirement
from provision.messages import message
from provision.model.finding import Finding

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def read_pyproject(source: Source) -> tuple[list[Scope], list[Finding]]:
    """One scope for the dependencies, and one more for each extra or group on top of them.

    Extras may exclude one another on purpose (`cpu`, `gpu`), so no two of them are looked at together.
    """
    try:
        data = tomllib.loads(source.text)
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        return [], [_syntax(source, str(problem))]
    project = _Project(source, data)
    base = project.base()
    scopes = [base]
    for name, texts in project.groups():
        scopes.append(replace(base, name=name, wanted=(*base.wanted, *project.wanted(texts))))
    return scopes, project.findings


@dataclass
class _Project:
    """A parsed pyproject. TOML's reader keeps no places: strings are found again in the text, in order."""

    source: Source
    data: dict[str, Any]
    findings: list[Finding] = field(default_factory=list)

    def base(self) -> Scope:
        project = _table(self.data, "project")
        poetry = _table(self.data, "tool", "poetry", "dependencies")
        wanted = [*self.wanted(_texts(project.get("dependencies"))), *self.poetry(poetry)]
        python = str(project.get("requires-python") or "")
        return Scope(name="", wanted=tuple(wanted), settings=tuple(self.settings()), python=python)

    def groups(self) -> Iterator[tuple[str, list[str]]]:
        extras = _table(self.data, "project", "optional-dependencies")
        groups = _table(self.data, "dependency-groups")
        for name, texts in [*extras.items(), *groups.items()]:
            yield name, _texts(texts)

    def wanted(self, texts: list[str]) -> Iterator[Wanted]:
        for text in texts:
            found = requirement(self.place(text), text, self.findings)
            if found is not None:
                yield replace(found, bound=self.index_of(found.name))

    def poetry(self, table: dict[str, Any]) -> Iterator[Wanted]:
        for name, value in table.items():
            text = (
                value
                if isinstance(value, str)
                else value.get("version", "")
                if isinstance(value, dict)
                else ""
            )
            if canonical(name) != "python":
                yield Wanted(place=self.place(name), name=canonical(name), specifier=_caret(str(text)))

    def settings(self) -> Iterator[Setting]:
        """uv's indexes: an explicit one serves only what is bound to it, others are tried for every package."""
        for index in self.indexes():
            url = str(index.get("url", ""))
            if not index.get("explicit"):
                kind = "index-url" if index.get("default") else "extra-index-url"
                yield Setting(self.place(url), kind, url)  # type: ignore[arg-type]

    def indexes(self) -> list[dict[str, Any]]:
        found = _table(self.data, "tool", "uv").get("index", [])
        return [index for index in found if isinstance(index, dict)] if isinstance(found, list) else []

    def index_of(self, name: str) -> str:
        """The address of the index that [tool.uv.sources] binds a package to, by any marker."""
        for package, entry in _table(self.data, "tool", "uv", "sources").items():
            for one in entry if isinstance(entry, list) else [entry]:
                if canonical(package) == name and isinstance(one, dict):
                    urls = {str(index.get("name")): str(index.get("url", "")) for index in self.indexes()}
                    return urls.get(str(one.get("index")), str(one.get("url", "")))
        return ""

    def place(self, text: str) -> Place:
        """Where a string stands: inside quotes if it does, else as a word, else the begin of the file."""
        escaped = re.escape(text)
        for pattern in (rf"(?<=[\"']){escaped}(?=[\"'])", rf"(?m)(?<![\w-]){escaped}(?![\w-])"):
            if match := re.search(pattern, self.source.text):
                return Place(self.source, match.start(), match.end())
        return Place(self.source, 0, 1)


def _table(data: Any, *keys: str) -> dict[str, Any]:
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}


def _texts(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _caret(version: str) -> str:
    """Poetry's version in PEP 440 terms, where that is easy: `^1.2` and `~1.2` are at least that."""
    text = version.strip()
    if match := re.fullmatch(r"[\^~]([\d.]+)", text):
        return f">={match[1]}"
    if re.fullmatch(r"\d[\w.+]*", text):
        return f"=={text}"
    return text if re.fullmatch(r"([<>=!]=?\s*[\w.+*]+\s*,?\s*)+", text) else ""


def _syntax(source: Source, problem: str) -> Finding:
    match = re.search(r"\(at line (\d+), column (\d+)\)", problem)
    offset = source.offset(int(match[1]), int(match[2])) if match else len(source.text)
    what = re.sub(r"\s*\(at .*\)$", "", problem)
    return source.finding(
        "toml-syntax",
        message("linting.syntax.this-is-no-toml", lower=what[:1].lower(), what=what[1:]),
        offset,
    )
