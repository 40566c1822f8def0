"""What an environment of somebody else needs changed: as little as mends what is wrong with its packages. Pure.

Whatever is not named here stays as it is, and counts for every requirement of what comes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, is_normalized_name
from packaging.version import InvalidVersion, Version

from provision.diagnosing.at_environment import asked, collide, kept, marks, matters, stands_in, within
from provision.diagnosing.at_framework import imported
from provision.diagnosing.case import Case, of_torch
from provision.diagnosing.environments import EGG_LINK, Distribution
from provision.diagnosing.known import module_of, violated
from provision.knowledge import FamilyRow, PatchRow
from provision.knowledge.checks import load_checks
from provision.knowledge.versions import holds, version_key
from provision.messages import message
from provision.model.inventory import Installed, Inventory
from provision.model.profile import Index
from provision.model.stack import Patch

#: Findings that such a change mends.
MENDED = (
    "distribution-broken", "distribution-twice", "litter", "files-missing", "files-changed", "family-conflict",
    "module-orphaned", "requirement-missing", "requirement-conflict", "version-conflict",
)  # fmt: skip
_WORD = re.compile(r"[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A distribution that is to be installed. `again`: its files are not right, so that the version that is there comes
    once more. `free`: another version has to come, and `specifiers` (the one that is there) do not count."""

    because: str
    specifiers: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    again: bool = False
    free: bool = False

    def requirement(self, name: str) -> str:
        extras = f"[{','.join(self.extras)}]" if self.extras else ""
        return f"{name}{extras}{'' if self.free else ','.join(self.specifiers)}"

    def united(self, other: Wanted) -> Wanted:
        """Both wishes at once; a conflict is the better reason."""
        return Wanted(
            because=other.because if other.free and not self.free else self.because,
            specifiers=tuple(dict.fromkeys((*self.specifiers, *other.specifiers))),
            extras=tuple(sorted({*self.extras, *other.extras})),
            again=self.again or other.again,
            free=self.free or other.free,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Mend:
    """`wanted` by canonical name; `absent` names go, each with the reason; `stays` is what is kept (name -> version),
    `ground` what it requires of the rest; `former` are the versions of what may change. What is `direct` came
    from no index, and none is asked for it; what of it was wanted is `skipped`. `remains`: something that no
    distribution owns is to be removed."""

    wanted: Mapping[str, Wanted] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    stays: Mapping[str, str] = field(default_factory=dict)
    ground: tuple[Patch, ...] = ()
    former: Mapping[str, str] = field(default_factory=dict)
    direct: frozenset[str] = frozenset()
    skipped: tuple[str, ...] = ()
    indexes: tuple[Index, ...] = ()
    remains: bool = False


def mend_of(case: Case, inventory: Inventory, codes: Collection[str]) -> Mend:
    """The least change for what was found (`codes` of findings). `inventory` is the environment's own site; the case
    knows what else Python finds."""
    odd = (one.name for one in _there(case) if not _plain(one) or one.info.endswith(EGG_LINK))
    direct = frozenset((*_direct(inventory), *odd))
    leaving = {keep: names for keep, names in _rivals(case, codes) if not direct & {keep, *names}}
    gone = {name for names in leaving.values() for name in names}
    wishes = chain(
        _kept_ones(case, leaving), _damaged(case, inventory, codes), _unmet(case, gone, codes), _held(case, gone)
    )  # fmt: skip
    found: dict[str, Wanted] = {}
    for name, wanted in wishes:
        if name not in gone:
            found[name] = found[name].united(wanted) if name in found else wanted
    orphans = [name for name in _orphans(case, inventory) if name not in found]
    left = {name: message("diagnosing.mend.remains") for name in orphans}
    whole = Mend(wanted=found, absent={**left, **_going(leaving)}, remains=bool(inventory.litter or orphans))
    return without(case, whole, direct)


def widened(case: Case, mend: Mend, said: str) -> Mend:
    """The same with more of it free to change: those that require a changed one, and those that the failure (`said`)
    names. Frameworks keep their version. Itself where there is no more."""
    own = {one.name for one in _own(case)}
    named = {str(canonicalize_name(word)) for word in _WORD.findall(said.lower())}
    more = {
        name: Wanted(because=because, free=True)
        for name, because in (*_requirers(case, mend), *_named(mend, named))
        if name in mend.stays.keys() & own and name not in _carriers() | mend.direct
    }
    return _mend(case, replace(mend, wanted={**mend.wanted, **more})) if more else mend


def without(case: Case, mend: Mend, names: Collection[str]) -> Mend:
    """The same, but for distributions that no index is asked for."""
    wanted = {name: one for name, one in mend.wanted.items() if name not in names}
    skipped = tuple(sorted({*mend.skipped, *(mend.wanted.keys() & set(names))}))
    return _mend(case, replace(mend, wanted=wanted, direct=mend.direct | set(names), skipped=skipped))


def only(case: Case, mend: Mend, names: Container[str]) -> Mend:
    """The same with no more than these coming."""
    wanted = {name: one for name, one in mend.wanted.items() if name in names}
    return _mend(case, replace(mend, wanted=wanted))


def unchanged(packages: Iterable[tuple[str, str]], mend: Mend) -> frozenset[str]:
    """Of a closure (name, version) what is there already and whole: it came along, and stays."""
    return frozenset(
        name for name, version in packages
        if _same(mend.former.get(name, ""), version) and not mend.wanted[name].again
    )  # fmt: skip


def _same(former: str, version: str) -> bool:
    try:
        return Version(former) == Version(version)
    except InvalidVersion:
        return False


def _requirers(case: Case, mend: Mend) -> Iterator[tuple[str, str]]:
    for one in _there(case):
        for name in _required(case, one) & mend.wanted.keys():
            yield one.name, message("diagnosing.mend.goes-along", name=name)


def _named(mend: Mend, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    first = next(iter(mend.wanted), "")
    for name in names:
        yield name, message("diagnosing.mend.goes-along", name=first)


def _going(leaving: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    return {
        name: message("diagnosing.mend.rival", name=keep) for keep, names in leaving.items() for name in names
    }


def _mend(case: Case, mend: Mend) -> Mend:
    """With all that follows from what comes and what goes."""
    out = {*mend.wanted, *mend.absent}
    stays = {
        one.name: str(Version(one.version)) for one in _there(case) if one.name not in out and _plain(one)
    }
    ground = tuple(_ground(case, stays))
    wanted = {name: _freed(name, one, ground) for name, one in mend.wanted.items()}
    return replace(
        mend,
        wanted=wanted,
        stays=stays,
        ground=ground,
        former={name: case.installed[name] for name in wanted if name in case.installed},
        indexes=tuple(_indexes(case, wanted)),
    )


def _freed(name: str, one: Wanted, ground: Iterable[Patch]) -> Wanted:
    """Another version where what stays does not go with the one that is there."""
    pins = [text.removeprefix("==") for text in one.specifiers if one.again]
    limits = [Requirement(patch.requirement) for patch in ground]
    bad = any(
        not holds(str(limit.specifier), pin)
        for limit in limits for pin in pins if canonicalize_name(limit.name) == name
    )  # fmt: skip
    return replace(one, free=True) if bad else one


def _direct(inventory: Inventory) -> Iterator[str]:
    """What came from a folder, a file or a repository. What conda built so is conda's."""
    for one in inventory.distributions:
        if one.direct and one.installer != "conda" and one.name not in inventory.conda:
            yield one.name


def _there(case: Case) -> tuple[Distribution, ...]:
    """What an import finds; a second copy on the path counts for nothing."""
    env = case.environment
    return tuple(one for one in env.distributions if env.copies(one.name)[0] is one) if env else ()


def _own(case: Case) -> tuple[Distribution, ...]:
    """What stands in the environment itself. What it sees of other places is not for changing, nor for its sake."""
    prefix = case.environment.prefix if case.environment else ""
    return tuple(one for one in _there(case) if within(one.site, prefix))


def _plain(one: Distribution) -> bool:
    """Whether name and version are such as an index has."""
    try:
        Version(one.version)
    except InvalidVersion:
        return False
    return is_normalized_name(one.name)  # METADATA may say anything.


def _carriers() -> frozenset[str]:
    """The distributions of frameworks: what a person chose, and never changed for the sake of another."""
    return frozenset(name for row in load_checks().imports for name in row.distributions)


def _asks(case: Case, one: Distribution) -> Iterator[Requirement]:
    """What it requires of indexes; a requirement with an address of its own is nobody's to mend."""
    assert case.environment is not None
    yield from (r for r in asked(one, marks(case.environment)) if not r.url)


def _required(case: Case, one: Distribution) -> set[str]:
    return {str(canonicalize_name(r.name)) for r in _asks(case, one)}


def _requires(one: Distribution, requirement: Requirement) -> str:
    name, version = one.name, one.version
    return message("diagnosing.mend.required", name=name, version=version, requirement=str(requirement))


def _rivals(case: Case, codes: Container[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """(the member of a family that is kept, those that go): of several the one that others require."""
    env = case.environment
    for row in case.knowledge.rows(FamilyRow) if "family-conflict" in codes else ():
        there = [n for n in row.members if n in case.installed and env is not None and n not in env.conda]
        if collide(there, row):
            keep = _needed(case, there) or kept(case, there).partition("==")[0]
            yield keep, tuple(name for name in there if row.clash(name, keep))


def _needed(case: Case, there: list[str]) -> str:
    """The one member that the other distributions require; empty where they require none, or several."""
    by_others = {name for one in _there(case) if one.name not in there for name in _required(case, one)}
    found = [name for name in there if name in by_others]
    return found[0] if len(found) == 1 else ""


def _kept_ones(case: Case, leaving: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[str, Wanted]]:
    for keep, names in leaving.items():
        because = message("diagnosing.mend.shared", names=names)
        yield keep, Wanted(because=because, specifiers=(f"=={case.installed[keep]}",), again=True)


def _damaged(case: Case, inventory: Inventory, codes: Container[str]) -> Iterator[tuple[str, Wanted]]:
    """Distributions whose files or metadata are not what was installed."""
    versions: dict[str, set[str]] = {}
    for one in inventory.distributions:
        versions.setdefault(one.name, set()).add(one.version)
    for one in inventory.distributions:
        known = [v for v in versions[one.name] if v]
        because = _why_damaged(case, one, len(known) > 1, inventory.packages, codes)
        if because:
            pin = (f"=={max(known, key=version_key)}",) if known else ()
            yield one.name, Wanted(because=because, specifiers=pin, again=True)


def _why_damaged(case: Case, one: Installed, twice: bool, packages: str, codes: Container[str]) -> str:
    """A reason only where the examination gave one: an .egg-info has no RECORD, and is none the worse for it."""
    files = case.files
    altered = files is not None and one.name in {**files.resized, **files.changed}
    lost = matters([path for path in one.missing if path.startswith(f"{packages}/")])
    if one.broken and one.info.endswith(".dist-info") and "distribution-broken" in codes:
        return one.broken
    if twice and "distribution-twice" in codes:
        return message("diagnosing.mend.twice")
    if lost and "files-missing" in codes:
        return message("diagnosing.mend.missing")
    return message("diagnosing.mend.altered") if altered and "files-changed" in codes else ""


def _unmet(case: Case, gone: Container[str], codes: Container[str]) -> Iterator[tuple[str, Wanted]]:
    """What distributions require and do not find, or find in another version."""
    if "requirement-missing" not in codes and "requirement-conflict" not in codes:
        return
    for one in _own(case):
        for requirement in _asks(case, one) if one.name not in gone else ():
            name = str(canonicalize_name(requirement.name))
            found = case.installed.get(name)
            because = _requires(one, requirement)
            if name in gone or (found is None and stands_in(case, name, gone)):
                continue
            if found is None:
                spec, extras = str(requirement.specifier), tuple(sorted(requirement.extras))
                yield name, Wanted(because=because, specifiers=(spec,) if spec else (), extras=extras)
            elif not holds(str(requirement.specifier), found):
                # A framework was chosen: what does not go with it changes.
                yield one.name if name in _carriers() else name, Wanted(because=because, free=True)


def _rows(case: Case, gone: Container[str]) -> Iterator[tuple[str, PatchRow]]:
    python = ".".join((case.environment.version if case.environment else "").split(".")[:2])
    for name, version in case.installed.items():
        for row in case.knowledge.patches(name, version, python, case.target) if name not in gone else ():
            if load_checks().stages.get(row.stage):
                yield name, row


def _held(case: Case, gone: Container[str]) -> Iterator[tuple[str, Wanted]]:
    """What the knowledge rejects though metadata allows it; an import that works is believed more than a row."""
    went_well = dict(imported(case))
    for owner, row in _rows(case, gone):
        if row.stage == "import" and went_well.get(module_of(case, owner)):
            continue
        for constraint in row.constraints:
            name = violated(case.installed, constraint)[0]
            if name and name not in _carriers():
                version = case.installed[owner]
                told = message("diagnosing.mend.held", name=owner, version=version, why=row.why)
                yield name, Wanted(because=told, free=True)


def _ground(case: Case, stays: Mapping[str, str]) -> Iterator[Patch]:
    """What those that stay require of what is not there yet: by their metadata, and by the knowledge."""
    for one in _there(case):
        for requirement in _asks(case, one) if one.name in stays else ():
            name = str(canonicalize_name(requirement.name))
            if name not in stays and requirement.specifier:
                because = _requires(one, requirement)
                yield Patch(requirement=f"{name}{requirement.specifier}", because=because)
    for owner, row in _rows(case, ()):
        for constraint in row.constraints if owner in stays else ():
            if str(canonicalize_name(Requirement(constraint).name)) not in stays:
                yield Patch(requirement=constraint, because=row.why, rule=row.id, source=row.source)


def _orphans(case: Case, inventory: Inventory) -> Iterator[str]:
    """Distributions whose folders are left of them: their families tell which folders those are."""
    folders = {path.rpartition("/")[2] for path in inventory.unowned}
    for row in load_checks().imports:
        if row.module in folders and not any(name in case.installed for name in row.distributions):
            yield row.distributions[0]


def _indexes(case: Case, wanted: Mapping[str, Wanted]) -> Iterator[Index]:
    """PyTorch's own distributions of a local version (`2.6.0+cu124`) are on the index of that build only."""
    by_index: dict[str, list[str]] = {}
    for name in sorted(of_torch() & wanted.keys()):
        if local := case.installed.get(name, "").partition("+")[2]:
            by_index.setdefault(f"pytorch-{local}", []).append(name)
    for index, names in by_index.items():
        if url := case.knowledge.index_url(index):
            yield Index(name=index, url=url, packages=tuple(names))
