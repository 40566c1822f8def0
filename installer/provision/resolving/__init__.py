"""The stack solver: profile x target x Python x knowledge -> the coherent choice, with its reasons. Pure.

wanted.py      what the profile asks for, in the solver's terms
facts.py       what the knowledge base's rules may ask of a build and of a stack
candidates.py  per framework: every known build, kept or rejected by a test or a rule
confidence.py  how well a build is supported
search.py      combinations, coherence, preference
assembling.py  the chosen combination -> the stack
refusing.py    no combination left -> findings
conda.py       the same for a conda environment: what to ask the channels for
closure.py     patches and clashes that only show once the closure of packages is known
explaining.py  the reasons of all this, arranged for people
"""

from provision.resolving.closure import clashes, further_patches
from provision.resolving.conda import DEFAULT_CHANNELS, conda_stack
from provision.resolving.explaining import (
    Answer,
    Explanation,
    Group,
    against,
    answer,
    explain,
    framework_of,
    grouped,
    overlaid,
    spans,
)
from provision.resolving.search import identity, pythons, resolve, solve
from provision.resolving.wanted import python_choices

__all__ = [
    "DEFAULT_CHANNELS", "Answer", "Explanation", "Group", "against", "answer", "clashes", "conda_stack", "explain",
    "framework_of", "further_patches", "grouped", "identity", "overlaid", "python_choices", "pythons", "resolve",
    "solve", "spans",
]  # fmt: skip
