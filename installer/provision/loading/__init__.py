"""Text -> Profile: `extends` merged, shorthands written out, values checked and normalised. Pure.

All that is wrong in a profile and its bases is reported at once, each with file, line and column.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

from provision.documents import canonical
from provision.documents.nodes import Scalar, Table
from provision.documents.reading import Reading
from provision.documents.source import several
from provision.loading.bases import Read, profile_tree, refusal
from provision.loading.consistency import contradictions
from provision.loading.values import CHECKS, CONDA_CHECKS
from provision.loading.variants import split
from provision.model.finding import Finding, ProfileError
from provision.model.profile import Profile, Variant, kebab

__all__ = ["load", "load_file", "profile_digest"]


def load(text: str | bytes, origin: str, read: Read | None = None) -> Profile:
    """A profile's text as a Profile.

    `origin` is the path that errors name and that `extends` is relative to. `read` gives the bytes of a base
    (raising OSError); without it a profile may not extend. Raises ProfileError with every finding.
    """
    root, findings = profile_tree(text, origin, read)
    base, overlays, more = split(root)
    findings += more
    profile = _read(base, findings)
    variants = [Variant(name=name, profile=_read(table, findings)) for name, table in overlays]
    if findings:
        raise ProfileError(several(findings, origin))
    return replace(profile, variants=tuple(variants))


def _read(root: Table, findings: list[Finding]) -> Profile:
    """One mapping as a profile; what is wrong with it is added to the findings, each fault once."""
    reading = Reading(kebab, CONDA_CHECKS if _is_conda(root) else CHECKS)
    profile: Profile = reading.noun(root, Profile)
    found = reading.findings or contradictions(profile, root)
    findings += [finding for finding in found if finding not in findings]
    return profile if found else replace(profile, extends=None)


def _is_conda(root: Table) -> bool:
    environment = root.get("environment")
    manager = environment.get("manager") if isinstance(environment, Table) else None
    return isinstance(manager, Scalar) and manager.text == "conda"


def load_file(path: str, read: Read) -> Profile:
    """The profile at a path. What the file system refuses is a ProfileError too."""
    try:
        data = read(path)
    except (OSError, ValueError) as problem:
        raise ProfileError(Finding("unreadable", "error", f"{path}: " + refusal(problem))) from None
    return load(data, path, read)


def profile_digest(profile: Profile) -> str:
    """SHA-256 (hex) of what a profile means for one lock.

    Left out: the description, where it came from, and `targets` and `unlocked` (a lock names its own target; another
    one beside it changes nothing in it).
    """
    meaning = replace(profile, description="", extends=None, targets=(), unlocked={}, variants=())
    return hashlib.sha256(canonical(meaning)).hexdigest()
