"""What an environment of somebody else needs changed: as little as mends what is wrong with its packages. Pure.

Whatever is not named here stays as it is, and counts for every requirement of what comes.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from provision.diagnosing.at_environment import asked, collide, kept, marks, matters
from provision.diagnosing.at_framework import imported
from provision.diagnosing.case import Case
from provision.diagnosing.environments import Distribution
from provision.diagnosing.known import module_of, violated
from provision.knowledge import FamilyRow, PatchRow
from provision.knowledge.checks import load_checks
from provision.knowledge.versions import version_key
from provision.messages import message
from provision.model.inventory import Inventory
from provision.model.profile import Index
from provision.model.stack import Patch

#: Findings that such a change mends.
MENDED = (
    "distribution-broken", "distribution-twice", "litter", "files-missing", "files-changed", "family-conflict",
    "module-orphaned", "requirement-missing", "requirement-conflict", "version-conflict",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A distribution that is to be installed. `again`: the version that is there, because its files are not right."""

    requirement: str
    because: str
    again: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Mend:
    """`wanted` by canonical name; `absent` names go, each with the reason; `stays` is what is kept (name -> version),
    `ground` what it requires of the rest; `former` are the versions of what may change. What is `direct` came
    from no index, and none is asked for it. `remains`: something that no distribution owns is to be removed."""

    wanted: Mapping[str, Wanted] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    stays: Mapping[str, str] = field(default_factory=dict)
    ground: tuple[Patch, ...] = ()
    former: Mapping[str, str] = field(default_factory=dict)
    direct: frozenset[str] = frozenset()
    indexes: tuple[Index, ...] = ()
    remains: bool = False

    @property
    def empty(self) -> bool:
        return not (self.wanted or self.absent or self.remains)


def mend_of(case: Case, inventory: Inventory) -> Mend:
    """The least change. `inventory` is the environment's own site; the case knows what else Python finds."""
    direct = frozenset(one.name for one in inventory.distributions if one.direct)
    leaving = {keep: names for keep, names in _rivals(case) if not direct & {keep, *names}}
    gone = {name for names in leaving.values() for name in names}
    found: dict[str, Wanted] = {}
    again = ((keep, Wanted(requirement=_pin(case, keep), because=_why_kept(names), again=True))
             for keep, names in leaving.items())  # fmt: skip
    for name, wanted in chain(again, _damaged(case, inventory), _unmet(case, gone), _held(case, gone)):
        if name not in gone | direct:
            found.setdefault(name, wanted)
    orphans = _orphans(case, inventory)
    remains = bool(inventory.litter or orphans)
    left = {name: message("diagnosing.mend.remains") for name in orphans if name not in found}
    return _mend(case, Mend(wanted=found, absent={**left, **_going(leaving)}, direct=direct, remains=remains))


def widened(case: Case, mend: Mend) -> Mend:
    """The same with those that require a changed distribution free to change too, frameworks apart; else itself."""
    more = {
        one.name: Wanted(requirement=one.name, because=message("diagnosing.mend.goes-along", name=name))
        for one in _there(case)
        for name in _required(case, one)
        if name in mend.wanted and one.name in mend.stays and one.name not in _carriers() | mend.direct
    }
    return _mend(case, replace(mend, wanted={**mend.wanted, **more})) if more else mend


