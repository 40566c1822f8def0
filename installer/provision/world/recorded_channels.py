"""Recorded conda channels (`conda/*.yaml` of a catalogue) as local folders that the solver reads like any channel.

A catalogue holds records of files, not the files: artifacts keep the channel's own address. Where a record does not say
what a package depends on, a `set` may say which files stood together; then its leading file asks for all of them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from provision.messages import message
from provision.model.finding import Finding, UsageError


@dataclass(frozen=True, slots=True)
class Replay:
    """Recorded channels: name -> address of the folder; and the addresses of leading files, whose dependencies are the
    set's and not on record."""

    places: Mapping[str, str] = field(default_factory=dict)
    leads: frozenset[str] = frozenset()


Records = dict[tuple[str, str], dict[str, dict[str, Any]]]
#: Marks a leading file's record; no key of conda's.
_LEAD = "recorded-set"


def replayed(catalog: Path, cache: Path) -> Replay:
    """The channels of a catalogue, made below `cache` once for each state of it. Raises UsageError for a file that
    holds no conda records."""
    files = sorted((catalog / "conda").glob("*.yaml"))
    if not files:
        return Replay()
    texts = [(path, path.read_bytes()) for path in files]
    digest = hashlib.sha256(b"\0".join(text for _, text in texts)).hexdigest()
    root = cache / "conda" / "replay" / digest[:32]
    if not root.is_dir():
        records: Records = {}
        for path, text in texts:
            _read(path, text, records)
        _write(root, records)
    places = {_channel(folder.name): folder.as_uri() for folder in sorted(root.iterdir()) if folder.is_dir()}
    return Replay(places, frozenset(json.loads((root / "leads.json").read_text(encoding="utf-8"))))


def _folder(channel: str) -> str:
    return channel.replace("/", "%2F")


def _channel(folder: str) -> str:
    return folder.replace("%2F", "/")


def _read(path: Path, text: bytes, records: Records) -> None:
    import yaml

    try:
        document = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
        for channel, subdir, entry in _entries(document):
            record = _record(entry, subdir)
            records.setdefault((channel, subdir), {})[entry["file"]] = record
        for one in document.get("sets", ()):
            _bind(one, document, records)
    except (yaml.YAMLError, KeyError, TypeError, AttributeError, ValueError) as error:
        finding = Finding(
            "bad-catalog", "error", message("world.bad-catalog.summary", path=path, error=error)
        )
        raise UsageError(finding) from None


def _entries(document: Mapping[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for channel, subdirs in document.get("channels", {}).items():
        for subdir, entries in subdirs.items():
            yield from ((channel, subdir, entry) for entry in entries)
    for entry in document.get("without-hash", ()):
        yield entry["channel"], entry["subdir"], entry


def _stem(file: str) -> str:
    return file.removesuffix(".conda").removesuffix(".tar.bz2")


def _record(entry: Mapping[str, Any], subdir: str) -> dict[str, Any]:
    """A record as a channel states it; what is not on record is left out."""
    name, version, build = _stem(entry["file"]).rsplit("-", 2)
    number = re.search(r"(?:^|_)(\d+)(?:_[a-z]\w*)?$", build)
    record: dict[str, Any] = {
        "name": name,
        "version": version,
        "build": build,
        "build_number": int(number[1]) if number else 0,
        "subdir": subdir,
        "depends": list(entry.get("depends", ())),
    }
    if subdir == "noarch":
        python = any(re.match(r"python(\s|$)", spec) for spec in record["depends"]) or build.startswith("py")
        record["noarch"] = "python" if python else "generic"
    return {**record, **{key: entry[key] for key in ("md5", "sha256", "size") if key in entry}}


def _bind(one: Mapping[str, Any], document: Mapping[str, Any], records: Records) -> None:
    """The leading file of a set asks for every file of it: all that the catalogue has for its platform."""
    mine = {(channel, subdir, entry["file"]) for channel, subdir, entry in _entries(document)}
    members = [
        records[channel, subdir][file]
        for channel, subdir, file in sorted(mine)
        if subdir in (one["subdir"], "noarch")
    ]
    if len(members) != one["members"]:
        raise ValueError(f"the set of {one['lead']} has {len(members)} files, not {one['members']}")
    names = [f"{m['name']} =={m['version']} {m['build']}" for m in members]
    for file, record in records[one["channel"], one["subdir"]].items():
        if _stem(file) == one["lead"]:
            record[_LEAD] = True
            record["depends"] = [text for text in names if not text.startswith(f"{record['name']} ")]


def _write(root: Path, records: Records) -> None:
    root.parent.mkdir(parents=True, exist_ok=True)
    made = root.with_name(f"{root.name}.new")
    for (channel, subdir), files in records.items():
        folder = made / _folder(channel) / subdir
        folder.mkdir(parents=True, exist_ok=True)
        packages = {f: r for f, r in files.items() if f.endswith(".tar.bz2")}
        document = {
            "info": {"subdir": subdir},
            "packages": packages,
            "packages.conda": {f: r for f, r in files.items() if f not in packages},
        }
        (folder / "repodata.json").write_text(json.dumps(document, sort_keys=True), encoding="utf-8")
    leads = [
        f"{channel}/{subdir}/{f}"
        for (channel, subdir), fs in records.items()
        for f, r in fs.items()
        if _LEAD in r
    ]
    (made / "leads.json").write_text(json.dumps(sorted(leads)), encoding="utf-8")
    for folder in (path for path in made.iterdir() if path.is_dir()):
        if not (folder / "noarch" / "repodata.json").exists():
            (folder / "noarch").mkdir(exist_ok=True)
            (folder / "noarch" / "repodata.json").write_text('{"packages": {}, "packages.conda": {}}')
    if not root.exists():
        made.rename(root)
