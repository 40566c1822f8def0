"""How a job's process ended, and what it raised before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from provision.messages import message
from provision.model.finding import Evidence, Finding, Remedy
from provision.ports import JobOutput, JobRequest
from provision.verifying.evidence import fault, log_evidence
from provision.verifying.rows import crash

Event = Mapping[str, Any]


def endings(request: JobRequest, output: JobOutput) -> Iterator[Finding]:
    """What was raised; then a time limit, a crash (also of a child), an exit code that nothing explains."""
    for event in output.report:
        yield from _raised(event, output.log)
    started = next((event for event in output.report if event.get("event") == "not-started"), None)
    if started is not None:
        yield _not_started(request, started)
    elif output.code is None:
        yield _timeout(request, output)
    else:
        yield from _crashes(request, output)


def unfinished(output: JobOutput) -> Iterator[Finding]:
    """A job that ended well and never said that it was done: something called exit."""
    events = [event.get("event") for event in output.report]
    if "result" not in events or events[-1] != "end":
        yield fault(
            "smoke-incomplete",
            "The job ended without a result, as if all were well.",
            f"It was {doing(output.report)}.",
            evidence=log_evidence(output.log),
        )


def _raised(event: Event, log: str) -> Iterator[Finding]:
    where = f" in the order {_order(event)}" if event.get("order") else ""
    error, shown = str(event.get("error", "")), log_evidence(log)
    match event.get("event"):
        case "import-failed":
            yield fault(
                "smoke-import", f"`import {event.get('module')}` fails{where}.", error, evidence=shown
            )
        case "missing":
            yield fault("smoke-missing", f"{event.get('package')} is not installed in the environment.")
        case "error":
            summary = f"The job stopped at the stage {event.get('stage')}{where}."
            yield fault("smoke-error", summary, error, evidence=shown)


def _not_started(request: JobRequest, event: Event) -> Finding:
    return fault(
        "smoke-start",
        f"The environment's interpreter cannot be started for the {request.job} job.",
        evidence=(Evidence(str(request.python), str(event.get("error", ""))),),
        remedies=(Remedy(message("verifying.not-started.way"), "provision apply"),),
    )


def _timeout(request: JobRequest, output: JobOutput) -> Finding:
    return fault(
        "smoke-timeout",
        f"The {request.job} job did not finish within {request.time_limit:g} s and was ended.",
        f"It was {doing(output.report)}.",
        evidence=log_evidence(output.log),
        remedies=(Remedy(message("verifying.timeout.way")),),
    )


def _crashes(request: JobRequest, output: JobOutput) -> Iterator[Finding]:
    """Crashes of children are told one by one; the parent's own code only where no child explains it."""
    children = [event for event in output.report if event.get("event") in ("order-ended", "package-ended")]
    crashed = [event for event in children if crash(_code(event))]
    for event in crashed:
        what = str(event.get("package") or f"the order {_order(event)}")
        yield _crash(what, _code(event), output.report[: output.report.index(event)], output.log)
    if crashed:
        return
    if crash(output.code):
        yield _crash(f"the {request.job} job", output.code, output.report, output.log)
    elif (output.code or any(_code(event) for event in children)) and not _explained(output):
        yield fault(
            "smoke-exit",
            f"The {request.job} job ended with exit code {output.code or 'other than 0 in a child'}.",
            f"It was {doing(output.report)}, and says no more.",
            evidence=log_evidence(output.log),
        )


def _code(event: Event) -> int | None:
    code = event.get("code")
    return code if isinstance(code, int) else None


def _order(event: Event) -> str:
    return str(event.get("order", "")).replace("-", ", then ")


def _crash(what: str, code: int | None, before: Sequence[Event], log: str) -> Finding:
    row = crash(code) or {}
    remedy = row.get("remedy")
    return fault(
        "smoke-signal",
        f"{what[0].upper()}{what[1:]} crashed ({row['name']}) while {doing(before)}.",
        str(row["cause"]),
        evidence=(Evidence(str(row["source"]), f"exit code {code}, row {row['id']}"), *log_evidence(log)),
        remedies=(Remedy(remedy),) if remedy else (),
    )


def doing(report: Sequence[Event]) -> str:
    """What the job was at when its report ends, in words that follow `it was`."""
    for event in reversed(report):
        who = event.get("framework") or event.get("package") or ""
        match event.get("event"):
            case "importing":
                return f"importing {event.get('module')}"
            case "step":
                return f"training {who} (step {event.get('step')} was done)"
            case "stage":
                return f"at the stage {event.get('stage')} of {who}" if who else f"at {event.get('stage')}"
            case "result" | "end":
                return "shutting down, with its work done"
    return "starting"


def _explained(output: JobOutput) -> bool:
    """True where the report itself says why the exit code is not 0."""
    return any(event.get("event") in ("import-failed", "error", "missing") for event in output.report)
