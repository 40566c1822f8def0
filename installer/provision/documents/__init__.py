"""Documents: text <-> nouns. Every error names file, line and column, shows the line and says how to mend it.

YAML documents (profile, lock, recorded machine) have kebab-case keys, JSON documents (plan, receipt, machine)
snake_case ones. Reading is strict: nothing unknown, nothing of a wrong type. Imports the model only.
"""

from __future__ import annotations

from typing import TypeVar

from provision.documents.nodes import Composed, compose_json, compose_yaml
from provision.documents.reading import Reading, snake
from provision.documents.source import decode, several
from provision.documents.writing import canonical, dump_json, dump_yaml, to_json
from provision.model.finding import LockError, ProvisionError, UsageError
from provision.model.lock import Lock
from provision.model.machine import Machine
from provision.model.plan import Plan, SavedPlan
from provision.model.profile import kebab
from provision.model.receipt import Receipt

__all__ = [
    "canonical", "dump_json", "dump_yaml", "read_json", "read_lock", "read_machine", "read_plan",
    "read_receipt", "read_saved_plan", "read_yaml", "to_json",
]  # fmt: skip

T = TypeVar("T")
#: Bytes. The largest lock of a real stack has about 200 KB.
LIMIT = 1 << 24


def read_yaml(text: str | bytes, origin: str, cls: type[T], error: type[ProvisionError] = UsageError) -> T:
    """A YAML document as one of the nouns; raises `error` with all that is wrong in it."""
    source = decode(text, origin, LIMIT, error)
    return _read(Reading(kebab), compose_yaml(source, error), cls, error)


def read_json(text: str | bytes, origin: str, cls: type[T], error: type[ProvisionError] = UsageError) -> T:
    """A JSON document as one of the nouns; raises `error` with all that is wrong in it."""
    source = decode(text, origin, LIMIT, error)
    return _read(Reading(snake), compose_json(source, error), cls, error)


def _read(reading: Reading, composed: Composed, cls: type[T], error: type[ProvisionError]) -> T:
    node, findings = composed
    value: T = reading.noun(node, cls)
    if problems := [*findings, *reading.findings]:
        raise error(several(problems, node.source.origin))
    return value


def read_lock(text: str | bytes, origin: str) -> Lock:
    """A lock file. Raises LockError."""
    return read_yaml(text, origin, Lock, LockError)


def read_plan(text: str | bytes, origin: str) -> Plan:
    """A saved plan (`plan --json`). Raises UsageError."""
    return read_json(text, origin, Plan)


def read_saved_plan(text: str | bytes, origin: str) -> SavedPlan:
    """A plan that `plan --out` wrote. Raises UsageError."""
    return read_json(text, origin, SavedPlan)


def read_receipt(text: str | bytes, origin: str) -> Receipt:
    """A receipt. Raises UsageError."""
    return read_json(text, origin, Receipt)


def read_machine(text: str | bytes, origin: str) -> Machine:
    """A machine: JSON as `detect --json` prints it, or YAML as people write it. Raises UsageError."""
    begin = text[:64].lstrip()
    is_json = begin.startswith(b"{") if isinstance(begin, bytes) else begin.startswith("{")
    return (read_json if is_json else read_yaml)(text, origin, Machine)
