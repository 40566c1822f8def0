"""Fixtures of the conda tests: a channel of tiny packages, known to this machine as `tiny`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.channels import PLACEHOLDER, Channel, Content


@pytest.fixture
def channel(tmp_path: Path, isolated_home: Path) -> Channel:
    """alpha (noarch, .conda, a console script), beta twice, native (paths in text and in a binary), and a Python."""
    pytest.importorskip("rattler", reason="the extra conda is not installed")
    made = Channel(tmp_path / "chan 道")
    made.python()
    made.library("alpha", entry_points=["alpha = alpha:main"], form=".conda")
    made.library("beta", "1.0")
    made.library("beta", "2.0")
    text = f"#!{PLACEHOLDER}/bin/python\nimport sys; print(sys.prefix)\n".encode()
    binary = b"\0\1" + PLACEHOLDER.encode() + b"/etc\0end"
    files = {"bin/tool": Content(text, "text", executable=True), "lib/data.bin": Content(binary, "binary")}
    made.add("native", "1.0", files, subdir="linux-64", build="h1_0")
    made.index()
    made.condarc(isolated_home / ".condarc")
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project folder with a space and non-ASCII characters in its path."""
    path = tmp_path / "项目 one ✨"
    path.mkdir()
    return path
