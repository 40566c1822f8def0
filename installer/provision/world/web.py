"""HTTP as this machine is set up for it: certificates, proxies, logins, trusted hosts.

Network errors are translated here, once, into `Trouble`: a finding and whether trying again may help.
httpx is imported late: its import takes longer than a no-op apply may.
"""

from __future__ import annotations

import base64
import contextlib
import importlib.util
import ipaddress
import os
import socket
import ssl
import threading
import time
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, unquote, urljoin, urlsplit, urlunsplit

from provision.messages import message
from provision.model.finding import ApplyError, BlockedError, Evidence, Finding, ProvisionError, Remedy
from provision.world.indexes import IndexConfig, redact, redact_text

if TYPE_CHECKING:
    import httpx

_HOPS = 10
_PORTS = {"http": 80, "https": 443}
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
_LOGIN = Remedy(message("world.module.way"), "export HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT")
_ELSEWHERE = Remedy(message("world.module.way-2"))
#: Variables that name a bundle of certificates (a file or a folder), strongest first.
_BUNDLES = ("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long to try. `attempts` count only while they bring nothing new; pauses double from `pause` to
    `longest_pause`; `stall` is the time without a byte after which a connection is given up; a server that
    asks for a longer pause than `patience` is not waited for. All times in seconds."""

    attempts: int = 5
    pause: float = 0.5
    longest_pause: float = 8.0
    stall: float = 30.0
    patience: float = 60.0

    def wait(self, failures: int, asked: float | None = None) -> float:
        """Seconds to wait before the next attempt."""
        doubled = self.pause * 2.0 ** max(0, failures - 1)
        return max(min(doubled, self.longest_pause), asked or 0.0)


class Trouble(Exception):
    """One thing that went wrong. `transient`: trying again may help. `wait`: seconds the server asks for."""

    def __init__(
        self,
        finding: Finding,
        *,
        transient: bool = False,
        wait: float | None = None,
        kind: type[ProvisionError] = ApplyError,
        everywhere: bool = False,
    ) -> None:
        super().__init__(finding.summary)
        self.finding = finding
        self.transient = transient
        self.wait = wait
        self.kind = kind
        #: Other files would meet the same trouble: there is no point in going on with them.
        self.everywhere = everywhere


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A whole answer; header names in lower case. `url` is where it came from in the end, without a login."""

    status: int
    url: str
    headers: Mapping[str, str]
    body: bytes


class Web:
    """Opens URLs. Use it as a context manager; safe to share between threads.

    `stall` is in seconds; the machine's own timeout (pip's or uv's), where it is set, replaces it.
    """

    def __init__(
        self,
        config: IndexConfig | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        stall: float = 30.0,
        connections: int = 8,
    ) -> None:
        self._config = config or IndexConfig()
        self._environ = os.environ if environ is None else environ
        self._stall = self._config.timeout or stall
        self._connections = connections
        self._clients: dict[tuple[str, bool], httpx.Client] = {}
        self._context: ssl.SSLContext | None = None
        self._open: set[Any] = set()
        self._lock = threading.Lock()
        self._logins = _logins(self._config)

    def __enter__(self) -> Web:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        with self._lock:
            clients, self._clients = list(self._clients.values()), {}
        for client in clients:
            client.close()

    def abort(self) -> None:
        """Wake all threads that wait for bytes: their reads fail at once."""
        with self._lock:
            sockets = list(self._open)
        for each in sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    @contextlib.contextmanager
    def stream(self, url: str, headers: Mapping[str, str] | None = None) -> Iterator[httpx.Response]:
        """Open a URL and follow redirects; the answer's body is still to be read (`iter_raw`).

        Only answers that are good for something come back (200, 206, 304, 416); all else raises Trouble,
        and so does trouble while the body is read.
        """
        with _translated(url, self._stall):
            response = self._answer(url, dict(headers or {}))
            raw = response.extensions["network_stream"].get_extra_info("socket")
            with self._lock:
                self._open.add(raw)
            try:
                yield response
            finally:
                with self._lock:
                    self._open.discard(raw)
                response.close()

    def read(self, url: str, headers: Mapping[str, str] | None = None, limits: Limits | None = None) -> Page:
        """A page, whole; passing trouble is met with more attempts. Raises Trouble."""
        limits = limits or Limits()
        failures = 0
        while True:
            try:
                with self.stream(url, headers) as response:
                    body = b"".join(response.iter_bytes())
                    lower = {name.lower(): value for name, value in response.headers.items()}
                    return Page(status=response.status_code, url=str(response.url), headers=lower, body=body)
            except Trouble as trouble:
                failures += 1
                too_long = (trouble.wait or 0) > limits.patience
                if not trouble.transient or failures >= limits.attempts or too_long:
                    raise
                time.sleep(limits.wait(failures, trouble.wait))

    def _answer(self, url: str, headers: dict[str, str]) -> httpx.Response:
        for _ in range(_HOPS):
            parts = self._permitted(url)
            client = self._client(parts)
            sent = {"Accept-Encoding": "identity", **self._authorization(parts), **headers}
            address = urlunsplit(_without_login(parts))
            response = client.send(client.build_request("GET", address, headers=sent), stream=True)
            if response.status_code not in _REDIRECTS:
                _check_status(response, url)
                return response
            response.close()
            onward = urljoin(url, response.headers.get("Location", ""))
            if _origin(urlsplit(onward)) != _origin(parts):
                # What the caller says to one host is none of the next one's business.
                headers = {k: v for k, v in headers.items() if k.lower() not in ("authorization", "cookie")}
            url = onward
        raise Trouble(
            _finding(
                "network",
                message("world.answer.redirects-in-circle", host_of=host_of(url)),
                url,
                "",
                _ELSEWHERE,
            )
        )

    def _permitted(self, url: str) -> SplitResult:
        parts = urlsplit(url)
        if parts.scheme not in _PORTS or not parts.hostname:
            raise Trouble(
                _finding(
                    "network", message("world.permitted.not-address-that-can-be", redact=redact(url)), url
                )
            )
        host = parts.hostname
        if parts.scheme == "http" and not (is_loopback(host) or self._config.trusts(host, parts.port)):
            raise Trouble(_insecure(url, host), kind=BlockedError)
        return parts

    def _authorization(self, parts: SplitResult) -> dict[str, str]:
        login = _login_in(parts) or self._logins.get(_origin(parts)) or self._netrc(parts.hostname or "")
        if login is None:
            return {}
        return {"Authorization": "Basic " + base64.b64encode(":".join(login).encode()).decode()}

    def _netrc(self, host: str) -> tuple[str, str] | None:
        import netrc

        home = Path(self._environ.get("HOME") or self._environ.get("USERPROFILE") or "~").expanduser()
        named = self._environ.get("NETRC")
        for path in [Path(named)] if named else [home / ".netrc", home / "_netrc"]:
            with contextlib.suppress(OSError, netrc.NetrcParseError, UnicodeDecodeError):
                found = netrc.netrc(str(path)).authenticators(host)
                return (found[0], found[2] or "") if found else None
        return None

    def _client(self, parts: SplitResult) -> httpx.Client:
        proxy = self._proxy(parts)
        trusted = self._config.trusts(parts.hostname or "", parts.port or _PORTS[parts.scheme])
        # Reading all certificates takes a while: not for plain HTTP.
        verified = not trusted and (parts.scheme == "https" or proxy.startswith("https:"))
        key = (proxy, verified)
        with self._lock:
            if key not in self._clients:
                self._clients[key] = self._new_client(proxy, verified)
            return self._clients[key]

    def _new_client(self, proxy: str, verified: bool) -> httpx.Client:
        import httpx

        return httpx.Client(
            proxy=proxy or None,
            verify=self._verified() if verified else _unverified(self._config),
            trust_env=False,
            timeout=httpx.Timeout(self._stall, connect=min(self._stall, 15.0), pool=None),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=self._connections),
            headers={"User-Agent": _agent()},
        )

    def _proxy(self, parts: SplitResult) -> str:
        """The proxy for an address, empty for none. The system's settings count where no variable is set."""
        host = parts.hostname or ""
        proxies = urllib.request.getproxies()
        port = parts.port or _PORTS[parts.scheme]
        if is_loopback(host) or urllib.request.proxy_bypass(f"{host}:{port}"):
            return ""
        proxy = self._config.proxy or proxies.get(parts.scheme) or proxies.get("all") or ""
        if proxy and "://" not in proxy:
            proxy = f"http://{proxy}"
        if proxy.startswith("socks"):
            _check_socks(proxy, host, self._proxy_origin(parts.scheme))
        return proxy

    def _proxy_origin(self, scheme: str) -> str:
        if self._config.proxy:
            return self._config.origins.get("proxy", message("world.proxy-origin.pips-configuration"))
        names = (f"{scheme}_proxy", f"{scheme.upper()}_PROXY", "all_proxy", "ALL_PROXY")
        return next(
            (name for name in names if self._environ.get(name)),
            message("world.proxy-origin.systems-proxy-settings"),
        )

    def _verified(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = _context(self._config, self._environ)
        return self._context


def check_way(config: IndexConfig, urls: Iterable[str]) -> None:
    """Before anything is asked: raises BlockedError where the way to a URL is a SOCKS proxy that is not spoken here."""
    web = Web(config)
    for url in filter(is_remote, urls):
        try:
            web._proxy(urlsplit(url))
        except Trouble as trouble:
            raise trouble.kind(trouble.finding) from trouble


def may_be_socks(config: IndexConfig) -> bool:
    """Whether a SOCKS proxy is set for anything."""
    set_here = (config.proxy or "", *urllib.request.getproxies().values())
    return any(proxy.startswith("socks") for proxy in set_here)


def host_of(url: str) -> str:
    """Host (and port, where it is not the usual one) of a URL; what messages call a server."""
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname or url


def is_remote(url: str) -> bool:
    return urlsplit(url).scheme in _PORTS


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _origin(parts: SplitResult) -> tuple[str, str, int]:
    return parts.scheme, parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 0)


