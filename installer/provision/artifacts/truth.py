"""Where an artifact contradicts what is said of it: its own tag, and the knowledge rows. The artifact
wins."""

from __future__ import annotations

from collections.abc import Iterable

from provision.artifacts.covers import thorough, usual_architectures
from provision.artifacts.gpucode import numbers
from provision.messages import joined, message
from provision.model.artifact import ArtifactFacts
from provision.model.finding import Evidence, Finding, Remedy


def tag_findings(facts: ArtifactFacts) -> tuple[Finding, ...]:
    """A wheel whose manylinux tag claims an older glibc than its libraries ask for: installers take it on
    systems where it cannot be loaded."""
    if not facts.tag_glibc or numbers(facts.glibc) <= numbers(facts.tag_glibc):
        return ()
    asking = [library for library in facts.libraries if library.floors.get("GLIBC") == facts.glibc]
    finding = Finding(
        code="manylinux-untrue",
        severity="warning",
        summary=message(
            "artifacts.manylinux-untrue.summary",
            file=facts.file,
            glibc=facts.glibc,
            tag_glibc=facts.tag_glibc,
        ),
        detail=message("artifacts.manylinux-untrue.detail"),
        evidence=tuple(Evidence(f"{facts.file}: {lib.path}", f"GLIBC_{facts.glibc}") for lib in asking),
        remedies=(Remedy(message("artifacts.manylinux-untrue.way", glibc=facts.glibc)),),
    )
    return (finding,)


def disagreements(
    facts: ArtifactFacts,
    row: str,
    *,
    cuda: str = "",
    cudnn: str = "",
    glibc: str = "",
    architectures: Iterable[str] = (),
    ptx: Iterable[str] = (),
) -> tuple[Finding, ...]:
    """Where the knowledge row `row` says something else than the artifact. What either does not say is no
    disagreement; versions agree as far as the shorter one goes (`12.5` and `12.5.1`)."""
    pairs = [
        ("CUDA", facts.cuda, cuda),
        ("cuDNN", facts.cudnn, cudnn),
    ]
    found = [(what, have, said) for what, have, said in pairs if have and said and not _agree(have, said)]
    if glibc and numbers(facts.glibc) > numbers(glibc):
        found.append(("glibc", facts.glibc, glibc))
    if thorough(facts):
        found += _code(
            facts, "machine", message("artifacts.disagreements.machine-code"), architectures
        ) + _code(facts, "ptx", "PTX", ptx)
    return tuple(_disagreement(facts, row, what, have, said) for what, have, said in found)


def _code(facts: ArtifactFacts, kind: str, what: str, said: Iterable[str]) -> list[tuple[str, str, str]]:
    have, listed = set(usual_architectures(facts, kind)), set(said)
    return [(what, _list(have), _list(listed))] if listed and have != listed else []


def _agree(one: str, other: str) -> bool:
    return all(a == b for a, b in zip(numbers(one), numbers(other), strict=False))


def _list(words: Iterable[str]) -> str:
    return " ".join(sorted(words, key=lambda word: (numbers(word), word))) or message("artifacts.truth.none")


def _disagreement(facts: ArtifactFacts, row: str, what: str, have: str, said: str) -> Finding:
    return Finding(
        code="knowledge-disagrees",
        severity="warning",
        summary=message(
            "artifacts.knowledge-disagrees.summary", what=what, file=facts.file, have=have, row=row, said=said
        ),
        detail=message("artifacts.knowledge-disagrees.detail"),
        evidence=(Evidence(facts.file, joined((what, " ", have))), Evidence(row, joined((what, " ", said)))),
        remedies=(
            Remedy(
                message("artifacts.knowledge-disagrees.way"),
                f"provision knowledge learn {facts.name}=={facts.version}",
            ),
        ),
    )
