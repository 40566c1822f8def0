"""Locks of conda environments as conda-lock.yml (its version 1), environment.yml and the explicit file."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from provision.messages import message
from provision.model.finding import Finding, Remedy, UsageError
from provision.model.lock import Artifact, CondaArtifact, Lock

#: target -> conda's word for it.
SUBDIRS: Mapping[str, str] = {
    "linux-x86_64": "linux-64",
    "linux-aarch64": "linux-aarch64",
    "windows-x86_64": "win-64",
    "macos-arm64": "osx-arm64",
    "macos-x86_64": "osx-64",
}


def conda_lock(locks: Sequence[Lock], source: str, addresses: Mapping[str, str]) -> str:
    """conda-lock.yml of the locks of one profile, one a platform.

    `source` names the profile's file, `addresses` say where wheels are (file name -> URL). Raises UsageError for a
    lock that is not of a conda environment or a wheel without an address.
    """
    _are_conda(locks)
    packages = [row for made in locks for row in _rows(made, addresses)]
    platforms = [SUBDIRS[made.target] for made in locks]
    metadata = {
        "content_hash": {SUBDIRS[made.target]: _content_hash(made) for made in locks},
        "channels": [{"url": channel, "used_env_vars": []} for channel in locks[0].channels],
        "platforms": platforms,
        "sources": [source],
    }
    ordered = sorted(packages, key=lambda row: (row["manager"], row["name"], row["platform"]))
    return _dump({"version": 1, "metadata": metadata, "package": ordered})


def environment(made: Lock) -> str:
    """environment.yml with exact versions and builds: what conda and mamba can solve again for one platform."""
    _are_conda([made])
    wanted: list[Any] = [f"{a.name}={a.version}={a.build}" for a in made.conda]
    if made.packages:
        wanted += [*([] if any(a.name == "pip" for a in made.conda) else ["pip"])]
        wanted.append({"pip": [f"{a.name}=={a.version}" for a in made.packages]})
    document: dict[str, Any] = {
        "name": made.profile,
        "channels": [*made.channels, "nodefaults"],
        "dependencies": wanted,
    }
    if made.variables:
        document["variables"] = dict(made.variables)
    return _dump(document)


def explicit(made: Lock) -> str:
    """The explicit file: every URL with its hash. Wheels cannot stand in it: they are named in comments."""
    _are_conda([made])
    lines = [f"# platform: {SUBDIRS[made.target]}"]
    lines += [f"# pip {a.name}=={a.version} --hash=sha256:{a.sha256}" for a in made.packages]
    lines.append("@EXPLICIT")
    lines += [f"{a.url}#{f'sha256:{a.sha256}' if a.sha256 and not a.md5 else a.md5}" for a in made.conda]
    return "\n".join(lines) + "\n"


def _are_conda(locks: Sequence[Lock]) -> None:
    for made in locks:
        if made.manager != "conda":
            raise UsageError(
                Finding(
                    "not-conda", "error", message("exporting.not-conda.summary", profile=made.profile),
                    remedies=(Remedy(message("exporting.not-conda.way")),),
                )
            )  # fmt: skip


def _rows(made: Lock, addresses: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    platform = SUBDIRS[made.target]
    for artifact in made.conda:
        yield {**_row(artifact.name, artifact.version, "conda", platform), **_conda(artifact)}
    for wheel in made.packages:
        address = wheel.url or addresses.get(wheel.file)
        if address is None:
            raise UsageError(_no_address(wheel))
        found = {"dependencies": {}, "url": address, "hash": {"sha256": wheel.sha256}}
        yield {**_row(wheel.name, wheel.version, "pip", platform), **found}


def _row(name: str, version: str, manager: str, platform: str) -> dict[str, Any]:
    known = {"name": name, "version": version, "manager": manager, "platform": platform}
    return {**known, "category": "main", "optional": False}


def _conda(artifact: CondaArtifact) -> dict[str, Any]:
    hashes = {kind: value for kind, value in (("md5", artifact.md5), ("sha256", artifact.sha256)) if value}
    return {"dependencies": dict(_depends(artifact)), "url": artifact.url, "hash": hashes}


def _depends(artifact: CondaArtifact) -> Iterator[tuple[str, str]]:
    """name -> spec. Virtual packages belong to machines, not to locks."""
    for spec in artifact.depends:
        name, _, rest = spec.partition(" ")
        if not name.startswith("__"):
            yield name, rest.strip()


def _content_hash(made: Lock) -> str:
    """Of what was asked for; conda-lock compares it only with its own sources."""
    text = json.dumps(
        [made.digests.profile, made.channels, made.virtual_packages, made.target], sort_keys=True
    )
    return hashlib.sha256(text.encode()).hexdigest()


def _no_address(wheel: Artifact) -> Finding:
    return Finding(
        "no-address", "error", message("exporting.no-address.summary", file=wheel.file),
        remedies=(Remedy(message("exporting.no-address.way")),),
    )  # fmt: skip


_PLAIN = re.compile(r"[A-Za-z_][\w./-]*")
_WORDS = ("null", "true", "false", "yes", "no", "on", "off", "y", "n")


def _dump(document: Mapping[str, Any]) -> str:
    return "\n".join(_block(document, "")) + "\n"


def _block(value: Any, indent: str) -> Iterator[str]:
    items = value.items() if isinstance(value, Mapping) else (("-", item) for item in value)
    for key, item in items:
        head = "-" if not isinstance(value, Mapping) else f"{_scalar(key)}:"
        if not isinstance(item, (Mapping, list)):
            yield f"{indent}{head} {_scalar(item)}"
        elif not item:
            yield f"{indent}{head} {'{}' if isinstance(item, Mapping) else '[]'}"
        elif head == "-":
            first, *rest = _block(item, f"{indent}  ")
            yield f"{indent}- {first.strip()}"
            yield from rest
        else:
            yield f"{indent}{head}"
            yield from _block(item, f"{indent}  " if isinstance(item, Mapping) else indent)


def _scalar(value: Any) -> str:
    if isinstance(value, str) and (not _PLAIN.fullmatch(value) or value.lower() in _WORDS):
        return json.dumps(value, ensure_ascii=False)
    return str(value).lower() if isinstance(value, bool) else str(value)
