"""Where packages come from: silent CPU builds, local versions, extra indexes, conda channels, paths."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from provision.knowledge import Build, IndexRow, Knowledge, LintRow
from provision.knowledge.versions import holds_any, version_key
from provision.linting.nouns import Scope, Setting, Wanted, canonical
from provision.linting.packages import distributions, frameworks
from provision.linting.places import in_words, targets_of
from provision.messages import message
from provision.model.finding import Finding, Severity
from provision.model.lock import PYPI


def silent_cpu(scope: Scope, knowledge: Knowledge) -> Iterator[Finding]:
    """A framework without an index, on targets where the default index has its CPU build only."""
    if scope.vendor == "cpu" or _names_a_build(scope, knowledge):
        return
    carriers = distributions(knowledge)
    for one in scope.wanted:
        if one.name not in carriers or one.manager != "pip" or one.solved:
            continue
        if one.local or one.bound or one.url:
            continue
        targets, elsewhere = _cpu_only(one, scope, knowledge)
        if targets and elsewhere is not None:
            yield _cpu_finding(one, scope, targets, elsewhere, knowledge)


def _cpu_only(one: Wanted, scope: Scope, knowledge: Knowledge) -> tuple[tuple[str, ...], Build | None]:
    """Targets on which an installer takes a CPU build, and a build for accelerators that it passes over there."""
    builds = [b for f in frameworks(knowledge) for b in knowledge.builds(f)]
    fitting = [
        b
        for b in builds
        if b.distribution == one.name and one.specifiers.contains(b.version, prereleases=True)
    ]
    found: list[str] = []
    better: list[Build] = []
    for target in targets_of(scope, one):
        here = [b for b in fitting if b.target == target]
        newest = max((b.version for b in here if b.index == PYPI), key=version_key, default=None)
        taken = [b for b in here if b.index == PYPI and b.version == newest and _is_complete(b, one, scope)]
        passed = [b for b in here if b.index not in (PYPI, "vendor") and b.runtime.kind != "cpu"]
        if taken and passed and all(b.runtime.kind == "cpu" for b in taken):
            found.append(target)
            better += passed
    return tuple(found), max(better, key=lambda b: (version_key(b.version), b.index), default=None)


def _is_complete(build: Build, one: Wanted, scope: Scope) -> bool:
    """False for a build that becomes one for accelerators by a plugin (torch-npu) or extra that nobody asks for."""
    plugins = {re.split(r"[^\w.-]", text)[0] for text in build.requires[:1]}
    names = {wanted.name for wanted in scope.wanted}
    return {canonical(name) for name in plugins if name} <= names and set(build.extras) <= set(one.extras)


def _cpu_finding(
    one: Wanted, scope: Scope, targets: tuple[str, ...], build: Build, knowledge: Knowledge
) -> Finding:
    severity: Severity = "error" if scope.is_profile else "warning"
    kind = build.runtime.kind.upper() if len(build.runtime.kind) <= 4 else build.runtime.kind
    said = message(
        "linting.cpu-finding.without-index-is-cpu-build", one=one, in_words=in_words(targets), kind=kind
    )
    url = knowledge.index_url(build.index)
    ways = (
        message("linting.cpu-finding.take-from", requirement=build.requirement, index=build.index, url=url),
    )
    return one.place.finding("silent-cpu", severity, said, (build.row, build.source), ways)


def _names_a_build(scope: Scope, knowledge: Knowledge) -> bool:
    """True if an index or folder is configured that may hold builds which the default index does not have."""
    indexes = scope.of("index-url", "extra-index-url")
    return bool(scope.of("find-links")) or any(_variant(setting.value, knowledge) for setting in indexes)


def _variant(url: str, knowledge: Knowledge) -> str:
    """`cu118` of an address that ends like one of the frameworks' own indexes, or of a mirror of it."""
    path = url.rstrip("/").lower()
    for row in knowledge.rows(IndexRow):
        if "{variant}" in row.url:
            folder = posixpath.basename(posixpath.dirname(row.url))
            if match := re.search(rf"/{re.escape(folder)}/((?:\w+/)?[\w.]+)$", path):
                return match[1]
    return ""


