"""What stands in an environment, whoever made it: read from its files, with one question to its Python.

Nothing is written, and a broken environment is read as far as it goes.
"""

from __future__ import annotations

import base64
import csv
import json
import ntpath
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from provision.messages import message
from provision.ports import Output, Reader

Kind = Literal["venv", "virtualenv", "uv", "conda", "system", "list", "absent"]

PROBE = Path(__file__).parent / "probes" / "ask_python.py"
MARK = "@provision "
EGG_LINK = ".egg-link"
#: Bytes of a METADATA file in which its headers end, and of a RECORD.
_HEADERS, _RECORD = 1 << 18, 1 << 26


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """One installed distribution. `name` is canonical, `site` the folder it stands in, `info` its metadata
    folder. `installer` is who put it there (`pip`, `uv`, `conda`), `requires` its PEP 508 requirements."""

    name: str
    version: str
    site: str = ""
    info: str = ""
    installer: str = ""
    requires: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """What the RECORDs say against what is there. `missing`: distribution -> files that are gone; `resized` and
    `changed`: those of another size, and of the same size and other content; `shared`: (file, distributions) that
    two distributions wrote with different content. Of `counted` files `hashed` were compared by content."""

    missing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    resized: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    changed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    shared: Mapping[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)
    counted: int = 0
    hashed: int = 0


@dataclass(frozen=True, kw_only=True)
class Environment:
    """An environment as it is. `sites` are its package folders in the order in which Python looks; `path` is
    Python's own search path where it could be asked. `home` is the folder of the Python that a venv was made
    from. `conda` maps conda's packages to their versions; `litter` and `broken` are folders that an interrupted
    installation left; `error` says why its Python cannot be started."""

    prefix: str
    kind: Kind
    python: str = ""
    version: str = ""
    target: str = ""
    home: str = ""
    home_exists: bool = True
    #: Its pyvenv.cfg names the Python that it was made from; without that line it is no environment to Python.
    configured: bool = True
    sees_system: bool = False
    user_site: str = ""
    sites: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    distributions: tuple[Distribution, ...] = ()
    conda: Mapping[str, str] = field(default_factory=dict)
    litter: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    #: Top-level names in each site folder.
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    error: str = ""

    @property
    def exists(self) -> bool:
        return self.kind != "absent"

    @cached_property
    def installed(self) -> dict[str, str]:
        """Name -> version of what an import finds: of two copies the first on the path."""
        found: dict[str, str] = dict(self.conda)
        for one in reversed(self.distributions):
            found[one.name] = one.version
        return found

    def copies(self, name: str) -> tuple[Distribution, ...]:
        return tuple(one for one in self.distributions if one.name == name)


def of_list(installed: Mapping[str, str], target: str = "", version: str = "") -> Environment:
    """An environment of which only a list of packages is known."""
    made = tuple(Distribution(name=name, version=v) for name, v in sorted(installed.items()))
    return Environment(prefix="", kind="list", target=target, version=version, distributions=made)


def absent(path: str) -> Environment:
    return Environment(prefix=path, kind="absent")


def interpreter_of(reader: Reader, prefix: str) -> str:
    """The Python of an environment; empty if it has none."""
    paths = _paths(reader)
    names = (("python.exe",), ("Scripts", "python.exe")) if paths is ntpath else (("bin", "python"),)
    found = [path for name in names if reader.exists(path := paths.join(prefix, *name))]
    return found[0] if found else ""


def kind_of(reader: Reader, prefix: str) -> Kind:
    """Who made it, by what stands in its folder."""
    join = _paths(reader).join
    if reader.exists(join(prefix, "conda-meta")):
        return "conda"
    text = reader.read_text(join(prefix, "pyvenv.cfg"))
    if text is None:
        return "system"
    settings = _settings(text)
    return "uv" if "uv" in settings else "virtualenv" if "virtualenv" in settings else "venv"


