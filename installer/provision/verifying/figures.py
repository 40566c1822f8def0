"""What one framework computed, held against the demand and the margins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from provision.messages import exists, message
from provision.model.finding import Evidence, Finding, Remedy
from provision.verifying.evidence import fault, log_evidence, shorten
from provision.verifying.requests import Demand
from provision.verifying.rows import device_type, margin, rows
from provision.verifying.runs import Event, Run, finite, losses, number, texts


def figures(run: Run, wanted: Demand, log: str = "") -> Iterator[Finding]:
    """All that is wrong with one run; what it never came to is not held against it here.

    `log` is the job's: it often tells why a device was not found.
    """
    yield from _version(run, wanted)
    yield from _matmul(run)
    yield from _numpy(run)
    yield from _nan(run)
    yield from _device(run, wanted, log)
    yield from _memory(run)
    yield from _agreement(run)
    if run.one("result") and wanted.level != "quick":
        yield from _loss(run, run.losses, "training")
        yield from _accuracy(run)
    if run.one("again"):
        yield from _loss(run, losses(run.one("again")), "again")
    for part in run.parts():
        yield from _part(run, part)


def _version(run: Run, wanted: Demand) -> Iterator[Finding]:
    found = str(run.one("imported").get("version", ""))
    locked = wanted.versions.get(run.framework, "")
    if found and locked and _public(found) != _public(locked):
        yield fault(
            "smoke-version",
            message("verifying.version.summary", framework=run.framework, found=found, locked=locked),
            message("verifying.version.detail"),
            evidence=(
                Evidence(message("verifying.job-report"), message("verifying.version", found=found)),
                Evidence(message("verifying.lock"), locked),
            ),
        )


def _public(version: str) -> str:
    """A version without its local label, in one spelling."""
    from packaging.version import InvalidVersion, Version

    try:
        return Version(version).public
    except InvalidVersion:
        return version.partition("+")[0]


def _matmul(run: Run) -> Iterator[Finding]:
    event, limit = run.one("matmul"), margin("matmul")
    keys = [key for key in event if key.endswith("difference")]
    gaps = {key: number(event[key]) for key in keys}
    if any(gap is None or not gap <= limit for gap in gaps.values()):
        yield fault(
            "smoke-matmul",
            message("verifying.matmul.summary", place=run.place, where=run.where),
            message("verifying.matmul.detail", limit=f"{limit:g}"),
            evidence=(Evidence(message("verifying.job-report"), str(gaps)),),
        )


def _numpy(run: Run) -> Iterator[Finding]:
    event = run.one("numpy")
    if event.get("bridge") is False:
        yield fault(
            "smoke-numpy",
            message("verifying.numpy.summary", framework=run.framework, version=event.get("version")),
            str(event.get("error", "")),
            remedies=(Remedy(message("verifying.numpy.way"), "numpy<2"),),
        )


def _nan(run: Run) -> Iterator[Finding]:
    bad = next((index for index, loss in enumerate(run.losses, 1) if not finite(loss)), None)
    if bad is not None:
        yield fault(
            "smoke-nan",
            message(
                "verifying.nan.summary",
                framework=run.framework,
                loss=run.losses[bad - 1],
                step=bad,
                where=run.where,
            ),
            evidence=(Evidence(message("verifying.job-report"), curve(run.losses)),),
        )


def _device(run: Run, wanted: Demand, log: str) -> Iterator[Finding]:
    event = run.one("device")
    if not event:
        return
    expected = device_type(run.framework, wanted.device).lower()
    used = sorted({shorten(place) for place in run.places()})
    wrong = [place for place in used if _type(place) != expected]
    problem = str(event.get("problem") or "") or ("" if wrong else _maker(run, wanted))
    if wrong or problem:
        yield fault(
            "smoke-device",
            message(
                "verifying.device.summary",
                framework=run.framework,
                used=wrong or used,
                where=run.where,
                device=wanted.device,
            ),
            problem,
            evidence=(
                Evidence(
                    message("verifying.job-report"),
                    message("verifying.device.evidence", used=used, found=run.listed()),
                ),
                *log_evidence(log),
            ),
            remedies=(
                Remedy(message("verifying.device.way"), "provision detect"),
                Remedy(message("verifying.device.way-2"), "provision verify --device cpu"),
            ),
        )


def _memory(run: Run) -> Iterator[Finding]:
    if run.one("device").get("memory") == 0 and _type(shorten(run.device)) != "cpu":
        yield fault(
            "smoke-device",
            message("verifying.memory.summary", framework=run.framework, place=run.place, where=run.where),
            message("verifying.memory.detail"),
        )


def _type(place: str) -> str:
    """`/GPU:0` and `cuda:0` -> `gpu`, `cuda`."""
    return place.lstrip("/").partition(":")[0].lower()


def _maker(run: Run, wanted: Demand) -> str:
    """Why what TensorFlow calls GPU is not of the demanded make; empty where it is or cannot be told."""
    row = next((row for row in rows()["makers"] if row["device"] == wanted.device), None)
    if run.framework != "tensorflow" or row is None:
        return ""
    if "plugin" in row:
        plugins = " ".join(texts(run.one("devices").get("plugins")))
        return "" if row["plugin"] in plugins else message("verifying.maker.plugin", plugin=row["plugin"])
    built = run.one("imported").get("build")
    return (
        ""
        if isinstance(built, dict) and built.get(row["build"])
        else message("verifying.maker.build", build=row["build"])
    )


def _agreement(run: Run) -> Iterator[Finding]:
    event, limit = run.one("agreement"), margin("agreement")
    gap = number(event.get("difference"))
    if event and (gap is None or not gap <= limit):
        yield fault(
            "smoke-agreement",
            message("verifying.agreement.summary", framework=run.framework, place=run.place, where=run.where),
            message("verifying.agreement.detail", steps=event.get("steps"), gap=gap, limit=f"{limit:g}"),
            evidence=(
                Evidence(message("verifying.device-word"), curve(losses(event))),
                Evidence("CPU", curve(losses({"losses": event.get("cpu_losses")}))),
            ),
        )


def _loss(run: Run, found: Sequence[float], what: str) -> Iterator[Finding]:
    """nan has a finding of its own."""
    if len(found) < 2 or (all(map(finite, found)) and not fell(found)):
        yield fault(
            "smoke-loss",
            message(f"verifying.loss.{what}", framework=run.framework, where=run.where),
            message("verifying.loss.detail", share=f"{margin('loss-fall'):.0%}"),
            evidence=(Evidence(message("verifying.job-report"), curve(found)),),
        )


def _accuracy(run: Run) -> Iterator[Finding]:
    result = run.one("result")
    found, chance = number(result.get("accuracy")), number(result.get("chance")) or 0.0
    if found is not None and not found >= chance + margin("accuracy"):
        yield fault(
            "smoke-accuracy",
            message(
                "verifying.accuracy.summary",
                framework=run.framework,
                where=run.where,
                found=f"{found:.0%}",
                chance=f"{chance:.0%}",
            ),
            message("verifying.accuracy.detail", share=f"{chance + margin('accuracy'):.0%}"),
        )


def _part(run: Run, part: Event) -> Iterator[Finding]:
    """A part of the full level. What this framework does not have for this device is no fault."""
    if part.get("supported") is False:
        return
    what = str(part.get("what"))
    wrong = _wrong(part) if part.get("done") is True else str(part.get("error", ""))
    if wrong:
        key = f"verifying.part.{what}"
        fails = message(key) if exists(key) else what
        summary = message("verifying.part.summary", framework=run.framework, place=run.place, fails=fails)
        yield fault(f"smoke-{what}", summary, wrong)
    times = number(part.get("times"))
    if times is not None and times < 1:
        times = 1 / max(times, 1e-9)
        summary = message(
            "verifying.slow.summary", framework=run.framework, times=f"{times:.1f}", place=run.place
        )
        yield Finding("smoke-slow", "warning", summary)


def _wrong(part: Event) -> str:
    """What is wrong with the figures of a part that came to its end; empty for nothing."""
    found, types, gap = losses(part), part.get("dtypes"), number(part.get("difference", 0.0))
    if "losses" in part and not (len(found) > 1 and all(map(finite, found)) and fell(found)):
        return message("verifying.part.loss", curve=curve(found))
    if isinstance(types, dict) and (types.get("trunk"), types.get("head")) != (
        types.get("wanted"),
        "float32",
    ):
        return message("verifying.part.types", wanted=types.get("wanted"), types=types)
    if gap is None or not gap <= margin("matmul"):
        return message("verifying.part.answers", gap=gap, limit=f"{margin('matmul'):g}")
    return ""


def fell(found: Sequence[float]) -> bool:
    """True where the mean of the last five losses (of the half, if fewer) lies far enough below the first."""
    size = min(5, len(found) // 2)
    return sum(found[-size:]) <= sum(found[:size]) * (1 - margin("loss-fall"))


def curve(found: Sequence[float]) -> str:
    return message("verifying.losses", losses=" ".join(f"{loss:.4g}" for loss in found))
