"""Hardware, driver, runtime, cuDNN and loader paths: what detection found, against what is installed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from provision.diagnosing.case import Carried, Case
from provision.diagnosing.known import by_rules
from provision.diagnosing.layers import Looked, looked
from provision.knowledge.checks import load_checks
from provision.knowledge.versions import holds, version_key
from provision.model.finding import Finding, Severity
from provision.model.machine import Machine, Software


def _unread(findings: Iterable[Finding]) -> Looked:
    """Nothing is known of the machine; what is installed may still tell something."""
    return replace(looked((), findings), otherwise="unknown")


def hardware(case: Case) -> Looked:
    """The devices, and whether one is there of the kind that is wanted."""
    if case.machine is None:
        return _unread(_of_layer(case, "hardware"))
    cards = [(d.source or d.pci, f"{d.vendor} {d.name} {d.capability}".strip()) for d in case.machine.devices]
    findings = [*_of_layer(case, "hardware"), *_no_device(case)]
    return looked(cards or [(case.machine.cpu, case.speaker.word("none-seen"))], findings)


def _no_device(case: Case) -> Iterator[Finding]:
    here = {d.vendor for d in case.machine.devices} if case.machine else set()
    seen = ", ".join(case.devices()) or "-"
    if case.demanded and case.demanded not in (*here, "cpu", "any"):
        yield case.speaker.finding("no-device", who=case.reference, vendor=case.demanded, seen=seen)
        return
    for one in case.carried:
        vendor = load_checks().vendors.get(one.kind, "")
        if vendor and vendor not in here and not case.demanded:
            yield case.speaker.finding("build-without-device", what=one, vendor=vendor)


def driver(case: Case) -> Looked:
    """The drivers, and whether the one of the wanted device is new enough for what is installed."""
    machine = case.machine
    if machine is None:
        return _unread(_of_layer(case, "driver"))
    read = [(machine.evidence.get(f"drivers.{v}", v), f"{v} {text}") for v, text in machine.drivers.items()]
    read += [
        (d.source, f"{d.name} {model}") for d in machine.devices if (model := d.facts.get("driver-model"))
    ]
    findings = [*_of_layer(case, "driver"), *_too_old(case, machine), *_no_directx(case, machine)]
    return looked(read or [("", _not_needed(case))], findings)


def _too_old(case: Case, machine: Machine) -> Iterator[Finding]:
    found = machine.drivers.get("nvidia", "")
    for one in case.carried if found else ():
        row = case.knowledge.runtime("cuda", one.runtime) if one.kind == "cuda" else None
        floor = (row.driver_floor or row.driver).get(case.os, "") if row else ""
        if row and floor and version_key(found) < version_key(floor):
            proof = [
                (machine.evidence.get("drivers.nvidia", "driver"), found),
                (f"knowledge {row.id}", row.source),
            ]
            yield case.speaker.finding(
                "driver-too-old", proof, driver=found, cuda=one.runtime, what=one, floor=floor
            )
            return


def _no_directx(case: Case, machine: Machine) -> Iterator[Finding]:
    """A card in TCC mode is no display adapter: DirectX, and so DirectML, does not see it. CUDA does."""
    one = next((c for c in case.carried if c.kind == "directml"), None)
    cards = [d for d in machine.devices if d.facts.get("driver-model") == "TCC"]
    if one and cards and len(cards) == len(machine.devices):
        yield case.speaker.finding(
            "driver-model-without-directx", [(cards[0].source, f"{cards[0].name} TCC")], what=one,
            card=cards[0].name, number=cards[0].facts.get("index", "0"),
        )  # fmt: skip


def runtime(case: Case) -> Looked:
    """CUDA where the machine must bring it, the vendors' SDKs, Windows' own runtime."""
    machine = case.machine
    if machine is None:
        return _unread(_of_layer(case, "runtime"))
    read = [
        (s.path, f"{s.name} {s.version}".strip()) for s in machine.software if _is_runtime(s) and s.active
    ]
    read += [("", case.speaker.word("brought", what=one)) for one in case.carried if _brings(one)]
    findings = [*_of_layer(case, "runtime"), *_missing_runtime(case, machine)]
    return looked(read or [("", _not_needed(case))], findings)


def _is_runtime(copy: Software) -> bool:
    return copy.name not in ("cudnn", "cublas", "nvjitlink")


def _brings(one: Carried) -> bool:
    return one.build is not None and one.build.libraries in ("wheels", "bundled")


def _from_system(case: Case) -> Iterator[Carried]:
    """CUDA builds that open libraries of the machine, where a card is to be used."""
    for one in case.carried:
        build = one.build
        if one.kind == "cuda" and build and build.libraries == "system" and case.wanted == "nvidia":
            yield one


def _missing_runtime(case: Case, machine: Machine) -> Iterator[Finding]:
    for one in _from_system(case):
        name = _library(case, one.runtime)
        copies = [s for s in machine.software if s.name == "cudart"]
        if not name or any(s.active and _is(s, name) and s.place != "venv" for s in copies):
            continue
        found = (
            ", ".join(f"{s.facts.get('library', '')} ({s.path})" for s in copies if s.place != "venv") or "-"
        )
        yield case.speaker.finding(
            "runtime-missing", [(s.path, s.version) for s in copies],
            what=one, library=name, cuda=one.runtime, found=found, variable=_variable(case),
        )  # fmt: skip
        return


def _library(case: Case, cuda: str) -> str:
    """The file of the CUDA runtime that a program opens by name."""
    rows = case.knowledge.loaders("cuda", cuda) if cuda else ()
    names = [row.windows if case.os == "windows" else row.linux for row in rows]
    return next((found["cudart"] for found in names if "cudart" in found), "")


def _is(copy: Software, name: str) -> bool:
    return copy.facts.get("library", "").lower() == name.lower()


def _variable(case: Case) -> str:
    return "PATH" if case.os == "windows" else "LD_LIBRARY_PATH"


def companions(case: Case) -> Looked:
    """cuDNN where the machine must bring it: the copy that wins against the one that was built with."""
    machine = case.machine
    if machine is None:
        return _unread(_of_layer(case, "companions"))
    copies = [s for s in machine.software if s.name in ("cudnn", "cublas") and s.active]
    findings = [*_of_layer(case, "companions"), *_cudnn(case, machine)]
    read = [(s.path, f"{s.name} {s.version}".strip()) for s in copies]
    read += [("", case.speaker.word("brought", what=one)) for one in case.carried if _brings(one)]
    return looked(read or [("", _not_needed(case))], findings)


def _cudnn(case: Case, machine: Machine) -> Iterator[Finding]:
    copies = [s for s in machine.software if s.name == "cudnn" and s.place != "venv"]
    for one in _from_system(case):
        needed = one.build.cudnn if one.build else ""
        words: dict[str, Any] = {
            "what": one,
            "cudnn": needed,
            "cuda": one.runtime,
            "variable": _variable(case),
        }
        winner = next((s for s in copies if s.active), None)
        if needed and winner is None:
            yield case.speaker.finding("cudnn-missing", [(s.path, s.version) for s in copies], **words)
        elif needed and winner and not _serves(winner.version, needed):
            proof = [(s.path, s.version) for s in copies]
            yield case.speaker.finding(
                "cudnn-does-not-fit", proof, found=winner.version, path=winner.path, **words
            )
        return


def _serves(found: str, built: str) -> bool:
    """Same major, equal or higher minor; True where the version is not told in full."""
    if found.count(".") < 1:
        return not found or found == built.partition(".")[0]
    major, minor = (int(n) for n in built.split(".")[:2])
    return holds(f">={major}.{minor},<{major + 1}", found)


def loader(case: Case) -> Looked:
    """Which copy wins, and from where."""
    machine = case.machine
    if machine is None:
        return _unread([*_of_layer(case, "loader"), *_wheels_unreached(case), *_toolkit_on_path(case)])
    variable = _variable(case)
    value = case.variables.get(variable, "")
    read = [(f"${variable}", value)] if value and case.os != "windows" else []
    read += [
        (s.path, f"{s.name} {s.version} ({s.place})") for s in machine.software if s.active and s.version
    ]
    findings = [*_of_layer(case, "loader"), *_wheels_unreached(case), *_toolkit_on_path(case)]
    return looked(read or [("", case.speaker.word("on-path"))], findings)


def _wheels_unreached(case: Case) -> Iterator[Finding]:
    """A TensorFlow that does not look into the CUDA wheels beside it (a rule names its versions)."""
    one = next((c for c in case.carried if c.framework == "tensorflow"), None)
    if one is None or case.wanted not in ("", "nvidia") or case.os != "linux":
        return
    if not any(name.startswith("nvidia-cudnn") for name in case.installed):
        return
    facts = {"framework": "tensorflow", "version": one.public, "extras": ["and-cuda"]}
    row = next((r for r in case.knowledge.rules(facts) if r.code == "wheels-not-on-loader-path"), None)
    if row is None or "/nvidia/" in case.variables.get("LD_LIBRARY_PATH", ""):
        return
    site = next(iter(case.environment.sites), "") if case.environment else ""
    yield case.speaker.finding(
        "wheels-not-on-loader-path", [(f"knowledge {row.id}", row.source)],
        "note" if not case.wanted and case.machine and not case.machine.devices else None,
        version=one.version, because=row.because, site=site,
    )  # fmt: skip


def _toolkit_on_path(case: Case) -> Iterator[Finding]:
    """Libraries of the wheels or of conda, and a path that leads elsewhere first."""
    if any(f.code == "library-shadowed" for f in case.machine_findings):
        return
    entries = [
        e for e in case.variables.get("LD_LIBRARY_PATH", "").split(":") if re.search(r"(?i)cuda|cudnn", e)
    ]
    own = case.environment.prefix if case.environment else ""
    entries = [e for e in entries if not own or not e.startswith(own)]
    if entries and any(_brings(one) and one.kind == "cuda" for one in case.carried):
        proof = [("$LD_LIBRARY_PATH", case.variables["LD_LIBRARY_PATH"])]
        yield case.speaker.finding("library-path-toolkit", proof, entries=", ".join(entries))


def _of_layer(case: Case, layer: str) -> Iterator[Finding]:
    """Findings of detection, of rules and of a profile's needs that belong to a layer, with the weight that they
    have for this subject."""
    rows = load_checks().machine
    for finding in case.machine_findings:
        row = rows.get(finding.code)
        if row is not None and row.layer == layer:
            yield replace(finding, severity=_weight(case, finding, row.breaks))
    yield from (finding for name, finding in case.needs if name == layer)
    yield from by_rules(case, layer)


def _weight(case: Case, finding: Finding, breaks: bool) -> Severity:
    """What breaks the chain of the wanted vendor is an error; what concerns nobody is a note."""
    if _older_wins(case, finding):
        return "error"
    if finding.code == "msvc-missing":
        return _without_visual_c(case)
    if not breaks:
        return "warning" if finding.severity == "error" else finding.severity
    others = {d.vendor for d in case.machine.devices} - {case.wanted} if case.machine else set()
    text = " ".join([finding.summary, *(e.text for e in finding.evidence)]).lower()
    of_others = any(f" {v} " in f" {text} " for v in others) and f" {case.wanted} " not in f" {text} "
    if case.environment is None and not case.demanded:
        return "error"
    return "error" if case.wanted and not of_others else "warning" if case.wanted else "note"


def _without_visual_c(case: Case) -> Severity:
    """Every framework for Windows loads it, that for the CPU too; conda and a wheel bring their own."""
    if any(name in case.installed for name in load_checks().visual_c):
        return "note"
    return "error" if case.carried or case.environment is None else "warning"


def _older_wins(case: Case, finding: Finding) -> bool:
    """A copy on the user's search path that is older than the one which a wheel brought."""
    if finding.code != "library-shadowed" or case.machine is None or case.environment is None:
        return False
    versions = [e.text for e in finding.evidence]
    hidden = [s for s in case.machine.software if not s.active and s.place in ("venv", "conda")]
    newer = [s for s in hidden if s.version in versions and version_key(s.version) > version_key(versions[0])]
    return bool(newer) and any(one.kind == "cuda" for one in case.carried)


def _not_needed(case: Case) -> str:
    """Why nothing had to be read."""
    if case.machine and not case.machine.devices:
        return case.speaker.word("none-needed", what=case.speaker.word("none-seen"))
    return case.speaker.word("none-needed", what=case.speaker.word("nothing-wanted"))
