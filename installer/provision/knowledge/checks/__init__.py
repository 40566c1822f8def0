"""What `doctor` checks: how each finding is said in both languages, and which layer it belongs to.

All rows live in `checks.yaml`. A row with `when` is a check of its own over flat facts (`installed.NAME`, `os`,
`python`, ...; see `diagnosing/facts.py`); one without is said by code.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from provision.knowledge.symptoms import Text, Way, When
from provision.knowledge.symptoms import _text as text_of
from provision.knowledge.symptoms import _when as when_of
from provision.knowledge.symptoms import _yaml as read_yaml

_NOTHING = Text("", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One finding of `doctor`. Its texts have places (`{name}`) that the check fills."""

    code: str
    layer: str
    severity: str
    summary: Text
    detail: Text = _NOTHING
    ways: tuple[Way, ...] = ()
    when: When = field(default_factory=dict)
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sorted:
    """Where a finding that another part of the product makes belongs. `breaks`: it stops what wants the device."""

    layer: str
    severity: str = ""
    breaks: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Importing:
    """A framework as `doctor` tries it: the distributions that carry it, the module, and what is imported after it
    where it is installed (distribution -> module)."""

    framework: str
    module: str
    distributions: tuple[str, ...]
    after: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checks:
    """Everything that `doctor` knows beside the rows that other parts use, too."""

    rows: Mapping[str, Check]
    #: Codes of detection -> where they belong.
    machine: Mapping[str, Sorted]
    #: Codes of rules -> where they belong; other rules say nothing about an installed environment.
    rules: Mapping[str, Sorted]
    #: When a patch row's failure shows -> how bad it is.
    stages: Mapping[str, str]
    imports: tuple[Importing, ...]
    #: Kind of a runtime -> the vendor whose devices it drives.
    vendors: Mapping[str, str]
    #: Packages of a plugin -> kind of runtime that it adds to a framework: framework -> {package: kind}.
    plugins: Mapping[str, Mapping[str, str]]
    #: Code -> what mends it in an environment of ours: `rebuild` or `profile`.
    fixes: Mapping[str, str]
    #: Names and verdicts of the layers, and other words.
    words: Mapping[str, Text]
    #: Packages that bring the Visual C++ runtime into an environment.
    visual_c: tuple[str, ...] = ()


@functools.cache
def load_checks() -> Checks:
    """All that comes with the product."""
    document = read_yaml((Path(__file__).parent / "checks.yaml").read_text(encoding="utf-8"))
    rows = [_check(raw) for raw in document["checks"]]
    return Checks(
        rows={row.code: row for row in rows},
        machine=_sorted(document["machine"]),
        rules=_sorted(document["rules"]),
        stages=dict(document["stages"]),
        imports=tuple(_importing(raw) for raw in document["imports"]),
        vendors=dict(document["vendors"]),
        plugins={name: dict(found) for name, found in document["plugins"].items()},
        fixes=dict(document["fixes"]),
        words={name: text_of(raw) for name, raw in document["words"].items()},
        visual_c=tuple(document["visual_c"]),
    )


def _check(raw: Mapping[str, Any]) -> Check:
    return Check(
        code=raw["code"],
        layer=raw["layer"],
        severity=raw.get("severity", "error"),
        summary=text_of(raw["summary"]),
        detail=text_of(raw["detail"]) if "detail" in raw else _NOTHING,
        ways=_ways(raw.get("remedies", ())),
        when=when_of(raw.get("when", {})),
        source=raw.get("source", ""),
    )


def _ways(raw: Iterable[Mapping[str, Any]]) -> tuple[Way, ...]:
    return tuple(Way(text_of(one), one.get("run", "")) for one in raw)


def _sorted(raw: Mapping[str, Mapping[str, Any]]) -> dict[str, Sorted]:
    return {code: Sorted(**found) for code, found in raw.items()}


def _importing(raw: Mapping[str, Any]) -> Importing:
    return Importing(
        framework=raw["framework"],
        module=raw["module"],
        distributions=tuple(raw["distributions"]),
        after=dict(raw.get("after", {})),
    )