def _without_login(parts: SplitResult) -> SplitResult:
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment="")


def _login_in(parts: SplitResult) -> tuple[str, str] | None:
    if parts.username is None and parts.password is None:
        return None
    return unquote(parts.username or ""), unquote(parts.password or "")


def _logins(config: IndexConfig) -> dict[tuple[str, str, int], tuple[str, str]]:
    """An index's login serves all of its host: the files are linked without it."""
    logins: dict[tuple[str, str, int], tuple[str, str]] = {}
    for url in (config.default_url, *config.extra_urls, *config.find_links, *config.mapped.values()):
        if url and is_remote(url) and (login := _login_in(urlsplit(url))):
            logins.setdefault(_origin(urlsplit(url)), login)
    return logins


def _agent() -> str:
    from provision import __version__

    return f"provision/{__version__}"


# Certificates.


def _context(config: IndexConfig, environ: Mapping[str, str]) -> ssl.SSLContext:
    """The one bundle that the machine names, else all that the system and certifi know."""
    if config.cert:
        context = _bundle(config.cert, config.origins.get("cert", message("world.common.configuration")))
    else:
        named = next((name for name in _BUNDLES if environ.get(name)), None)
        context = _bundle(environ[named], named) if named else _system_context()
    if config.client_cert:
        _add_client_cert(context, config)
    return context


