"""A log in, findings out: the root first, what follows from it named as such, the harmless apart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Literal

from provision.diagnosing.facts import UNKNOWN, Facts, derive, facts_of, fill, holds, unknown
from provision.diagnosing.reading import Line, Words, interesting
from provision.knowledge.symptoms import (
    Cause,
    Kind,
    Lang,
    Pattern,
    Sign,
    Symptom,
    Symptoms,
    Way,
    load_symptoms,
)
from provision.model.finding import Evidence, Finding, Remedy, Severity
from provision.model.machine import Machine
from provision.shells import powershell

Verdict = Literal["fault", "unknown", "harmless", "nothing"]

#: After so many matches, and so many lines that only looked alike, a pattern is no longer looked for.
ENOUGH, TRIES = 200, 5_000
_LINES, _VALUES, _SUSPECTS, _WAYS, _WIDTH = 3, 6, 6, 4, 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What a log says. `findings` are roots, the likeliest first; `consequences` follow from them; `noise`
    looks bad and is not. `suspects` are lines that look like errors and that no row knows."""

    verdict: Verdict
    summary: str
    findings: tuple[Finding, ...] = ()
    consequences: tuple[Finding, ...] = ()
    noise: tuple[Finding, ...] = ()
    suspects: tuple[Evidence, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict,
            "summary": self.summary,
            "findings": [f.to_json() for f in self.findings],
            "consequences": [f.to_json() for f in self.consequences],
            "noise": [f.to_json() for f in self.noise],
            "suspects": [{"source": e.source, "text": e.text} for e in self.suspects],
        }


def explain_bytes(
    stream: BinaryIO,
    knowledge: Symptoms | None = None,
    facts: Mapping[str, str] | Machine | None = None,
    lang: Lang = "en",
) -> Explanation:
    """Explain a log of any size and encoding in bounded memory."""
    notes = _Notes(knowledge or load_symptoms())
    for line in interesting(stream, notes.words):
        notes.take(line)
    return notes.explain(facts, lang)


def explain(
    lines: Iterable[Line],
    knowledge: Symptoms | None = None,
    facts: Mapping[str, str] | Machine | None = None,
    lang: Lang = "en",
) -> Explanation:
    """Explain the lines of a log. `facts` of the machine and the environment decide between causes."""
    notes = _Notes(knowledge or load_symptoms())
    for line in lines:
        notes.take(line)
    return notes.explain(facts, lang)


@dataclass(slots=True)
class _Hit:
    """Where one row matched, and the words that its groups caught."""

    count: int = 0
    lines: list[Line] = field(default_factory=list)
    values: dict[str, list[str]] = field(default_factory=dict)
    patterns: set[str] = field(default_factory=set)

    def add(self, line: Line, pattern: str, groups: Mapping[str, str | None]) -> None:
        self.count += 1
        self.patterns.add(pattern)
        if len(self.lines) < _LINES:
            self.lines.append(line)
        for name, value in groups.items():
            seen = self.values.setdefault(name, [])
            if value and value not in seen and len(seen) < _VALUES:
                seen.append(value)


class _Matcher:
    """One pattern, compiled when a line first holds its anchor."""

    __slots__ = ("anchors", "left", "owner", "regex", "tries")

    def __init__(self, pattern: Pattern | Sign, owner: Symptom | Sign) -> None:
        self.anchors, self.owner, self.left, self.tries = pattern.anchors, owner, ENOUGH, TRIES
        self.regex: str | re.Pattern[str] = pattern.regex

    def search(self, text: str) -> re.Match[str] | None:
        """Look at a line that holds one of the anchors."""
        if isinstance(self.regex, str):
            self.regex = re.compile(self.regex)
        match = self.regex.search(text)
        self.tries -= 1
        self.left -= match is not None
        return match

    @property
    def spent(self) -> bool:
        return self.left <= 0 or self.tries <= 0


