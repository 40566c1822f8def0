"""Variables that hide devices or choose among them (CUDA_VISIBLE_DEVICES and its relatives)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from provision.detecting.rows import Row, table
from provision.detecting.sighting import Sighting, found
from provision.model.finding import Finding
from provision.model.machine import Device
from provision.ports import Reader

#: Steer the search for libraries, so that whoever explains a failure needs them.
_SEARCH = ("LD_LIBRARY_PATH", "LD_PRELOAD", "CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX", "VIRTUAL_ENV")
_NONE = ("", "-1", "none", "void", "NoDevFiles")


def probe(reader: Reader, devices: tuple[Device, ...]) -> Sighting:
    """The variables that are set, and a finding for each that hides devices."""
    variables = reader.environ()
    named = {name for row in table("visible") for name in row["variables"]} | set(_SEARCH)
    kept = {name: variables[name] for name in sorted(named) if name in variables}
    findings = [finding for row in table("visible") for finding in _hidden(row, kept, devices)]
    return Sighting(
        facts={"environment": kept} if kept else {},
        evidence={f"environment.{name}": f"${name}" for name in kept},
        findings=tuple(findings),
    )


def _hidden(row: Row, variables: Mapping[str, str], devices: tuple[Device, ...]) -> Iterator[Finding]:
    mine = [device for device in devices if device.vendor == row["vendor"]]
    # Only the first variable of a row is what the framework itself reads.
    name = row["variables"][0]
    if not mine or name not in variables:
        return
    seen = visible_count(variables[name], mine)
    if seen is None or seen >= len(mine):
        return
    yield found(
        "devices-hidden",
        "warning" if seen == 0 else "note",
        f"{name} hides {'all' if seen == 0 else len(mine) - seen} of {len(mine)} {row['vendor']} devices",
        evidence=[(f"${name}", variables[name])],
        remedies=[("Unset it to see all of them.", f"unset {name}")],
    )


def visible_count(value: str, devices: list[Device]) -> int | None:
    """How many devices a list of numbers or UUIDs leaves; it ends at the first that does not exist.

    None if it cannot be told (`all`, a notation that is not a list).
    """
    if value.strip() in _NONE:
        return 0
    if value.strip().lower() == "all":
        return None
    uuids = [device.facts.get("uuid", "") for device in devices]
    count = 0
    for part in (part.strip() for part in value.split(",")):
        if part.isascii() and part.isdigit():
            if int(part) >= len(devices):
                break
        elif part.startswith(("GPU-", "MIG-")) and any(uuids):
            if part.startswith("GPU-") and not any(uuid.startswith(part) for uuid in uuids):
                break
        else:
            return None
        count += 1
    return count
