"""The operating system's refusals in words: what is full, what may not be written, what could not be taken back."""

from __future__ import annotations

import errno

from provision.messages import message
from provision.model.finding import Evidence, Finding, Remedy
from provision.model.state import Layout

_FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
_FORBIDDEN = (errno.EACCES, errno.EPERM)
#: ERROR_INVALID_FUNCTION and ERROR_NOT_SUPPORTED: what Windows answers where a file system (FAT, a share) has no junctions.
_NO_JUNCTIONS = (1, 50)


def trouble(error: OSError, place: str) -> Finding:
    """A finding for an OSError that came while the environment at `place` was worked on."""
    where = error.filename if isinstance(error.filename, str) else place
    said = error.strerror or str(error)
    code, summary, remedy = _words(error)
    return Finding(
        code, "error", message("applying.trouble.summary", summary=summary), evidence=(Evidence(where, said),),
        remedies=(remedy,),
    )  # fmt: skip


def _words(error: OSError) -> tuple[str, str, Remedy]:
    if error.errno in _FULL:
        return (
            "disk-full",
            message("applying.words.full"),
            Remedy(message("applying.words.way"), "provision gc"),
        )
    if error.errno == errno.EROFS:
        return (
            "read-only",
            message("applying.words.read-only"),
            Remedy(message("applying.words.way-2"), "provision apply PROFILE --environment PATH"),
        )
    if error.errno in _FORBIDDEN:
        return (
            "no-permission",
            message("applying.words.forbidden"),
            Remedy(
                message("applying.words.way-3"),
                "provision apply PROFILE --environment PATH",
            ),
        )
    if getattr(error, "winerror", None) in _NO_JUNCTIONS:
        return (
            "no-junctions",
            message("applying.words.no-junctions"),
            Remedy(message("applying.words.way-5"), "provision apply PROFILE --environment PATH"),
        )
    return (
        "disk",
        message("applying.words.failed"),
        Remedy(message("applying.words.way-4")),
    )


def not_undone(layout: Layout, error: Exception) -> Finding:
    return Finding(
        "rollback-incomplete",
        "error",
        message("applying.rollback-incomplete.summary", error=error),
        detail=message("applying.rollback-incomplete.detail", journal=layout.journal),
        remedies=(Remedy(message("applying.rollback-incomplete.way"), "provision recover"),),
    )
