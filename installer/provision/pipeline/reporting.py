"""report: what a bug report needs, as one archive without names, places and secrets."""

from __future__ import annotations

import getpass
import io
import json
import os
import re
import socket
import sys
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import provision
from provision.diagnosing.reading import tail
from provision.diagnosing.redacting import Redactor, hosts_in, secret_variables
from provision.model.state import Layout
from provision.pipeline.doctor import Answer, Question, run_doctor

if TYPE_CHECKING:
    from provision.knowledge import Knowledge
    from provision.pipeline.session import Session

#: Variables that tell from where somebody is logged in, by addresses.
_SESSION = ("SSH_CONNECTION", "SSH_CLIENT")
#: Bytes of one file of state that are taken.
_LIMIT = 4 << 20
_ABOUT = """A report of provision {version} (Python {python}, {target}), made for a bug report.

Replaced in every file: user names, home folders, host names and addresses, hosts and credentials of proxies and
mirrors, tokens and passwords, serial numbers and UUIDs. Look through it before you send it.
"""


@dataclass(frozen=True, slots=True)
class Bundle:
    """An archive and the names in it."""

    data: bytes
    names: tuple[str, ...]


def make_bundle(session: Session, reference: str | None, log: Path | None = None) -> Bundle:
    """Gather, redact, pack. Nothing is written."""
    redactor = redactor_of(session)
    answer = run_doctor(session, Question(reference=reference))
    files = {name: redactor.text(text) for name, text in _texts(session, answer, log)}
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in sorted(files.items()):
            archive.writestr(
                zipfile.ZipInfo(f"provision-report/{redactor.text(name)}", (1980, 1, 1, 0, 0, 0)), text
            )
    return Bundle(stream.getvalue(), tuple(sorted(files)))


def redactor_of(session: Session) -> Redactor:
    """What this machine knows of its user."""
    homes = {str(Path.home()), os.path.realpath(Path.home()), os.environ.get("USERPROFILE", "")}
    users = {os.environ.get(name, "") for name in ("USER", "LOGNAME", "USERNAME", "SUDO_USER")}
    users |= {_user(), *(Path(home).name for home in homes if home)}
    host = socket.gethostname()
    hosts = {host, host.partition(".")[0], os.environ.get("COMPUTERNAME", ""), os.environ.get("HOSTNAME", "")}
    proxies = {k: v for k, v in os.environ.items() if k.lower().endswith("_proxy")}
    public = _public(session.knowledge) | set(Redactor().public)
    private = hosts_in([*_addresses(proxies.values()), *os.environ.values()]) - public
    words = dict.fromkeys(filter(None, private), "HOST")
    words |= {
        w: "ADDRESS" for name in _SESSION for w in os.environ.get(name, "").split() if re.search("[.:]", w)
    }
    words |= dict.fromkeys(filter(None, hosts - {"localhost"}), "HOST") | dict.fromkeys(
        filter(None, users), "USER"
    )
    return Redactor({**words, **secret_variables(os.environ)}, tuple(homes), frozenset(public))


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""


def _addresses(values: object) -> Iterator[str]:
    """Proxies are often given without a scheme."""
    for value in values:  # type: ignore[attr-defined]
        yield value if "://" in value else f"http://{value}"


def _public(knowledge: Knowledge) -> set[str]:
    """Hosts that the knowledge itself names."""
    from provision.knowledge.rows import IndexRow, LibraryRow

    urls = [row.url for row in knowledge.rows(IndexRow)]
    urls += [file.url for row in knowledge.rows(LibraryRow) for file in row.files]
    return {host.lower() for host in hosts_in(urls)}


def _texts(session: Session, answer: Answer, log: Path | None) -> Iterator[tuple[str, str]]:
    from provision.documents import to_json

    case, found = answer.case, answer.examination
    yield (
        "about.txt",
        _ABOUT.format(
            version=provision.__version__, python=sys.version.split()[0], target=session.host_target()
        ),
    )
    yield "machine.json", _json(to_json(case.machine)) if case.machine else "{}"
    yield "doctor.json", _json([layer.to_json() for layer in found.layers])
    yield "findings.json", _json([f.to_json() for f in (*case.machine_findings, *found.findings)])
    yield "variables.json", _json(dict(sorted(case.variables.items())))
    if case.environment:
        yield (
            "installed.txt",
            "".join(f"{d.name}=={d.version}  {d.installer}\n" for d in case.environment.distributions),
        )
        for heard in case.heard:
            yield f"import-{heard.framework}.log", heard.log
    if answer.subject.prefix:
        yield from _state(session, answer.subject.prefix)
    if log is not None:
        # In UTF-16, or with colours between its letters, a name would not be seen.
        with log.open("rb") as stream:
            yield "log.txt", tail(stream, _LIMIT)


def _json(document: object) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _state(session: Session, prefix: str) -> Iterator[tuple[str, str]]:
    """What provision noted of the environment: journal, records, receipts, and the files that it was made from."""
    layout = Layout(prefix)
    folder = Path(layout.state)
    for path in (
        Path(layout.journal),
        *sorted(folder.glob("records/*.json")),
        *sorted(folder.glob("receipts/*.json")),
    ):
        text = session.files.read_text(str(path), _LIMIT)
        if text:
            yield path.relative_to(folder).as_posix(), text
            yield from _inputs(session, path.name, text)


def _inputs(session: Session, name: str, text: str) -> Iterator[tuple[str, str]]:
    try:
        record: Mapping[str, object] = json.loads(text)
    except ValueError:
        return
    inputs = record.get("inputs") if isinstance(record, dict) else None
    for number, place in enumerate(inputs if isinstance(inputs, dict) else ()):
        content = session.files.read_text(str(place), _LIMIT)
        if content:
            yield f"inputs/{name.removesuffix('.json')}-{number}-{Path(place).name}", content