class _Notes:
    """What has been seen so far; a fixed size whatever the length of the log."""

    def __init__(self, knowledge: Symptoms) -> None:
        self.knowledge = knowledge
        self.hits: dict[str, _Hit] = {}
        self.rows = {r.code: r for r in knowledge.rows}
        self.first: list[tuple[int, Line]] = []
        self.last: list[tuple[int, Line]] = []
        self._by_anchor: dict[str, list[_Matcher]] = {}
        for row in knowledge.rows:
            for pattern in row.patterns:
                self._add(_Matcher(pattern, row))
        for sign in knowledge.signs:
            self._add(_Matcher(sign, sign))
        self.words = Words(self._by_anchor)

    def _add(self, matcher: _Matcher) -> None:
        for anchor in matcher.anchors:
            self._by_anchor.setdefault(anchor, []).append(matcher)

    def take(self, line: Line) -> None:
        known, weight = False, 0
        for matcher in self._candidates(line.text):
            match = matcher.search(line.text)
            if match and isinstance(matcher.owner, Symptom):
                row = matcher.owner
                self.hits.setdefault(row.code, _Hit()).add(line, match.re.pattern, match.groupdict())
                known = known or row.kind != "fact"
            elif match and isinstance(matcher.owner, Sign):
                weight = max(weight, matcher.owner.weight)
            if matcher.spent:
                self._retire(matcher)
        if weight and not known:
            self._suspect(line, weight)

    def _candidates(self, text: str) -> Iterable[_Matcher]:
        """The patterns that may match, each once."""
        words = sorted(self.words.within(text))
        return dict.fromkeys(
            m for w in words for m in self._by_anchor[w] if self.words.revived or not m.spent
        )

    def _suspect(self, line: Line, weight: int) -> None:
        if any(line.number == seen.number for _, seen in (*self.first, *self.last)):
            return
        if len(self.first) < _SUSPECTS:
            self.first.append((weight, line))
        else:
            self.last = [*self.last[-_SUSPECTS + 1 :], (weight, line)]

    def _retire(self, matcher: _Matcher) -> None:
        self.words.retire(a for a in matcher.anchors if all(m.spent for m in self._by_anchor[a]))

    def explain(self, facts: Mapping[str, str] | Machine | None, lang: Lang) -> Explanation:
        given = facts_of(facts) if isinstance(facts, Machine) else dict(facts or {})
        return _Judge(self, given, lang).explanation()


