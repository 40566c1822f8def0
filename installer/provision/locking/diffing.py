"""Two locks -> what changed between them, as a person reads it in a review. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from packaging.version import InvalidVersion, Version

from provision.messages import joined, message
from provision.model.lock import Artifact, CondaArtifact, Lock
from provision.model.stack import Need, Patch

#: `rebuilt`: the same version, another file. `other`: versions that cannot be compared.
Kind = Literal["up", "down", "other", "added", "removed", "rebuilt"]
File = Artifact | CondaArtifact
_NAME = re.compile(r"[\w.-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One package. `before` and `after` are versions, empty where it was not or is no more. `why`: a row's words."""

    name: str
    kind: Kind
    before: str = ""
    after: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Something that is said of the stack: before and after, either may be empty."""

    what: str
    before: str = ""
    after: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What changed between two locks; `old` or `new` None: the lock was added or removed as a whole."""

    title: str
    old: Lock | None
    new: Lock | None
    stack: tuple[Turn, ...] = ()
    packages: tuple[Change, ...] = ()
    build: tuple[Change, ...] = ()
    patches: tuple[Turn, ...] = ()
    needs: tuple[Turn, ...] = ()
    others: tuple[Turn, ...] = ()

    @property
    def empty(self) -> bool:
        """True if an environment made from either is the same."""
        parts = (self.stack, self.packages, self.build, self.patches, self.needs, self.others)
        return not any(parts) and (self.old is None) == (self.new is None)


def diff(old: Lock | None, new: Lock | None) -> Difference:
    """At least one of the two must be there."""
    one = new or old
    assert one is not None
    title = " · ".join(filter(None, (one.profile, one.variant, one.target, f"Python {one.python}")))
    if old is None or new is None:
        return Difference(title=title, old=old, new=new)
    return Difference(
        title=title,
        old=old,
        new=new,
        stack=tuple(_stack(old, new)),
        packages=tuple(_packages((*old.conda, *old.packages), (*new.conda, *new.packages), new)),
        build=tuple(_packages(old.build, new.build, new)),
        patches=tuple(_patches(old.patches, new.patches)),
        needs=tuple(_needs(old.needs, new.needs)),
        others=tuple(_others(old, new)),
    )


def _stack(old: Lock, new: Lock) -> Iterator[Turn]:
    before = {c.axis: c for c in old.stack}
    after = {c.axis: c for c in new.stack}
    for axis in dict.fromkeys([*before, *after]):
        was, now = before.get(axis), after.get(axis)
        if (was and was.value) != (now and now.value):
            yield Turn(
                what=axis, before=was.value if was else "", after=now.value if now else "",
                why=f"{now.confidence}: {now.because}" if now and now.rule else "",
            )  # fmt: skip


def _packages(old: Sequence[File], new: Sequence[File], lock: Lock) -> Iterator[Change]:
    before, after = {a.name: a for a in old}, {a.name: a for a in new}
    for name in sorted({*before, *after}):
        was, now = before.get(name), after.get(name)
        kind = _kind(was, now)
        if kind is not None:
            yield Change(
                name=name, kind=kind, before=_version(was), after=_version(now), why=_why(name, lock) if now else ""
            )  # fmt: skip


def _version(artifact: File | None) -> str:
    if artifact is None:
        return ""
    is_source = isinstance(artifact, Artifact) and artifact.kind == "sdist"
    return f"{artifact.version} (source)" if is_source else artifact.version


def _kind(was: File | None, now: File | None) -> Kind | None:
    if was is None or now is None:
        return "added" if was is None else "removed"
    if was.version == now.version:
        return None if _hash(was) == _hash(now) else "rebuilt"
    try:
        return "up" if Version(was.version) < Version(now.version) else "down"
    except InvalidVersion:
        return "other"


def _hash(artifact: File) -> str:
    return artifact.key if isinstance(artifact, CondaArtifact) else artifact.sha256


def _why(name: str, lock: Lock) -> str:
    """What the lock says about a package: a patch that holds it, or the choice that it is."""
    for patch in lock.patches:
        if named(patch.requirement) == name:
            return f"{patch.requirement}: {patch.because} ({patch.rule})"
    for choice in lock.stack:
        if choice.rule and named(choice.value) == name:
            return choice.because
    return ""


def named(requirement: str) -> str:
    """The canonical name that a requirement is about."""
    match = _NAME.match(requirement)
    return re.sub(r"[-_.]+", "-", match[0]).lower() if match else ""


def _patches(old: Sequence[Patch], new: Sequence[Patch]) -> Iterator[Turn]:
    before, after = {p.requirement: p for p in old}, {p.requirement: p for p in new}
    for requirement in sorted({*before, *after}):
        one = after.get(requirement) or before[requirement]
        if (requirement in before) != (requirement in after):
            yield Turn(
                what=one.kind,
                before=requirement if requirement in before else "",
                after=requirement if requirement in after else "",
                why=f"{one.because} ({one.rule})",
            )


def _needs(old: Sequence[Need], new: Sequence[Need]) -> Iterator[Turn]:
    before, after = _by_what(old), _by_what(new)
    for what in dict.fromkeys([*before, *after]):
        was, now = before.get(what, ""), after.get(what, "")
        if was != now:
            yield Turn(what=what, before=was, after=now)


