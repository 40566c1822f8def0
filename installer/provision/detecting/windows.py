"""What Windows has and frameworks need: the Visual C++ runtime, Direct3D 12, long paths."""

from __future__ import annotations

from provision.detecting.sighting import NOTHING, Sighting, found, joined, saw, trouble
from provision.messages import message
from provision.model.machine import Software
from provision.ports import Host, Reader

_RUNTIME = r"HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\VisualStudio\14.0\VC\Runtimes"
_FILE_SYSTEM = r"HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Control\FileSystem"
_ARCHES = {"x86_64": "x64", "aarch64": "arm64", "x86": "x86"}


def probe(reader: Reader, host: Host) -> Sighting:
    """Nothing on other systems."""
    if host.os != "windows":
        return NOTHING
    system = reader.environ().get("SystemRoot", r"C:\Windows") + r"\System32"
    return joined([_visual_c(reader, host, system), _direct_3d(reader, system), _long_paths(reader)])


def _visual_c(reader: Reader, host: Host, system: str) -> Sighting:
    name = f"{_RUNTIME}\\{_ARCHES.get(host.arch, 'x64')}"
    key = reader.registry(name)
    values = key.values if key else {}
    # Both lie there from 2019 on; the registry says nothing of a runtime that was copied in by hand.
    library = rf"{system}\msvcp140_1.dll"
    if values.get("Installed") == "1":
        version = values.get("Version", "").removeprefix("v")
        copy = Software(name="msvc", version=version, path=system, place="system", active=True)
        return joined([saw(name, software=(copy,), runtimes={"msvc": version} if version else {})])
    if reader.exists(library):
        return saw(library, software=(Software(name="msvc", path=system, place="system", active=True),))
    return trouble(
        found(
            "msvc-missing",
            "warning",
            message("detecting.visual-c.microsoft-visual-c-runtime-2015"),
            detail=message("detecting.visual-c.tensorflow-and-pytorch-for-windows"),
            evidence=[
                (name, message("detecting.common.not-there")),
                (library, message("detecting.common.not-there")),
            ],
            remedies=[message("detecting.visual-c.install-visual-c-redistributable-for")],
        )
    )


def _direct_3d(reader: Reader, system: str) -> Sighting:
    library, directml = rf"{system}\d3d12.dll", rf"{system}\DirectML.dll"
    traits = saw(library, traits=("d3d12",)) if reader.exists(library) else NOTHING
    if not reader.exists(directml):
        return traits
    copy = Software(name="directml", path=directml, place="system", active=True)
    return joined([traits, saw(directml, software=(copy,))])


def _long_paths(reader: Reader) -> Sighting:
    key = reader.registry(_FILE_SYSTEM)
    on = key is not None and key.values.get("LongPathsEnabled") == "1"
    return saw(f"{_FILE_SYSTEM}\\LongPathsEnabled", traits=("long-paths",)) if on else NOTHING