class _Judge:
    """Turns notes and facts into an explanation."""

    def __init__(self, notes: _Notes, given: Facts, lang: Lang) -> None:
        self.knowledge, self.lang = notes.knowledge, lang
        self.notes = notes
        self.hits = {c: h for c, h in notes.hits.items() if _complete(notes.rows[c], h)}
        told = {**self._told(), **given}
        told |= {f"seen.{c}": "yes" for c in self.hits}
        self.facts = derive(told, self.knowledge)
        self.kinds = {c: self._kind(notes.rows[c]) for c in self.hits}

    def _told(self) -> Facts:
        """What the log itself says of the machine and the environment."""
        facts: Facts = {}
        for code, hit in self.hits.items():
            for group, name in self.notes.rows[code].sets.items():
                if hit.values.get(group):
                    facts.setdefault(name, hit.values[group][0])
        return facts

    def _local(self, code: str) -> Facts:
        """The facts with the words that this row's groups caught on top, and what follows from those."""
        caught = {k: ", ".join(v) for k, v in self.hits[code].values.items() if v}
        derived = {r.fact for r in self.knowledge.rules if set(r.of) & set(caught)}
        base = {k: v for k, v in self.facts.items() if k not in derived}
        return derive({**base, **caught}, self.knowledge)

    def _kind(self, row: Symptom) -> Kind:
        facts = self._local(row.code)
        if row.kind in ("fault", "consequence") and any(holds(w, facts) for w in row.harmless):
            return "noise"
        return "fault" if row.kind == "noise" and any(holds(w, facts) for w in row.fault) else row.kind

    def explanation(self) -> Explanation:
        faults = self._of("fault")
        followers = self._followers(faults)
        roots = [c for c in faults if c not in followers]
        rest = [c for c in (*faults, *self._of("consequence")) if c not in roots]
        if not roots:
            roots, rest = rest[:1], rest[1:]
        verdict = self._verdict(roots)
        return Explanation(
            verdict=verdict,
            summary=self._summary(verdict),
            findings=(*(self._finding(c) for c in roots), *self._unknown(verdict)),
            consequences=tuple(self._finding(c, "note", follows=True) for c in rest),
            noise=tuple(self._finding(c, "note") for c in self._of("noise")),
            suspects=tuple(self._suspects()) if verdict != "fault" else (),
            facts=self.facts,
        )

    def _of(self, kind: Kind) -> list[str]:
        codes = [c for c, k in self.kinds.items() if k == kind]
        return sorted(codes, key=self._order)

    def _order(self, code: str) -> tuple[bool, int, int]:
        row = self.notes.rows[code]
        return row.severity != "error", row.rank, self.hits[code].lines[0].number

    def _followers(self, faults: list[str]) -> set[str]:
        """Faults that another fault here explains. Of two that explain each other the first stays a root."""
        found: set[str] = set()
        for code in faults:
            if code not in found:
                found |= set(self.notes.rows[code].explains) & set(faults) - {code}
        return found

    def _verdict(self, roots: list[str]) -> Verdict:
        if roots:
            return "fault"
        if any(weight > 1 for weight, _ in (*self.notes.first, *self.notes.last)):
            return "unknown"
        return "harmless" if self._of("noise") else "nothing"

    def _summary(self, verdict: Verdict) -> str:
        return self._phrase(f"verdict-{verdict}")

    def _phrase(self, name: str, /, **words: str) -> str:
        return fill(self.knowledge.phrases[name].say(self.lang), words)

    def _unknown(self, verdict: Verdict) -> Iterator[Finding]:
        if verdict == "unknown":
            yield Finding(
                "unknown-error",
                "error",
                self._phrase("unknown-error"),
                self._phrase("unknown-error-detail"),
                tuple(self._suspects(least=2)),
                (Remedy(self._phrase("unknown-error-way")),),
            )

    def _suspects(self, least: int = 1) -> Iterator[Evidence]:
        for weight, line in (*self.notes.first, *self.notes.last):
            if weight >= least:
                yield self._evidence(line)

    def _evidence(self, line: Line) -> Evidence:
        return Evidence(self._phrase("line", number=str(line.number)), line.text[:_WIDTH])

    def _finding(self, code: str, severity: str = "", follows: bool = False) -> Finding:
        row, facts = self.notes.rows[code], self._local(code)
        decided, possible = _weigh(row.causes, facts)
        ways = () if follows or self.kinds[code] == "noise" else self._ways(row, decided, possible, facts)
        return Finding(
            code=code,
            severity=_severity(
                severity or ("error" if self.kinds[code] == "fault" != row.kind else row.severity)
            ),
            summary=fill(row.meaning.say(self.lang), facts),
            detail="" if follows else self._detail(decided, possible, facts),
            evidence=(*map(self._evidence, self.hits[code].lines), *self._used(code, decided, facts)),
            remedies=tuple(ways),
        )

    def _detail(self, decided: Cause | None, possible: list[Cause], facts: Facts) -> str:
        if decided:
            return fill(decided.text.say(self.lang), facts)
        told = [fill(c.text.say(self.lang), facts) for c in self._sayable(possible, facts)]
        asked = dict.fromkeys(self._name(n) for c in possible for n in unknown(c.when, facts))
        several = len(told) > 1
        lines = [self._phrase("causes"), *(f"({i}) {t}" for i, t in enumerate(told, 1))] if several else told
        tell = "tell-apart" if several else "tell-more"
        return "\n".join(
            [*lines, *([self._phrase(tell, facts=self._phrase("comma").join(asked))] if asked else [])]
        )

    def _sayable(self, causes: list[Cause], facts: Facts) -> list[Cause]:
        """The causes that can be said with the facts at hand."""
        return [c for c in causes if UNKNOWN not in fill(c.text.say(self.lang), facts)]

    def _name(self, fact: str) -> str:
        """A fact's name for people: its own phrase, that of its kind, or the name itself."""
        for key in (f"fact-{fact}", f"fact-{fact.partition('.')[0]}"):
            if key in self.knowledge.phrases:
                return self._phrase(key, name=fact.partition(".")[2])
        return fact

    def _used(self, code: str, decided: Cause | None, facts: Facts) -> Iterator[Evidence]:
        """The facts that decided and that do not stand in the lines themselves."""
        for name in decided.when if decided else ():
            if name in facts and name not in self.hits[code].values and not name.startswith("seen."):
                yield Evidence(self._name(name), facts[name])

    def _ways(
        self, row: Symptom, decided: Cause | None, possible: list[Cause], facts: Facts
    ) -> Iterator[Remedy]:
        if decided and decided.ways:
            ways: Iterable[Way] = decided.ways
        else:
            others = () if decided else self._sayable(possible, facts)
            ways = (*row.ways, *(w for c in others for w in c.ways))
        for way in list(dict.fromkeys(ways))[:_WAYS]:
            text, run = fill(way.text.say(self.lang), facts), fill(way.run, facts)
            if UNKNOWN not in text:
                yield Remedy(text, "" if UNKNOWN in run else powershell(run) if self._on_windows() else run)

    def _on_windows(self) -> bool:
        """By the machine where it is known, else by what the log says; else as told."""
        if "os" in self.facts:
            return self.facts["os"] == "windows"
        return "seen.log-windows" in self.facts or self.facts.get("shell") == "powershell"