def local_versions(scope: Scope, knowledge: Knowledge) -> Iterator[Finding]:
    """`+cu118` is in no default index and in no mirror of it: only the framework's own index has it."""
    served = {
        _variant(s.value, knowledge).rpartition("/")[2] for s in scope.of("index-url", "extra-index-url")
    }
    if scope.of("find-links"):
        return
    for one in scope.wanted:
        if one.manager != "pip" or one.solved or one.bound or one.url:
            continue
        if one.local and one.local not in served:
            yield _local_finding(one, scope, knowledge)


def _local_finding(one: Wanted, scope: Scope, knowledge: Knowledge) -> Finding:
    version = (one.version or "").partition("+")[0]
    builds = [
        b
        for f in frameworks(knowledge)
        for b in knowledge.builds(f)
        if b.local == one.local and b.index != PYPI
    ]
    build = next((b for b in builds if b.version == version), builds[0] if builds else None)
    url = knowledge.index_url(build.index) if build else None
    mirror = next(iter(scope.of("index-url")), None)
    what = (
        message("linting.local-finding.index-mirrors-default-one-which", value=mirror.value)
        if mirror
        else message("linting.local-finding.default-index")
    )
    said = message("linting.local-finding.cannot-come-from-there-holds", one=one, what=what)
    because = (build.row, build.source) if build else ("", "")
    ways = (
        (message("linting.local-finding.name-index-that-has-it", url=url),)
        if url
        else (message("linting.local-finding.name-index-that-has-it-2"),)
    )
    detail = message("linting.local-finding.mirror-packages-is-not-at")
    return one.place.finding("mirror-cannot-serve-local-version", "error", said, because, ways, detail)


def extra_indexes(scope: Scope, knowledge: Knowledge) -> Iterator[Finding]:
    """pip takes the highest version from any index: somebody else's package may win by its name."""
    pip = [one for one in scope.wanted if one.manager == "pip"]
    if pip and all(one.hashed or one.url or one.bound for one in pip):
        return
    for setting in scope.of("extra-index-url"):
        said = message("linting.extra-indexes.extra-index-is-asked-for")
        ways = (
            message("linting.extra-indexes.in-profile-bind-packages-to"),
            message("linting.extra-indexes.pin-every-package-with-its"),
        )
        yield setting.place.finding("extra-index-confusion", "error", said, ways=ways)


def pre_releases(scope: Scope, knowledge: Knowledge) -> Iterator[Finding]:
    """A lower bound that is a pre-release lets every later pre-release in."""
    for one in scope.wanted:
        for spec in one.specifiers:
            version = version_key(spec.version)
            if spec.operator in (">=", ">") and version.pre is not None:
                said = message("linting.pre-releases.lets-pre-releases-in-its", one=one)
                ways = (
                    message("linting.pre-releases.write", name=one.name, base_version=version.base_version),
                    message("linting.pre-releases.pin-pre-release-with"),
                )
                yield one.place.finding("pre-release", "warning", said, ways=ways)


def credentials(scope: Scope, knowledge: Knowledge) -> Iterator[Finding]:
    """A user or a password in an address; names of variables (`${TOKEN}`) are none."""
    for place, url in [
        *((s.place, s.value) for s in scope.settings),
        *((w.place, w.url) for w in scope.wanted),
    ]:
        found = re.search(r"://([^/\s@]+)@", url)
        if found and not re.fullmatch(r"(\$\{\w+\}|git|:)*", found[1]):
            said = message("linting.credentials.address-with-credentials-whoever-reads")
            ways = (
                message("linting.credentials.put-them-into-netrc-or"),
                message("linting.credentials.write-and-set-variable"),
            )
            yield place.finding("credentials", "error", said, ways=ways)


