"""Plan: lock x actual state x machine -> the steps to take, or what blocks them. Pure.

plans.py     the plan put together
steps.py     the ordered steps
blockers.py  what blocks any plan: wrong target, a foreign environment, no interpreter, no room
gate.py      the lock's needs, the artifacts and the rules held against the machine
needs.py     one check a kind of need
code.py      GPU code for each card, and builds that have it
speaking.py  rules of the knowledge base that ask for facts of a machine
"""

from provision.planning.gate import judge
from provision.planning.interpreters import interpreter_for
from provision.planning.known import CardCode, Known
from provision.planning.needs import unmet
from provision.planning.plans import is_current, plan
from provision.planning.request import Request

__all__ = ["CardCode", "Known", "Request", "interpreter_for", "is_current", "judge", "plan", "unmet"]