def _complete(row: Symptom, hit: _Hit) -> bool:
    return row.require == "any" or len(hit.patterns) == len(row.patterns)


def _weigh(causes: Iterable[Cause], facts: Facts) -> tuple[Cause | None, list[Cause]]:
    """The cause that the facts prove, or the ones that they leave. A cause without conditions is what remains
    when all others are excluded."""
    verdicts = [(c, holds(c.when, facts)) for c in causes]
    proven = next((c for c, v in verdicts if v), None)
    possible = [c for c, v in verdicts if v is None]
    if proven or len(possible) != 1 or len(verdicts) == 1:
        return proven, possible
    return possible[0], possible


def _severity(word: str) -> Severity:
    return word if word in ("error", "warning") else "note"  # type: ignore[return-value]


def symptom(code: str, lang: Lang = "en", knowledge: Symptoms | None = None) -> dict[str, Any] | None:
    """What is known under a code, for `provision explain CODE`; None if no row has it."""
    row = (knowledge or load_symptoms()).row(code)
    if row is None:
        return None
    return {
        "code": row.code,
        "kind": row.kind,
        "framework": row.framework,
        "vendor": row.vendor,
        "meaning": row.meaning.say(lang),
        "causes": [
            {"text": c.text.say(lang), "when": dict(c.when), "remedies": _told_ways(c.ways, lang)}
            for c in row.causes
        ],
        "remedies": _told_ways(row.ways, lang),
        "never": [t.say(lang) for t in row.never],
        "explains": list(row.explains),
        "examples": list(row.examples),
        "source": list(row.source),
        "evidence": row.evidence,
    }


def _told_ways(ways: Iterable[Way], lang: Lang) -> list[dict[str, str]]:
    return [{"text": w.text.say(lang), "command": w.run} for w in ways]


def codes(knowledge: Symptoms | None = None) -> tuple[str, ...]:
    """All codes that a finding of `explain` can have."""
    return tuple(sorted(r.code for r in (knowledge or load_symptoms()).rows if r.kind != "fact"))
