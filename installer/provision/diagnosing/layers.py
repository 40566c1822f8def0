"""What a look at one layer gives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from provision.model.finding import Evidence, Finding

LAYERS = (
    "hardware", "driver", "runtime", "companions", "loader", "environment", "framework", "device", "training",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """`otherwise` is the verdict where nothing is wrong: `unknown` if nothing could be read."""

    read: tuple[Evidence, ...] = ()
    findings: tuple[Finding, ...] = ()
    otherwise: Literal["ok", "unknown", "not-asked"] = "ok"


def looked(read: Iterable[tuple[str, str]], findings: Iterable[Finding] = ()) -> Looked:
    """A layer that was read: (source, text) each, and what is wrong."""
    return Looked(read=tuple(Evidence(source, text) for source, text in read), findings=tuple(findings))