def ask(
    reader: Reader, python: str, variables: Mapping[str, str], timeout: float = 10.0
) -> Mapping[str, Any]:
    """What an interpreter says of itself (version, search path); `error` says why it says nothing."""
    output = reader.run([python, "-B", str(PROBE), "self"], timeout, variables)
    told = next((e for e in events(output) if e.get("event") == "python"), None)
    if told is not None:
        return told
    return {"error": _why_silent(output)}


def events(output: Output | None) -> tuple[Mapping[str, Any], ...]:
    """What the probe reported; frameworks may print anything in between."""
    found = []
    for line in output.stdout.splitlines() if output else ():
        if line.startswith(MARK):
            try:
                found.append(json.loads(line.removeprefix(MARK)))
            except ValueError:
                continue
    return tuple(found)


def _why_silent(output: Output | None) -> str:
    if output is None:
        return message("diagnosing.python.not-started")
    if output.code is None:
        return message("diagnosing.python.no-answer")
    said = [line for line in output.stderr.splitlines() if line.strip()]
    if not said:
        return message("diagnosing.python.silent", code=output.code)
    return said[-1 if "Traceback" in output.stderr else 0].strip()


def read_environment(
    reader: Reader, prefix: str, python: str = "", variables: Mapping[str, str] | None = None
) -> Environment:
    """The environment in a folder (or, where that is empty, around an interpreter), with its distributions."""
    paths = _paths(reader)
    python = python or interpreter_of(reader, prefix)
    told = ask(reader, python, variables or {}) if python else {"error": message("diagnosing.python.none")}
    prefix = prefix or str(told.get("prefix") or paths.dirname(paths.dirname(python)))
    kind = kind_of(reader, prefix)
    settings = _settings(reader.read_text(paths.join(prefix, "pyvenv.cfg")) or "")
    sites = _sites(reader, prefix, told)
    names = {site: reader.listdir(site) for site in sites}
    home = settings.get("home", "")
    return Environment(
        prefix=prefix,
        kind=kind,
        python=python,
        version=str(told.get("version") or settings.get("version_info") or settings.get("version") or ""),
        target=_target(reader, told),
        home=home,
        home_exists=not home or reader.exists(home),
        configured=bool(home) or kind in ("conda", "system"),
        sees_system=settings.get("include-system-site-packages", "").lower() == "true",
        user_site=str(told.get("user_site", "")),
        sites=sites,
        path=tuple(told.get("path", ())),
        distributions=tuple(_distributions(reader, names)),
        conda=_conda(reader.listdir(paths.join(prefix, "conda-meta"))) if kind == "conda" else {},
        litter=tuple(paths.join(s, n) for s in sites for n in names[s] if n.startswith("~")),
        broken=tuple(_broken(reader, names)),
        names=names,
        error=told.get("error", ""),
    )


def _paths(reader: Reader) -> ModuleType:
    return ntpath if reader.host().os == "windows" else posixpath


