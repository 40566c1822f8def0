"""The frameworks: are their builds and versions a pair, and do they import?"""

from __future__ import annotations

import io
from collections.abc import Container, Iterator
from dataclasses import replace
from pathlib import PurePath

from provision.diagnosing.case import Carried, Case, Heard
from provision.diagnosing.explain import Explanation, explain_bytes
from provision.diagnosing.known import by_checks, by_companions, by_patches, by_rules
from provision.diagnosing.layers import Looked, looked
from provision.knowledge.checks import load_checks
from provision.model.finding import Evidence, Finding

#: Seconds that one framework's import may take; on a cold network disk or a busy machine half a minute is no fault.
LIMIT = 60.0


def framework(case: Case) -> Looked:
    """What the rows know of the pair, then what the imports said."""
    went_well = dict(imported(case))
    known = [*by_patches(case, went_well), *by_companions(case, went_well)]
    known += [*by_rules(case, "framework"), *by_checks(case, "framework"), *_cpu_builds(case)]
    heard = [f for one in case.carried for f in _import_findings(case, one)]
    if any(f.severity == "error" for f in known):
        # The rows name the cause; what the import says follows from it.
        heard = [replace(f, severity="note") if f.severity == "error" else f for f in heard]
    read = [*_read(case)] or [("", case.speaker.word("no-framework"))]
    return replace(looked(read, [*known, *heard]), otherwise="unknown" if _unasked(case) else "ok")


def _unasked(case: Case) -> bool:
    return bool(case.carried) and not case.heard


def imported(case: Case) -> Iterator[tuple[str, bool]]:
    """(module, whether its import went well) of all that were tried."""
    for heard in case.heard:
        for event in heard.events:
            if event.get("event") in ("imported", "import-failed"):
                yield str(event["module"]), event["event"] == "imported" and bool(event.get("file"))


def _read(case: Case) -> Iterator[tuple[str, str]]:
    for one in case.carried:
        heard = case.of(one)
        event = heard.imported(one.module) if heard else None
        build = f"{one.kind} {one.runtime}".strip()
        said = f"{one} ({build})" if build else str(one)
        if event:
            seconds = case.speaker.word("imports", seconds=event.get("seconds", ""))
            yield str(event.get("file", "")), f"{said}, {seconds}"
        else:
            yield "", f"{said}, {case.speaker.word('not-imported')}" if heard is None else said


def _cpu_builds(case: Case) -> Iterator[Finding]:
    """A build for the CPU beside a card that others could use."""
    vendors = [d.vendor for d in case.machine.devices] if case.machine else []
    usable = [v for v in vendors if v in load_checks().vendors.values() and v != "apple"]
    rules = [*by_rules(case, "framework")]
    for one in case.carried:
        if one.kind == "cpu" and usable and not any(f.code == "silent-cpu" for f in rules):
            severity = "error" if case.demanded in usable else None
            yield case.speaker.finding("cpu-build", (), severity, what=one, vendor=usable[0])  # type: ignore[arg-type]


def _import_findings(case: Case, one: Carried) -> Iterator[Finding]:
    heard = case.of(one)
    if heard is None:
        return
    modules = [one.module, *_after(one.framework)]
    if heard.output is None or heard.output.code is None:
        waiting = [one.module, *_after(one.framework, case.installed)]
        waiting = [m for m in waiting if not heard.imported(m) and not heard.failed(m)]
        if waiting:
            yield case.speaker.finding("import-too-long", module=waiting[0], seconds=f"{LIMIT:g}")
        return
    failed = [m for m in modules if heard.failed(m)]
    empty = [m for m in modules if (e := heard.imported(m)) and not e.get("file")]
    if failed:
        yield from _failed(case, heard, failed[0])
    elif empty:
        folders = str((heard.imported(empty[0]) or {}).get("folders", ""))
        yield case.speaker.finding(
            "import-failed", [(folders, "")], module=empty[0], error=f"{folders}: empty folder"
        )
    elif not heard.ended:
        yield from _crashed(case, heard, one.module)
    yield from _foreign(case, heard, one)


def _after(framework: str, installed: Container[str] | None = None) -> tuple[str, ...]:
    """The modules that are imported after a framework; with `installed`, only those whose distribution is there."""
    rows = [row for row in load_checks().imports if row.framework == framework]
    return tuple(m for row in rows for d, m in row.after.items() if installed is None or d in installed)


def _failed(case: Case, heard: Heard, module: str) -> Iterator[Finding]:
    """The causes that the symptoms know for this traceback, or the error as it is."""
    error = str((heard.failed(module) or {}).get("error", ""))
    said = explained(case, heard.log)
    if said.verdict == "fault":
        evidence = Evidence(f"import {module}", error.splitlines()[0] if error else "")
        for number, finding in enumerate(said.findings):
            # A line that elsewhere only follows from something is all that is known here: the import did fail.
            severity = "error" if number == 0 else finding.severity
            yield replace(finding, severity=severity, evidence=(evidence, *finding.evidence))
        return
    lines = [line for line in heard.log.splitlines() if line.strip()]
    yield case.speaker.finding(
        "import-failed", [("log", line) for line in lines[-3:]], module=module, error=error.partition("\n")[0]
    )


def _crashed(case: Case, heard: Heard, module: str) -> Iterator[Finding]:
    code = heard.output.code if heard.output else None
    how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
    log = heard.log + (f"\n{_SIGNALS[-code]}" if code is not None and -code in _SIGNALS else "")
    said = explained(case, log)
    if said.verdict == "fault":
        yield from said.findings
    yield case.speaker.finding(
        "import-crashed", [("log", log[-300:])] if log.strip() else [], module=module, how=how
    )


#: What a shell prints for a signal, so that symptoms know it.
_SIGNALS = {4: "Illegal instruction (core dumped)", 11: "Segmentation fault (core dumped)"}


def _foreign(case: Case, heard: Heard, one: Carried) -> Iterator[Finding]:
    event, env = heard.imported(one.module), case.environment
    file = str(event.get("file") or "") if event else ""
    if file and env and env.sites and not any(PurePath(file).is_relative_to(s) for s in env.sites):
        yield case.speaker.finding("import-from-elsewhere", [(file, "")], module=one.module, file=file)


def explained(case: Case, log: str) -> Explanation:
    """What the symptoms say of a log, with the facts of this case."""
    said = explain_bytes(io.BytesIO(log.encode()), None, case.facts, case.speaker.lang)
    return replace(said, findings=tuple(_here(case, f) for f in said.findings))


def _here(case: Case, finding: Finding) -> Finding:
    """The remedies' `pip install` as it is said for this environment."""
    ways = (
        replace(r, command=r.command.replace("pip install", case.commands["install"], 1))
        if r.command.startswith("pip install")
        else r
        for r in finding.remedies
    )
    return replace(finding, remedies=tuple(ways))
