"""Facts as one flat mapping of names to words, and what a knowledge row may ask of them.

Names: `os`, `arch`, `libc`, `wsl`, `cpu.flags`, `driver.nvidia`, `runtime.cuda`, `gpu.vendor`,
`gpu.capability`, `python`, `env.LD_LIBRARY_PATH`, `installed.torch`, `seen.CODE`, the named groups of a
pattern that matched, and what the rules of the knowledge derive from these.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from provision.knowledge.symptoms import Rule, Symptoms, When
from provision.model.machine import Machine

Facts = dict[str, str]

_PLACE = re.compile(r"\{([A-Za-z][\w.-]*)(?:\|([^{}]*))?\}")
UNKNOWN = "…"


def facts_of(machine: Machine) -> Facts:
    """What a detected machine says, under the names that rows use."""
    facts: Facts = {
        "os": machine.os,
        "arch": machine.arch,
        "libc": machine.libc,
        "os-version": machine.os_version,
    }
    facts["cpu.flags"] = " ".join(machine.cpu_flags)
    facts |= {f"driver.{k}": v for k, v in machine.drivers.items()}
    facts |= {f"runtime.{k}": v for k, v in machine.runtimes.items()}
    facts |= {f"env.{k}": v for k, v in machine.environment.items()}
    facts |= dict.fromkeys(machine.traits, "yes")
    facts["gpu.vendor"] = " ".join(sorted({d.vendor for d in machine.devices})) or "none"
    for device in machine.devices[:1]:
        facts |= {"gpu.name": device.name, "gpu.capability": device.capability}
    return {k: v for k, v in facts.items() if v}


def installed_facts(text: str) -> Facts:
    """Facts from a package list: `pip freeze`, `pip list` (table or JSON), `uv pip list`, `conda list`."""
    pairs = _from_json(text) if text.lstrip().startswith("[") else (_from_line(x) for x in text.splitlines())
    return {f"installed.{canonicalize_name(name)}": version for name, version in filter(None, pairs)}


def _from_json(text: str) -> list[tuple[str, str]]:
    try:
        rows = json.loads(text)
    except ValueError:
        return []
    return [
        (str(r["name"]), str(r["version"]))
        for r in rows
        if isinstance(r, dict) and "name" in r and "version" in r
    ]


_FREEZE = re.compile(r"^\s*([A-Za-z0-9][\w.-]*)\s*={1,3}\s*([^\s;=]+)")
_TABLE = re.compile(r"^\s*([A-Za-z0-9][\w.-]*)\s+v?(\d[\w.+!-]*)(?:\s|$)")


def _from_line(line: str) -> tuple[str, str] | None:
    match = _FREEZE.match(line) or _TABLE.match(line)
    return (match[1], match[2]) if match else None


def derive(facts: Mapping[str, str], knowledge: Symptoms) -> Facts:
    """The facts together with all that the rules add to them. A fact that is given is never overwritten."""
    known: Facts = dict(facts)
    for rule in knowledge.rules:
        value = _apply(rule, known, knowledge.tables)
        if value and rule.fact not in known:
            known[rule.fact] = value
    return known


def _apply(rule: Rule, known: Facts, tables: Mapping[str, Mapping[str, str]]) -> str:
    value = next((known[name] for name in rule.of if known.get(name)), "")
    if not value:
        return ""
    if rule.how == "map":
        return _lookup(value.split(", ")[0], tables[rule.table])
    return _HOW[rule.how](value)


def _lookup(value: str, table: Mapping[str, str]) -> str:
    """The entry for a value: the same word, else the longest key that ends in `*` and begins it."""
    if value in table:
        return table[value]
    fits = [k for k in table if k.endswith("*") and value.startswith(k[:-1])]
    return table[max(fits, key=len)] if fits else ""


def _minor(value: str) -> str:
    return ".".join(re.findall(r"\d+", value)[:2])


def _cuda_int(value: str) -> str:
    """NVIDIA's integer form of a CUDA version: 11040 is 11.4."""
    return f"{int(value) // 1000}.{int(value) % 1000 // 10}" if value.isdigit() else ""


_HOW: dict[str, Callable[[str], str]] = {
    "first-of": lambda v: v,
    "minor-of": _minor,
    "major-of": lambda v: v.split(".")[0],
    "local-of": lambda v: v.partition("+")[2] or "none",
    "public-of": lambda v: v.partition("+")[0],
    "cuda-int": _cuda_int,
    "dotted": lambda v: ".".join(v),
    "year": lambda v: v[:4],
}


def holds(when: When, facts: Mapping[str, str]) -> bool | None:
    """Whether all conditions hold; None where that is not known and nothing speaks against it."""
    verdicts = [_holds(name, wanted, facts) for name, wanted in when.items()]
    if False in verdicts:
        return False
    return None if None in verdicts or not verdicts else True


def unknown(when: When, facts: Mapping[str, str]) -> tuple[str, ...]:
    """The facts that a condition asks for and nobody has told."""
    return tuple(n for n, wanted in when.items() if _holds(n, wanted, facts) is None)


def _holds(name: str, wanted: str | tuple[str, ...], facts: Mapping[str, str]) -> bool | None:
    value = facts.get(name)
    if value is None:
        if not _domain_known(name, facts):
            return None
        return wanted == "absent"
    options = wanted if isinstance(wanted, tuple) else (wanted,)
    return any(_fits(value, fill(option, facts)) for option in options)


def _domain_known(name: str, facts: Mapping[str, str]) -> bool:
    """Whether not finding a fact means that it is not so: the whole package list or environment was read."""
    domain = name.partition(".")[0]
    if domain == "seen":
        return True
    return domain in ("installed", "env") and any(f.startswith(domain + ".") for f in facts)


def _fits(value: str, wanted: str) -> bool:
    if wanted in ("present", "absent"):
        return wanted == "present"
    if wanted.startswith("!~"):
        return not re.search(wanted[2:], value)
    if wanted.startswith("~") and not wanted.startswith("~="):
        return re.search(wanted[1:], value) is not None
    if wanted[:1] in "<>=!~" and wanted:
        return _satisfies(value, wanted)
    return value == wanted


def _satisfies(value: str, specifier: str) -> bool:
    try:
        return SpecifierSet(specifier).contains(Version(value), prereleases=True)
    except (InvalidSpecifier, InvalidVersion):
        return False


def fill(text: str, facts: Mapping[str, str]) -> str:
    """The text with its `{name}` and `{name|otherwise}` places filled; what nobody knows becomes `…`."""

    def value(match: re.Match[str]) -> str:
        otherwise: Any = match[2]
        return facts.get(match[1]) or (UNKNOWN if otherwise is None else otherwise)

    return _PLACE.sub(value, text)


def places(texts: Iterable[str]) -> set[str]:
    """The names of the facts that texts cannot do without."""
    return {m[1] for text in texts for m in _PLACE.finditer(text) if m[2] is None}
