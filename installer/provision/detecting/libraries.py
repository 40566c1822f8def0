"""Copies of CUDA's libraries and of cuDNN: where they lie, their versions, and which one a program gets."""

from __future__ import annotations

import ntpath
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import ModuleType
from typing import NamedTuple

from provision.detecting.rows import Row, table
from provision.detecting.sighting import Sighting, found
from provision.messages import message
from provision.model.finding import Finding
from provision.model.machine import Software
from provision.ports import Host, Reader

#: Places in the order of the search: Windows looks in its own folder before PATH; LD_LIBRARY_PATH beats the RUNPATH
#: by which wheels find theirs.
_REACHED = ("system", "ld-library-path", "path", "venv", "conda", "ld-cache")
_TOOLKITS = ("/usr/local/cuda", "/usr/local/cuda-*", "/opt/cuda")
_WINDOWS_TOOLKITS = r"C:\Program Files\NVIDIA GPU Computing Toolkit\CUDA\v*"


class _Look(NamedTuple):
    reader: Reader
    host: Host

    @property
    def paths(self) -> ModuleType:
        return ntpath if self.host.os == "windows" else posixpath

    def entries(self, variable: str) -> list[str]:
        separator = ";" if self.host.os == "windows" else ":"
        entries = self.reader.environ().get(variable, "").split(separator)
        return [entry.strip('"') for entry in entries if entry.strip('"')]


def probe(reader: Reader, host: Host, cache: Mapping[str, tuple[str, ...]]) -> Sighting:
    """All copies, the versions of those that win, and what is wrong with them."""
    look = _Look(reader, host)
    folders = list(_folders(look))
    copies = _judged(look, [*_in_folders(look, folders), *_in_cache(look, cache)])
    toolkits = tuple(_toolkits(look))
    software = (*toolkits, *copies)
    winners = [copy for copy in software if copy.active and copy.version]
    runtimes = {copy.name: copy.version for copy in reversed(winners)}
    evidence = {f"runtimes.{copy.name}": copy.path for copy in reversed(winners)}
    facts = {"software": software, "runtimes": runtimes} if software else {}
    findings = (*_partial(look, folders), *_shadowed(copies))
    return Sighting(facts=facts, evidence=evidence, findings=findings)


def _folders(look: _Look) -> Iterator[tuple[str, str]]:
    """(place, folder) in the order of the search."""
    variables = look.reader.environ()
    if look.host.os == "windows":
        yield "system", variables.get("SystemRoot", r"C:\Windows") + r"\System32"
        yield from (("path", folder) for folder in look.entries("PATH"))
    else:
        yield from (("ld-library-path", folder) for folder in look.entries("LD_LIBRARY_PATH"))
    for place, variable in (("venv", "VIRTUAL_ENV"), ("conda", "CONDA_PREFIX")):
        if variables.get(variable):
            yield from ((place, folder) for folder in _of_environment(look, variables[variable]))
    for toolkit in _toolkit_folders(look):
        yield from (("folder", look.paths.join(toolkit, name)) for name in ("lib64", "bin", "lib"))


def _of_environment(look: _Look, prefix: str) -> Iterator[str]:
    """The folders of an environment that hold libraries: its own, and those of the wheels in it."""
    join = look.paths.join
    if look.host.os == "windows":
        packages: tuple[str, ...] = (join(prefix, "Lib", "site-packages"),)
        yield join(prefix, "Library", "bin")
    else:
        packages = look.reader.glob(join(prefix, "lib", "python3*", "site-packages"))
        yield join(prefix, "lib")
    for folder in packages:
        yield from look.reader.glob(
            join(folder, "nvidia", "*", "lib" if look.host.os != "windows" else "bin")
        )
        yield join(folder, "torch", "lib")


def _in_folders(look: _Look, folders: Iterable[tuple[str, str]]) -> Iterator[Software]:
    for place, folder in folders:
        for row, name in _libraries(look, folder):
            yield _copy(look, row, look.paths.join(folder, name), place)


def _libraries(look: _Look, folder: str) -> Iterator[tuple[Row, str]]:
    """The files in a folder that a program may open by name: `libcudnn.so.8`, `cudart64_110.dll`."""
    names = look.reader.listdir(folder)
    for row in table("libraries"):
        for name in names:
            if _soname(look.host, row, name):
                yield row, name