def _settings(text: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    return {key.strip().lower(): value.strip() for key, _, value in pairs}


def _target(reader: Reader, told: Mapping[str, Any]) -> str:
    host = reader.host()
    return str(told.get("target") or f"{host.os}-{host.arch}")


def _sites(reader: Reader, prefix: str, told: Mapping[str, Any]) -> tuple[str, ...]:
    """Package folders: those that Python itself names, or else where they usually are."""
    paths = _paths(reader)
    named = [p for p in told.get("path", ()) if paths.basename(p) in ("site-packages", "dist-packages")]
    patterns = ((prefix, "Lib", "site-packages"), (prefix, "lib*", "python3*", "site-packages"))
    usual = [p for parts in patterns for p in reader.glob(paths.join(*parts))]
    unique: dict[str, str] = {}
    for folder in named or usual:
        if reader.exists(folder):
            unique.setdefault(reader.realpath(folder), folder)
    return tuple(unique.values())


def _distributions(reader: Reader, names: Mapping[str, Iterable[str]]) -> Iterator[Distribution]:
    join = _paths(reader).join
    for site, entries in names.items():
        for entry in entries:
            if entry.endswith((".dist-info", ".egg-info")) and not entry.startswith("~"):
                found = _distribution(reader, site, join(site, entry))
                if found is not None:
                    yield found
            elif entry.endswith(EGG_LINK):
                yield from _linked(reader, site, entry)


def _distribution(reader: Reader, site: str, info: str) -> Distribution | None:
    join = _paths(reader).join
    names = (join(info, "METADATA"), join(info, "PKG-INFO"), info)
    text = next((t for name in names if (t := reader.read_text(name, _HEADERS))), "")
    name, version = _header(text, "Name"), _header(text, "Version")
    if not name or not version:
        return None
    return Distribution(
        name=_canonical(name),
        version=version,
        site=site,
        info=info,
        installer=(reader.read_text(join(info, "INSTALLER"), 100) or "").strip(),
        requires=tuple(re.findall(r"^Requires-Dist:\s*(.+?)\s*$", _head(text), re.MULTILINE)),
    )


def _linked(reader: Reader, site: str, entry: str) -> Iterator[Distribution]:
    """A project that setuptools put on the path in its old way: a file with the project's folder."""
    join = _paths(reader).join
    lines = (reader.read_text(join(site, entry), _HEADERS) or "").splitlines()
    infos = reader.glob(join(lines[0].strip(), "*.egg-info", "PKG-INFO")) if lines else []
    text = next((t for path in infos if (t := reader.read_text(path, _HEADERS))), "")
    name = _canonical(entry.removesuffix(EGG_LINK))
    yield Distribution(name=name, version=_header(text, "Version"), site=site, info=join(site, entry))


def _head(text: str) -> str:
    return text.partition("\n\n")[0]


def _header(text: str, name: str) -> str:
    found = re.search(rf"^{name}:\s*(\S+)", _head(text), re.MULTILINE)
    return found[1] if found else ""


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _broken(reader: Reader, names: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """Metadata folders without metadata: pip and importlib.metadata stumble over them."""
    join = _paths(reader).join
    for site, entries in names.items():
        for entry in entries:
            if entry.endswith(".dist-info") and not entry.startswith("~"):
                text = reader.read_text(join(site, entry, "METADATA"), _HEADERS)
                record = reader.read_text(join(site, entry, "RECORD"), _HEADERS)
                lost = record is not None and "," not in record
                if not text or not _header(text, "Name") or not _header(text, "Version") or lost:
                    yield join(site, entry)


def _conda(records: Iterable[str]) -> dict[str, str]:
    found = (re.fullmatch(r"(.+)-([^-]+)-[^-]+\.json", name) for name in records)
    return {match[1].lower(): match[2] for match in found if match}


@dataclass(frozen=True, slots=True)
class _Listed:
    """A line of a RECORD. `digest` is SHA-256 as it stands there (base64 without padding), empty where the line has
    none; `size` -1 likewise."""

    owner: Distribution
    path: str
    digest: str
    size: int


def check_files(
    reader: Reader, distributions: Sequence[Distribution], go_on: Callable[[Distribution], bool] = lambda _: False
) -> Files:  # fmt: skip
    """Compare every RECORD with the folders: presence and size of all files, then the content of those that `go_on`
    lets pass (a limit of time, a choice of distributions), code before libraries. Each folder is listed once, so that
    it takes about a second for the sixty thousand files of a large environment."""
    folders = _Folders(reader)
    found = [(one, folders.size(one)) for d in distributions for one in _record(reader, d)]
    owners: dict[str, dict[str, str]] = {}
    for one, _ in found:
        if one.digest and _matters(one.path):
            owners.setdefault(folders.full(one), {})[one.owner.name] = one.digest
    shared = _shared(owners)
    doubtful = {path for paths in shared.values() for path in paths}
    # Conda writes its prefix into files after their RECORD was made.
    own = [(o, size) for o, size in found if o.digest and size is not None and o.owner.installer != "conda"]
    own = [(o, size) for o, size in own if _matters(o.path) and folders.full(o) not in doubtful]
    alike = [one for one, size in own if one.size in (-1, size)]
    changed, hashed = _changed(reader, folders, alike, go_on)
    return Files(
        missing=_by_owner(one for one, size in found if size is None),
        resized=_by_owner(one for one, size in own if one.size not in (-1, size)),
        changed=_by_owner(changed),
        shared=shared,
        counted=len(found),
        hashed=hashed,
    )


def _changed(
    reader: Reader, folders: _Folders, listed: Iterable[_Listed], go_on: Callable[[Distribution], bool]
) -> tuple[list[_Listed], int]:
    """The files of another content, and how many were looked at."""
    found, looked = [], 0
    for one in sorted(listed, key=lambda one: (not one.path.endswith(".py"), one.size)):
        if go_on(one.owner):
            looked += 1
            recorded, here = _hexadecimal(one.digest), reader.sha256(folders.full(one))
            if recorded and here and recorded != here:
                found.append(one)
    return found, looked


def _by_owner(listed: Iterable[_Listed]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for one in listed:
        found.setdefault(one.owner.name, []).append(one.path)
    return {name: tuple(paths) for name, paths in found.items()}


#: Top folders that careless packages leave in site-packages, and that nothing imports.
_ANYBODYS = ("test", "tests", "docs", "doc", "examples", "example", "scripts", "tools", "benchmarks", "bin")


def _matters(path: str) -> bool:
    top, _, rest = path.partition("/")
    code = path.endswith((".py", ".so", ".pyd", ".dll")) or ".so." in path
    return bool(rest) and top not in (*_ANYBODYS, "..") and code


def _shared(owners: Mapping[str, Mapping[str, str]]) -> dict[tuple[str, ...], tuple[str, ...]]:
    found: dict[tuple[str, ...], list[str]] = {}
    for path, digests in owners.items():
        if len(digests) > 1 and len(set(digests.values())) > 1:
            found.setdefault(tuple(sorted(digests)), []).append(path)
    return {names: tuple(paths) for names, paths in found.items()}


def _record(reader: Reader, one: Distribution) -> Iterator[_Listed]:
    """The files of a distribution, compiled ones left out."""
    text = reader.read_text(_paths(reader).join(one.info, "RECORD"), _RECORD) if one.info else None
    for row in csv.reader((text or "").splitlines()):
        if len(row) >= 2 and row[0] and not row[0].endswith((".pyc", ".pyo")):
            yield _Listed(
                one,
                row[0],
                row[1].partition("sha256=")[2],
                int(row[2]) if row[2:] and row[2].isdigit() else -1,
            )


def _hexadecimal(digest: str) -> str | None:
    """None for what is no base64: then nothing can be compared."""
    try:
        return base64.urlsafe_b64decode(digest + "==").hex()
    except ValueError:
        return None


class _Folders:
    """Which files are there and how large, by listing each folder once."""

    def __init__(self, reader: Reader) -> None:
        self._reader, self._paths = reader, _paths(reader)
        self._seen: dict[str, dict[str, Mapping[str, int]]] = {}
        self._folded = reader.host().os in ("windows", "macos")

    def full(self, one: _Listed) -> str:
        path = f"{one.owner.site}{self._paths.sep}{one.path}"
        return str(self._paths.normpath(path)) if ".." in path else path

    def size(self, one: _Listed) -> int | None:
        """Bytes; None if the file is gone."""
        site = self._seen.setdefault(one.owner.site, {})
        folder, _, name = one.path.rpartition("/")
        sizes = site.get(folder)
        if sizes is None:
            sizes = site[folder] = self._list(self._paths.normpath(self._paths.join(one.owner.site, folder)))
        return sizes.get(name.lower() if self._folded else name)

    def _list(self, folder: str) -> Mapping[str, int]:
        sizes = self._reader.sizes(folder)
        return {name.lower(): size for name, size in sizes.items()} if self._folded else sizes
