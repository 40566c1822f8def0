"""run: what a command sees of the environment. Light: people wait for it before each of their commands."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from provision.pipeline.strangers import must_be_known

if TYPE_CHECKING:
    from provision.model.state import EnvState
    from provision.pipeline.session import Session


def command_environment(state: EnvState, session: Session, base: dict[str, str]) -> dict[str, str]:
    """The variables that a command of `run` sees: the environment first on PATH, the lock's variables set.

    Raises CheckFailed for an environment that provision neither made nor changed.
    """
    must_be_known(state, session)
    environment = Path(state.environment)
    is_conda = (environment / "conda-meta").is_dir()
    inside = [str(environment / name) for name in (_CONDA_FOLDERS if is_conda else _FOLDERS)[os.name == "nt"]]
    kept = {k: v for k, v in base.items() if k not in _OF_OTHER_ENVIRONMENTS}
    return {
        **kept,
        "PATH": os.pathsep.join([*inside, base.get("PATH", "")]),
        ("CONDA_PREFIX" if is_conda else "VIRTUAL_ENV"): state.environment,
        **(conda_variables(environment) if is_conda else {}),
        **(state.record.variables if state.record else {}),
    }


#: Folders of programs inside an environment: on POSIX, on Windows. Conda's as its activation would put them.
_FOLDERS = (("bin",), ("Scripts",))
_CONDA_FOLDERS = (
    ("bin",),
    ("", "Library/mingw-w64/bin", "Library/usr/bin", "Library/bin", "Scripts", "bin"),
)
_OF_OTHER_ENVIRONMENTS = frozenset(
    {"PYTHONHOME", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "CONDA_PROMPT_MODIFIER", "CONDA_SHLVL"}
)


def conda_variables(prefix: Path) -> dict[str, str]:
    """The variables that conda packages ask for as data (`etc/conda/env_vars.d/*.json`); their shell hooks are
    not run."""
    import json

    found: dict[str, str] = {}
    for path in sorted((prefix / "etc" / "conda" / "env_vars.d").glob("*.json")):
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        found.update({str(k): str(v) for k, v in document.items()} if isinstance(document, dict) else {})
    return found
