"""Environment that somebody else made -> its inventory. Reads names and RECORDs; never writes, never runs anything."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import posixpath
import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath

from provision.messages import message
from provision.model.inventory import Installed, Inventory, Maker
from provision.ports import Files
from provision.prefix import site_packages

_LIMIT = 1 << 27
_METADATA = (".dist-info", ".egg-info")


def take_stock(
    files: Files,
    environment: str,
    folders: Sequence[str] = (),
    elsewhere: Sequence[str] = (),
    writable: bool = True,
    usable: bool = True,
) -> Inventory:
    """`folders` are package folders that the wanted stack writes (`tensorflow`): one of them that no distribution owns
    is what an uninstall left. `elsewhere` are other places that Python imports from (user site, PYTHONPATH)."""
    packages = site_packages(files, environment)
    inside = PurePath(packages).relative_to(environment).as_posix() if packages else ""
    found = tuple(_distributions(files, environment, inside)) if packages else ()
    of_conda = tuple(_conda_files(files, environment))
    names = files.listdir(packages) if packages else ()
    return Inventory(
        environment=environment,
        maker=_maker(files, environment),
        python=_python(files, environment, inside),
        packages=inside,
        writable=writable,
        usable=usable,
        externally_managed=_managed(files, environment, inside),
        protected=_conda_base(files, environment),
        distributions=found,
        litter=tuple(f"{inside}/{name}" for name in names if name.startswith("~")),
        unowned=tuple(_unowned(inside, names, folders, found, of_conda)),
        conda=frozenset(_of_conda(of_conda)),
        shadows=tuple(_shadows(files, elsewhere)),
        digest=_digest(files, packages, names),
    )


def _maker(files: Files, environment: str) -> Maker:
    if files.stat(f"{environment}/conda-meta") is not None:
        return "conda"
    text = files.read_text(f"{environment}/pyvenv.cfg")
    if text is None:
        return "none"
    # Each writes its own version there.
    match = re.search(r"^(uv|virtualenv)\s*=", text, re.MULTILINE)
    return "venv" if match is None else "uv" if match[1] == "uv" else "virtualenv"


def _conda_base(files: Files, environment: str) -> str:
    """The file that says that conda itself lives here, or that the environment is frozen (CEP 22); else nothing."""
    for name in ("conda-meta/frozen", "condabin/conda", "condabin/conda.bat", "condabin/mamba"):
        if files.stat(f"{environment}/{name}") is not None:
            return f"{environment}/{name}"
    return ""


def _python(files: Files, environment: str, inside: str) -> str:
    """`major.minor`, by pyvenv.cfg or by the name of the library folder."""
    text = files.read_text(f"{environment}/pyvenv.cfg") or ""
    match = re.search(r"^version(?:_info)?\s*=\s*(\d+\.\d+)", text, re.MULTILINE) or re.search(
        r"python(\d+\.\d+)", inside
    )
    return match[1] if match else ""


def _managed(files: Files, environment: str, inside: str) -> str:
    """The file that says that a system's package manager owns this interpreter (PEP 668); not in a venv."""
    if files.stat(f"{environment}/pyvenv.cfg") is not None:
        return ""
    library = posixpath.dirname(inside) if inside else "lib"
    path = f"{environment}/{library}/EXTERNALLY-MANAGED"
    return path if files.stat(path) is not None else ""


def _distributions(files: Files, environment: str, inside: str) -> Iterator[Installed]:
    for info in files.listdir(f"{environment}/{inside}"):
        if info.endswith(_METADATA) and not info.startswith("~"):
            yield _installed(files, environment, inside, info)


def _installed(files: Files, environment: str, inside: str, info: str) -> Installed:
    folder = f"{environment}/{inside}/{info}"
    name, version = _name(
        files.read_text(f"{folder}/METADATA") or files.read_text(f"{folder}/PKG-INFO") or ""
    )
    record = files.read_text(f"{folder}/RECORD", _LIMIT)
    listed = tuple(dict.fromkeys(_recorded(record or "", inside)))
    broken = "" if name else message("stocktaking.installed.no-metadata")
    if not listed and not broken:
        broken = message("stocktaking.installed.no-record")
    guessed, guessed_version = _of_folder(info)
    return Installed(
        name=_canonical(name or guessed),
        version=version or guessed_version,
        info=f"{inside}/{info}",
        files=listed,
        missing=tuple(path for path in listed if files.stat(f"{environment}/{path}") is None),
        installer=(files.read_text(f"{folder}/INSTALLER") or "").strip(),
        broken=broken,
        direct=files.stat(f"{folder}/direct_url.json") is not None,
    )


def _name(metadata: str) -> tuple[str, str]:
    head = metadata.split("\n\n", 1)[0]
    name = re.search(r"^Name:\s*(\S+)", head, re.MULTILINE)
    version = re.search(r"^Version:\s*(\S+)", head, re.MULTILINE)
    return (name[1] if name else "", version[1] if version else "")


def _of_folder(info: str) -> tuple[str, str]:
    stem = info.rpartition(".")[0]
    name, _, version = stem.partition("-")
    return name, version.partition("-")[0]


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _recorded(record: str, inside: str) -> Iterator[str]:
    """Paths of a RECORD that lie in the environment; one that leads out of it is nobody's."""
    try:
        rows = list(csv.reader(io.StringIO(record)))
    except csv.Error:
        return
    for row in rows:
        if len(row) > 1 and row[0] and not row[0].startswith("/") and "\x00" not in row[0]:
            path = posixpath.normpath(f"{inside}/{row[0]}")
            if not path.startswith("../") and path not in ("..", "."):
                yield path


def _unowned(
    inside: str,
    names: Sequence[str],
    folders: Sequence[str],
    found: Sequence[Installed],
    of_conda: Sequence[str],
) -> Iterator[str]:
    """A conda package may hold a Python package and say so in its own record only."""
    prefix = len(inside) + 1
    every = (path for paths in (*(one.files for one in found), of_conda) for path in paths)
    owned = {path[prefix:].split("/")[0] for path in every if path.startswith(f"{inside}/")}
    for name in names:
        if name in folders and name not in owned:
            yield f"{inside}/{name}"


def _conda_files(files: Files, environment: str) -> Iterator[str]:
    """Every file that a record of conda names."""
    for name in files.listdir(f"{environment}/conda-meta"):
        if not name.endswith(".json"):
            continue
        try:
            listed = json.loads(files.read_text(f"{environment}/conda-meta/{name}", _LIMIT) or "{}").get(
                "files", ()
            )
        except (ValueError, AttributeError):
            continue
        yield from map(str, listed)


def _of_conda(paths: Sequence[str]) -> Iterator[str]:
    """Python distributions that conda put there."""
    for path in paths:
        match = re.search(r"site-packages/([^/]+)\.(?:dist|egg)-info/", path)
        if match:
            yield _canonical(match[1].partition("-")[0])


def _shadows(files: Files, elsewhere: Sequence[str]) -> Iterator[tuple[str, str]]:
    for folder in elsewhere:
        for info in files.listdir(folder):
            if info.endswith(_METADATA):
                yield _canonical(_of_folder(info)[0]), folder


def _digest(files: Files, packages: str | None, names: Sequence[str]) -> str:
    """Changes when a distribution comes, goes or is replaced."""
    lines = []
    for name in names:
        record = files.stat(f"{packages}/{name}/RECORD") if name.endswith(_METADATA) else None
        lines.append(f"{name} {record.size if record else ''} {record.mtime_ns if record else ''}")
    return hashlib.sha256("\n".join(n for n in lines if not n.startswith("__pycache__")).encode()).hexdigest()
