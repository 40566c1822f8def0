"""conda without a conda: rattler, in this process, solves channels and makes prefixes.

What rattler is not asked for: downloads (the store does them, with resume and a checked hash: rattler takes a local file
as it is) and post-link scripts (it swallows their failures).
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from provision.messages import message
from provision.model.finding import ApplyError, Evidence, Finding, Remedy, UsageError
from provision.model.lock import CondaArtifact
from provision.ports import CatalogFailure, CondaRequest
from provision.world.bundles import Bundle, in_bundle, of_bundle
from provision.world.channels import Channel, ChannelConfig, channel_name
from provision.world.indexes import IndexConfig, redact_text
from provision.world.store import Store, Wanted

if TYPE_CHECKING:
    import rattler

T = TypeVar("T")
#: The store's word for where conda packages come from; the hash says the rest.
_INDEX = "conda"


class RattlerEngine:
    """Implements ports.Channels and ports.CondaInstaller. `cache` is provision's own cache folder.

    Its package cache is provision's own, and locked by rattler entry by entry; conda's is never written to.
    """

    def __init__(
        self, channels: ChannelConfig, config: IndexConfig, cache: Path, offline: bool = False,
        bundle: Bundle | None = None,
    ) -> None:  # fmt: skip
        self._bundle = bundle
        self._channels = channels
        self._config = config
        self._cache = cache
        self._offline = offline

    def solve(self, request: CondaRequest) -> tuple[CondaArtifact, ...] | CatalogFailure:
        _require()
        from rattler import exceptions

        channels = self._channels.channels(request.channels, request.subdir)
        try:
            records = _wait(self._records(request, channels))
        except exceptions.SolverError as error:
            return CatalogFailure(str(error))
        except (exceptions.GatewayError, exceptions.FetchRepoDataError, exceptions.IoError) as error:
            return CatalogFailure(redact_text(str(error)), unreachable=True)
        except (exceptions.InvalidMatchSpecError, exceptions.InvalidVersionSpecError) as error:
            raise UsageError(_bad_spec(request.specs, str(error))) from None
        found = [_artifact(record, channels) for record in records]
        leads = self._channels.replay.leads
        known = (replace(a, depends=()) if f"{a.channel}/{a.subdir}/{a.file}" in leads else a for a in found)
        return tuple(sorted(known, key=lambda a: a.name))

    def unanswered(self, specs: Sequence[str], artifacts: Sequence[CondaArtifact]) -> tuple[str, ...]:
        """Those of the match specs that none of the packages answers. Raises UsageError for what is no spec."""
        _require()
        import rattler

        records = [(a, _record(a, a.url)) for a in artifacts]
        left = []
        for spec in specs:
            channel, _, bare = spec.rpartition("::")
            try:
                match = rattler.MatchSpec(bare)
            except (rattler.exceptions.InvalidMatchSpecError, ValueError) as error:
                raise UsageError(_bad_spec(specs, str(error))) from None
            if not any(channel in ("", a.channel) and match.matches(record) for a, record in records):
                left.append(spec)
        return tuple(left)

    async def _records(
        self, request: CondaRequest, channels: Sequence[Channel]
    ) -> list[rattler.RepoDataRecord]:
        import rattler

        action: Any = "force-cache-only" if self._offline else "cache-or-fetch"
        gateway = rattler.Gateway(
            cache_dir=self._cache / "conda" / "repodata",
            default_config=rattler.SourceConfig(cache_action=action),
        )
        sources = [rattler.Channel(channel.place) for channel in channels]
        platforms = [rattler.Subdir(request.subdir), rattler.Subdir("noarch")]
        kept = {(a.channel, a.file) for a in request.preferences}
        former: list[rattler.RepoDataRecord] = []
        if kept:
            names = [rattler.MatchSpec(a.name) for a in request.preferences]
            # The channel's own records: a lock may not know what its packages depend on.
            answer = await gateway.query(sources=sources, platforms=platforms, specs=names, recursive=False)
            listed = (record for records in answer for record in records)
            former = [r for r in listed if (_origin(r.url, channels)[0].name, r.file_name) in kept]
        return await rattler.solve(
            sources=sources,
            # As conda reads them: its own exports write builds that a strict reading refuses.
            specs=[rattler.MatchSpec(spec) for spec in request.specs],
            gateway=gateway,
            platforms=platforms,
            virtual_packages=[_virtual(name, text) for name, text in request.virtual_packages.items()],
            channel_priority=rattler.ChannelPriority.Strict,
            exclude_newer=datetime.fromisoformat(request.as_of) if request.as_of else None,
            locked_packages=former,
        )

    def present(self, artifacts: Sequence[CondaArtifact]) -> frozenset[str]:
        kept = Store(self._cache)
        stored = frozenset(a.key for a in artifacts if kept.holds(wanted_file(a, ())))
        return stored | in_bundle(self._bundle, (wanted_file(a, ()) for a in artifacts))

    def fetch(self, artifacts: Sequence[CondaArtifact], advance: Callable[[int], None]) -> dict[str, str]:
        from provision.world.fetching import Fetcher

        fetcher = Fetcher(cache=self._cache, config=self._config, offline=self._offline)
        paths = fetcher.fetch(self._wanted(artifacts), _deltas(advance))
        return {key: str(path) for key, path in paths.items()}

    def check_here(self, artifacts: Sequence[CondaArtifact]) -> None:
        """Offline: raises BlockedError with every package that no place of this machine has."""
        from provision.world.fetching import Fetcher

        kept = Store(self._cache)
        fetcher = Fetcher(cache=self._cache, config=self._config, offline=self._offline)
        fetcher.near([w for w in self._wanted(artifacts) if not kept.holds(w)])

    def _wanted(self, artifacts: Sequence[CondaArtifact]) -> list[Wanted]:
        own = of_bundle(self._bundle, (wanted_file(a) for a in artifacts))
        return [
            wanted_file(a, (*((own[a.file],) if a.file in own else ()), self._place(a))) for a in artifacts
        ]

    def check_way(self, artifacts: Sequence[CondaArtifact]) -> None:
        """Raises BlockedError where a channel is behind a proxy that is not spoken here."""
        from provision.world.web import check_way, may_be_socks

        if not self._offline and may_be_socks(self._config):
            check_way(self._config, sorted({self._place(a).rpartition("/")[0] for a in artifacts}))

    def _place(self, artifact: CondaArtifact) -> str:
        """Where this machine has the channel: a mirror, where one is set, else the channel's own address."""
        channel = self._channels.channel(artifact.channel)
        rest = artifact.url.removeprefix(channel.upstream)
        return f"{channel.place}{rest}" if rest != artifact.url else artifact.url

    def install(
        self,
        prefix: str,
        environment: str,
        artifacts: Sequence[CondaArtifact],
        files: Mapping[str, str],
        requested: Sequence[str],
    ) -> int:
        _require()
        uris = {a.key: Path(files[a.key]).as_uri() for a in artifacts}
        counted = _Counter()
        try:
            _wait(self._install(prefix, environment, artifacts, uris, counted))
        except Exception as error:
            raise ApplyError(_not_installed(str(error))) from error
        if counted.operations:
            _name_upstream(Path(prefix), {uris[a.key]: a.url for a in artifacts}, artifacts, requested)
        return counted.operations

    async def _install(
        self,
        prefix: str,
        environment: str,
        artifacts: Sequence[CondaArtifact],
        uris: Mapping[str, str],
        counted: _Counter,
    ) -> None:
        import rattler

        installed = [rattler.PrefixRecord.from_path(p) for p in Path(prefix, "conda-meta").glob("*.json")]
        subdirs = {a.subdir for a in artifacts} - {"noarch"}
        await rattler.install(
            [_record(a, uris[a.key]) for a in artifacts],
            target_prefix=prefix,
            installed_packages=installed,
            platform=rattler.Subdir(subdirs.pop()) if len(subdirs) == 1 else None,
            execute_link_scripts=False,
            show_progress=False,
            reporter=cast("Any", counted),
            alternative_target_prefix=environment,
            # With the origin (a path that holds the hash) in the key: two builds of one name never mix.
            package_cache=rattler.PackageCache(self._cache / "conda" / "pkgs").with_cached_origin(),
        )

    def run_script(self, prefix: str, script: str, artifact: CondaArtifact) -> None:
        folder = Path(prefix, "Scripts" if os.name == "nt" else "bin")
        env = {
            **os.environ,
            "PREFIX": prefix,
            "PKG_NAME": artifact.name,
            "PKG_VERSION": artifact.version,
            "PKG_BUILDNUM": str(artifact.build_number),
            "PATH": f"{folder}{os.pathsep}{os.environ.get('PATH', '')}",
        }
        shell = ["cmd", "/d", "/c"] if script.endswith(".bat") else ["sh", "-e"]
        done = subprocess.run(
            [*shell, str(Path(prefix, script))], cwd=prefix, env=env, capture_output=True, encoding="utf-8",
            errors="replace", stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise ApplyError(_script_failed(artifact, script, done.returncode, done.stdout + done.stderr))


class _Counter:
    """Listens to rattler's progress. rattler calls what it finds here, and leaves out what it does not."""

    def __init__(self) -> None:
        self.operations = 0

    def on_link_start(self, operation: int, package_name: str) -> int:
        self.operations += 1
        return operation

    def on_unlink_start(self, operation: int, package_name: str) -> int:
        self.operations += 1
        return operation


def _require() -> None:
    """Say what to install where the extra is missing."""
    try:
        import rattler  # noqa: F401
    except ImportError:
        raise UsageError(
            Finding(
                "extra-missing", "error", message("world.extra-missing.summary"),
                remedies=(Remedy(message("world.extra-missing.way"), "pip install 'dl-provision[conda]'"),),
            )
        ) from None  # fmt: skip


def _wait(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end. A panic inside rattler is no Exception of Python's; here it becomes one."""
    try:
        return asyncio.run(work)
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        if isinstance(error, Exception):
            raise
        raise RuntimeError(f"rattler stopped: {error}") from None


def _virtual(name: str, text: str) -> rattler.GenericVirtualPackage:
    import rattler

    version, _, build = text.partition("=")
    return rattler.GenericVirtualPackage(
        rattler.PackageName(name), rattler.Version(version), rattler.BuildString(build or "0")
    )


def _artifact(record: rattler.RepoDataRecord, channels: Sequence[Channel]) -> CondaArtifact:
    channel, rest = _origin(record.url, channels)
    kind = record.noarch
    return CondaArtifact(
        name=record.name.normalized,
        version=str(record.version),
        build=str(record.build),
        build_number=record.build_number,
        subdir=record.subdir,
        channel=channel.name,
        url=f"{channel.upstream}/{rest}",
        size=record.size,
        sha256=record.sha256.hex() if record.sha256 else None,
        md5=record.md5.hex() if record.md5 else None,
        noarch="python" if kind.python else "generic" if kind.generic else None,
        depends=tuple(record.depends),
        constrains=tuple(record.constrains),
    )


def _origin(url: str, channels: Sequence[Channel]) -> tuple[Channel, str]:
    """The channel that a record's address belongs to, and the rest of the address."""
    import rattler

    for channel in channels:
        base = rattler.Channel(channel.place).base_url
        if url.startswith(base):
            return channel, url.removeprefix(base)
    plain = url.rsplit("/", 2)
    return Channel(channel_name(plain[0]), plain[0], plain[0]), "/".join(plain[1:])


def _record(artifact: CondaArtifact, url: str) -> rattler.RepoDataRecord:
    import rattler

    record = rattler.PackageRecord(
        artifact.name,
        rattler.VersionWithSource(artifact.version),
        rattler.BuildString(artifact.build),
        artifact.build_number,
        artifact.subdir,
        noarch=artifact.noarch,
        depends=list(artifact.depends),
        constrains=list(artifact.constrains),
        sha256=bytes.fromhex(artifact.sha256) if artifact.sha256 else None,
        md5=bytes.fromhex(artifact.md5) if artifact.md5 else None,
        size=artifact.size,
    )
    channel = artifact.url.rsplit("/", 2)[0]
    return rattler.RepoDataRecord(record, artifact.file, url, channel)


def _name_upstream(
    prefix: Path, places: Mapping[str, str], artifacts: Sequence[CondaArtifact], requested: Sequence[str]
) -> None:
    """The records of the prefix name the channel's address, not a path of this machine's cache; and what was
    asked for."""
    asked = {spec.split(" ")[0].rsplit("::", 1)[-1]: spec for spec in requested}
    for artifact in artifacts:
        path = prefix / "conda-meta" / f"{artifact.label}.json"
        text = path.read_text(encoding="utf-8")
        for place, upstream in ((p, u) for p, u in places.items() if u == artifact.url):
            text = text.replace(json.dumps(place), json.dumps(upstream), 1)
        if artifact.name in asked:
            text = text.replace(
                '"requested_specs": []', f'"requested_specs": [{json.dumps(asked[artifact.name])}]', 1
            )
        path.write_text(text, encoding="utf-8")


def wanted_file(artifact: CondaArtifact, urls: Sequence[str] = ()) -> Wanted:
    """A conda package of a lock as the store names it."""
    return Wanted(
        filename=artifact.file,
        sha256=artifact.sha256 or "",
        md5=artifact.md5 or "",
        urls=tuple(urls),
        size=artifact.size,
        index=_INDEX,
    )


def _deltas(advance: Callable[[int], None]) -> Callable[[int], None]:
    last = 0

    def tell(held: int) -> None:
        nonlocal last
        advance(held - last)
        last = held

    return tell


def _bad_spec(specs: Sequence[str], said: str) -> Finding:
    return Finding(
        "bad-spec", "error", message("world.bad-spec.summary"),
        detail=", ".join(specs), evidence=(Evidence("solver", said),),
        remedies=(Remedy(message("world.bad-spec.way")),),
    )  # fmt: skip


def _not_installed(said: str) -> Finding:
    return Finding(
        "conda-install-failed", "error", message("world.conda-install-failed.summary"), detail=said,
        remedies=(Remedy(message("world.common.nothing-was-switched-environment-is")),),
    )  # fmt: skip


def _script_failed(artifact: CondaArtifact, script: str, code: int, said: str) -> Finding:
    return Finding(
        "link-script-failed", "error",
        message("world.link-script-failed.summary", name=artifact.name, version=artifact.version, code=code),
        detail="\n".join(said.strip().splitlines()[-12:]),
        evidence=(Evidence(script, message("world.common.exit-code", code=code)),),
        remedies=(
            Remedy(message("world.common.nothing-was-switched-environment-is")),
            Remedy(message("world.link-script-failed.way-2")),
        ),
    )  # fmt: skip
