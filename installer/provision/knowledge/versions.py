"""Asking whether a version lies in a range, for the many spellings that makers use."""

from __future__ import annotations

from functools import lru_cache

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

__all__ = ["canonicalize_name", "holds", "holds_any", "version_key"]


@lru_cache(maxsize=4096)
def holds(specifiers: str, version: str) -> bool:
    """True if the version lies in the PEP 440 specifier set. An empty set holds every version.

    Pre-releases count (makers ship `8.0.RC3`); a version that is not PEP 440 lies in no set but the empty
    one.
    """
    if not specifiers:
        return True
    try:
        return _set(specifiers).contains(Version(version), prereleases=True)
    except InvalidVersion:
        return False


def holds_any(ranges: tuple[str, ...], version: str) -> bool:
    """True if the version lies in one of the specifier sets."""
    return any(holds(specifiers, version) for specifiers in ranges)


@lru_cache(maxsize=1024)
def _set(specifiers: str) -> SpecifierSet:
    return SpecifierSet(specifiers)


@lru_cache(maxsize=4096)
def version_key(version: str) -> Version:
    """To sort by; what is no PEP 440 version sorts first."""
    try:
        return Version(version)
    except InvalidVersion:
        return Version("0.dev0")
