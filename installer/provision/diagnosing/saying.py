"""The findings of `doctor` in words, in either language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from provision.diagnosing.facts import UNKNOWN, fill
from provision.knowledge.checks import Check, load_checks
from provision.knowledge.symptoms import Lang
from provision.messages import said
from provision.model.finding import Evidence, Finding, Remedy, Severity
from provision.shells import powershell

#: How packages are installed and removed where no environment is known.
PIP = {"install": "pip install", "uninstall": "pip uninstall -y"}
Proof = Iterable[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Speaker:
    """Says findings and words in one language, commands for one system's shell."""

    lang: Lang = "en"
    os: str = "linux"

    def word(self, name: str, /, **words: object) -> str:
        return fill(load_checks().words[name].say(self.lang), _texts(words, self.lang))

    def finding(
        self, code: str, proof: Proof = (), severity: Severity | None = None, facts: Mapping[str, str] | None = None,
        **words: object,
    ) -> Finding:  # fmt: skip
        """A finding of checks.yaml; `words` fill its places, `facts` those that are named like facts."""
        row = load_checks().rows[code]
        told = {**(facts or {}), **_texts(words, self.lang)}
        return Finding(
            code,
            severity or row.severity,  # type: ignore[arg-type]
            fill(row.summary.say(self.lang), told),
            fill(row.detail.say(self.lang), told),
            tuple(Evidence(source, text) for source, text in proof),
            tuple(self._ways(row, told)),
        )

    def _ways(self, row: Check, told: Mapping[str, str]) -> Iterable[Remedy]:
        for way in row.ways:
            run = fill(way.run, told)
            command = "" if UNKNOWN in run else powershell(run) if self.os == "windows" else run
            yield Remedy(fill(way.text.say(self.lang), told), command)


def _texts(words: Mapping[str, object], lang: Lang) -> dict[str, str]:
    return {name: said(value, lang) for name, value in words.items()}


def check_codes() -> tuple[str, ...]:
    """All codes that only `doctor` gives."""
    return tuple(load_checks().rows)


def check_page(code: str, lang: Lang = "en") -> dict[str, Any] | None:
    """What is known under a code of `doctor`, in the form that `explain CODE` shows; None if it is none."""
    row = load_checks().rows.get(code)
    if row is None:
        return None
    detail = row.detail.say(lang)
    return {
        "code": row.code,
        "kind": f"doctor: {load_checks().words[row.layer].say(lang)}",
        "framework": "",
        "vendor": "",
        "meaning": row.summary.say(lang),
        "causes": [{"text": detail, "when": {}, "remedies": []}] if detail else [],
        "remedies": [{"text": w.text.say(lang), "command": w.run} for w in row.ways],
        "never": [],
        "explains": [],
        "examples": [],
        "source": [row.source] if row.source else [],
        "evidence": "",
    }
