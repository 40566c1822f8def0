"""provision inspect"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from provision.cli.common import json_option, machine_option, target_option
from provision.cli.helping import verb
from provision.cli.language import word, written

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
@machine_option
@click.option("--offline", is_flag=True)
@json_option
def command(
    what: str, python: str, target: str | None, index: str, whole: bool, machine_file: Path | None, offline: bool,
    as_json: bool,
) -> int:  # fmt: skip
    from provision.cli.rendering import print_findings, print_json
    from provision.pipeline.learning import Which, inspect_any
    from provision.pipeline.session import Session

    which = Which(python=python, target=target or "", index=index, whole=whole)
    found = inspect_any(what, which, Session(offline=offline, machine_file=machine_file))
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
        return word("cli.inspect.before", size=size(facts.size))
    return word(
        "cli.inspect.read",
        read=size(facts.bytes_read),
        size=size(facts.size),
        requests=facts.requests,
        time=seconds(found.seconds),
    )


def _rows(found: Inspected) -> Iterator[tuple[str, str]]:
    facts = found.facts
    yield (
        _label("for"),
        "  ".join(_few(facts.tags)) + (f"   Python {facts.requires_python}" if facts.requires_python else ""),
    )
    yield _label("built-for"), _build(facts)
    yield _label("machine-code"), " ".join(facts.machine)
    yield _label("ptx"), word("cli.inspect.ptx", names=" ".join(facts.ptx)) if facts.ptx else ""
    yield _label("gfx"), " ".join(facts.gfx)
    yield _label("states"), " ".join(facts.declared)
    yield _label("glibc"), _glibc(facts)
    yield _label("needs"), ", ".join(_few([name for name in facts.needed if not name.startswith(_SYSTEM)]))
    yield _label("looks-in"), ", ".join(_few(facts.runpaths))
    yield (
        _label("brings"),
        word("cli.inspect.libraries", count=len(facts.libraries)) if facts.libraries else "",
    )
    yield _label("requires"), ", ".join(_few([line.split(";")[0].strip() for line in facts.requires]))
    for card, coverage in found.cards:
        text = word(
            "cli.inspect.card",
            name=card.name,
            capability=card.capability,
            how=coverage.how,
            because=coverage.because,
        )
        yield _label("here"), text
    yield _label("knowledge"), found.row or word("cli.inspect.no-row")
    yield _label("not-whole"), "; ".join(_few([written(text, "artifacts") for text in facts.unread], 4))
    yield _label("notes"), "; ".join(written(text, "artifacts") for text in facts.notes)


def _label(name: str) -> str:
    return word(f"cli.inspect.label.{name}")


def _build(facts: ArtifactFacts) -> str:
    parts = [
        f"CUDA {facts.cuda}" if facts.cuda else "",
        f"cuDNN {facts.cudnn}" if facts.cudnn else "",
        f"ROCm {facts.rocm}" if facts.rocm else "",
    ]
    if facts.is_cuda_build is False and not facts.is_rocm_build:
        parts.append(word("cli.inspect.cpu"))
    return ", ".join(filter(None, parts))


def _glibc(facts: ArtifactFacts) -> str:
    if not facts.glibc:
        return word("cli.inspect.glibc-tag", tag=facts.tag_glibc) if facts.tag_glibc else ""
    key = "glibc-both" if facts.tag_glibc else "glibc"
    return word(f"cli.inspect.{key}", glibc=facts.glibc, tag=facts.tag_glibc)


def _few(words: Sequence[str], many: int = _MANY) -> list[str]:
    rest = len(words) - many
    return [*words[:many], *([word("cli.and-more", count=rest)] if rest > 0 else [])]
