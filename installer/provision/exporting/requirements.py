"""requirements.txt with hashes, for pip and uv."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from provision.exporting.heading import address, comments, vendor_folder
from provision.model.lock import PYPI, VENDOR, Artifact, Lock


def requirements(lock: Lock, urls: Mapping[str, str]) -> str:
    """Every package with the SHA-256 of its one file. Files of a named index are named by their address, so that no
    other index can serve them; where no address is known, the index is named for all (the hash decides)."""
    lines = [
        *(f"# {text}" for text in comments(lock)),
        "# pip install --no-deps --require-hashes -r requirements.txt",
    ]
    return "\n".join([*lines, "", *places(lock, urls), *entries(lock, urls)]) + "\n"


def places(lock: Lock, urls: Mapping[str, str]) -> Iterator[str]:
    """Where else than on the default index files are looked for."""
    unplaced = {a.index for a in lock.packages if a.index not in (PYPI, VENDOR) and address(a, urls) is None}
    yield from (f"--extra-index-url {index.url}" for index in lock.indexes if index.name in unplaced)
    if folder := vendor_folder(lock):
        yield f"--find-links {folder}"


def entries(lock: Lock, urls: Mapping[str, str]) -> Iterator[str]:
    """One requirement a package, its hash on a line of its own."""
    for artifact in lock.packages:
        yield f"{_requirement(artifact, urls)} \\"
        yield f"    --hash=sha256:{artifact.sha256}"


def _requirement(artifact: Artifact, urls: Mapping[str, str]) -> str:
    url = address(artifact, urls) if artifact.index != PYPI or artifact.url else None
    return f"{artifact.name} @ {url}" if url else f"{artifact.name}=={artifact.version}"