def _soname(host: Host, row: Row, name: str) -> str:
    """The name if it is what programs open; full versions (`libcudnn.so.8.6.0`) and bare names are not."""
    if host.os == "windows":
        number = re.fullmatch(re.escape(row["windows"]) + r"[\d_]+\.dll", name, re.IGNORECASE)
    else:
        number = re.fullmatch(re.escape(row["linux"]) + r"\.\d+(\.\d)?", name)
    return name if number else ""


def _in_cache(look: _Look, cache: Mapping[str, tuple[str, ...]]) -> Iterator[Software]:
    for row in table("libraries"):
        for name, paths in cache.items():
            if _soname(look.host, row, name):
                yield from (_copy(look, row, path, "ld-cache") for path in paths)


def _copy(look: _Look, row: Row, path: str, place: str) -> Software:
    return Software(
        name=row["name"],
        version=_version(look, row, path),
        path=path,
        place=place,
        facts={"library": look.paths.basename(path)},
    )


def _version(look: _Look, row: Row, path: str) -> str:
    """The most exact version that the file's name or its neighbours tell; at least the number in its name."""
    real = look.paths.basename(look.reader.realpath(path))
    full = re.search(r"\.so\.(\d+\.\d+\.\d+[\d.]*)$", real)
    if full:
        return full[1]
    folder = look.paths.dirname(path)
    return (
        _by_header(look, row, folder)
        or _by_wheel(look, row, folder)
        or _by_conda(look, row, folder)
        or _by_name(look, row, path)
    )


def _by_header(look: _Look, row: Row, folder: str) -> str:
    for name in row["headers"]:
        text = look.reader.read_text(look.paths.join(look.paths.dirname(folder), "include", name)) or ""
        parts = [
            re.search(rf"#define CUDNN_{part}\s+(\d+)", text) for part in ("MAJOR", "MINOR", "PATCHLEVEL")
        ]
        if all(parts):
            return ".".join(part[1] for part in parts if part)
    return ""


def _by_wheel(look: _Look, row: Row, folder: str) -> str:
    packages = look.paths.dirname(look.paths.dirname(look.paths.dirname(folder)))
    if look.paths.basename(packages) != "site-packages":
        return ""
    for path in look.reader.glob(look.paths.join(packages, f"{row['wheel']}*.dist-info")):
        if version := re.fullmatch(
            rf"{row['wheel']}(?:_cu\d+)?-([\d.]+)\.dist-info", look.paths.basename(path)
        ):
            return version[1]
    return ""


def _by_conda(look: _Look, row: Row, folder: str) -> str:
    prefix = look.paths.dirname(look.paths.dirname(folder) if look.host.os == "windows" else folder)
    for path in look.reader.glob(look.paths.join(prefix, "conda-meta", f"{row['conda']}-[0-9]*.json")):
        if version := re.match(rf"{row['conda']}-([\d.]+)-", look.paths.basename(path)):
            return str(version[1])
    return ""


def _by_name(look: _Look, row: Row, path: str) -> str:
    name = look.paths.basename(path)
    if look.host.os != "windows":
        return str(name).removeprefix(row["linux"] + ".")
    toolkit = re.search(r"\\CUDA\\v(\d+\.\d+)\\", path, re.IGNORECASE)
    if toolkit and row["name"] != "cudnn":
        return toolkit[1]
    listed = next((str(line["version"]) for line in table("dll_lines") if line["file"] == name.lower()), "")
    number = re.search(r"64_(\d+)\.dll$", name)
    return listed or (number[1] if number and row["name"] == "cudnn" else "")


def _judged(look: _Look, copies: Iterable[Software]) -> tuple[Software, ...]:
    """Of all copies under one file name the first that is reached wins. One file that is reached in several
    ways counts once, by the first of them."""
    real: set[str] = set()
    taken: set[str] = set()
    judged = []
    for copy in sorted(copies, key=lambda copy: _rank(copy.place)):
        file = look.reader.realpath(copy.path)
        library = copy.facts["library"].lower()
        reached = copy.place in _REACHED
        if file not in real:
            judged.append(replace(copy, active=reached and library not in taken))
            taken |= {library} if reached else set()
        real.add(file)
    return tuple(judged)


def _rank(place: str) -> int:
    return _REACHED.index(place) if place in _REACHED else len(_REACHED)


#: Places that the user fills, in words.
_WHERE = {"ld-library-path": "LD_LIBRARY_PATH", "path": "PATH", "system": "System32"}


