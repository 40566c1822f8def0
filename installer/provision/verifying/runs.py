"""A job's report as runs: what one framework did in one process."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from provision.messages import message

Event = Mapping[str, Any]

FRAMEWORKS = ("torch", "tensorflow")


@dataclass(frozen=True, slots=True)
class Run:
    """The events of one framework; `order` is empty except in the dual job (`torch-tensorflow`)."""

    framework: str = ""
    order: str = ""
    events: tuple[Event, ...] = ()

    def one(self, name: str) -> Event:
        """The last event of a name that is not from a second training; `{}` where there is none."""
        found = [event for event in self.events if event.get("event") == name and not event.get("again")]
        return found[-1] if found else {}

    @property
    def where(self) -> str:
        return in_order(self.order)

    @property
    def losses(self) -> tuple[float, ...]:
        """Loss by step; of the steps that were reported where the run did not reach its result."""
        steps = [event for event in self.events if event.get("event") == "step" and not event.get("again")]
        return losses(self.one("result")) or losses({"losses": [event.get("loss") for event in steps]})

    @property
    def device(self) -> str:
        event = self.one("device") or self.one("matmul")
        return str(event.get("used") or event.get("device") or "")

    @property
    def place(self) -> str:
        """The device in words, for a sentence."""
        return self.device or message("verifying.the-device")

    def places(self) -> Iterator[str]:
        """Every place that the report names for a variable, a gradient or a result."""
        event = self.one("device")
        for key in ("used", "loss_device", "variables", "gradients"):
            yield from texts(event.get(key))

    def listed(self) -> str:
        """The devices of the demanded kind that the framework sees, in words."""
        return ", ".join(texts(self.one("devices").get("devices"))) or message("verifying.none")

    def parts(self) -> tuple[Event, ...]:
        """The parts of the full level."""
        return tuple(event for event in self.events if event.get("event") == "full")

    def facts(self) -> dict[str, Any]:
        """What a receipt keeps of a run."""
        imported, device, result = self.one("imported"), self.one("device"), self.one("result")
        facts = {
            "version": imported.get("version"),
            "keras": imported.get("keras"),
            "build": imported.get("build"),
            "import_seconds": imported.get("seconds"),
            "capability": device.get("capability"),
            "device_memory": device.get("memory"),
            "numpy": self.one("numpy").get("version"),
            "accuracy": result.get("accuracy"),
            "images_per_second": result.get("images_per_second"),
            "full": {str(part.get("what")): _bare(part) for part in self.parts()} or None,
        }
        return {key: value for key, value in facts.items() if value is not None}

    def summary(self) -> dict[str, Any]:
        """The facts of one run among several."""
        return {"framework": self.framework, "order": self.order, "losses": list(self.losses), **self.facts()}


def ordered(order: str) -> str:
    """`torch-tensorflow` in words."""
    first, dash, then = order.partition("-")
    return message("verifying.order", first=first, then=then) if dash else order


def in_order(order: str) -> str:
    """For the end of a sentence; empty without an order."""
    return message("verifying.in-order", order=ordered(order)) if order else ""


def _bare(part: Event) -> dict[str, Any]:
    return {
        key: value for key, value in part.items() if key not in ("event", "at", "framework", "order", "what")
    }


def runs(report: Sequence[Event]) -> tuple[Run, ...]:
    """Runs in the order in which they first speak."""
    keys: dict[tuple[str, str], list[Event]] = {}
    for event in report:
        framework, order = event.get("framework"), event.get("order")
        if framework in FRAMEWORKS:
            keys.setdefault((framework, order if isinstance(order, str) else ""), []).append(event)
    return tuple(Run(framework, order, tuple(events)) for (framework, order), events in keys.items())


def number(value: Any) -> float | None:
    """A figure of the report; the words nan, inf and -inf are figures too. None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def texts(value: Any) -> tuple[str, ...]:
    """A text or a list of texts as texts; what is neither is none."""
    if isinstance(value, str):
        return (value,)
    return tuple(str(one) for one in value) if isinstance(value, list | tuple) else ()


def losses(event: Event) -> tuple[float, ...]:
    """The losses of an event; what is no figure counts as nan."""
    found = event.get("losses")
    values = found if isinstance(found, list | tuple) else ()
    return tuple(math.nan if (loss := number(value)) is None else loss for value in values)


def finite(value: float) -> bool:
    return math.isfinite(value)
