"""The facts that a smoke job left -> a verdict with its reasons. Pure; the margins are rows (rows.yaml)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from provision.model.finding import Finding
from provision.model.receipt import JobResult
from provision.ports import JobOutput, JobRequest
from provision.verifying.ending import endings, unfinished
from provision.verifying.evidence import shorten
from provision.verifying.figures import figures
from provision.verifying.libraries import library_facts, library_findings
from provision.verifying.requests import Demand
from provision.verifying.runs import Run, number, runs


def judge(request: JobRequest, output: JobOutput, wanted: Demand) -> JobResult:
    """Judge one job. Every way in which it can have failed is a finding with a code `smoke-...`."""
    done = runs(output.report)
    wrong = (finding for run in done for finding in figures(run, wanted, output.log))
    findings = (*endings(request, output), *wrong, *library_findings(output.report, wanted.libraries))
    return _result(request, output, done, findings or tuple(unfinished(output)))


def _result(
    request: JobRequest, output: JobOutput, done: Sequence[Run], findings: tuple[Finding, ...]
) -> JobResult:
    first = done[0] if done else Run()
    gaps = [gap for run in done if (gap := number(run.one("result").get("cpu_difference"))) is not None]
    return JobResult(
        job=request.job,
        framework={"dual": "torch+tensorflow", "imports": "packages"}.get(request.job, request.job),
        version=_version(done),
        verdict="failed" if any(finding.severity == "error" for finding in findings) else "passed",
        device=shorten(first.device) or ("cpu" if request.job in ("imports", "libraries") else ""),
        device_name=str(first.one("device").get("name", "")),
        losses=first.losses,
        seconds=output.seconds,
        cpu_difference=max(gaps) if gaps else None,
        facts=_facts(output, done),
        findings=findings,
    )


def _version(done: Sequence[Run]) -> str:
    """`2.13.0`, and for two frameworks `torch 2.13.0, tensorflow 2.21.0`."""
    versions = {run.framework: str(run.one("imported").get("version", "")) for run in done}
    if len(versions) > 1:
        return ", ".join(f"{name} {versions[name]}" for name in ("torch", "tensorflow") if name in versions)
    return next(iter(versions.values()), "")


def _facts(output: JobOutput, done: Sequence[Run]) -> dict[str, Any]:
    """What the receipt keeps beside the verdict, in the words of the report."""
    start = next((event for event in output.report if event.get("event") == "start"), {})
    facts: dict[str, Any] = {key: start[key] for key in ("python", "system") if key in start}
    if len(done) == 1:
        facts.update(done[0].facts())
    elif done:
        facts["runs"] = [run.summary() for run in done]
    facts.update(library_facts(output.report))
    packages = [event for event in output.report if event.get("event") == "imported" and "package" in event]
    if packages:
        facts["packages"] = {
            str(event["package"]): {"version": event.get("version"), "modules": event.get("modules")}
            for event in packages
        }
    return facts
