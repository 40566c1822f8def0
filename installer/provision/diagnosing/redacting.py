"""Take names, places and secrets out of a text that people will send to strangers.

Rather too much than too little: what cannot be told from a secret is replaced as well. The shape of JSON and YAML
stays, since no stand-in holds a quote, a bracket or a line end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

#: Hosts that say nothing of whoever uses them.
_PLAIN_HOSTS = (
    "localhost",
    "127.0.0.1",
    "github.com",
    "developer.nvidia.com",
    "developer.download.nvidia.com",
)
#: Names that are no person's.
_NOBODY = frozenset(
    {"root", "user", "admin", "home", "runner", "ubuntu", "python", "tmp", "data", "test", "work"}
)
_SECRETIVE = (
    r"[\w.-]*(?:token(?!iz)|secret|passwo?r?d|passwd|pwd|(?:api|access|private)[_-]?key|credential"
    r"|auth(?!or)|cookie)[\w.-]*"
)
_URL = re.compile(
    r"\b([a-z][a-z0-9+.-]*://)([^\s/'\"<>\\@]*(?::[^\s/'\"<>\\]*)?@)?([^\s/'\"<>\\:?#,;)\]}]+)(:\d+)?", re.I
)

#: (what, stand-in): in this order, since some hold what a later one would find.
_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----", re.S), "PRIVATE-KEY"),
    (re.compile(r"(?i)((?:proxy-)?authorization[\"']?\s*[:=]\s*[\"']?(?:bearer|basic|token)?\s*)[^\s\"',;]+"), r"\1SECRET"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9+/_.~-]{8,}=*"), r"\1 SECRET"),
    (re.compile(rf"(?i)\b({_SECRETIVE}[\"']?\s*[:=](?!=)\s*[\"']?)(?!SECRET)[^\s\"',;&]+"), r"\1SECRET"),
    (re.compile(r"\b(?:gh[pousr]_\w{16,}|github_pat_\w{16,}|hf_\w{16,}|glpat-[\w-]{16,}|pypi-[\w-]{16,}|AKIA[0-9A-Z]{12,}"
                r"|xox[abprs]-[\w-]{8,}|sk-[\w-]{16,}|AIza[\w-]{20,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)"), "SECRET"),
    (re.compile(r"\b(?:GPU-|MIG-)?[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", re.I), "UUID"),
    (re.compile(r"\b(?:GPU|MIG)-[0-9a-f][0-9a-f-]*(?:/\d+)*\b", re.I), "UUID"),
    (re.compile(r"(?i)((?:serial|uuid)(?:[ _-]?(?:number|no|num|id))?[\"']?\s*[:=]\s*[\"']?)(?!UUID)[\w-]{4,}"),
     r"\1SERIAL"),
    (re.compile(r"\b(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}\b", re.I), "MAC"),
    (re.compile(r"(?<![\w:])(?:[0-9a-f]{1,4}:){4,7}[0-9a-f]{1,4}(?![\w:])", re.I), "ADDRESS"),
    (re.compile(r"(?<![\w.=+-])(?<!version: )(?<!version\": \")(?<!version: ')(?:10|127|169\.254|172\.(?:1[6-9]|2\d|3[01])"
                r"|192\.168)(?:\.\d{1,3}){2,3}(?![\w.-])"), "ADDRESS"),
    (re.compile(r"(?<![\w.+-])(?!CREDENTIALS@)[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b"), "EMAIL"),
    (re.compile(r"\b[\w-]+(?:\.[\w-]+)*\.(?:local|internal|intranet|corp|lan|home\.arpa)\b", re.I), "HOST"),
    (re.compile(r"((?:/home|/Users|/var/home|/data/home|/mnt/c/Users)/)(?!USER)[^/\s\"':;,<>]+"), r"\1USER"),
    (re.compile(r"([A-Za-z]:(?:\\+|/)Users(?:\\+|/))(?!USER)[^\\/\"':;,<>\r\n]+", re.I), r"\1USER"),
    (re.compile(r"(?<![\w:\\])(\\{2,4})[\w.-]+(\\{1,2}[\w$.-]+)"), r"\1HOST\2"),
)  # fmt: skip


@dataclass(frozen=True)
class Redactor:
    """Replaces what a machine knows of its user, and all that looks like a secret.

    `words` maps what must not be seen (user names, host names, values of secret variables) to what stands for it;
    `homes` are home folders; `public` are hosts that may be named.
    """

    words: Mapping[str, str] = field(default_factory=dict)
    homes: tuple[str, ...] = ()
    public: frozenset[str] = frozenset(_PLAIN_HOSTS)

    def text(self, text: str) -> str:
        for home in sorted(filter(None, self.homes), key=len, reverse=True):
            text = _home(home).sub("~", text)
        text = _URL.sub(self._address, text)
        for pattern, stand_in in _PATTERNS:
            text = pattern.sub(stand_in, text)
        return (
            self._words.sub(lambda match: self._by_lower[match[0].lower()], text) if self._by_lower else text
        )

    def _address(self, match: re.Match[str]) -> str:
        scheme, credentials, host, port = match.groups()
        kept = host.lower() in self.public or not host
        who = "CREDENTIALS@" if credentials else ""
        return f"{scheme}{who}{host if kept else 'HOST'}{port if kept and port else ''}"

    @cached_property
    def _by_lower(self) -> dict[str, str]:
        return {
            w.lower(): stand_in
            for w, stand_in in self.words.items()
            if len(w) > 2 and w.lower() not in _NOBODY
        }

    @cached_property
    def _words(self) -> re.Pattern[str]:
        longest = sorted(self._by_lower, key=len, reverse=True)
        return re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(map(re.escape, longest))})(?![A-Za-z0-9])", re.I)


def _home(home: str) -> re.Pattern[str]:
    """A home folder as it stands in texts: with single or, in JSON, doubled backslashes."""
    parts = re.split(r"[\\/]+", home.rstrip("\\/"))
    return re.compile(r"(?:\\+|/)".join(map(re.escape, parts)) + r"(?![\w.-])", re.I if "\\" in home else 0)


def secret_variables(variables: Mapping[str, str]) -> dict[str, str]:
    """The values of variables whose names say that they are secret: value -> stand-in."""
    name = re.compile(rf"(?i){_SECRETIVE}")
    return {v: "SECRET" for k, v in variables.items() if len(v) > 5 and name.fullmatch(k)}


def hosts_in(texts: Iterable[str]) -> set[str]:
    """Hosts and user names that stand in addresses: those of proxies and mirrors."""
    found: set[str] = set()
    for match in (m for text in texts for m in _URL.finditer(text)):
        found.add(match[3])
        found.update(p for p in re.split(r"[:@]", match[2] or "") if p)
    return found
