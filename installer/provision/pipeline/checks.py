"""lint: files -> findings, with what `loading` says of those that are profiles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from provision.documents.source import several
from provision.linting import Document, is_profile, lint
from provision.loading import load
from provision.messages import message
from provision.model.finding import Finding, ProfileError, Remedy, UsageError
from provision.pipeline.session import Session

#: What is linted of a folder, by pattern below it.
_KNOWN = (
    "requirements*.txt", "requirements/*.txt", "constraints*.txt", "environment*.yml", "environment*.yaml",
    "pyproject.toml", "pip.conf", "pip.ini", ".condarc", "profiles/*.yaml",
)  # fmt: skip


def documents(
    names: Iterable[str], folder: Path, stdin: str | None = None, called: str = ""
) -> list[Document]:
    """The files that the words of the command line mean: paths, folders, and `-` for `stdin` (named `called`).

    Raises UsageError for what cannot be read.
    """
    found: list[Document] = []
    for name in names:
        if name == "-" and stdin is not None:
            found.append(Document(called, stdin))
        elif (folder / name).is_dir():
            found += [_document(str(path), folder) for path in _known(name, folder)]
        else:
            found.append(_document(name, folder))
    return found


def _known(name: str, folder: Path) -> list[Path]:
    here = folder / name
    patterns = ("*.yaml",) if here.resolve().name == "profiles" else _KNOWN
    return [
        Path(name) / path.relative_to(here) for pattern in patterns for path in sorted(here.glob(pattern))
    ]


def _document(name: str, folder: Path) -> Document:
    try:
        return Document(name, (folder / name).read_bytes())
    except OSError as error:
        raise UsageError(Finding("unreadable", "error", f"{name}: {error.strerror or error}.")) from None


def check_files(found: Sequence[Document], session: Session) -> tuple[Finding, ...]:
    """All findings, file by file, from top to bottom."""

    def read(path: str) -> bytes:
        return (session.folder / path).read_bytes()

    findings = [finding for one in found if is_profile(one) for finding in _load(one, session)]
    findings += lint(found, session.knowledge, read, str(session.folder))
    return several(findings, found[0].origin if found else "", limit=500)


def _load(document: Document, session: Session) -> tuple[Finding, ...]:
    try:
        load(document.text, document.origin, lambda path: (session.folder / path).read_bytes())
    except ProfileError as error:
        return error.findings
    return ()


def nothing_to_lint(names: Sequence[str]) -> UsageError:
    return UsageError(
        Finding(
            "nothing-to-lint",
            "error",
            message("pipeline.nothing-to-lint.summary", names=", ".join(names)),
            detail=message("pipeline.nothing-to-lint.detail", known=", ".join(_KNOWN)),
            remedies=(
                Remedy(
                    message("pipeline.nothing-to-lint.way"),
                    "provision lint requirements.txt profiles/team.yaml",
                ),
            ),
        )
    )
