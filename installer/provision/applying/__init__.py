"""The only writer: a plan is carried out as one transaction, or taken back.

journal.py    the write-ahead record: reading and writing its lines
engine.py     the transaction: steps in order, each journalled before and after, undone on any failure
steps.py      one handler per kind of step
conda.py      the same for conda environments
scripts.py    console scripts that follow the pointer
recovery.py   what a killed run left -> a whole environment again
"""

from provision.applying.engine import Effects, Outcome, apply
from provision.applying.recovery import Recovered, recover, rollback

__all__ = ["Effects", "Outcome", "Recovered", "apply", "recover", "rollback"]
