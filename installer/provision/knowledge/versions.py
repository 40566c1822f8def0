"""Asking whether a version lies in a range, for the many spellings that makers use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

__all__ = ["canonicalize_name", "holds", "holds_any", "lies_within", "overlap", "version_key"]


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


def overlap(sets: Sequence[SpecifierSet]) -> bool:
    """True if some version may lie in all of the sets: their bounds and the versions just above are tried."""
    return any(all(one.contains(v, prereleases=True) for one in sets) for v in _candidates(sets))


def lies_within(inner: SpecifierSet, outer: SpecifierSet) -> bool:
    """True if no version that is tried lies in `inner` and outside of `outer`."""
    tried = (v for v in _candidates([inner, outer]) if inner.contains(v, prereleases=True))
    return all(outer.contains(v, prereleases=True) for v in tried)


def _candidates(sets: Iterable[SpecifierSet]) -> Iterator[str]:
    yield "0"
    yield "99999"
    for spec in (spec for one in sets for spec in one):
        text = spec.version.removesuffix(".*")
        yield text
        try:
            release = Version(text).release
        except InvalidVersion:
            continue
        yield ".".join(str(part) for part in (*release, *[0] * (3 - len(release)), 1))
