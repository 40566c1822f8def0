"""pylock.toml (PEP 751)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from provision.exporting.heading import address, comments, vendor_folder
from provision.messages import message
from provision.model.finding import Finding, Remedy, UsageError
from provision.model.lock import VENDOR, Artifact, Lock

#: target -> the marker that holds there.
_MARKERS = {
    "linux-x86_64": "sys_platform == 'linux' and platform_machine == 'x86_64'",
    "linux-aarch64": "sys_platform == 'linux' and platform_machine == 'aarch64'",
    "windows-x86_64": "sys_platform == 'win32' and platform_machine == 'AMD64'",
    "macos-arm64": "sys_platform == 'darwin' and platform_machine == 'arm64'",
    "macos-x86_64": "sys_platform == 'darwin' and platform_machine == 'x86_64'",
}


def pylock(lock: Lock, urls: Mapping[str, str]) -> str:
    """Raises UsageError if it is not known where a file is: the format wants an address for each."""
    lost = [a.file for a in lock.packages if a.index != VENDOR and address(a, urls, local=True) is None]
    if lost:
        raise UsageError(_lost(lost))
    folder = vendor_folder(lock) or ""
    head = [
        *(f"# {text}" for text in comments(lock)),
        'lock-version = "1.0"',
        f"environments = [{_text(_MARKERS[lock.target])}]",
        f'requires-python = "=={lock.python}.*"',
        'created-by = "provision"',
    ]
    return "\n".join([*head, *(line for a in lock.packages for line in _package(a, urls, folder))]) + "\n"


def _lost(files: list[str]) -> Finding:
    more = message("exporting.lost.and-more", what=len(files) - 3) if len(files) > 3 else ""
    return Finding(
        "no-address", "error", message("exporting.no-address.summary-2", what=tuple(files[:3]), more=more),
        detail=message("exporting.no-address.detail"),
        remedies=(Remedy(message("exporting.no-address.way-2")),),
    )  # fmt: skip


def _package(artifact: Artifact, urls: Mapping[str, str], folder: str) -> Iterator[str]:
    size = f", size = {artifact.size}" if artifact.size is not None else ""
    where = f"url = {_text(address(artifact, urls, local=True) or '')}"
    if artifact.index == VENDOR:
        where = f"path = {_text(f'{folder}/{artifact.file}')}"
    file = f"{{ name = {_text(artifact.file)}, {where}{size}, hashes = {{ sha256 = {_text(artifact.sha256)} }} }}"
    yield ""
    yield "[[packages]]"
    yield f"name = {_text(artifact.name)}"
    yield f"version = {_text(artifact.version)}"
    yield f"wheels = [{file}]" if artifact.kind == "wheel" else f"sdist = {file}"


def _text(value: str) -> str:
    """A TOML basic string: JSON's escapes are a part of TOML's."""
    return json.dumps(value, ensure_ascii=False)
