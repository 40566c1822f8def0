"""The package indexes that this machine is configured with, as data, each value with the place it was read.

pip's configuration is read as pip reads it, uv's as uv does; both count, because people set up either.
Variables beat files; at the same level uv's word beats pip's, and provision's own mapping beats both.
"""

from __future__ import annotations

import configparser
import ntpath
import os
import posixpath
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol
from urllib.parse import quote, urlsplit, urlunsplit

from provision.messages import message
from provision.model.finding import Evidence, Finding, Remedy, UsageError
from provision.model.lock import PYPI

#: pip's other spellings of the same option.
_ALIASES = {"pypi-url": "index-url", "default-timeout": "timeout"}
_LISTS = frozenset({"extra-index-url", "find-links", "trusted-host"})
_TRUE = frozenset({"y", "yes", "t", "true", "on", "1"})
_FALSE = frozenset({"n", "no", "f", "false", "off", "0"})
#: uv's variables that hold lists -> option, separator (None: blanks).
_UV_LISTS: Mapping[str, tuple[str, str | None]] = {
    "UV_INDEX": ("index", None),
    "UV_EXTRA_INDEX_URL": ("extra-index-url", None),
    "UV_FIND_LINKS": ("find-links", ","),
    "UV_INSECURE_HOST": ("trusted-host", None),
}

#: Option -> (value, where it was read), as one tool has it.
Settings = dict[str, tuple[Any, str]]


class Files(Protocol):
    """The part of ports.Reader that reading a configuration needs."""

    def read_text(self, path: str, limit: int = 1 << 20) -> str | None: ...

    def exists(self, path: str) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexConfig:
    """Where packages come from on this machine. An unset value is None or empty: the engine's default holds.

    URLs may carry credentials: show them only through `redact`. `origins` maps a value (a URL, folder or
    host) or the name of a single-valued field (`timeout`) to the variable or file that set it. `mapped`
    holds provision's own mapping of named indexes, keyed as in the variables (`PYTORCH_CPU`). `timeout`
    is in seconds.
    """

    default_url: str | None = None
    extra_urls: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    trusted_hosts: tuple[str, ...] = ()
    cert: str | None = None
    client_cert: str | None = None
    proxy: str | None = None
    timeout: float | None = None
    no_index: bool = False
    mapped: Mapping[str, str] = field(default_factory=dict)
    origins: Mapping[str, str] = field(default_factory=dict)

    def named(self, name: str) -> str | None:
        """The URL or folder that this machine maps a named index to, None where it maps it to nothing."""
        return self.mapped.get(variable_name(name))

    def trusts(self, host: str, port: int | None = None) -> bool:
        """Whether the machine's owner vouches for a host without TLS (pip's `trusted-host`)."""
        return bool({host, f"{host}:{port}", "*"} & set(self.trusted_hosts))


def variable_name(name: str) -> str:
    """The last part of the variable that maps a named index: `pytorch-cpu` -> `PYTORCH_CPU`."""
    return re.sub(r"[^A-Z0-9]", "_", name.upper())