def _going(leaving: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    return {
        name: message("diagnosing.mend.rival", name=keep) for keep, names in leaving.items() for name in names
    }


def _mend(case: Case, mend: Mend) -> Mend:
    """With all that follows from what comes and what goes."""
    out = {*mend.wanted, *mend.absent}
    stays = {one.name: one.version for one in _there(case) if one.name not in out and _plain(one)}
    return replace(
        mend,
        stays=stays,
        ground=tuple(_ground(case, stays)),
        former={name: case.installed[name] for name in mend.wanted if name in case.installed},
        indexes=tuple(_indexes(case, mend.wanted)),
    )


def _there(case: Case) -> tuple[Distribution, ...]:
    """What an import finds; a second copy on the path counts for nothing."""
    env = case.environment
    return tuple(one for one in env.distributions if env.copies(one.name)[0] is one) if env else ()


def _plain(one: Distribution) -> bool:
    """Whether name and version are such as an index has; others count for nobody."""
    try:
        Version(one.version)
    except InvalidVersion:
        return False
    return one.name[:1].isalnum()


def _carriers() -> frozenset[str]:
    """The distributions of frameworks: what a person chose, and never changed for the sake of another."""
    return frozenset(name for row in load_checks().imports for name in row.distributions)


def _asks(case: Case, one: Distribution) -> Iterator[Requirement]:
    """What it requires of indexes; a requirement with an address of its own is nobody's to mend."""
    assert case.environment is not None
    yield from (r for r in asked(one, marks(case.environment)) if not r.url)


def _requires(one: Distribution, requirement: Requirement) -> str:
    name, version = one.name, one.version
    return message("diagnosing.mend.required", name=name, version=version, requirement=str(requirement))


def _required(case: Case, one: Distribution) -> set[str]:
    return {str(canonicalize_name(r.name)) for r in _asks(case, one)}


def _pin(case: Case, name: str) -> str:
    version = case.installed.get(name, "")
    return f"{name}=={version}" if version else name


def _rivals(case: Case) -> Iterator[tuple[str, tuple[str, ...]]]:
    """(the member of a family that is kept, those that go): of several the one that others require."""
    env = case.environment
    for row in case.knowledge.rows(FamilyRow):
        there = [n for n in row.members if n in case.installed and env is not None and n not in env.conda]
        if collide(there, row):
            keep = _needed(case, there) or kept(case, there).partition("==")[0]
            yield keep, tuple(name for name in there if row.clash(name, keep))


def _needed(case: Case, there: list[str]) -> str:
    """The one member that the other distributions require; empty where they require none, or several."""
    by_others = {name for one in _there(case) if one.name not in there for name in _required(case, one)}
    found = [name for name in there if name in by_others]
    return found[0] if len(found) == 1 else ""


def _why_kept(names: tuple[str, ...]) -> str:
    return message("diagnosing.mend.shared", names=names)


def _damaged(case: Case, inventory: Inventory) -> Iterator[tuple[str, Wanted]]:
    """Distributions whose files or metadata are not what was installed."""
    versions: dict[str, set[str]] = {}
    for one in inventory.distributions:
        versions.setdefault(one.name, set()).add(one.version)
    files = case.files
    altered = {**files.resized, **files.changed} if files else {}
    for one in inventory.distributions:
        newest = max(versions[one.name], key=version_key)
        because = (
            one.broken
            or (message("diagnosing.mend.twice") if len(versions[one.name]) > 1 else "")
            or (message("diagnosing.mend.missing") if matters(list(one.missing)) else "")
            or (message("diagnosing.mend.altered") if one.name in altered else "")
        )
        if because:
            pin = f"{one.name}=={newest}" if newest else one.name
            yield one.name, Wanted(requirement=pin, because=because, again=True)


def _unmet(case: Case, gone: Container[str]) -> Iterator[tuple[str, Wanted]]:
    """What distributions require and do not find, or find in another version."""
    for one in _there(case):
        for requirement in _asks(case, one) if one.name not in gone else ():
            name = str(canonicalize_name(requirement.name))
            found = case.installed.get(name)
            because = _requires(one, requirement)
            if name in gone or (found is None and _stands_in(case, name, gone)):
                continue
            if found is None:
                extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
                yield name, Wanted(requirement=f"{name}{extras}{requirement.specifier}", because=because)
            elif not requirement.specifier.contains(found, prereleases=True):
                # A framework was chosen: what does not go with it changes.
                other = one.name if name in _carriers() else name
                yield other, Wanted(requirement=other, because=because)


def _stands_in(case: Case, name: str, gone: Container[str]) -> bool:
    """Whether another member of its family is there: to install this one, too, would break both."""
    return any(
        row.clash(name, other)
        for row in case.knowledge.families_of(name)
        for other in row.members
        if other in case.installed and other not in gone
    )


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
                told = message("diagnosing.mend.held", name=owner, version=case.installed[owner], why=row.why)
                yield name, Wanted(requirement=name, because=told)


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


def _orphans(case: Case, inventory: Inventory) -> tuple[str, ...]:
    """Distributions whose folders are left of them: their families tell which folders those are."""
    folders = {path.rpartition("/")[2] for path in inventory.unowned}
    rows = [row for row in load_checks().imports if row.module in folders]
    return tuple(
        row.distributions[0] for row in rows if not any(n in case.installed for n in row.distributions)
    )


def _indexes(case: Case, wanted: Mapping[str, Wanted]) -> Iterator[Index]:
    """A local version (`2.6.0+cu124`) is on its maker's index only."""
    by_name: dict[str, list[str]] = {}
    for name, one in wanted.items():
        local = one.requirement.partition("+")[2]
        if one.again and local:
            by_name.setdefault(f"pytorch-{local}", []).append(name)
    for index, names in by_name.items():
        if url := case.knowledge.index_url(index):
            yield Index(name=index, url=url, packages=tuple(names))


def unchanged(packages: Iterable[tuple[str, str]], mend: Mend) -> frozenset[str]:
    """Of a closure (name, version) what is there already and whole: it came along, and stays."""
    return frozenset(
        name for name, version in packages
        if mend.former.get(name) == version and not mend.wanted[name].again
    )  # fmt: skip
