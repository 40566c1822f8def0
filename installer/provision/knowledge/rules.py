"""Asking whether a rule's `when` holds for a set of facts. Pure; the facts are what a caller knows, absent
ones count as not known.

A condition is one of: a text with a comparison in front (`>=2.11`: a version range), another text (equal),
true or false (there or not there), a list (one of them holds), a mapping (each key holds in a mapping of
facts). A fact may be a text, a sequence (one of its members must hold) or a mapping. The key `not` turns a
whole `when` around.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from provision.knowledge.rows import RuleRow
from provision.knowledge.versions import holds

_COMPARISONS = ("<", ">", "=", "!", "~")


def applies(rule: RuleRow, facts: Mapping[str, Any]) -> bool:
    """True if every condition of the rule holds for the facts."""
    return meets(rule.when, facts)


def meets(when: Mapping[str, Any], facts: Mapping[str, Any]) -> bool:
    """True if every condition holds; a fact that is not known meets only `false` and `not`."""
    return all(
        not meets(condition, facts) if key == "not" else _meets(condition, facts.get(key))
        for key, condition in when.items()
    )


def _meets(condition: Any, fact: Any) -> bool:
    if isinstance(condition, bool):
        return bool(fact) is condition
    if fact is None:
        return False
    if isinstance(condition, Mapping):
        return isinstance(fact, Mapping) and meets(condition, fact)
    if isinstance(condition, list | tuple):
        return any(_meets(one, fact) for one in condition)
    if isinstance(fact, list | tuple | set | frozenset | Mapping):
        return any(_meets(condition, one) for one in fact)
    return _equals(str(condition), str(fact))


def _equals(condition: str, fact: str) -> bool:
    return holds(condition, fact) if condition.startswith(_COMPARISONS) else condition == fact