def redact(url: str) -> str:
    """A URL that may be shown: user, password, query and fragment are masked."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return message("world.redact.unreadable-url")
    host = parts.netloc.rpartition("@")
    netloc = f"***@{host[2]}" if host[1] else host[2]
    query = "***" if parts.query else ""
    return urlunsplit((parts.scheme, netloc, parts.path, query, ""))


def redact_text(text: str) -> str:
    """Any text, with the credentials of the URLs in it masked."""
    return re.sub(r"(?<=://)[^\s/@]+@", "***@", text)


def read_configuration(
    environ: Mapping[str, str],
    files: Files,
    *,
    platform: str = sys.platform,
    prefixes: Sequence[str] | None = None,
    user_config: str | None = None,
) -> IndexConfig:
    """Read pip's, uv's and provision's configuration of indexes.

    `platform` is a `sys.platform`; `prefixes` are the environments whose own pip configuration counts (by
    default the running one and the activated one); `user_config` is provision's folder for the user.
    Raises UsageError for a file that cannot be read as what it is: pip and uv stop at such a file too, and
    to go on without it could fetch from an index that its owner ruled out.
    """
    places = _Places(environ, files, platform)
    pip = _pip_settings(
        environ, files, places.pip_files(_prefixes(environ) if prefixes is None else prefixes)
    )
    uv = _uv_settings(environ, files, places.uv_files())
    mapped = _mapping(environ, files, user_config or _user_config())
    return _merged(uv, pip, mapped)


def _prefixes(environ: Mapping[str, str]) -> tuple[str, ...]:
    active = environ.get("VIRTUAL_ENV")
    return (sys.prefix,) if active in (None, "", sys.prefix) else (sys.prefix, str(active))


def _user_config() -> str:
    from platformdirs import user_config_dir

    return user_config_dir("provision", appauthor=False)


# Where the files are.


class _Places:
    """The configuration files of one machine, lowest priority first."""

    def __init__(self, environ: Mapping[str, str], files: Files, platform: str) -> None:
        self._environ = environ
        self._files = files
        self._windows = platform == "win32"
        self._mac = platform == "darwin"
        self._path: ModuleType = ntpath if self._windows else posixpath
        self._home = environ.get("USERPROFILE" if self._windows else "HOME") or "~"

    def pip_files(self, prefixes: Sequence[str]) -> list[str]:
        """As pip orders them: machine, user, environment, PIP_CONFIG_FILE; the last one wins."""
        named = self._environ.get("PIP_CONFIG_FILE")
        if named == os.devnull:
            return []
        name = "pip.ini" if self._windows else "pip.conf"
        paths = [self._path.join(folder, "pip", name) for folder in self._pip_machine()]
        if not (self._windows or self._mac):
            paths.append(f"/etc/{name}")
        if not (named and self._files.exists(named)):
            legacy = "pip" if self._windows else ".pip"
            paths.append(self._path.join(self._home, legacy, name))
            paths.append(self._path.join(self._pip_user(), "pip", name))
        paths += [self._path.join(prefix, name) for prefix in prefixes]
        return [*paths, named] if named else paths

    def uv_files(self) -> list[str]:
        """Machine, then user; or the one that UV_CONFIG_FILE names; none with UV_NO_CONFIG."""
        if named := self._environ.get("UV_CONFIG_FILE"):
            return [named]
        if self._environ.get("UV_NO_CONFIG", "").lower() in _TRUE:
            return []
        machine = [self._path.join(folder, "uv", "uv.toml") for folder in self._xdg_machine()]
        found = next((path for path in machine if self._files.exists(path)), "/etc/uv/uv.toml")
        if self._windows:
            found = self._path.join(self._environ.get("PROGRAMDATA", ""), "uv", "uv.toml")
        return [found, self._path.join(self._config_home(), "uv", "uv.toml")]

    def _pip_machine(self) -> list[str]:
        if self._windows:
            return [self._environ["PROGRAMDATA"]] if self._environ.get("PROGRAMDATA") else []
        return ["/Library/Application Support"] if self._mac else self._xdg_machine()

    def _xdg_machine(self) -> list[str]:
        return (self._environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":")

    def _pip_user(self) -> str:
        if not self._mac:
            return self._config_home()
        library = self._path.join(self._home, "Library", "Application Support")
        return library if self._files.exists(self._path.join(library, "pip")) else f"{self._home}/.config"

    def _config_home(self) -> str:
        if self._windows:
            return self._environ.get("APPDATA") or self._path.join(self._home, "AppData", "Roaming")
        return self._environ.get("XDG_CONFIG_HOME") or self._path.join(self._home, ".config")


# pip.


def _pip_settings(environ: Mapping[str, str], files: Files, paths: Sequence[str]) -> Settings:
    """Options of `pip install`: [global], then [install], then the variables, each over all files."""
    sections: dict[str, Settings] = {"global": {}, "install": {}, "variables": {}}
    for path in paths:
        for section, options in _ini(files, path):
            if section in ("global", "install"):
                sections[section].update(options)
    for name, value in environ.items():
        if name.startswith("PIP_"):
            sections["variables"][_option(name[4:])] = (value, name)
    settings: Settings = {}
    for options in sections.values():
        settings.update(_known(options))
    return settings


def _ini(files: Files, path: str) -> Iterator[tuple[str, Settings]]:
    text = files.read_text(path)
    if text is None:
        return
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(text.lstrip("\ufeff"), source=path)
    except configparser.Error as error:
        raise _unreadable(path, "pip", str(error).replace("\n", " ")) from error
    for section in parser.sections():
        yield section, {_option(name): (value, path) for name, value in parser.items(section)}


def _option(name: str) -> str:
    """An option's name whatever its source; of `--index-url` only the words count."""
    return name.lower().replace("_", "-").removeprefix("--")


