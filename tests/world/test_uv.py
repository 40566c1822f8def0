"""What is asked of uv beside closures and installs, with the real uv."""

from __future__ import annotations

from pathlib import Path

import pytest

from provision.model.finding import ApplyError
from provision.world.installing import fetch_python, managed_python


def test_a_python_that_cannot_be_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """uv's own words are kept (where it looked), and there is a way out."""
    monkeypatch.setenv("UV_PYTHON_INSTALL_DIR", str(tmp_path / "pythons"))
    monkeypatch.setenv("UV_PYTHON_INSTALL_MIRROR", "http://127.0.0.1:9/builds")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    assert managed_python("3.12") is not None
    with pytest.raises(ApplyError) as caught:
        fetch_python("3.12")
    (finding,) = caught.value.findings
    assert finding.code == "interpreter-failed"
    assert "127.0.0.1:9" in finding.detail
    assert "Install CPython 3.12" in finding.remedies[0].text
    assert not list(tmp_path.glob("pythons/cpython*"))
