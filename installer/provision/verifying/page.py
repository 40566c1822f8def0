"""A receipt as one HTML page that needs nothing else: no script, no font, no address. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from provision.model.lock import Lock
from provision.model.receipt import JobResult, Receipt
from provision.verifying.curves import bars, curve

_STYLE = """
:root { color-scheme: light dark; --back: #ffffff; --card: #f6f7f9; --text: #1b1f24; --soft: #5a6472; --line: #d8dde4;
  --good: #1a7f45; --bad: #b3261e; --mark: #2f6fd0; }
@media (prefers-color-scheme: dark) { :root { --back: #14171b; --card: #1d2127; --text: #e6e9ee; --soft: #9aa5b4;
  --line: #343b45; --good: #58c98a; --bad: #ff8a80; --mark: #7fb0ff; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 15px/1.5 system-ui, "Segoe UI", "PingFang SC",
  "Microsoft YaHei", "Noto Sans CJK SC", sans-serif; }
main { max-width: 900px; margin: 0 auto; padding: 32px 20px 56px; }
h1 { font-size: 26px; margin: 0 0 2px; } h2 { font-size: 18px; margin: 34px 0 10px; }
h3 { font-size: 15px; margin: 18px 0 6px; }
.soft { color: var(--soft); } .good { color: var(--good); } .bad { color: var(--bad); }
.verdict { border-left: 5px solid; padding: 10px 16px; margin: 18px 0; background: var(--card); border-radius: 0 6px 6px 0; }
.verdict b { font-size: 19px; } .verdict p { margin: 4px 0 0; color: var(--text); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; color: var(--soft); }
td, th { padding: 5px 14px 5px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th, .facts td:first-child { white-space: nowrap; } .facts td:first-child { width: 13em; color: var(--soft); }
.long { overflow-wrap: anywhere; }
figure { margin: 8px 0 14px; } figcaption { color: var(--soft); margin-bottom: 2px; }
svg { width: 100%; height: auto; background: var(--card); border-radius: 6px; display: block; }
svg text { font: 11px system-ui, sans-serif; fill: var(--soft); } svg .tick { text-anchor: end; }
svg .foot, svg .value { text-anchor: middle; } svg .value { fill: var(--text); }
svg .grid { stroke: var(--line); } svg .line { fill: none; stroke: var(--mark); stroke-width: 2; }
svg .bar, svg .dot { fill: var(--mark); }
pre { background: var(--card); padding: 10px 12px; border-radius: 6px; overflow-x: auto; margin: 6px 0; }
"""


def page(receipt: Receipt, lock: Lock | None = None) -> str:
    """The page; `lock` adds the stack with its reasons."""
    body = "".join(
        (
            *_head(receipt),
            *_stack(lock),
            *_machine(receipt),
            *(part for job in receipt.jobs for part in _job(job)),
        )
    )
    title = escape(f"{receipt.profile}: {receipt.verdict}")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n"
    )


def _head(receipt: Receipt) -> Iterator[str]:
    good = receipt.verdict == "passed"
    yield f"<h1>{escape(receipt.profile)}</h1>\n"
    of = f"generation {receipt.generation}, " if receipt.generation else ""
    when = f"proven on {receipt.date} in {receipt.seconds:,.1f} s, level {receipt.level}"
    yield f'<p class="soft">{of}{escape(when)}</p>\n'
    mark = "good" if good else "bad"
    yield f'<div class="verdict {mark}"><b>{"Passed" if good else "Failed"}</b><p>{escape(receipt.proves)}</p></div>\n'
    yield _table(
        (
            ("device demanded", receipt.device_demanded),
            ("device used", receipt.device_used),
            ("lock", f"SHA-256 {receipt.lock}"),
        )
    )


def _stack(lock: Lock | None) -> Iterator[str]:
    if lock is None:
        return
    what = f"{lock.target}, Python {lock.python}, {len(lock.packages)} packages"
    yield f'<h2>Stack</h2>\n<p class="soft">{escape(what)}</p>\n'
    rows = [
        (c.axis, c.value, f"{c.because}{f' ({c.confidence})' if c.axis in lock.frameworks else ''}")
        for c in lock.stack
    ]
    yield _table(rows, ("part", "chosen", "because"))
    if lock.patches:
        yield "<h3>Held down, or added</h3>\n"
        yield _table([(p.requirement, p.because) for p in lock.patches])


def _machine(receipt: Receipt) -> Iterator[str]:
    rows = [(name, text) for name, value in receipt.machine.items() if (text := _words(value))]
    if rows:
        yield f"<h2>Machine</h2>\n{_table(rows)}"


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{k} {_words(v)}" for k, v in value.items() if v not in (None, "", [], {}))
    if isinstance(value, list | tuple):
        return "; ".join(_words(one) for one in value)
    return "" if value is None else str(value)


def _job(job: JobResult) -> Iterator[str]:
    mark = "good" if job.verdict == "passed" else "bad"
    name = " ".join(part for part in (job.framework, job.version) if part)
    yield f'<h2>{escape(name)} <span class="{mark}">{job.verdict}</span></h2>\n'
    yield from _findings(job)
    yield _table([row for row in _job_rows(job) if row[1]])
    yield _figure(curve(job.losses, "Training loss", "step"), "Training loss by step")
    small = [v for v in job.losses if v > 0]
    if small and max(small) / min(small) > 100:
        yield _figure(
            curve(job.losses, "Training loss, logarithmic", "step", log=True), "The same, logarithmic"
        )
    yield from _parts(job)


def _findings(job: JobResult) -> Iterator[str]:
    for finding in job.findings:
        yield f'<h3 class="bad">{escape(finding.summary)}</h3>\n<p>{escape(finding.detail)}</p>\n'
        yield from (f"<pre>{escape(e.source)}\n{escape(e.text)}</pre>\n" for e in finding.evidence)
        yield from (f"<p>{escape(r.text)} <code>{escape(r.command)}</code></p>\n" for r in finding.remedies)


def _job_rows(job: JobResult) -> Iterator[tuple[str, str]]:
    facts = job.facts
    yield "job", job.job
    yield (
        "device",
        " ".join(part for part in (job.device, f"({job.device_name})" if job.device_name else "") if part),
    )
    if job.losses:
        yield "loss", f"{job.losses[0]:.4g} to {job.losses[-1]:.4g} in {len(job.losses)} steps"
    yield "accuracy", _share(facts.get("accuracy"))
    yield (
        "pictures a second",
        f"{facts['images_per_second']:,.0f}" if _is_number(facts.get("images_per_second")) else "",
    )
    yield (
        "largest difference to the CPU",
        f"{job.cpu_difference:.2g}" if job.cpu_difference is not None else "",
    )
    yield "libraries", _libraries(facts.get("libraries"))
    yield "time", f"{job.seconds:,.1f} s"


def _libraries(value: Any) -> str:
    if not isinstance(value, Mapping):
        return ""
    versions = ", ".join(f"{k} says {v}" for k, v in dict(value.get("versions") or {}).items())
    return f"{value.get('loaded')} of {value.get('asked')} loaded{f'; {versions}' if versions else ''}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _share(value: Any) -> str:
    return f"{value:.1%}" if _is_number(value) else ""


def _parts(job: JobResult) -> Iterator[str]:
    """The parts of the full level: a table, and the sweep over batch sizes as bars."""
    parts = job.facts.get("full")
    if not isinstance(parts, Mapping):
        return
    rows = [
        (str(name), _outcome(part), _number_text(part.get("seconds")))
        for name, part in parts.items()
        if isinstance(part, Mapping)
    ]
    yield "<h3>Full level</h3>\n" + _table(rows, ("part", "outcome", "time"))
    for part in parts.values():
        table = part.get("table") if isinstance(part, Mapping) else None
        if isinstance(table, list):
            sweep = [
                (str(r.get("batch")), float(r["images_per_second"]))
                for r in table
                if _is_number(r.get("images_per_second"))
            ]
            yield _figure(
                bars(sweep, "Pictures a second by batch size", "batch size"),
                "Pictures a second by batch size",
            )


def _number_text(value: Any) -> str:
    return f"{value:,.2f} s" if _is_number(value) else ""


def _outcome(part: Mapping[str, Any]) -> str:
    if part.get("supported") is False:
        return f"not to be had here: {part.get('error', '')}"
    if part.get("error"):
        return f"failed: {part['error']}"
    left_out = ("seconds", "done", "table", "losses", "supported")
    return (
        "; ".join(f"{k.replace('_', ' ')} {_words(v)}" for k, v in part.items() if k not in left_out)
        or "done"
    )


def _figure(svg: str, caption: str) -> str:
    return f"<figure><figcaption>{escape(caption)}</figcaption>{svg}</figure>\n" if svg else ""


def _table(rows: Sequence[tuple[str, ...]], head: tuple[str, ...] = ()) -> str:
    top = "<tr>" + "".join(f"<th>{escape(h)}</th>" for h in head) + "</tr>" if head else ""
    lines = "".join("<tr>" + "".join(_cell(text) for text in row) + "</tr>\n" for row in rows)
    kind = "" if head else ' class="facts"'
    return f'<div class="wide"><table{kind}>{top}{lines}</table></div>\n'


def _cell(text: str) -> str:
    """A cell; one with a very long word may break it anywhere."""
    long = any(len(word) > 24 for word in text.split())
    return f'<td class="long">{escape(text)}</td>' if long else f"<td>{escape(text)}</td>"
