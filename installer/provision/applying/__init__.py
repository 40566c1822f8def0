"""The only writer: a plan is carried out as one transaction, or taken back.

journal.py      the write-ahead record: reading and writing its lines
engine.py       the transaction: steps in order, each journalled before and after, undone on any failure
steps.py        one handler per kind of step
conda.py        the same for conda environments
scripts.py      console scripts that follow the pointer
generations.py  generations on disk: notes, pointer, taking one away
trash.py        removed things, kept until commit
recovery.py     what a killed run left -> a whole environment again
returning.py    rollback and gc

Nothing is imported here: `rollback` answers in a moment and needs no engine.
"""
