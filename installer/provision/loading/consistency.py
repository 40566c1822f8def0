"""Problems that show only when every value is good by itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from provision.documents.nodes import Node, Table
from provision.loading.values import canonical_name
from provision.messages import message
from provision.model.finding import Finding
from provision.model.profile import Profile


def contradictions(profile: Profile, root: Table) -> list[Finding]:
    """Problems that show only when every value is good by itself."""
    return [
        *_twice(profile, root),
        *_index_conflicts(profile, root),
        *_vendor_conflicts(profile, root),
        *_wanted_and_absent(profile, root),
        *_only_conda(profile, root),
        *_unlocked(profile, root),
    ]


def _unlocked(profile: Profile, root: Table) -> Iterator[Finding]:
    """A reason for a lock that is not there, of a target that has none anyway. What a base says is the base's."""
    table = root.get("unlocked")
    if profile.extends:
        return
    for target in (t for t in profile.unlocked if profile.targets and t not in profile.targets):
        what = message("loading.unlocked.is-no-target", target=target)
        yield _at(table, "contradiction", what, message("loading.unlocked.remove-or-add-it"))


def _only_conda(profile: Profile, root: Table) -> Iterator[Finding]:
    """Keys of `environment` that say nothing where the manager is not conda."""
    environment = root.get("environment")
    if profile.environment.manager == "conda" or not isinstance(environment, Table):
        return
    for key in ("channels", "wheels", "link-scripts"):
        if environment.get(key) is not None:
            what = message("loading.only-conda.belongs-to-environment-with-manager", what=key)
            yield _at(
                environment.get(key),
                "contradiction",
                what,
                message("loading.only-conda.remove-it-or-name-manager"),
            )


def _twice(profile: Profile, root: Table) -> Iterator[Finding]:
    for name in ("targets", "packages", "absent"):
        yield from _repeats(getattr(profile, name), _items(root, name))
    smoke = root.get("smoke")
    if isinstance(smoke, Table):
        yield from _repeats(profile.smoke.jobs, _items(smoke, "jobs"))


def _items(table: Table, name: str) -> list[Any]:
    return getattr(table.get(name), "items", [])


def _repeats(values: tuple[str, ...], nodes: list[Node]) -> Iterator[Finding]:
    for number, (value, node) in enumerate(zip(values, nodes, strict=True)):
        if value in values[:number]:
            yield node.source.finding(
                "repeated",
                message("loading.repeats.stands-here-twice", value=value),
                node.start,
                node.end,
                message("loading.common.remove-one"),
            )


def _index_conflicts(profile: Profile, root: Table) -> Iterator[Finding]:
    """Two indexes of one name, or a package that is bound to two: where it comes from must never be open."""
    names: set[str] = set()
    owner: dict[str, str] = {}
    for index, node in zip(profile.indexes, _items(root, "indexes"), strict=True):
        if index.name in names:
            yield _at(
                node.get("name"),
                "repeated",
                message("loading.index-conflicts.there-are-two-indexes", name=index.name),
                message("loading.index-conflicts.rename-one"),
            )
        names.add(index.name)
        if not index.packages:
            yield _at(
                node.get("packages"),
                "bad-value",
                message("loading.index-conflicts.index-serves-no-package", name=index.name),
                message("loading.index-conflicts.name-its-packages"),
            )
        for package, place in zip(index.packages, _items(node, "packages"), strict=True):
            first = owner.setdefault(package, index.name)
            if first != index.name:
                what = message("loading.index-conflicts.is-bound-to-already", package=package, first=first)
                yield _at(
                    place, "repeated", what, message("loading.index-conflicts.package-comes-from-one-index")
                )


def _vendor_conflicts(profile: Profile, root: Table) -> Iterator[Finding]:
    """A file that is named twice, or a package that is bound to an index and handed out by its maker."""
    bound = {package: index.name for index in profile.indexes for package in index.packages}
    wheels = root.get("wheels")
    nodes = _items(wheels, "files") if isinstance(wheels, Table) else []
    seen: set[tuple[str, str, str]] = set()
    for file, node in zip(profile.wheels.files, nodes, strict=True):
        if file.name in bound:
            what = message(
                "loading.vendor-conflicts.is-bound-to-index-already", name=file.name, bound=bound[file.name]
            )
            yield _at(
                node.get("name"),
                "repeated",
                what,
                message("loading.vendor-conflicts.package-comes-from-one-place"),
            )
        if (key := (file.name, file.version, file.tags)) in seen:
            yield _at(
                node.get("name"),
                "repeated",
                message("loading.vendor-conflicts.this-file-stands-here-twice"),
                message("loading.common.remove-one"),
            )
        seen.add(key)


def _wanted_and_absent(profile: Profile, root: Table) -> Iterator[Finding]:
    carriers = {canonical_name(f.package or name): name for name, f in profile.frameworks.items()}
    for name, node in zip(profile.absent, _items(root, "absent"), strict=True):
        if name in carriers:
            yield _at(
                node,
                "contradiction",
                message("loading.wanted-and-absent.is-wanted-and-absent", name=name),
                message("loading.wanted-and-absent.remove-it-here-or-under"),
            )


def _at(node: Any, code: str, what: str, hint: str) -> Finding:
    finding: Finding = node.source.finding(code, what, node.start, node.end, hint)
    return finding
