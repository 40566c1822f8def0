"""The stack solver: profile x target x Python x knowledge -> the coherent choice, with its reasons. Pure.

wanted.py      what the profile asks for, in the solver's terms
facts.py       what the knowledge base's rules may ask of a build and of a stack
candidates.py  per framework: every known build, kept or rejected by a test or a rule
confidence.py  how well a build is supported
search.py      combinations, coherence, preference
assembling.py  the chosen combination -> the stack
refusing.py    no combination left -> findings
conda.py       the same for a conda environment: what to ask the channels for
closure.py     patches that only show once the closure of packages is known
"""

from provision.resolving.closure import further_patches
from provision.resolving.conda import DEFAULT_CHANNELS, conda_stack
from provision.resolving.search import identity, pythons, resolve, solve
from provision.resolving.wanted import python_choices

__all__ = ["DEFAULT_CHANNELS", "conda_stack", "further_patches", "identity", "python_choices", "pythons", "resolve", "solve"]
