"""Who uses the cards just now: by nvidia-smi, or by the device nodes that processes hold open.

Asked by `doctor` only: it changes from second to second, and no profile depends on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from provision.detecting import tools
from provision.detecting.rows import table
from provision.detecting.told import mebibytes
from provision.model.machine import Holder, Machine, Occupancy
from provision.ports import Reader

_CARDS = "uuid,index,name,memory.used,memory.total,compute_mode"
_APPS = "gpu_uuid,pid,process_name,used_memory"
#: nvidia-smi leaves out what it cannot tell: `[N/A]`, `[Not Supported]`, `[Insufficient Permissions]`.
_NOT_TOLD = re.compile(r"\[.*\]|N/A|")


def probe(reader: Reader, machine: Machine) -> tuple[Occupancy, ...]:
    """The cards that somebody uses or that are not free for everybody; empty where nothing tells."""
    vendors = {device.vendor for device in machine.devices}
    told = tuple(_by_smi(reader)) if "nvidia" in vendors else ()
    rest = vendors - {one.vendor for one in told}
    return (*told, *_by_nodes(reader, rest)) if machine.os == "linux" and rest else told


def _by_smi(reader: Reader) -> Iterator[Occupancy]:
    row = next(row for row in table("tools") if row["vendor"] == "nvidia")
    tool = tools.path_of(reader, row)
    cards = _asked(reader, tool, "gpu", _CARDS) if tool else []
    apps = _asked(reader, tool, "compute-apps", _APPS) if tool and cards else []
    yield from parse(cards, apps, tool or "")


def parse(
    cards: list[dict[str, str]], apps: list[dict[str, str]], source: str = "nvidia-smi"
) -> Iterator[Occupancy]:
    """One a card, from the rows of both questions."""
    for card in cards:
        holders = tuple(
            _holder(app) for app in apps if app["gpu_uuid"] == card["uuid"] and app["pid"].isdigit()
        )
        yield Occupancy(
            vendor="nvidia",
            card=" ".join(filter(None, (card["index"], card["name"]))),
            source=source,
            used=mebibytes(card["memory.used"]),
            total=mebibytes(card["memory.total"]),
            mode=card["compute_mode"],
            holders=holders,
        )


def _holder(app: dict[str, str]) -> Holder:
    name = re.split(r"[\\/]", app["process_name"])[-1]
    return Holder(pid=int(app["pid"]), name=name, memory=mebibytes(app["used_memory"]))


def _asked(reader: Reader, tool: str, what: str, fields: str) -> list[dict[str, str]]:
    # A complaint in one row (a process of another user) does not make the others wrong.
    answer = tools.ask(reader, [tool, f"--query-{what}={fields}", "--format=csv,noheader,nounits"])
    return rows(answer.text, fields)


def rows(text: str, fields: str) -> list[dict[str, str]]:
    """Rows of `--format=csv,noheader,nounits`; a line that has not as many cells says something else."""
    names = fields.split(",")
    cells = ([cell.strip() for cell in line.split(",")] for line in text.splitlines())
    told = ([("" if _NOT_TOLD.fullmatch(cell) else cell) for cell in row] for row in cells)
    return [dict(zip(names, row, strict=True)) for row in told if len(row) == len(names)]


def _by_nodes(reader: Reader, vendors: set[str]) -> Iterator[Occupancy]:
    """Device nodes and the processes that hold them open. Those of other users only root can see."""
    nodes = {node: row["vendor"] for row in table("held_nodes") if row["vendor"] in vendors for pattern in row["nodes"]
             for node in reader.glob(pattern)}  # fmt: skip
    if not nodes:
        return
    held: dict[str, dict[int, Holder]] = {}
    for path in reader.glob("/proc/[0-9]*/fd/*"):
        node = reader.realpath(path)
        if node in nodes:
            pid = int(path.split("/")[2])
            held.setdefault(node, {})[pid] = Holder(pid=pid, name=_name(reader, pid))
    for node, holders in held.items():
        yield Occupancy(vendor=nodes[node], card=node, source="/proc/*/fd", holders=tuple(holders.values()))


def _name(reader: Reader, pid: int) -> str:
    return (reader.read_text(f"/proc/{pid}/comm", 100) or "").strip()
