"""A lock -> the files of other tools: requirements.txt, pylock.toml, environment.yml, Dockerfile. Pure.

Each says exactly what the lock says, for the lock's one target and Python. What a format cannot say stands in its
comments. `urls` maps file names to where they can be fetched from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from provision.exporting.dockerfile import dockerfile
from provision.exporting.environment import environment
from provision.exporting.pylock import pylock
from provision.exporting.requirements import requirements
from provision.model.lock import PYPI, VENDOR, Artifact, Lock

__all__ = ["FORMATS", "export", "needs_url"]

Urls = Mapping[str, str]
#: format -> (writer, the usual name of such a file)
FORMATS: Mapping[str, tuple[Callable[[Lock, Urls], str], str]] = {
    "requirements": (requirements, "requirements.txt"),
    "pylock": (pylock, "pylock.toml"),
    "environment": (environment, "environment.yml"),
    "dockerfile": (dockerfile, "Dockerfile"),
}


def export(lock: Lock, form: str, urls: Urls) -> str:
    """The text of a file. Raises UsageError for what a format cannot hold."""
    return FORMATS[form][0](lock, urls)


def needs_url(artifact: Artifact, form: str) -> bool:
    """Whether an index is to be asked where a file is: for pylock of each one, else where it is not the default index."""
    return artifact.url is None and artifact.index != VENDOR and (form == "pylock" or artifact.index != PYPI)
