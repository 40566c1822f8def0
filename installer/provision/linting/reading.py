"""Which reader a file is for, and all files together as scopes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import PurePath

from provision.documents.nodes import Table, compose_yaml
from provision.documents.source import Source, decode
from provision.linting.conda import read_condarc, read_environment
from provision.linting.nouns import Document, Reading, Scope
from provision.linting.profiles import SIGNS, read_profile
from provision.linting.projects import read_pyproject
from provision.linting.requirements import Read, read_requirements
from provision.linting.settings import read_pip_conf, unreadable_lines
from provision.messages import message
from provision.model.finding import Finding, ProvisionError, UsageError

#: Bytes; a file with all of a data centre's packages is far smaller.
LIMIT = 1 << 22


#: Ends of names that no list of requirements has: `lint *` meets such files.
_OTHERS = frozenset(
    {".md", ".rst", ".py", ".ipynb", ".json", ".sh", ".bat", ".ps1", ".html", ".svg", ".png", ".log"}
)


def _no_requirements(name: str) -> Finding:
    return Finding("not-read", "note", message("linting.not-read.summary", name=name))


def read_documents(documents: Iterable[Document], read: Read | None = None) -> Reading:
    """Scopes of all files. Settings of pip and conda among the files hold for every scope."""
    reading = Reading()
    for document in documents:
        try:
            _read(document, reading, read)
        except ProvisionError as error:
            reading.findings += error.findings
    shared = tuple(reading.everywhere)
    reading.scopes = [replace(scope, settings=(*scope.settings, *shared)) for scope in reading.scopes]
    if not reading.scopes and shared:
        reading.scopes = [Scope(name="", settings=shared)]
    return reading


def _read(document: Document, reading: Reading, read: Read | None) -> None:
    source = decode(document.text, document.origin, LIMIT, UsageError)
    name = re.split(r"[/\\]", document.origin)[-1].lower()
    suffix = PurePath(name).suffix
    if name.endswith(("pip.conf", "pip.ini")):
        reading.everywhere += read_pip_conf(source)
        reading.findings += unreadable_lines(source)
    elif suffix == ".toml":
        scopes, findings = read_pyproject(source)
        reading.scopes += scopes
        reading.findings += findings
    elif suffix in (".yml", ".yaml") or "condarc" in name:
        _yaml(source, reading, "condarc" in name)
    elif suffix in _OTHERS:
        reading.findings += (_no_requirements(document.origin),)
    else:
        lines = read_requirements(source, read)
        reading.scopes.append(Scope(name=name, wanted=tuple(lines.wanted), settings=tuple(lines.settings)))
        reading.findings += lines.findings


def is_profile(document: Document) -> bool:
    """Whether a file is read as a profile (then `loading` has a word to say on it, too)."""
    if PurePath(document.origin).suffix not in (".yml", ".yaml") or "condarc" in document.origin:
        return False
    try:
        root, _ = compose_yaml(decode(document.text, document.origin, LIMIT, UsageError), UsageError)
    except ProvisionError:
        return False
    return isinstance(root, Table) and _is_profile(root)


def _is_profile(root: Table) -> bool:
    return any(sign in root.entries for sign in SIGNS) or "dependencies" not in root.entries


def _yaml(source: Source, reading: Reading, is_condarc: bool) -> None:
    root, findings = compose_yaml(source, UsageError)
    reading.findings += findings
    if not isinstance(root, Table):
        raise UsageError(
            source.finding("wrong-type", message("linting.yaml.mapping-keys-to-values-is"), root.start)
        )
    if is_condarc:
        reading.everywhere += read_condarc(root)
    elif _is_profile(root):
        reading.scopes.append(read_profile(root))
    else:
        scope, more = read_environment(root)
        reading.scopes.append(scope)
        reading.findings += more
