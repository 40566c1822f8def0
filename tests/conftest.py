"""Fixtures that many tests share; what they build on is in tests/support."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.index import LoopbackIndex
from tests.support.stacks import add_tiny_tensorflow

# Texts are compared in English, whatever the locale is.
os.environ["PROVISION_LANG"] = "en"

# A shell that starts the tests in the background has Ctrl-C ignored, in every process below it; some tests send one.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

#: Variables by which a machine tells installers and HTTP clients where to go.
_STEERING = (
    "PIP_",
    "UV_",
    "PROVISION_",
    "XDG_",
    "CONDA_",
    "VIRTUAL_ENV",
    "NETRC",
    "SSL_CERT_",
    "REQUESTS_",
    "CURL_",
)


@pytest.fixture
def isolated_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home: no configuration of the user or the machine is read, no cache of theirs written."""
    for name in list(os.environ):
        if name.startswith(_STEERING) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    home = tmp_path / "home"
    places = {"HOME": "", "USERPROFILE": "", "APPDATA": "roaming", "LOCALAPPDATA": "local"}
    places |= {"PROGRAMDATA": "all", "XDG_CONFIG_HOME": ".config", "XDG_CACHE_HOME": ".cache"}
    places |= {
        "XDG_DATA_HOME": ".local/share",
        "XDG_STATE_HOME": ".local/state",
        "XDG_CONFIG_DIRS": "etc",
        "UV_CACHE_DIR": ".cache/uv",
    }
    for name, place in places.items():
        (home / place).mkdir(parents=True, exist_ok=True)
        monkeypatch.setenv(name, str(home / place))
    monkeypatch.setenv("PROVISION_LANG", "en")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_DISABLE_PIP_VERSION_CHECK", "1")
    monkeypatch.setenv("UV_NO_CONFIG", "1")
    monkeypatch.setenv("UV_PYTHON_DOWNLOADS", "never")
    return home


@pytest.fixture
def index(tmp_path: Path, isolated_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackIndex]:
    """An empty loopback index, which the environment names as the default one to pip and to uv."""
    with LoopbackIndex(tmp_path / "index") as served:
        (served.root / "simple").mkdir(parents=True)
        monkeypatch.setenv("UV_DEFAULT_INDEX", served.url())
        monkeypatch.setenv("PIP_INDEX_URL", served.url())
        monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
        yield served


@pytest.fixture
def tiny_tensorflow(index: LoopbackIndex) -> LoopbackIndex:
    """The loopback index with TensorFlow, torch and what they need (`/simple`, `/pytorch-cpu`)."""
    add_tiny_tensorflow(index)
    return index
