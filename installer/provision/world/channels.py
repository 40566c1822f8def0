"""Where conda channels are on this machine: .condarc files, CONDARC, CONDA_CHANNEL_ALIAS, and provision's own mapping.

A channel's name is what profiles and locks say; the address is looked up here, so that a mirror serves as well.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from provision.messages import message
from provision.model.finding import Evidence, Finding, Remedy, UsageError
from provision.ports import Reader
from provision.world.indexes import variable_name
from provision.world.recorded_channels import Replay

#: Where a bare channel name is, and where the channels of the distribution are, unless a machine says otherwise.
ALIAS = "https://conda.anaconda.org"
MAIN = "https://repo.anaconda.com"
#: What `defaults` stands for: on every system, and on Windows beside.
_DEFAULTS, _DEFAULTS_WINDOWS = ("pkgs/main", "pkgs/r"), ("pkgs/msys2",)
_KEYS = ("channel_alias", "custom_channels", "default_channels", "mirrored_channels")


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel by name: its own address (`upstream`) and where this machine reads it (`place`). No slash at
    the end. `place` may carry a login: it is not to be shown."""

    name: str
    upstream: str
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelConfig:
    """A machine's settings for channels. `origins` maps a channel name to where its place was read.

    `mapped` is provision's own mapping (`PROVISION_INDEX_CONDA_FORGE`), `mirrored` and `custom` are conda's
    (`custom` holds the folder above the channel), `defaults` the addresses of `default_channels`.
    """

    alias: str = ALIAS
    custom: Mapping[str, str] = field(default_factory=dict)
    mirrored: Mapping[str, str] = field(default_factory=dict)
    defaults: tuple[str, ...] = ()
    mapped: Mapping[str, str] = field(default_factory=dict)
    #: Recorded channels, only for solving; files come from the true places.
    replay: Replay = field(default_factory=Replay)

    def channels(self, names: Sequence[str], subdir: str) -> tuple[Channel, ...]:
        """Channels in order, `defaults` written out."""
        found: list[Channel] = []
        for name in names:
            members = (
                (*_DEFAULTS, *(_DEFAULTS_WINDOWS if subdir.startswith("win") else ()))
                if name == "defaults"
                else (name,)
            )
            found += [self._solving(member) for member in members]
        return tuple(dict.fromkeys(found))

    def _solving(self, named: str) -> Channel:
        channel = self.channel(named)
        return replace(channel, place=self.replay.places.get(channel.name, channel.place))

    def channel(self, named: str) -> Channel:
        name = channel_name(named)
        upstream = upstream_of(named)
        return Channel(name, upstream, (self._place(name) or upstream).rstrip("/"))

    def _place(self, name: str) -> str | None:
        if mapped := self.mapped.get(variable_name(name)):
            return mapped if "://" in mapped else Path(mapped).expanduser().absolute().as_uri()
        if name in self.mirrored:
            return self.mirrored[name]
        if name in self.custom:
            return f"{self.custom[name].rstrip('/')}/{name}"
        default = next((url for url in self.defaults if url.rstrip("/").endswith(f"/{name}")), None)
        if default or "://" in name or name.startswith("pkgs/"):
            return default
        return f"{self.alias.rstrip('/')}/{name}" if self.alias != ALIAS else None


def channel_name(named: str) -> str:
    """`https://conda.anaconda.org/conda-forge` -> `conda-forge`; an address elsewhere stays what it is."""
    plain = named.rstrip("/")
    for host in (ALIAS, MAIN):
        if plain.startswith(f"{host}/"):
            return plain.removeprefix(f"{host}/")
    return plain


def upstream_of(named: str) -> str:
    name = channel_name(named)
    if "://" in name:
        return name
    return f"{MAIN}/{name}" if name.startswith("pkgs/") else f"{ALIAS}/{name}"


def read_channels(environ: Mapping[str, str], reader: Reader, mapped: Mapping[str, str]) -> ChannelConfig:
    """The machine's settings, a later file's word over an earlier one's. Raises UsageError for a broken file."""
    merged: dict[str, Any] = {}
    for path in condarc_paths(environ):
        for key, value in _file(reader, path, environ).items():
            merged[key] = {**merged.get(key, {}), **value} if isinstance(value, dict) else value
    if alias := environ.get("CONDA_CHANNEL_ALIAS"):
        merged["channel_alias"] = alias
    return ChannelConfig(
        alias=str(merged.get("channel_alias") or ALIAS),
        custom={str(k): str(v) for k, v in merged.get("custom_channels", {}).items()},
        mirrored=dict(_mirrors(merged.get("mirrored_channels", {}))),
        defaults=tuple(str(url) for url in merged.get("default_channels") or ()),
        mapped=mapped,
    )


def _mirrors(table: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, places in table.items():
        listed = places if isinstance(places, list) else [places]
        if listed:
            yield str(name), str(listed[0])


def condarc_paths(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The files that conda reads, weakest first."""
    home = environ.get("HOME") or environ.get("USERPROFILE") or str(Path.home())
    config = environ.get("XDG_CONFIG_HOME") or str(PurePosixPath(home) / ".config")
    root = (
        Path(environ.get("PROGRAMDATA", "C:/ProgramData")) / "conda"
        if sys.platform == "win32"
        else Path("/etc/conda")
    )
    folders = [root, *([Path("/var/lib/conda")] if sys.platform != "win32" else [])]
    folders += [Path(v) for name in ("CONDA_ROOT", "MAMBA_ROOT_PREFIX") if (v := environ.get(name))]
    folders += [Path(config) / "conda", Path(home) / ".conda"]
    paths = [str(f / name) for f in folders for name in ("condarc", ".condarc")]
    paths += [str(Path(home) / ".condarc")]
    if prefix := environ.get("CONDA_PREFIX"):
        paths.append(str(Path(prefix) / ".condarc"))
    if named := environ.get("CONDARC"):
        paths.append(named)
    return tuple(dict.fromkeys(paths))


def _file(reader: Reader, path: str, environ: Mapping[str, str]) -> dict[str, Any]:
    if not reader.exists(path) or (text := reader.read_text(path)) is None:
        return {}
    import yaml

    try:
        document = yaml.safe_load(_expanded(text, environ)) or {}
    except yaml.YAMLError as error:
        raise UsageError(_unreadable(path, str(error))) from None
    if not isinstance(document, dict):
        raise UsageError(_unreadable(path, message("world.file.it-is-no-mapping")))
    return {key: document[key] for key in _KEYS if document.get(key)}


def _expanded(text: str, environ: Mapping[str, str]) -> str:
    """`${NAME}` as conda expands it; an unset variable stays as it is written."""
    return re.sub(r"\$\{(\w+)\}|\$(\w+)", lambda m: environ.get(m[1] or m[2], m[0]), text)


def _unreadable(path: str, why: str) -> Finding:
    return Finding(
        "unreadable-condarc", "error", message("world.unreadable-condarc.summary", path=path),
        evidence=(Evidence(path, why),), remedies=(Remedy(message("world.unreadable-condarc.way")),),
    )  # fmt: skip


def host_channels(mapped: Mapping[str, str]) -> ChannelConfig:
    """This machine's settings."""
    from provision.world.reader import HostReader

    return read_channels(os.environ, HostReader(), mapped)
