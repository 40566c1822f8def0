"""How a job's process ended, and what it raised before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from provision.messages import exists, message, raised
from provision.model.finding import Evidence, Finding, Remedy
from provision.ports import JobOutput, JobRequest
from provision.verifying.evidence import fault, log_evidence
from provision.verifying.rows import crash
from provision.verifying.runs import in_order, ordered

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
            message("verifying.incomplete.summary"),
            message("verifying.it-was", doing=doing(output.report)),
            evidence=log_evidence(output.log),
        )


def _raised(event: Event, log: str) -> Iterator[Finding]:
    where = in_order(str(event.get("order") or ""))
    error, shown = str(event.get("error", "")), log_evidence(log)
    match event.get("event"):
        case "import-failed":
            yield fault(
                "smoke-import",
                message("verifying.import.summary", module=event.get("module"), where=where),
                error,
                evidence=shown,
            )
        case "missing":
            yield fault("smoke-missing", message("verifying.missing.summary", package=event.get("package")))
        case "error":
            summary = message("verifying.error.summary", stage=event.get("stage"), where=where)
            yield fault("smoke-error", summary, error, evidence=shown)


def _not_started(request: JobRequest, event: Event) -> Finding:
    return fault(
        "smoke-start",
        message("verifying.start.summary", job=request.job),
        evidence=(Evidence(str(request.python), str(event.get("error", ""))),),
        remedies=(Remedy(message("verifying.not-started.way"), "provision apply"),),
    )


def _timeout(request: JobRequest, output: JobOutput) -> Finding:
    return fault(
        "smoke-timeout",
        message("verifying.timeout.summary", job=request.job, seconds=f"{request.time_limit:g}"),
        message("verifying.it-was", doing=doing(output.report)),
        evidence=log_evidence(output.log),
        remedies=(Remedy(message("verifying.timeout.way")),),
    )


def _crashes(request: JobRequest, output: JobOutput) -> Iterator[Finding]:
    """Crashes of children are told one by one; the parent's own code only where no child explains it."""
    children = [event for event in output.report if event.get("event") in ("order-ended", "package-ended")]
    crashed = [event for event in children if crash(_code(event))]
    for event in crashed:
        package = str(event.get("package") or "")
        what = package or message("verifying.the-order", order=ordered(str(event.get("order", ""))))
        yield _crash(what, _code(event), output.report[: output.report.index(event)], output.log)
    if crashed:
        return
    if crash(output.code):
        yield _crash(message("verifying.the-job", job=request.job), output.code, output.report, output.log)
    elif (output.code or any(_code(event) for event in children)) and not _explained(output):
        yield fault(
            "smoke-exit",
            message(
                "verifying.exit.summary", job=request.job, code=output.code or message("verifying.exit.child")
            ),
            message("verifying.exit.detail", doing=doing(output.report)),
            evidence=log_evidence(output.log),
        )


def _code(event: Event) -> int | None:
    code = event.get("code")
    return code if isinstance(code, int) else None


def _crash(what: str, code: int | None, before: Sequence[Event], log: str) -> Finding:
    row = crash(code) or {}
    kind = str(row["id"]).removeprefix("crash-")
    cause, way = f"verifying.crash.cause.{kind}", f"verifying.crash.way.{kind}"
    said = message("verifying.exit-code", code=code, row=row["id"])
    return fault(
        "smoke-signal",
        message("verifying.crash.summary", what=raised(what), name=row["name"], doing=doing(before)),
        message(cause) if exists(cause) else "",
        evidence=(Evidence(str(row["source"]), said), *log_evidence(log)),
        remedies=(Remedy(message(way)),) if exists(way) else (),
    )


def doing(report: Sequence[Event]) -> str:
    """What the job was at when its report ends, in words that follow `it was`."""
    for event in reversed(report):
        who = event.get("framework") or event.get("package") or ""
        match event.get("event"):
            case "importing":
                return message("verifying.doing.importing", module=event.get("module"))
            case "step":
                return message("verifying.doing.training", framework=who, step=event.get("step"))
            case "stage":
                stage = event.get("stage")
                return (
                    message("verifying.doing.stage-of", stage=stage, who=who)
                    if who
                    else message("verifying.doing.stage", stage=stage)
                )
            case "result" | "end":
                return message("verifying.doing.shutting-down")
    return message("verifying.doing.starting")


def _explained(output: JobOutput) -> bool:
    """True where the report itself says why the exit code is not 0."""
    return any(event.get("event") in ("import-failed", "error", "missing") for event in output.report)
