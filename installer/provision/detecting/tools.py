"""Ask a vendor's tool, and turn its silence, slowness or complaint into a finding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from provision.detecting.rows import Row, table
from provision.detecting.sighting import found
from provision.messages import bilingual, message
from provision.model.finding import Finding
from provision.ports import Output, Reader

#: Seconds. nvidia-smi without persistence mode takes several on a machine with many cards.
TIME_LIMIT = 15.0
#: How much of a tool's words a finding quotes, in characters.
_QUOTED = 300


class Answer(NamedTuple):
    """What a tool said (`text`: its output; `said`: with its complaints), and what is wrong with it.
    All empty: the tool is not there."""

    text: str = ""
    said: str = ""
    finding: Finding | None = None


ABSENT = Answer()


def path_of(reader: Reader, row: Row) -> str | None:
    """Where the tool of a row is: on PATH, or in one of the places where its package puts it."""
    found_on_path = reader.which(row["tool"])
    return found_on_path or next((path for path in row["paths"] if reader.exists(path)), None)


def ask(reader: Reader, command: Sequence[str]) -> Answer:
    """Run a tool. Known complaints become their own finding, all others `tool-failed` or `tool-timeout`."""
    output = reader.run(command, timeout=TIME_LIMIT)
    if output is None:
        return ABSENT
    said = f"{output.stdout}\n{output.stderr}".strip()
    return Answer(output.stdout, said, complaint(command, output, said))


def complaint(command: Sequence[str], output: Output, said: str) -> Finding | None:
    """What is wrong with a tool's answer; None if nothing is."""
    name = _name(command[0])
    shown = " ".join([name, *command[1:]])
    row = known_trouble(name, said)
    if row is not None:
        return finding_of(row, shown, said)
    if output.code is None:
        return found(
            "tool-timeout",
            "warning",
            message("detecting.complaint.did-not-answer-within-s", shown=shown, time_limit=f"{TIME_LIMIT:g}"),
            detail=message("detecting.complaint.tool-that-hangs-often-means"),
            evidence=[(command[0], said[:_QUOTED])],
            remedies=[message("detecting.complaint.run-it-by-hand-and")],
        )
    if output.code != 0 or not output.stdout.strip():
        ended = (
            message("detecting.complaint.ended", shown=shown, code=output.code)
            if output.code
            else message("detecting.complaint.silent", shown=shown)
        )
        return found("tool-failed", "warning", ended, evidence=[(command[0], said[:_QUOTED])])
    return None


def known_trouble(tool: str, text: str) -> Row | None:
    """The row of the first known complaint of a tool in a text."""
    return next((row for row in table("troubles") if tool in row["tools"] and row["match"] in text), None)


def finding_of(row: Row, source: str, said: str) -> Finding:
    """The finding that a row of known complaints stands for."""
    return found(
        row["code"],
        row["severity"],
        bilingual(row["summary"]),
        detail=bilingual(row.get("detail", "")),
        evidence=[(source, said[:_QUOTED]), ("knowledge", row["id"])],
        remedies=[bilingual(way) for way in row["remedies"]],
    )


def _name(path: str) -> str:
    return path.replace("\\", "/").rsplit("/", 1)[-1].lower().removesuffix(".exe")
