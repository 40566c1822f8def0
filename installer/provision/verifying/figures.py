"""What one framework computed, held against the demand and the margins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from provision.messages import message
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
        yield from _loss(run, run.losses, "Training")
        yield from _accuracy(run)
    if run.one("again"):
        yield from _loss(run, losses(run.one("again")), "Training once more with")
    for part in run.parts():
        yield from _part(run, part)


def _version(run: Run, wanted: Demand) -> Iterator[Finding]:
    found = str(run.one("imported").get("version", ""))
    locked = wanted.versions.get(run.framework, "")
    if found and locked and _public(found) != _public(locked):
        yield fault(
            "smoke-version",
            f"{run.framework} imports as {found}; the lock has {locked}.",
            "Another copy comes first on the import path, or shares the folder of this one.",
            evidence=(Evidence("job report", f"version {found}"), Evidence("lock", locked)),
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
            f"A matrix product on {run.place}{run.where} is wrong.",
            f"Plain Python's result differs by more than {limit:g} of its largest element.",
            evidence=(Evidence("job report", str(gaps)),),
        )


def _numpy(run: Run) -> Iterator[Finding]:
    event = run.one("numpy")
    if event.get("bridge") is False:
        yield fault(
            "smoke-numpy",
            f"{run.framework} cannot exchange arrays with numpy {event.get('version')}.",
            str(event.get("error", "")),
            remedies=(Remedy(message("verifying.numpy.way"), "numpy<2"),),
        )


def _nan(run: Run) -> Iterator[Finding]:
    bad = next((index for index, loss in enumerate(run.losses, 1) if not finite(loss)), None)
    if bad is not None:
        yield fault(
            "smoke-nan",
            f"The loss of {run.framework} is {run.losses[bad - 1]} at step {bad}{run.where}.",
            evidence=(Evidence("job report", curve(run.losses)),),
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
            f"{run.framework} ran on {', '.join(wrong or used)}{run.where}; {wanted.device} was demanded.",
            problem,
            evidence=(
                Evidence("job report", f"on {', '.join(used)}; devices found: {run.listed()}"),
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
            f"{run.framework} names {run.place}{run.where}, yet took no memory there.",
            "A device that computes holds the weights; something else did the work.",
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
        return "" if row["plugin"] in plugins else f"No plugin of this TensorFlow is named {row['plugin']}."
    built = run.one("imported").get("build")
    return (
        ""
        if isinstance(built, dict) and built.get(row["build"])
        else f"This TensorFlow is a build without {row['build']}."
    )


def _agreement(run: Run) -> Iterator[Finding]:
    event, limit = run.one("agreement"), margin("agreement")
    gap = number(event.get("difference"))
    if event and (gap is None or not gap <= limit):
        yield fault(
            "smoke-agreement",
            f"{run.framework} on {run.place}{run.where} does not agree with the CPU.",
            f"Losses of the same {event.get('steps')} steps differ by {gap}; up to {limit:g} is allowed.",
            evidence=(
                Evidence("device", curve(losses(event))),
                Evidence("CPU", curve(losses({"losses": event.get("cpu_losses")}))),
            ),
        )


def _loss(run: Run, found: Sequence[float], what: str) -> Iterator[Finding]:
    """nan has a finding of its own."""
    if len(found) < 2 or (all(map(finite, found)) and not fell(found)):
        yield fault(
            "smoke-loss",
            f"{what} {run.framework}{run.where} did not lower the loss.",
            f"The mean of the last losses must lie {margin('loss-fall'):.0%} below that of the first.",
            evidence=(Evidence("job report", curve(found)),),
        )


def _accuracy(run: Run) -> Iterator[Finding]:
    result = run.one("result")
    found, chance = number(result.get("accuracy")), number(result.get("chance")) or 0.0
    if found is not None and not found >= chance + margin("accuracy"):
        yield fault(
            "smoke-accuracy",
            f"{run.framework}{run.where} gets {found:.0%} of new pictures right; chance is {chance:.0%}.",
            f"At least {chance + margin('accuracy'):.0%} is demanded after training.",
        )


def _part(run: Run, part: Event) -> Iterator[Finding]:
    """A part of the full level. What this framework does not have for this device is no fault."""
    if part.get("supported") is False:
        return
    what = str(part.get("what"))
    wrong = _wrong(part) if part.get("done") is True else str(part.get("error", ""))
    if wrong:
        yield fault(f"smoke-{what}", f"{run.framework} on {run.place}: {_PARTS.get(what, what)}.", wrong)
    times = number(part.get("times"))
    if times is not None and times < 1:
        summary = (
            f"{run.framework} is {1 / max(times, 1e-9):.1f} times slower on {run.place} than on the CPU."
        )
        yield Finding("smoke-slow", "warning", summary)


_PARTS = {
    "mixed": "training in mixed precision fails",
    "replicas": "training on all devices at once fails",
    "throughput": "the sweep over batch sizes fails",
    "speed-up": "the comparison with the speed of the CPU fails",
    "save": "a saved model does not come back as it was",
    "serve": "the SavedModel does not answer through its signature as the model does",
}


def _wrong(part: Event) -> str:
    """What is wrong with the figures of a part that came to its end; empty for nothing."""
    found, types, gap = losses(part), part.get("dtypes"), number(part.get("difference", 0.0))
    if "losses" in part and not (len(found) > 1 and all(map(finite, found)) and fell(found)):
        return f"The loss did not fall: {curve(found)}."
    if isinstance(types, dict) and (types.get("trunk"), types.get("head")) != (
        types.get("wanted"),
        "float32",
    ):
        return f"{types.get('wanted')} inside and float32 at the head were asked for; it ran as {types}."
    if gap is None or not gap <= margin("matmul"):
        return f"The answers differ by {gap}; up to {margin('matmul'):g} is allowed."
    return ""


def fell(found: Sequence[float]) -> bool:
    """True where the mean of the last five losses (of the half, if fewer) lies far enough below the first."""
    size = min(5, len(found) // 2)
    return sum(found[-size:]) <= sum(found[:size]) * (1 - margin("loss-fall"))


def curve(found: Sequence[float]) -> str:
    return "losses " + " ".join(f"{loss:.4g}" for loss in found)
