"""A Wine prefix for the session, or a reason why there is none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.wine.machine import Windows, program


@pytest.fixture(scope="session")
def windows(tmp_path_factory: pytest.TempPathFactory) -> Windows:
    if program() is None:
        pytest.skip("wine is not installed (Debian: apt-get install --no-install-recommends wine wine64)")
    kept = os.environ.get("PROVISION_WINE_HOME")
    return Windows(Path(kept) if kept else tmp_path_factory.mktemp("wine")).prepare()
