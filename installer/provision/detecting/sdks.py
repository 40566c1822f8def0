"""Vendors' SDKs (CANN, MUSA, ROCm, ...): where they lie, which version, and whether they are active."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from provision.detecting.rows import Row, table
from provision.detecting.sighting import Sighting, found
from provision.messages import message
from provision.model.finding import Finding
from provision.model.machine import Software
from provision.ports import Host, Reader
from provision.shells import quoted


def probe(reader: Reader, host: Host, vendors: Iterable[str]) -> Sighting:
    """The SDKs of this machine; for the vendors whose devices are here also what is missing."""
    software: list[Software] = []
    findings: list[Finding] = []
    for row in table("sdks") if host.os == "linux" else ():
        copies = tuple(_copies(reader, host, row, row["vendor"] in vendors))
        software += copies
        if row["vendor"] in vendors:
            findings += _missing(row, copies)
    runtimes = {copy.name: copy.version for copy in reversed(software) if copy.version}
    runtimes |= {copy.name: copy.version for copy in software if copy.active and copy.version}
    evidence = {f"runtimes.{copy.name}": copy.facts.get("version-file", copy.path) for copy in software}
    facts = {"software": tuple(software), "runtimes": runtimes} if software else {}
    return Sighting(facts=facts, evidence=evidence, findings=tuple(findings))


def _copies(reader: Reader, host: Host, row: Row, has_device: bool) -> Iterator[Software]:
    variables = reader.environ()
    usual = tuple(_folders(reader, row, variables.get("HOME", "~")))
    # ROCm and Hygon's DTK share a variable: what it names is this SDK's only with its device or in its place.
    stated = {
        variables[name]: name
        for name in row["active"]
        if variables.get(name) and (has_device or variables[name] in usual)
    }
    seen: set[str] = set()
    for folder in (*stated, *usual):
        real = reader.realpath(folder)
        if real in seen or not reader.exists(folder):
            continue
        seen.add(real)
        version, file = _version(reader, host, row, folder)
        facts = {
            "version-file": file,
            "variable": stated.get(folder, ""),
            "script": _script(reader, row, folder),
        }
        yield Software(
            name=row["name"],
            version=version,
            path=folder,
            place="variable" if folder in stated else "folder",
            active=folder in stated if row["active"] else None,
            facts={name: value for name, value in facts.items() if value},
        )


def _folders(reader: Reader, row: Row, home: str) -> Iterator[str]:
    for folder in row["folders"]:
        path = folder.replace("~", home, 1)
        yield from reader.glob(path) if "*" in path else (path,)


def _version(reader: Reader, host: Host, row: Row, folder: str) -> tuple[str, str]:
    for name in row["files"]:
        path = f"{folder}/{name.format(arch=host.arch)}"
        text = reader.read_text(path)
        if text and (version := re.search(row["pattern"], text, re.MULTILINE)):
            return version[1], path
    return "", ""


def _script(reader: Reader, row: Row, folder: str) -> str:
    """The script that makes the SDK active: in its folder, or one above (CANN's `latest`)."""
    if not row["script"]:
        return ""
    for path in (f"{folder}/{row['script']}", f"{folder.rpartition('/')[0]}/{row['script']}"):
        if reader.exists(path):
            return path
    return ""


def _missing(row: Row, copies: tuple[Software, ...]) -> Iterator[Finding]:
    if not copies and row["required"]:
        yield found(
            "sdk-missing",
            "warning",
            message(
                "detecting.missing.there-are-devices-and-no",
                vendor=row["vendor"],
                toolkit=row["name"].upper(),
            ),
            evidence=[(folder, message("detecting.common.not-there")) for folder in row["folders"][:3]],
            remedies=[message("detecting.missing.install-toolkit-version-that-framework")],
        )
    elif copies and row["script"] and not any(copy.active for copy in copies):
        script = next((copy.facts["script"] for copy in copies if "script" in copy.facts), "")
        yield found(
            "sdk-not-sourced",
            "warning",
            message(
                "detecting.missing.is-installed-and-not-active",
                toolkit=row["name"].upper(),
                version=copies[0].version,
            ),
            detail=message("detecting.missing.its-libraries-are-found-only"),
            evidence=[
                (copies[0].path, message("detecting.missing.installed")),
                (
                    message("detecting.missing.environment"),
                    message("detecting.missing.none", variables=tuple(row["active"])),
                ),
            ],
            remedies=[
                (
                    message("detecting.missing.source-its-script-before-program"),
                    f"source {quoted(script)}" if script else "",
                )
            ],
        )
