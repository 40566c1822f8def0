"""Rules of the knowledge base that ask for facts of a machine: the same rules as the solver's, asked with what is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from provision.knowledge.asking import asks_machine, build_facts
from provision.knowledge.builds import Build
from provision.knowledge.rows import RuleRow
from provision.knowledge.rules import applies
from provision.messages import changed, joined, message, sentence
from provision.model.finding import Evidence, Finding, Remedy
from provision.model.lock import Lock
from provision.model.machine import Device, Machine
from provision.planning.code import gpu_code_of
from provision.planning.held import Held, cards_of
from provision.planning.known import Known
from provision.planning.request import Request

#: A rule with this code is about GPU code: where the artifact itself was read, the artifact has the word.
_CODE = "no-gpu-code"
#: What is said where no row and no artifact tells.
_OPEN = "gpu-code-unknown"
#: So many exact ways out need no rule's beside them.
_ENOUGH = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """A rule that holds for one locked build, and the cards of which it holds."""

    rule: RuleRow
    build: Build
    cards: tuple[Device, ...] = ()


def spoken(lock: Lock, machine: Machine, request: Request, known: Known) -> tuple[Spoken, ...]:
    """The rules that reject or warn, each once a framework."""
    rules = [rule for rule in known.rules if rule.then in ("reject", "warn") and asks_machine(rule)]
    cards: Sequence[Device] = () if request.without_device else cards_of(machine, lock.hardware)
    stack = _stack_facts(lock, known)
    found: dict[tuple[str, str], Spoken] = {}
    for build in known.builds.values():
        for card in cards or (None,):
            facts = {**stack, **_facts(lock, machine, request, known, build, card)}
            for rule in (rule for rule in rules if applies(rule, facts)):
                key = rule.id, build.framework
                before = found.get(key, Spoken(rule=rule, build=build))
                found[key] = replace(before, cards=(*before.cards, *([card] if card else ())))
    return tuple(found.values())


def _facts(
    lock: Lock, machine: Machine, request: Request, known: Known, build: Build, card: Device | None
) -> dict[str, Any]:
    libc, _, version = machine.libc.partition(" ")
    hardware: dict[str, Any] = {
        "vendor": lock.hardware,
        "libc": version if libc == "glibc" else None,
        "cpu-flags": list(machine.cpu_flags) or None,
    }
    if not request.without_device:
        hardware |= {"driver": machine.drivers.get(lock.hardware), "cann": machine.runtimes.get("cann")}
    if card is not None:
        what = "capability" if card.vendor == "nvidia" else "architecture"
        hardware |= {what: card.capability or None, "gpu-code": gpu_code_of(known, build.framework, card)}
    return build_facts(build, target=lock.target, python=lock.python, manager=lock.manager, hardware=hardware)


def _stack_facts(lock: Lock, known: Known) -> dict[str, Any]:
    return {
        "frameworks": {name: build.version for name, build in known.builds.items()},
        "packages": {package.name: package.version for package in lock.packages},
        "extras-of": {name: list(build.extras) for name, build in known.builds.items()},
    }


def merged(found: Sequence[Held], said: Iterable[Spoken], known: Known) -> Iterator[Held]:
    """A rule about what a check has found gives it reasons and ways out; any other rule is a finding itself."""
    rest = []
    kept = list(found)
    for one in said:
        at = next((i for i, have in enumerate(kept) if _same(have, one)), None)
        if at is None:
            rest.append(one)
        else:
            kept[at] = _with(kept[at], one.rule)
    against = {one.build.framework for one in rest if one.rule.code == _CODE and one.rule.then == "reject"}
    yield from (h for h in kept if h.finding.code != _OPEN or h.framework not in against)
    for one in rest:
        yield Held(finding=_alone(one, known), framework=one.build.framework)


def _same(have: Held, one: Spoken) -> bool:
    return have.finding.code == one.rule.code and have.framework in ("", one.build.framework)


def _with(have: Held, rule: RuleRow) -> Held:
    """The finding with a rule's reason and source; the rule's ways out where there are no exact ones."""
    finding, reason = have.finding, sentence(changed(rule.because, _one_line))
    if reason in finding.detail:
        return have
    ways = tuple(Remedy(sentence(way)) for way in rule.instead)
    remedies = ways if have.general and ways else (*finding.remedies, *ways)
    told = replace(
        finding,
        detail=joined((finding.detail, reason), "\n") if finding.detail else reason,
        evidence=(*finding.evidence, _evidence(rule)),
        remedies=remedies if have.general or len(finding.remedies) < _ENOUGH else finding.remedies,
    )
    return replace(have, finding=told, general=False)


def _evidence(rule: RuleRow) -> Evidence:
    return Evidence(message("planning.knowledge", rule=rule.id), f"{rule.source} ({rule.evidence})")


def _alone(one: Spoken, known: Known) -> Finding:
    rule = one.rule
    cards = tuple(
        Evidence(c.source or message("planning.detection"), f"{c.name}: {c.capability}") for c in one.cards
    )
    read = [
        c for c in known.codes if c.framework == one.build.framework and c.by_artifact and c.card in one.cards
    ]
    if rule.code == _CODE and read and all(c.coverage.how != "no" for c in read):
        return Finding(
            "knowledge-disagrees",
            "warning",
            message("planning.knowledge-disagrees.summary", id=rule.id, requirement=one.build.requirement),
            detail=message("planning.knowledge-disagrees.detail"),
            evidence=(Evidence(read[0].source, read[0].coverage.because), _evidence(rule)),
        )
    return Finding(
        rule.code or "rule",
        "error" if rule.then == "reject" else "warning",
        message(
            "planning.rule.summary",
            requirement=one.build.requirement,
            because=changed(rule.because, _one_line),
        ),
        evidence=(*cards, _evidence(rule)),
        remedies=tuple(Remedy(sentence(way)) for way in rule.instead),
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())