# --- rows of kind lint


def channels(scope: Scope, knowledge: Knowledge) -> Iterator[Finding]:
    """conda packages whose channel is not configured."""
    names = {_channel(setting.value) for setting in scope.of("channel")}
    mirrored = {setting.value for setting in scope.of("channel-mirror")}
    for row in knowledge.rows(LintRow):
        if not row.without_channels or names & set(row.without_channels):
            continue
        for one in _concerned(row, scope):
            if one.bound not in row.without_channels:
                lacking = ", ".join(row.without_channels)
                said = message(
                    "linting.channels.without-channel", name=one.name, lacking=lacking, because=row.because
                )
                has = sorted(mirrored & set(row.without_channels))
                detail = message("linting.channels.this-machine-maps-to-mirror", has=has[0]) if has else ""
                yield one.place.finding(
                    row.code, row.severity, said, (row.id, row.source), row.instead, detail
                )


def _channel(value: str) -> str:
    """The name of a channel that is given by address."""
    parts = [part for part in value.rstrip("/").split("/") if part]
    return parts[-1] if parts else ""


def _concerned(row: LintRow, scope: Scope) -> Iterator[Wanted]:
    """The lines that a row is about."""
    names = {canonical(name) for name in row.packages}
    for one in scope.wanted:
        right = one.name in names and row.manager in ("", one.manager)
        if right and (not row.versions or _may_be(one, row.versions)):
            yield one


def _may_be(one: Wanted, ranges: tuple[str, ...]) -> bool:
    return holds_any(ranges, (one.version or "99999").partition("+")[0])


def nightlies(scope: Scope, knowledge: Knowledge) -> Iterator[Finding]:
    """Pins of development versions, which do not stay on their index."""
    for row in knowledge.rows(LintRow):
        for one in _concerned(row, scope) if row.development else ():
            if one.version and version_key(one.version).is_devrelease:
                said = f"{one}: " + row.because
                yield one.place.finding(row.code, row.severity, said, (row.id, row.source), row.instead)


def paths(scope: Scope, knowledge: Knowledge) -> Iterator[Finding]:
    """The path of the environment, where it is known whole: too long, or of letters that something cannot take."""
    setting = next(iter(scope.of("path")), None)
    path = _absolute(setting, scope.folder) if setting else None
    if setting is None or path is None:
        return
    told: set[str] = set()
    for row in knowledge.rows(LintRow):
        if row.path and row.code not in told and _path_concerned(row, path, scope):
            told.add(row.code)
            said = f"{path}: " + row.because
            yield setting.place.finding(row.code, row.severity, said, (row.id, row.source), row.instead)


def names(scope: Scope, knowledge: Knowledge) -> Iterator[Finding]:
    """A name of an environment with characters that its manager refuses."""
    for setting in scope.of("name"):
        for row in knowledge.rows(LintRow):
            bad = [c for c in row.name_characters if c in setting.value]
            if bad and row.manager in ("", scope.manager):
                said = f"{setting.value!r}: " + row.because
                yield setting.place.finding(row.code, row.severity, said, (row.id, row.source), row.instead)


def _absolute(setting: Setting, folder: str) -> str | None:
    if re.match(r"[A-Za-z]:[\\/]|/|\\\\", setting.value):
        return setting.value
    separator = "\\" if "\\" in folder else "/"
    return f"{folder.rstrip(separator)}{separator}{setting.value}" if folder else None


def _path_concerned(row: LintRow, path: str, scope: Scope) -> bool:
    windows = "\\" in path or re.match(r"[A-Za-z]:", path) is not None
    if (row.os and (row.os == "windows") != windows) or (row.manager and row.manager != scope.manager):
        return False
    if row.packages and not any(_concerned(row, scope)):
        return False
    inside = len(path) + len("\\Lib\\site-packages\\") + row.longest_member
    return {"long": inside > 259, "non-ascii": not path.isascii(), "space": " " in path}[row.path or "long"]
