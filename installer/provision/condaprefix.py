"""Reading a conda prefix: which packages are recorded, and which Python distributions two managers own.

Level 2, beside `prefix`: inspecting and applying both need it.
"""

from __future__ import annotations

import csv
import io
import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from provision.messages import message
from provision.model.finding import Evidence, Finding, Remedy
from provision.prefix import site_packages

if TYPE_CHECKING:
    from provision.ports import Files


def conda_labels(files: Files, prefix: str) -> tuple[str, ...]:
    """`name-version-build` of every conda package that is recorded in a prefix."""
    names = files.listdir(str(PurePath(prefix) / "conda-meta"))
    return tuple(name.removesuffix(".json") for name in names if name.endswith(".json"))


@dataclass(frozen=True, slots=True)
class Double:
    """A Python distribution that is there from a wheel beside a conda package of the same name: `versions` are the
    wheel's and conda's, `shared` counts the files that both say are theirs."""

    distribution: str
    conda: str
    versions: tuple[str, str]
    shared: int


def conda_owners(
    files: Files, prefix: str, distributions: Mapping[str, str] | None = None
) -> tuple[Double, ...]:
    """Distributions that two managers own: conda's records against the RECORDs of wheels. `distributions` says what
    a conda package of another name installs."""
    labels = {label.rsplit("-", 2)[0]: label for label in conda_labels(files, prefix)}
    known = {_plain((distributions or {}).get(name, name)): label for name, label in labels.items()}
    folder = site_packages(files, prefix)
    if folder is None:
        return ()
    owned: set[str] | None = None
    found = []
    for name, version in _wheels(files, folder):
        if owned is None:
            owned = owned_files(files, prefix)
        shared = len(owned & _recorded(files, prefix, folder, f"{name}-{version}.dist-info"))
        label = known.get(_plain(name)) or (_owner(files, prefix, folder, name, version) if shared else "")
        if label:
            found.append(Double(name, label, (version, label.rsplit("-", 2)[1]), shared))
    return tuple(found)


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _wheels(files: Files, folder: str) -> Iterator[tuple[str, str]]:
    """(name, version) of the distributions that something else than conda installed."""
    for entry in files.listdir(folder):
        if entry.endswith(".dist-info"):
            installer = files.read_text(str(PurePath(folder) / entry / "INSTALLER")) or ""
            name, _, version = entry.removesuffix(".dist-info").rpartition("-")
            if installer.strip() != "conda":
                yield name, version


def _records(files: Files, prefix: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for label in conda_labels(files, prefix):
        path = str(PurePath(prefix) / "conda-meta" / f"{label}.json")
        try:
            record = json.loads(files.read_text(path, limit=1 << 26) or "{}")
        except ValueError:
            continue
        if isinstance(record, dict):
            yield label, record


def owned_files(files: Files, prefix: str) -> set[str]:
    """Every file that a record of conda names, relative to the prefix; none where there is no conda."""
    return {str(path) for _, record in _records(files, prefix) for path in record.get("files", ())}


def recorded_paths(files: Files, prefix: str) -> Iterator[tuple[str, dict[str, str]]]:
    """(`name-version-build`, path -> SHA-256) of every conda package, as its record in the prefix has them: of the file
    as it stands there, with the prefix written into it. Empty for links and for what conda makes itself."""
    for label, record in _records(files, prefix):
        data = record.get("paths_data")
        listed = data.get("paths") if isinstance(data, dict) else None
        rows = [row for row in listed or () if isinstance(row, dict) and isinstance(row.get("_path"), str)]
        yield (
            label,
            {**{str(path): "" for path in record.get("files", ())}, **{r["_path"]: _stated(r) for r in rows}},
        )


def _stated(row: Mapping[str, Any]) -> str:
    is_file = row.get("path_type") == "hardlink"
    return str(row.get("sha256_in_prefix") or row.get("sha256") or "") if is_file else ""


def _owner(files: Files, prefix: str, folder: str, name: str, version: str) -> str:
    mine = _recorded(files, prefix, folder, f"{name}-{version}.dist-info")
    return next(
        (label for label, record in _records(files, prefix) if mine & set(record.get("files", ()))), ""
    )


def _recorded(files: Files, prefix: str, folder: str, info: str) -> set[str]:
    """The files of a wheel, relative to the prefix, as its RECORD names them."""
    text = files.read_text(str(PurePath(folder) / info / "RECORD"), limit=1 << 26) or ""
    base = PurePath(folder).relative_to(prefix).as_posix()
    paths = (row[0] for row in csv.reader(io.StringIO(text)) if row)
    return {posixpath.normpath(posixpath.join(base, path)) for path in paths}


@dataclass(frozen=True, slots=True)
class Survey:
    """A conda environment that something else made: (name, version, build, channel) of its packages, the Python
    distributions that came beside them, and those that two managers own."""

    packages: tuple[tuple[str, str, str, str], ...]
    wheels: tuple[tuple[str, str], ...]
    doubles: tuple[Double, ...]


def survey(files: Files, prefix: str, distributions: Mapping[str, str]) -> Survey | None:
    """What stands in a conda prefix, read in place; None if it is none. Never writes."""
    if files.stat(str(PurePath(prefix) / "conda-meta")) is None:
        return None
    folder = site_packages(files, prefix)
    return Survey(
        packages=tuple(_package(label, record) for label, record in _records(files, prefix)),
        wheels=tuple(_wheels(files, folder)) if folder else (),
        doubles=conda_owners(files, prefix, distributions),
    )


def _package(label: str, record: Mapping[str, Any]) -> tuple[str, str, str, str]:
    name, version, build = label.rsplit("-", 2)
    return name, version, build, str(record.get("channel", "")).rstrip("/").rsplit("/", 1)[-1]


def double_findings(found: Survey) -> tuple[Finding, ...]:
    """One finding a distribution that two managers own."""
    return tuple(_doubled(double) for double in found.doubles)


def _doubled(double: Double) -> Finding:
    wheel, conda = double.versions
    return Finding(
        "two-owners", "error",
        message("condaprefix.two-owners.summary", distribution=double.distribution, conda=conda, wheel=wheel),
        detail=message("condaprefix.two-owners.detail", shared=double.shared, wheel=wheel),
        evidence=(
            Evidence(f"conda-meta/{double.conda}.json", conda),
            Evidence(f"{double.distribution}-{wheel}.dist-info", wheel),
        ),
        remedies=(
            Remedy(message("condaprefix.two-owners.way")),
            Remedy(
                message("condaprefix.two-owners.way-2"),
                f"conda install --force-reinstall {double.conda.rsplit('-', 2)[0]}",
            ),
        ),
    )  # fmt: skip
