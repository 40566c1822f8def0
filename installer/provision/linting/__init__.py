"""What files say about an environment before anything runs: requirements, environment.yml, pyproject, pip.conf,
.condarc, profiles -> findings, each with its place, the knowledge row behind it, and ways out. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from provision.documents.source import several
from provision.knowledge import Knowledge
from provision.linting import packages, sources
from provision.linting.nouns import Document, Scope
from provision.linting.reading import is_profile, read_documents
from provision.linting.requirements import Read
from provision.model.finding import Finding

__all__ = ["RULES", "Document", "is_profile", "lint"]

Rule = Callable[[Scope, Knowledge], Iterator[Finding]]
RULES: tuple[Rule, ...] = (
    packages.dead_names,
    packages.family_conflicts,
    packages.companions,
    packages.frameworks_among_packages,
    packages.declared_conflicts,
    packages.missing_caps,
    sources.silent_cpu,
    sources.local_versions,
    sources.extra_indexes,
    sources.pre_releases,
    sources.credentials,
    sources.channels,
    sources.nightlies,
    sources.paths,
    sources.names,
)


def lint(
    documents: Sequence[Document], knowledge: Knowledge, read: Read | None = None, folder: str = ""
) -> tuple[Finding, ...]:
    """All findings about these files, file by file, from top to bottom.

    Each requirements file (with what it includes through `read`), environment, project or profile is looked at
    by itself; pip.conf and .condarc among the documents hold for all of them. `folder` is the absolute path
    that a relative environment path starts at; without it paths are not judged. Raises nothing: what cannot be
    read is a finding.
    """
    reading = read_documents(documents, read)
    findings = [*reading.findings]
    for scope in reading.scopes:
        for rule in RULES:
            findings += rule(replace(scope, folder=folder), knowledge)
    first = documents[0].origin if documents else ""
    return several(findings, first, limit=500)