def _by_what(needs: Iterable[Need]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for need in needs:
        found.setdefault(need.what, []).append(need.value)
    return {what: ", ".join(values) for what, values in found.items()}


def _others(old: Lock, new: Lock) -> Iterator[Turn]:
    """The rest that a person should see: variables, what must be absent, where the environment is, how it is proven."""
    for key in sorted({*old.variables, *new.variables}):
        if old.variables.get(key) != new.variables.get(key):
            yield Turn(what=key, before=old.variables.get(key, ""), after=new.variables.get(key, ""))
    for names, was in ((set(old.absent) - set(new.absent), True), (set(new.absent) - set(old.absent), False)):
        if names:
            told = ", ".join(sorted(names))
            yield Turn(
                what=message("locking.others.must-not-be"),
                before=told if was else "",
                after="" if was else told,
            )
    plain = {
        "manager": (old.manager, new.manager),
        "path": (old.path, new.path),
        "pip": (str(old.pip), str(new.pip)),
        "hardware": (old.hardware, new.hardware),
        "proof": (_proof(old), _proof(new)),
        "indexes": (_indexes(old), _indexes(new)),
    }
    yield from (Turn(what=key, before=was, after=now) for key, (was, now) in plain.items() if was != now)


def _proof(lock: Lock) -> str:
    smoke = lock.smoke
    return message(
        "locking.proof.at-level-on",
        what=", ".join(smoke.jobs) or "all",
        level=smoke.level,
        what2=smoke.device or lock.hardware,
    )


def _indexes(lock: Lock) -> str:
    return ", ".join(f"{index.name} ({index.url})" for index in lock.indexes)


# --- as text

_ORDER: tuple[Kind, ...] = ("up", "down", "other", "rebuilt", "added", "removed")
_WORDS: dict[Kind, str] = {
    "up": "locking.diff.up", "down": "locking.diff.down", "other": "locking.diff.changed",
    "rebuilt": "locking.diff.other-file", "added": "locking.diff.added", "removed": "locking.diff.removed",
}  # fmt: skip


def change_rows(changes: Iterable[Change]) -> list[tuple[str, str, str, str]]:
    """(word, package, versions, why) for each change, ups first."""
    ordered = sorted(changes, key=lambda c: (_ORDER.index(c.kind), c.name))
    return [(message(_WORDS[c.kind]), c.name, versions(c), c.why) for c in ordered]


def versions(change: Change | Turn) -> str:
    """`2.0 -> 2.1`, `2.1`."""
    if change.before and change.after and change.before != change.after:
        return f"{change.before} -> {change.after}"
    return change.after or change.before


def turn_rows(turns: Iterable[Turn]) -> list[tuple[str, str, str, str]]:
    """(word, what, values, why) for each turn."""
    return [(_turn_word(t), t.what, versions(t), t.why) for t in turns]


def _turn_word(turn: Turn) -> str:
    if turn.before and turn.after:
        return message("locking.diff.changed")
    return message("locking.diff.added") if turn.after else message("locking.diff.removed")


def sections(difference: Difference) -> list[tuple[str, list[tuple[str, str, str, str]]]]:
    """The parts of a difference that say something, each with its rows: the stack first."""
    found = [
        (message("locking.sections.stack"), turn_rows(difference.stack)),
        (message("locking.sections.packages"), change_rows(difference.packages)),
        (message("locking.sections.held"), turn_rows(difference.patches)),
        (message("locking.sections.needs"), turn_rows(difference.needs)),
        (message("locking.sections.build-tools"), change_rows(difference.build)),
        (message("locking.sections.other"), turn_rows(difference.others)),
    ]
    return [(title, rows) for title, rows in found if rows]


def summary(difference: Difference) -> str:
    """The difference in one line."""
    if difference.new is None:
        return message("locking.summary.lock-removed")
    if difference.old is None:
        return message("locking.summary.new-lock-packages", len=len(difference.new.pins))
    if difference.empty:
        return message("locking.summary.nothing-changed-that-environment-is")
    kinds = [c.kind for c in difference.packages]
    told = [f"{kinds.count(kind)} " + message(_WORDS[kind]) for kind in _ORDER if kind in kinds]
    return joined(told, ", ") if told else message("locking.summary.packages-unchanged")


def markdown(differences: Sequence[Difference]) -> str:
    """For a comment in a review, in English. Locks with the same changes share one part."""
    groups: dict[str, list[Difference]] = {}
    for one in differences:
        groups.setdefault(_markdown_body(one), []).append(one)
    parts = [f"### {'; '.join(d.title for d in members)}\n\n{body}" for body, members in groups.items()]
    return "\n".join(parts) or "No lock changed.\n"


def _markdown_body(difference: Difference) -> str:
    lines = [f"{summary(difference)}\n"]
    found = sections(difference)
    if found:
        lines += ["| | | | why |", "|---|---|---|---|"]
    for title, rows in found:
        lines += [
            f"| **{title}** | | | |",
            *(f"| {w} | `{name}` | {_cell(v)} | {_cell(why)} |" for w, name, v, why in rows),
        ]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