def _known(options: Settings) -> Settings:
    """Options under their main names, lists split as pip splits them; an empty value is none."""
    known: Settings = {}
    for name, (value, origin) in options.items():
        name = _ALIASES.get(name, name)
        if value:
            known[name] = (tuple(value.split()) if name in _LISTS else value.strip(), origin)
    return known


# uv.


def _uv_settings(environ: Mapping[str, str], files: Files, paths: Sequence[str]) -> Settings:
    settings: Settings = {}
    for path in paths:
        settings = _over(_uv_file(files, path), settings)
    return _over(_uv_variables(environ), settings)


def _over(upper: Settings, lower: Settings) -> Settings:
    """Single values replace, lists are put before those of the lower level, as uv does it."""
    merged = {**lower, **upper}
    for name in (*_LISTS, "index"):
        both = [*upper.get(name, ((), ""))[0], *lower.get(name, ((), ""))[0]]
        if both:
            merged[name] = (tuple(both), "")
    return merged


def _uv_variables(environ: Mapping[str, str]) -> Settings:
    """uv's variables. Lists here hold (value, origin) pairs, since several places add to one list."""
    settings: Settings = {}
    for name in ("UV_INDEX_URL", "UV_DEFAULT_INDEX"):
        if value := environ.get(name):
            settings["index-url"] = (_with_login(value, environ), name)
    for name, (option, separator) in _UV_LISTS.items():
        values = [v.strip() for v in environ.get(name, "").split(separator) if v.strip()]
        if option == "index":
            values = [_with_login(value, environ) for value in values]
        settings[option] = (tuple((value, name) for value in values), name)
    if environ.get("UV_NO_INDEX", "").lower() in _TRUE:
        settings["no-index"] = ("true", "UV_NO_INDEX")
    if environ.get("UV_HTTP_TIMEOUT"):
        settings["timeout"] = (environ["UV_HTTP_TIMEOUT"], "UV_HTTP_TIMEOUT")
    return settings


def _with_login(value: str, environ: Mapping[str, str]) -> str:
    """`name=url` or `url` -> the URL, with the login that UV_INDEX_<NAME>_* gives to a named one."""
    match = re.fullmatch(r"([A-Za-z0-9._-]+)=(.+)", value)
    if match is None:
        return value
    name, url = match.groups()
    key = f"UV_INDEX_{variable_name(name)}"
    user, password = environ.get(f"{key}_USERNAME", ""), environ.get(f"{key}_PASSWORD", "")
    parts = urlsplit(url)
    if not (user or password) or "@" in parts.netloc:
        return url
    login = quote(user, safe="") + (f":{quote(password, safe='')}" if password else "")
    return urlunsplit(parts._replace(netloc=f"{login}@{parts.netloc}"))


def _uv_file(files: Files, path: str) -> Settings:
    text = files.read_text(path)
    if text is None:
        return {}
    top = _toml(text, path)
    settings = _uv_table(top, path)
    pip = top.get("pip")
    return _over(_uv_table(pip, path), settings) if isinstance(pip, dict) else settings


def _uv_table(table: Mapping[str, Any], path: str) -> Settings:
    settings: Settings = {}
    for option in _LISTS:
        values = table.get("allow-insecure-host" if option == "trusted-host" else option)
        if isinstance(values, list):
            settings[option] = (tuple((str(value), path) for value in values), path)
    if table.get("index-url"):
        settings["index-url"] = (str(table["index-url"]), path)
    if table.get("no-index") is True:
        settings["no-index"] = ("true", path)
    indexes = [entry for entry in table.get("index", ()) if isinstance(entry, dict) and entry.get("url")]
    for entry in indexes:
        if entry.get("default") is True:
            settings["index-url"] = (str(entry["url"]), path)
    # An explicit index serves only the packages that a project binds to it: it is no extra one.
    plain = [e for e in indexes if not e.get("default") and not e.get("explicit")]
    settings["index"] = (tuple((str(e["url"]), path) for e in plain), path)
    return settings


def _toml(text: str, path: str) -> dict[str, Any]:
    reader = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        return dict(reader.loads(text))
    except ValueError as error:
        raise _unreadable(path, "uv", str(error)) from error


# provision.


def _mapping(environ: Mapping[str, str], files: Files, folder: str) -> dict[str, tuple[str, str]]:
    """Variable name of an index -> (URL or folder, origin)."""
    mapped = _mapping_file(files, str(Path(folder, "config.yaml")))
    for name, value in environ.items():
        if name.startswith("PROVISION_INDEX_") and value:
            mapped[name.removeprefix("PROVISION_INDEX_").upper()] = (value, name)
    return mapped


