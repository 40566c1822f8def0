"""The operating system's refusals in words."""

from __future__ import annotations

import errno

import pytest

from provision.applying.troubles import trouble


class WindowsRefusal(OSError):
    """As Windows answers on FAT, where there are no junctions."""

    winerror = 50


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "disk-full"),
        (OSError(errno.EROFS, "Read-only file system"), "read-only"),
        (OSError(errno.EACCES, "Permission denied"), "no-permission"),
        (WindowsRefusal(errno.EINVAL, "Request not supported"), "no-junctions"),
        (OSError(errno.EIO, "Input/output error"), "disk"),
    ],
)
def test_each_refusal_has_its_way_out(error: OSError, code: str) -> None:
    found = trouble(error, "/there")
    assert (found.code, found.evidence[0].text) == (code, error.strerror)
    assert found.remedies[0].text