def _system_context() -> ssl.SSLContext:
    import certifi

    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


def _bundle(path: str, origin: str) -> ssl.SSLContext:
    try:
        if Path(path).is_dir():
            return ssl.create_default_context(capath=path)
        context = ssl.create_default_context(cafile=path)
        # The two variables of OpenSSL add up, as they do elsewhere.
        if origin == "SSL_CERT_FILE":
            context.set_default_verify_paths()
        return context
    except OSError as error:
        raise _no_bundle(path, origin, error.strerror or str(error)) from error


def _add_client_cert(context: ssl.SSLContext, config: IndexConfig) -> None:
    path = str(config.client_cert)
    try:
        context.load_cert_chain(path)
    except OSError as error:
        origin = config.origins.get("client_cert", message("world.common.configuration"))
        raise _no_bundle(path, origin, error.strerror or str(error)) from error


def _unverified(config: IndexConfig) -> ssl.SSLContext:
    """For hosts that the machine's owner vouches for (`trusted-host`), as pip treats them."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if config.client_cert:
        _add_client_cert(context, config)
    return context


def _no_bundle(path: str, origin: str, why: str) -> Trouble:
    finding = Finding(
        "tls",
        "error",
        message("world.tls.summary", origin=origin, path=path),
        detail=why,
        evidence=(Evidence(origin, path),),
        remedies=(Remedy(message("world.tls.way", origin=origin)),),
    )
    return Trouble(finding, kind=BlockedError, everywhere=True)


# Proxies.


def _check_socks(proxy: str, host: str, origin: str) -> None:
    scheme = urlsplit(proxy).scheme
    if scheme in ("socks5", "socks5h") and importlib.util.find_spec("socksio"):
        return
    known = scheme in ("socks5", "socks5h")
    why = (
        message("world.check-socks.package-socksio-is-not-installed")
        if known
        else message("world.check-socks.is-not-spoken-here", scheme=scheme)
    )
    ways = [
        Remedy(
            message("world.check-socks.way"),
            "export HTTPS_PROXY=http://HOST:PORT",
        ),
        Remedy(message("world.check-socks.way-2", host=host), f"export NO_PROXY={host}"),
    ]
    if known:
        ways.append(Remedy(message("world.check-socks.way-3"), "pip install socksio"))
    finding = Finding(
        "proxy-socks",
        "error",
        message("world.proxy-socks.summary", origin=origin, redact=redact(proxy), why=why),
        detail=message("world.proxy-socks.detail"),
        evidence=(Evidence(origin, redact(proxy)),),
        remedies=tuple(ways),
    )
    raise Trouble(finding, kind=BlockedError, everywhere=True)


# Errors into findings.


def _finding(code: str, summary: str, url: str, detail: str = "", *remedies: Remedy) -> Finding:
    return Finding(code, "error", summary, detail, (Evidence(redact(url), detail),), remedies)


def _insecure(url: str, host: str) -> Finding:
    return _finding(
        "insecure-index",
        message("world.insecure.is-addressed-without-tls-http", host=host),
        url,
        "",
        Remedy(message("world.insecure.way")),
        Remedy(message("world.insecure.way-2"), f"pip config set global.trusted-host {host}"),
    )


def _check_status(response: httpx.Response, url: str) -> None:
    code = response.status_code
    if code in (200, 206, 304, 416):
        return
    response.close()
    said = f"{code} {response.reason_phrase}".strip()
    host = host_of(url)
    if code in (404, 410):
        raise Trouble(
            _finding(
                "not-found",
                message("world.check-status.does-not-have", host=host, last_part=_last_part(url)),
                url,
                said,
            )
        )
    if code in (401, 403):
        raise Trouble(_unauthorized(url, said))
    if code == 407:
        raise Trouble(
            _finding(
                "proxy", message("world.check-status.proxy-on-way-to-asks", host=host), url, said, _LOGIN
            ),
            everywhere=True,
        )
    wait = _retry_after(response.headers.get("Retry-After", ""))
    summary = (
        message("world.check-status.answers-and-waits", host=host, said=said, wait=f"{wait:.0f}")
        if wait
        else message("world.check-status.answers", host=host, said=said)
    )
    raise Trouble(_finding("network", summary, url, said, _ELSEWHERE), transient=code in _AGAIN, wait=wait)


def _last_part(url: str) -> str:
    return unquote(urlsplit(url).path.rstrip("/").rsplit("/", 1)[-1]) or message("world.last-part.page")


def _unauthorized(url: str, said: str) -> Finding:
    host = host_of(url)
    return _finding(
        "unauthorized",
        message("world.unauthorized.does-not-let-us-in", host=host, said=said),
        url,
        said,
        Remedy(message("world.unauthorized.way", hostname=urlsplit(url).hostname)),
        Remedy(message("world.unauthorized.way-2")),
    )


def _retry_after(text: str) -> float | None:
    """Seconds that a server asks to wait (a number or a date)."""
    import email.utils

    if text.strip().isdigit():
        return float(text)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (TypeError, ValueError):
        return None


@contextlib.contextmanager
def _translated(url: str, stall: float) -> Iterator[None]:
    import httpx

    try:
        yield
    except httpx.HTTPError as error:
        raise _trouble(error, url, stall) from error
    except httpx.InvalidURL as error:
        raise Trouble(
            _finding("network", message("world.translated.not-address", redact=redact(url)), url, str(error))
        ) from error


def _trouble(error: httpx.HTTPError, url: str, stall: float) -> Trouble:
    import httpx

    host = host_of(url)
    said = redact_text(str(error)) or type(error).__name__
    if _is_certificate(error):
        return Trouble(_bad_certificate(url, said), everywhere=True)
    if isinstance(error, httpx.ProxyError):
        return Trouble(
            _finding("proxy", message("world.trouble.proxy-on-way-to-refuses", host=host), url, said),
            transient=True,
        )
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.UnsupportedProtocol):
        summary = message("world.trouble.cannot-be-reached", host=host)
        return Trouble(_finding("index-unreachable", summary, url, said), transient=True)
    if isinstance(error, httpx.ReadTimeout):
        summary = message("world.trouble.sent-nothing-for-s", host=host, stall=f"{stall:g}")
        return Trouble(_finding("network", summary, url, said), transient=True)
    return Trouble(
        _finding("network", message("world.trouble.connection-to-broke", host=host), url, said),
        transient=True,
    )


def _is_certificate(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError) or "CERTIFICATE_VERIFY_FAILED" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def _bad_certificate(url: str, said: str) -> Finding:
    host = host_of(url)
    return _finding(
        "tls",
        message("world.bad-certificate.certificate-is-not-one-that", host=host),
        url,
        said,
        Remedy(
            message("world.bad-certificate.way"),
            "export SSL_CERT_FILE=/path/to/ca.pem",
        ),
        Remedy(message("world.bad-certificate.way-2"), "pip config set global.cert /path/to/ca.pem"),
    )
