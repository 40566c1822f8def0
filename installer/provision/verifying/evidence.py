"""Findings about a job, and the lines of its log that a person should see."""

from __future__ import annotations

import re

from provision.messages import message
from provision.model.finding import Evidence, Finding, Remedy

#: What frameworks say when all is well.
_NOISE = re.compile(
    r"^\s*$"
    r"|\d: I tensorflow/|^I0000 |^I\d{4} "
    r"|cpu_feature_guard|^To enable (them|the following)|^WARNING: All log messages before absl"
    r"|^Extension modules: |oneDNN custom operations are on"
    r"|^\s*[\^~]+\s*$|File \"<frozen "
)


def fault(
    code: str, summary: str, detail: str = "", *, evidence: tuple[Evidence, ...] = (),
    remedies: tuple[Remedy, ...] = (),
) -> Finding:  # fmt: skip
    """A finding that fails a job."""
    return Finding(code, "error", summary, detail, evidence, remedies)


def meaningful(log: str, count: int = 12, width: int = 300) -> tuple[str, ...]:
    """The last `count` lines that say something, none longer than `width` characters."""
    lines = [line.rstrip() for line in log.splitlines() if not _NOISE.search(line)]
    return tuple(line if len(line) <= width else line[: width - 1] + "…" for line in lines[-count:])


def log_evidence(log: str) -> tuple[Evidence, ...]:
    lines = meaningful(log)
    return (Evidence(message("verifying.job-log"), "\n".join(lines)),) if lines else ()


def shorten(place: str) -> str:
    """`/job:localhost/replica:0/task:0/device:GPU:0` -> `/GPU:0`; other places stay as they are."""
    return "/" + place.rpartition("/device:")[2] if "/device:" in place else place
