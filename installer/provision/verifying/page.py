"""A receipt as one HTML page that needs nothing else: no script, no font, no address. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from provision.messages import exists, message, said
from provision.model.lock import Lock
from provision.model.receipt import JobResult, Receipt
from provision.model.stack import Choice
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


#: What a browser calls the languages.
_HTML = {"en": "en", "zh": "zh-CN"}


def _t(lang: str, key: str, **values: object) -> str:
    return message(f"page.{key}", **values).said(lang)


def page(receipt: Receipt, lock: Lock | None = None, lang: str = "en") -> str:
    """The page in a language; `lock` adds the stack with its reasons."""
    body = "".join(
        (
            *_head(receipt, lang),
            *_stack(lock, lang),
            *_machine(receipt, lang),
            *(part for job in receipt.jobs for part in _job(job, lang)),
        )
    )
    verdict = _t(lang, f"verdict-{receipt.verdict}")
    title = escape(_t(lang, "title", profile=receipt.profile, verdict=verdict))
    return (
        f'<!DOCTYPE html>\n<html lang="{_HTML[lang]}">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n"
    )


def _head(receipt: Receipt, lang: str) -> Iterator[str]:
    good = receipt.verdict == "passed"
    yield f"<h1>{escape(receipt.profile)}</h1>\n"
    of = _t(lang, "generation", generation=receipt.generation) if receipt.generation else ""
    when = _t(lang, "when", date=receipt.date, seconds=f"{receipt.seconds:,.1f}", level=receipt.level)
    yield f'<p class="soft">{of}{escape(when)}</p>\n'
    mark = "good" if good else "bad"
    proven = escape(said(receipt.proves, lang))
    yield f'<div class="verdict {mark}"><b>{_t(lang, receipt.verdict)}</b><p>{proven}</p></div>\n'
    yield _table(
        (
            (_t(lang, "device-demanded"), receipt.device_demanded),
            (_t(lang, "device-used"), receipt.device_used),
            (_t(lang, "lock"), f"SHA-256 {receipt.lock}"),
        )
    )


def _stack(lock: Lock | None, lang: str) -> Iterator[str]:
    if lock is None:
        return
    what = _t(lang, "what", target=lock.target, python=lock.python, count=len(lock.packages))
    yield f'<h2>{_t(lang, "stack")}</h2>\n<p class="soft">{escape(what)}</p>\n'
    rows = [
        (c.axis, c.value, _because(c, lang) if c.axis in lock.frameworks else said(c.because, lang))
        for c in lock.stack
    ]
    yield _table(rows, (_t(lang, "part"), _t(lang, "chosen"), _t(lang, "because")))
    if lock.patches:
        yield f"<h3>{_t(lang, 'held')}</h3>\n"
        yield _table([(p.requirement, said(p.because, lang)) for p in lock.patches])


def _machine(receipt: Receipt, lang: str) -> Iterator[str]:
    rows = [(_fact(name, lang), text) for name, value in receipt.machine.items() if (text := _words(value))]
    if rows:
        yield f"<h2>{_t(lang, 'machine')}</h2>\n{_table(rows)}"


def _because(choice: Choice, lang: str) -> str:
    return _t(lang, "chosen-because", because=choice.because, level=_t(lang, f"level-{choice.confidence}"))


def _fact(name: str, lang: str) -> str:
    return _t(lang, f"machine-{name}") if exists(f"page.machine-{name}") else name


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{k} {_words(v)}" for k, v in value.items() if v not in (None, "", [], {}))
    if isinstance(value, list | tuple):
        return "; ".join(_words(one) for one in value)
    return "" if value is None else str(value)


def _job(job: JobResult, lang: str) -> Iterator[str]:
    mark = "good" if job.verdict == "passed" else "bad"
    name = " ".join(part for part in (job.framework, job.version) if part)
    yield f'<h2>{escape(name)} <span class="{mark}">{_t(lang, f"verdict-{job.verdict}")}</span></h2>\n'
    yield from _findings(job, lang)
    yield _table([row for row in _job_rows(job, lang) if row[1]])
    yield _figure(curve(job.losses, _t(lang, "loss"), _t(lang, "step")), _t(lang, "loss-by-step"))
    small = [v for v in job.losses if v > 0]
    if small and max(small) / min(small) > 100:
        yield _figure(
            curve(job.losses, _t(lang, "loss-log"), _t(lang, "step"), log=True), _t(lang, "same-log")
        )
    yield from _parts(job, lang)


def _findings(job: JobResult, lang: str) -> Iterator[str]:
    def e(text: str) -> str:
        return escape(said(text, lang))

    for finding in job.findings:
        yield f'<h3 class="bad">{e(finding.summary)}</h3>\n<p>{e(finding.detail)}</p>\n'
        yield from (f"<pre>{e(one.source)}\n{e(one.text)}</pre>\n" for one in finding.evidence)
        yield from (f"<p>{e(r.text)} <code>{escape(r.command)}</code></p>\n" for r in finding.remedies)


def _job_rows(job: JobResult, lang: str) -> Iterator[tuple[str, str]]:
    facts = job.facts
    yield _t(lang, "job"), job.job
    yield (
        _t(lang, "device"),
        " ".join(part for part in (job.device, f"({job.device_name})" if job.device_name else "") if part),
    )
    if job.losses:
        ends = {"first": f"{job.losses[0]:.4g}", "last": f"{job.losses[-1]:.4g}"}
        yield _t(lang, "loss-row"), _t(lang, "from-to", steps=len(job.losses), **ends)
    yield _t(lang, "accuracy"), _share(facts.get("accuracy"))
    yield (
        _t(lang, "pictures"),
        f"{facts['images_per_second']:,.0f}" if _is_number(facts.get("images_per_second")) else "",
    )
    yield (
        _t(lang, "difference"),
        f"{job.cpu_difference:.2g}" if job.cpu_difference is not None else "",
    )
    yield _t(lang, "libraries"), _libraries(facts.get("libraries"), lang)
    yield _t(lang, "time"), f"{job.seconds:,.1f} s"


def _libraries(value: Any, lang: str) -> str:
    if not isinstance(value, Mapping):
        return ""
    said_so = [message("page.says", name=k, version=v) for k, v in dict(value.get("versions") or {}).items()]
    key = "loaded-versions" if said_so else "loaded"
    return _t(lang, key, loaded=value.get("loaded"), asked=value.get("asked"), versions=said_so)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _share(value: Any) -> str:
    return f"{value:.1%}" if _is_number(value) else ""


def _parts(job: JobResult, lang: str) -> Iterator[str]:
    """The parts of the full level: a table, and the sweep over batch sizes as bars."""
    parts = job.facts.get("full")
    if not isinstance(parts, Mapping):
        return
    rows = [
        (str(name), _outcome(part, lang), _number_text(part.get("seconds")))
        for name, part in parts.items()
        if isinstance(part, Mapping)
    ]
    head = (_t(lang, "part"), _t(lang, "outcome"), _t(lang, "time"))
    yield f"<h3>{_t(lang, 'full')}</h3>\n" + _table(rows, head)
    for part in parts.values():
        table = part.get("table") if isinstance(part, Mapping) else None
        if isinstance(table, list):
            sweep = [
                (str(r.get("batch")), float(r["images_per_second"]))
                for r in table
                if _is_number(r.get("images_per_second"))
            ]
            yield _figure(
                bars(sweep, _t(lang, "by-batch"), _t(lang, "batch")),
                _t(lang, "by-batch"),
            )


def _number_text(value: Any) -> str:
    return f"{value:,.2f}\u00a0s" if _is_number(value) else ""


def _outcome(part: Mapping[str, Any], lang: str) -> str:
    if part.get("supported") is False:
        return _t(lang, "not-here", error=part.get("error", ""))
    if part.get("error"):
        return _t(lang, "part-failed", error=part["error"])
    left_out = ("seconds", "done", "table", "losses", "supported")
    return "; ".join(
        f"{k.replace('_', ' ')} {_words(v)}" for k, v in part.items() if k not in left_out
    ) or _t(lang, "done")


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
