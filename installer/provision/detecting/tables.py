"""Tables as accelerator tools draw them: cells between `|`, two lines a device, an address in one cell."""

from __future__ import annotations

import re
from collections.abc import Iterator

_ADDRESS = re.compile(
    r"(?<![0-9A-Fa-f:])((?:[0-9A-Fa-f]{2,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])(?![0-9A-Fa-f])"
)
_SIZE = re.compile(r"([0-9]+)\s*(?:MiB|MB)?\s*/\s*([0-9]+)\s*(?:MiB|MB)?")

Cells = tuple[str, ...]


def cells(line: str) -> Cells:
    """The cells of one line, stripped; empty for a rule or a line of prose."""
    line = line.strip()
    if not line.startswith("|") or set(line) <= set("|-=+ "):
        return ()
    return tuple(cell.strip() for cell in line.strip("|").split("|"))


def pairs(text: str) -> Iterator[tuple[Cells, Cells]]:
    """Each row of cells with the one after it (empty at the end). Rules between are skipped."""
    rows = [row for line in text.splitlines() if (row := cells(line))]
    return zip(rows, [*rows[1:], ()])  # noqa: B905 (nothing follows where there is no row)


def bus_address(row: Cells) -> str:
    """The PCI address in a row, as it is written; empty if there is none."""
    for cell in row:
        if found := _ADDRESS.search(cell):
            return found[1]
    return ""


def size_total(row: Cells) -> str:
    """The total of the last `used / total` in a row that is a size in MiB; empty if there is none."""
    sizes = [found[2] for cell in row for found in _SIZE.finditer(cell)]
    return sizes[-1] if sizes else ""


def version(text: str, pattern: str) -> str:
    """First group of a pattern in a text; empty if it is not there."""
    found = re.search(pattern, text)
    return found[1] if found else ""
