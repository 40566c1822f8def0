"""The operating system's refusals in words: what is full, what may not be written, what could not be taken back."""

from __future__ import annotations

import errno

from provision.model.finding import Evidence, Finding, Remedy
from provision.model.state import Layout

_FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
_FORBIDDEN = (errno.EACCES, errno.EPERM)


def trouble(error: OSError, place: str) -> Finding:
    """A finding for an OSError that came while the environment at `place` was worked on."""
    where = error.filename if isinstance(error.filename, str) else place
    said = error.strerror or str(error)
    code, summary, remedy = _words(error)
    return Finding(
        code, "error", f"{summary}; the environment is what it was before.", evidence=(Evidence(where, said),),
        remedies=(remedy,),
    )  # fmt: skip


def _words(error: OSError) -> tuple[str, str, Remedy]:
    if error.errno in _FULL:
        return (
            "disk-full",
            "The disk is full",
            Remedy("Free some space, then apply again. Old generations may go.", "provision gc"),
        )
    if error.errno == errno.EROFS:
        return (
            "read-only",
            "The file system is read-only",
            Remedy("Choose a place that can be written.", "provision apply PROFILE --environment PATH"),
        )
    if error.errno in _FORBIDDEN:
        return (
            "no-permission",
            "A file or folder may not be written",
            Remedy(
                "Let your user write there, or choose another place.",
                "provision apply PROFILE --environment PATH",
            ),
        )
    return (
        "disk",
        "The file system failed",
        Remedy("See what the system says of that disk, then apply again."),
    )


def not_undone(layout: Layout, error: Exception) -> Finding:
    return Finding(
        "rollback-incomplete",
        "error",
        f"What was begun could not be taken back completely: {error}",
        detail=f"The journal in {layout.journal} says what was done; nothing is lost.",
        remedies=(Remedy("Run recovery once the cause is gone.", "provision recover"),),
    )
