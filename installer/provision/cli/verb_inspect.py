"""provision inspect"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from provision.cli.common import json_option, target_option
from provision.cli.helping import verb

if TYPE_CHECKING:
    from provision.model.artifact import ArtifactFacts
    from provision.pipeline.learning import Inspected

#: Names listed before "and more".
_MANY = 12
#: Windows' own names for parts of itself: every library needs dozens of them.
_SYSTEM = "api-ms-win-"


@verb("inspect")
@click.argument("what", metavar="FILE|REQUIREMENT")
@click.option("--python", metavar="VERSION", default="")
@target_option("target")
@click.option("--index", metavar="NAME|URL", default="")
@click.option("--whole", is_flag=True)
@click.option("--offline", is_flag=True)
@json_option
def command(
    what: str, python: str, target: str | None, index: str, whole: bool, offline: bool, as_json: bool
) -> int:  # fmt: skip
    from provision.cli.rendering import print_findings, print_json
    from provision.pipeline.learning import Which, inspect_any
    from provision.pipeline.session import Session

    found = inspect_any(
        what, Which(python=python, target=target or "", index=index, whole=whole), Session(offline=offline)
    )
    if as_json:
        print_json(_document(found))
        return 0
    _show(found)
    print_findings(found.findings)
    return 0


def _document(found: Inspected) -> dict[str, object]:
    cards = [
        {"name": card.name, "capability": card.capability, "how": coverage.how, "because": coverage.because}
        for card, coverage in found.cards
    ]
    return {
        **found.facts.to_json(),
        "index": found.index,
        "row": found.row,
        "seconds": round(found.seconds, 3),
        "cards": cards,
        "findings": [f.to_json() for f in found.findings],
    }


def _show(found: Inspected) -> None:
    from provision.cli.rendering import paint, say, table

    say(f"{paint(found.facts.file, bold=True)}    {read(found)}")
    for line in table([row for row in _rows(found) if row[1]]):
        say(line)


def read(found: Inspected) -> str:
    """What reading it cost."""
    from provision.cli.rendering import seconds, size

    facts = found.facts
    if not facts.requests:
        return f"{size(facts.size)}, read before"
    return f"{size(facts.bytes_read)} of {size(facts.size)} read, {facts.requests} requests, {seconds(found.seconds)}"


def _rows(found: Inspected) -> Iterator[tuple[str, str]]:
    facts = found.facts
    yield (
        "for",
        "  ".join(_few(facts.tags)) + (f"   Python {facts.requires_python}" if facts.requires_python else ""),
    )
    yield "built for", _build(facts)
    yield "machine code", " ".join(facts.machine)
    yield "PTX", " ".join(facts.ptx) + (" (compiled by the driver at the first start)" if facts.ptx else "")
    yield "gfx", " ".join(facts.gfx)
    yield "it states", " ".join(facts.declared)
    yield "glibc", _glibc(facts)
    yield "needs", ", ".join(_few([name for name in facts.needed if not name.startswith(_SYSTEM)]))
    yield "looks in", ", ".join(_few(facts.runpaths))
    yield "brings", f"{len(facts.libraries)} libraries" if facts.libraries else ""
    yield "requires", ", ".join(_few([line.split(";")[0].strip() for line in facts.requires]))
    for card, coverage in found.cards:
        yield "here", f"{card.name} ({card.capability}): {coverage.how}, {coverage.because}"
    yield "knowledge", found.row or "no row about this build yet: provision knowledge learn drafts one"
    yield "not whole", "; ".join(_few(facts.unread, 4))
    yield "notes", "; ".join(facts.notes)


def _build(facts: ArtifactFacts) -> str:
    parts = [
        f"CUDA {facts.cuda}" if facts.cuda else "",
        f"cuDNN {facts.cudnn}" if facts.cudnn else "",
        f"ROCm {facts.rocm}" if facts.rocm else "",
    ]
    if facts.is_cuda_build is False and not facts.is_rocm_build:
        parts.append("the CPU")
    return ", ".join(filter(None, parts))


def _glibc(facts: ArtifactFacts) -> str:
    if not facts.glibc:
        return f"{facts.tag_glibc} by its tag" if facts.tag_glibc else ""
    return f"{facts.glibc} measured" + (f", {facts.tag_glibc} by its tag" if facts.tag_glibc else "")


def _few(words: Sequence[str], many: int = _MANY) -> list[str]:
    rest = len(words) - many
    return [*words[:many], *([f"and {rest} more"] if rest > 0 else [])]