def _mapping_file(files: Files, path: str) -> dict[str, tuple[str, str]]:
    text = files.read_text(path)
    if text is None:
        return {}
    import yaml

    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise _unreadable(path, "provision", str(error).replace("\n", " ")) from error
    indexes = document.get("indexes", {}) if isinstance(document, dict) else document or {}
    if not isinstance(indexes, dict) or not all(isinstance(v, str) and v for v in indexes.values()):
        raise _unreadable(path, "provision", message("world.mapping-file.indexes-must-map-names-to"))
    return {variable_name(str(name)): (_located(value, path), path) for name, value in indexes.items()}


def _located(value: str, path: str) -> str:
    """A folder in a file is meant from the file's own folder; `~` is the home of the user."""
    if "://" in value:
        return value
    return os.path.normpath(Path(path).parent / Path(value).expanduser())


def _unreadable(path: str, tool: str, why: str) -> UsageError:
    finding = Finding(
        "bad-configuration",
        "error",
        message("world.bad-configuration.summary", tool=tool, path=path),
        detail=why,
        evidence=(Evidence(path, why),),
        remedies=(Remedy(message("world.bad-configuration.way", tool=tool)),),
    )
    return UsageError(finding)


# All together.


def _merged(uv: Settings, pip: Settings, mapped: dict[str, tuple[str, str]]) -> IndexConfig:
    origins: dict[str, str] = {}

    def one(option: str, attribute: str) -> str | None:
        value, origin = _stronger(uv.get(option), pip.get(option)) or (None, "")
        if value is not None:
            origins[attribute] = origin
        return value

    def many(*options: str) -> tuple[str, ...]:
        pairs = [pair for option in options for pair in uv.get(option, ((), ""))[0]]
        for option in options:
            values, origin = pip.get(option, ((), ""))
            pairs += [(value, origin) for value in values]
        for value, origin in pairs:
            origins.setdefault(value, origin)
        return tuple(dict.fromkeys(value for value, _ in pairs))

    default = one("index-url", "default_url")
    if variable_name(PYPI) in mapped:
        default, origins["default_url"] = mapped[variable_name(PYPI)]
    origins.update({f"mapped.{name}": origin for name, (_, origin) in mapped.items()})
    return IndexConfig(
        default_url=default,
        extra_urls=many("index", "extra-index-url"),
        find_links=many("find-links"),
        trusted_hosts=many("trusted-host"),
        cert=one("cert", "cert"),
        client_cert=one("client-cert", "client_cert"),
        proxy=one("proxy", "proxy"),
        timeout=_number(one("timeout", "timeout"), origins.get("timeout", "")),
        no_index=_flag(one("no-index", "no_index"), origins.get("no_index", "")),
        mapped={name: value for name, (value, _) in mapped.items()},
        origins=origins,
    )


def _stronger(uv: tuple[Any, str] | None, pip: tuple[Any, str] | None) -> tuple[Any, str] | None:
    """uv's setting, unless it comes from a file and pip's from a variable."""
    if uv is None or pip is None:
        return uv or pip
    return pip if pip[1].startswith("PIP_") and not uv[1].startswith("UV_") else uv


def _number(text: str | None, origin: str) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError as error:
        raise _bad_value(text or "", message("world.number.number-seconds"), origin) from error


def _flag(text: str | None, origin: str) -> bool:
    if text is None or text.lower() in _FALSE:
        return False
    if text.lower() in _TRUE:
        return True
    raise _bad_value(text, message("world.flag.yes-or-no"), origin)


def _bad_value(text: str, wanted: str, origin: str) -> UsageError:
    return UsageError(
        Finding(
            "bad-configuration",
            "error",
            message("world.bad-configuration.summary-2", origin=origin, text=f"{text!r}", wanted=wanted),
            evidence=(Evidence(origin, text),),
            remedies=(Remedy(message("world.bad-configuration.way-2", wanted=wanted)),),
        )
    )


def shown(config: IndexConfig) -> Iterable[tuple[str, str, str]]:
    """(setting, value fit for showing, origin) of all that is set, for `detect` and `doctor`."""
    if config.default_url:
        yield message("world.shown.default-index"), redact(config.default_url), config.origins["default_url"]
    for title, values in (
        (message("world.shown.extra-index"), config.extra_urls),
        (message("world.shown.find-links"), config.find_links),
    ):
        for value in values:
            yield title, redact(value), config.origins[value]
    for name, value in config.mapped.items():
        yield message("world.shown.index", name=name), redact(value), config.origins[f"mapped.{name}"]
