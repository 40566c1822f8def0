"""What the libraries job and the frameworks' jobs said of placed libraries, held against the lock. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from provision.messages import message
from provision.model.finding import Evidence, Finding, Remedy
from provision.model.stack import Library
from provision.verifying.evidence import fault

Event = Mapping[str, Any]


def library_findings(report: Sequence[Event], libraries: Sequence[Library]) -> Iterator[Finding]:
    """Libraries that do not load, of another version than locked, or that another copy on a search path shadows."""
    for event in report:
        match event.get("event"):
            case "library" if not event.get("loaded"):
                yield _not_loaded(event)
            case "library-version" if event.get("library") == "cudnn":
                yield from _version(event, libraries)
            case "search-path":
                yield from (_shadowed(str(path)) for path in event.get("shadows") or ())
            case "assembler" if not event.get("version") or not event.get("libdevice"):
                yield _no_assembler(event)
            case "mapped" if libraries:
                yield from (_foreign(str(path)) for path in event.get("elsewhere") or ())


def _not_loaded(event: Event) -> Finding:
    return fault(
        "library-not-loaded", message("verifying.not-loaded.summary", name=event.get("name")), str(event.get("error", "")),
        evidence=(Evidence(str(event.get("path", ""))),),
        remedies=(Remedy(message("verifying.not-loaded.way")),),
    )  # fmt: skip


def _no_assembler(event: Event) -> Finding:
    missing = "" if event.get("libdevice") else message("verifying.assembler.libdevice")
    return fault(
        "library-assembler", message("verifying.assembler.summary"), str(event.get("error") or missing),
        evidence=(Evidence(str(event.get("path", "")), str(event.get("version"))),),
        remedies=(Remedy(message("verifying.assembler.way"), "provision apply PROFILE --reinstall"),),
    )  # fmt: skip


def _version(event: Event, libraries: Sequence[Library]) -> Iterator[Finding]:
    locked = next((one.version for one in libraries if one.library == "cudnn"), "")
    found = spelled(int(event.get("number") or 0))
    if locked and not f"{locked}.".startswith(f"{found}."):
        yield fault(
            "library-version", message("verifying.cudnn.summary", found=found, locked=locked),
            evidence=(Evidence("cudnnGetVersion", str(event.get("number"))), Evidence(message("verifying.lock"), locked)),
        )  # fmt: skip


def spelled(number: int) -> str:
    """cuDNN's number as its makers write it: 7605 -> 7.6.5, 8600 -> 8.6.0, 90100 -> 9.1.0 (five digits from 9 on)."""
    major, rest = divmod(number, 10000 if number >= 10000 else 1000)
    return f"{major}.{rest // 100}.{rest % 100}"


def _shadowed(path: str) -> Finding:
    return Finding(
        "library-shadowed", "warning", message("verifying.library-shadowed.summary", path=path),
        detail=message("verifying.library-shadowed.detail"),
        evidence=(Evidence(message("verifying.search-path"), path),),
        remedies=(Remedy(message("verifying.library-shadowed.way")),),
    )  # fmt: skip


def _foreign(path: str) -> Finding:
    return fault(
        "library-from-elsewhere", message("verifying.foreign.summary", path=path),
        evidence=(Evidence(message("verifying.loaded-files"), path),),
        remedies=(Remedy(message("verifying.foreign.way")),),
    )  # fmt: skip


def library_facts(report: Sequence[Event]) -> dict[str, Any]:
    """For the receipt: how many of how many were loaded, and what they said of themselves."""
    result = next((e for e in report if e.get("event") == "result" and "loaded" in e), None)
    if result is None:
        return {}
    answers = [e for e in report if e.get("event") == "library-version" and e.get("code") == 0]
    numbers = {str(e.get("library")): e.get("number") for e in answers}
    told = {"asked": result.get("asked"), "loaded": result.get("loaded"), "versions": numbers}
    ptxas = next(
        (str(e.get("version")) for e in report if e.get("event") == "assembler" and e.get("version")), ""
    )
    return {"libraries": {**told, **({"ptxas": ptxas} if ptxas else {})}}
