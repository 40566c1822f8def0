"""One diagnosis, and the errors that carry diagnoses to the person who can act on them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """A fact and where it was read: a file with line and column, a tool's output, a knowledge row."""

    source: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Remedy:
    """One way out. `command` is something that a person can paste, where such a thing exists."""

    text: str
    command: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong (or worth knowing), how it is known, and what to do about it.

    `code` is a stable kebab-case word that programs may match; all other text is for people.
    """

    code: str
    severity: Severity
    summary: str
    detail: str = ""
    evidence: tuple[Evidence, ...] = ()
    remedies: tuple[Remedy, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "severity": self.severity,
            "summary": self.summary,
            "detail": self.detail,
            "evidence": [{"source": e.source, "text": e.text} for e in self.evidence],
            "remedies": [{"text": r.text, "command": r.command} for r in self.remedies],
        }


class ProvisionError(Exception):
    """Root of all expected failures: a stage stopped, and these findings say why.

    Each leaf names the exit code of the process (docs/architecture.md, Errors).
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, findings: Iterable[Finding] | Finding) -> None:
        self.findings: tuple[Finding, ...] = (findings,) if isinstance(findings, Finding) else tuple(findings)
        super().__init__("; ".join(f.summary for f in self.findings))


class CheckFailed(ProvisionError):
    """verify, doctor, lint or `lock --check` found something."""


class UsageError(ProvisionError):
    """The command line or a document is wrong."""

    exit_code = 2


class ProfileError(UsageError):
    """A profile cannot be read: file, line, column and the way to mend it are in the findings."""


class UnsatisfiableError(ProvisionError):
    """No stack meets the profile."""

    exit_code = 3


class LockError(ProvisionError):
    """The lock is missing, stale, or a file does not match its hash."""

    exit_code = 4


class BlockedError(ProvisionError):
    """The machine does not meet the lock's needs, the plan is stale, or another run holds the environment."""

    exit_code = 5


class ApplyError(ProvisionError):
    """An apply failed; the environment is what it was before."""

    exit_code = 6


class RollbackError(ProvisionError):
    """An apply failed and could not be undone completely."""

    exit_code = 7
