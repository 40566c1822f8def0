"""The stack solver: profile x target x Python x knowledge -> the coherent choice, with its reasons. Pure.

wanted.py      what the profile asks for, in the solver's terms
candidates.py  per framework: every known build, kept or rejected by a rule
search.py      combinations, coherence, preference; the loop over refused candidates
closure.py     patches that only show once the closure of packages is known
"""

from provision.resolving.closure import further_patches
from provision.resolving.search import pythons, resolve, solve

__all__ = ["further_patches", "pythons", "resolve", "solve"]
