"""Operating system: release, kernel, and what stands between it and the hardware (WSL, container, VM)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from provision.detecting.sighting import Sighting, joined, saw
from provision.ports import Host, Reader

_OS_RELEASE = ("/etc/os-release", "/usr/lib/os-release")
_CURRENT_VERSION = r"HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows NT\CurrentVersion"


def probe(reader: Reader, host: Host) -> Sighting:
    if host.os == "windows":
        return joined([_windows(reader, host), _session(reader)])
    if host.os == "macos":
        return joined([_macos(reader, host), _session(reader)])
    return joined([*_linux(reader, host), _session(reader)])


def _windows(reader: Reader, host: Host) -> Sighting:
    key = reader.registry(_CURRENT_VERSION)
    values = key.values if key else {}
    build, revision = values.get("CurrentBuildNumber", ""), values.get("UBR", "")
    version = f"10.0.{build}" if build and values.get("CurrentMajorVersionNumber") == "10" else host.release
    kernel = f"{version}.{revision}" if revision else version
    return saw(_CURRENT_VERSION if key else "system call", os_version=version, kernel=kernel)


def _macos(reader: Reader, host: Host) -> Sighting:
    # A process translated by Rosetta is told x86_64 by every other call.
    output = reader.run(["sysctl", "-n", "sysctl.proc_translated"], timeout=5.0)
    traits = ("rosetta",) if output and output.stdout.strip() == "1" else ()
    return joined(
        [
            saw("system call", os_version=host.version, kernel=host.release),
            saw("sysctl sysctl.proc_translated", traits=traits),
        ]
    )


def _linux(reader: Reader, host: Host) -> Iterator[Sighting]:
    for path in _OS_RELEASE:
        if text := reader.read_text(path):
            yield saw(path, os_version=parse_os_release(text))
            break
    yield saw("uname", kernel=host.release)
    for name, source in linux_traits(reader, host):
        yield saw(source, traits=(name,))


def parse_os_release(text: str) -> str:
    """`ubuntu 22.04` from the text of an os-release file; empty if it names no system."""
    pairs = dict(re.findall(r"""^\s*([A-Z_]+)=["']?(.*?)["']?\s*$""", text, re.MULTILINE))
    return f"{pairs.get('ID', '')} {pairs.get('VERSION_ID', '')}".strip()


def linux_traits(reader: Reader, host: Host) -> Iterator[tuple[str, str]]:
    """(trait, where it was read): wsl1, wsl2, container, vm."""
    if trait := wsl_of(reader.read_text("/proc/version") or host.release):
        yield trait, "/proc/version"
    if source := _container_mark(reader):
        yield "container", source
    if re.search(
        r"^flags\s*:.*\bhypervisor\b", reader.read_text("/proc/cpuinfo", 1 << 16) or "", re.MULTILINE
    ):
        yield "vm", "/proc/cpuinfo"


def wsl_of(version: str) -> str:
    """`wsl2`, `wsl1` or nothing, from /proc/version or a kernel release."""
    # WSL 1 is no Linux kernel: it writes its name with a capital (4.4.0-19041-Microsoft).
    if re.search(r"microsoft-standard|WSL2", version):
        return "wsl2"
    return "wsl1" if "Microsoft" in version else ""


def _container_mark(reader: Reader) -> str:
    for path in ("/.dockerenv", "/run/.containerenv"):
        if reader.exists(path):
            return path
    if re.search(r"docker|containerd|kubepods|lxc|libpod", reader.read_text("/proc/1/cgroup") or ""):
        return "/proc/1/cgroup"
    return "$container" if reader.environ().get("container") else ""


def _session(reader: Reader) -> Sighting:
    variables = reader.environ()
    if variables.get("SESSIONNAME", "").upper().startswith("RDP-"):
        return saw("$SESSIONNAME", traits=("remote-session",))
    if variables.get("SSH_CONNECTION"):
        return saw("$SSH_CONNECTION", traits=("remote-session",))
    return Sighting()
