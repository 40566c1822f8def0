"""Composes the stages; says where each verb stops.

session.py       what one run of the command has: folders, the real world, lazily made parts
profiles.py      a path or a bundled name -> a profile, and where its locks stand
beginning.py     init
locks.py         one lock
relocking.py     lock, lock --check: many at once
comparing.py     lock diff
checks.py        lint
exports.py       export
reasons.py       why, why-not
gate.py          what knowledge and artifacts say of a locked stack, for the gate
artifacts.py     facts of artifacts: cached, from a file, from a server
learning.py      inspect, knowledge learn
environments.py  plan, apply, verify, status, run
quick.py         the answer of `apply` when nothing is to be done, without reading more than it must
"""