def _shadowed(copies: tuple[Software, ...]) -> Iterator[Finding]:
    """A copy on a search path of the user's hides another version, such as the one that a wheel brought."""
    for winner in copies:
        if not winner.active or winner.place not in _WHERE:
            continue
        hidden = [copy for copy in copies if _hides(winner, copy)]
        if hidden:
            yield found(
                "library-shadowed",
                "warning",
                message(
                    "detecting.shadowed.in-hides"
                    if winner.place == "system"
                    else "detecting.shadowed.on-hides",
                    library=winner.facts["library"],
                    version=winner.version,
                    variable=_WHERE[winner.place],
                    others=[f"{copy.version} ({copy.place})" for copy in hidden],
                ),
                evidence=[(copy.path, copy.version) for copy in (winner, *hidden)],
                remedies=[_uncovered(winner)],
            )


def _uncovered(winner: Software) -> str:
    if winner.place == "system":
        return message("detecting.shadowed.remove", path=winner.path)
    return message(
        "detecting.shadowed.take-out",
        folder=winner.path.rpartition(winner.facts["library"])[0],
        variable=_WHERE[winner.place],
    )


def _hides(winner: Software, copy: Software) -> bool:
    same = copy.facts["library"].lower() == winner.facts["library"].lower()
    return same and not copy.active and copy.place in _REACHED and copy.version != winner.version


def _partial(look: _Look, folders: Iterable[tuple[str, str]]) -> Iterator[Finding]:
    """Folders with some members of a set that works only whole."""
    for folder in dict.fromkeys(folder for _, folder in folders):
        names = {name.lower() for name in look.reader.listdir(folder)}
        for row in table("library_sets"):
            there = [member for member in row["members"] if member.lower() in names]
            if there and len(there) < len(row["members"]):
                yield found(
                    "library-partial",
                    "error",
                    message(
                        "detecting.partial.holds-files",
                        folder=folder,
                        there=len(there),
                        all=len(row["members"]),
                        library=row["main"],
                    ),
                    detail=message("detecting.partial.they-load-one-another-by"),
                    evidence=[(folder, ", ".join(there)), ("knowledge", row["id"])],
                    remedies=[message("detecting.partial.put-whole-set-one-archive")],
                )


def _toolkit_folders(look: _Look) -> Iterator[str]:
    variables = look.reader.environ()
    stated = [
        variables[name] for name in sorted(variables) if re.match(r"CUDA_(HOME|PATH(_V\d+_\d+)?)$", name)
    ]
    patterns = (_WINDOWS_TOOLKITS,) if look.host.os == "windows" else _TOOLKITS
    usual = [path for pattern in patterns for path in look.reader.glob(pattern)]
    seen: set[str] = set()
    for folder in (*stated, *usual):
        real = look.reader.realpath(folder)
        if real not in seen and look.reader.exists(folder):
            seen.add(real)
            yield folder


def _toolkits(look: _Look) -> Iterator[Software]:
    """CUDA toolkits; the one whose compiler is found first on PATH is the active one."""
    active = _toolkit_on_path(look)
    stated = set(look.reader.environ().values())
    folders = list(_toolkit_folders(look))
    if active and active not in [look.reader.realpath(folder) for folder in folders]:
        folders.insert(0, active)
    for folder in folders:
        yield Software(
            name="cuda-toolkit",
            version=_toolkit_version(look, folder),
            path=folder,
            place="path"
            if look.reader.realpath(folder) == active
            else "variable"
            if folder in stated
            else "folder",
            active=look.reader.realpath(folder) == active,
        )


def _toolkit_on_path(look: _Look) -> str:
    """The toolkit whose compiler is first on PATH; empty if that is none (a wrapper elsewhere)."""
    compiler = look.reader.which("nvcc")
    if not compiler:
        return ""
    folder = look.paths.dirname(look.paths.dirname(look.reader.realpath(compiler)))
    marks = ("version.json", "version.txt", "nvvm")
    return folder if any(look.reader.exists(look.paths.join(folder, mark)) for mark in marks) else ""


def _toolkit_version(look: _Look, folder: str) -> str:
    text = look.reader.read_text(look.paths.join(folder, "version.json")) or ""
    if version := re.search(r'"cuda"\s*:\s*\{[^}]*"version"\s*:\s*"([\d.]+)"', text):
        return version[1]
    text = look.reader.read_text(look.paths.join(folder, "version.txt")) or ""
    named = re.search(r"CUDA Version ([\d.]+)", text) or re.search(
        r"[-\\/v](\d+\.\d+)$", look.reader.realpath(folder)
    )
    return named[1] if named else ""
