"""What all exported files say first: of which lock they are, and what the machine must have."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit, urlunsplit

from provision.documents import dump_yaml
from provision.model.lock import VENDOR, Artifact, Lock


def title(lock: Lock) -> str:
    """`team · linux-x86_64 · Python 3.10 · lock 3f9c21`."""
    digest = hashlib.sha256(dump_yaml(lock).encode()).hexdigest()[:6]
    parts = (lock.profile, lock.variant, lock.target, f"Python {lock.python}", f"lock {digest}")
    return " · ".join(part for part in parts if part)


def comments(lock: Lock) -> Iterator[str]:
    """The title, and what no such file can hold: needs of the machine, packages that must not be there."""
    yield title(lock)
    for need in lock.needs:
        yield f"needs: {need.what} {need.value}".rstrip()
    if lock.absent:
        yield f"must not be there: {', '.join(lock.absent)}"
    for patch in lock.patches:
        if patch.kind == "override":
            yield f"against its metadata: {patch.requirement} ({patch.because})"
    sources = [a.name for a in lock.packages if a.kind == "sdist"]
    if sources:
        yield f"built from source: {', '.join(sources)}"


def address(artifact: Artifact, urls: Mapping[str, str], local: bool = False) -> str | None:
    """Where a file is, without credentials: they stay on the machine that has them, as (but for `local`) its folders do."""
    url = artifact.url or urls.get(artifact.file)
    parts = urlsplit(url or "")
    if url is None or (parts.scheme == "file" and not local):
        return None
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def vendor_folder(lock: Lock) -> str | None:
    """The folder of the files that no index serves, relative to the profile; None if there are none."""
    if not any(artifact.index == VENDOR for artifact in lock.packages):
        return None
    return next((index.url for index in lock.indexes if index.name == VENDOR), "./vendor")
