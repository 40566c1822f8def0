"""Free space where an installation writes: home, the folder for temporary files, the current folder."""

from __future__ import annotations

from provision.detecting.sighting import Sighting, saw
from provision.ports import Host, Reader


def probe(reader: Reader, host: Host) -> Sighting:
    """Free bytes by folder. Whoever knows the environment's own folder asks the Reader about it."""
    variables = reader.environ()
    if host.os == "windows":
        folders = [
            variables.get("USERPROFILE"),
            variables.get("TEMP"),
            variables.get("SystemDrive", "C:") + "\\",
        ]
    else:
        folders = ["/", variables.get("HOME"), variables.get("TMPDIR") or "/tmp"]  # noqa: S108 (only asked for space)
    spaces = {folder: reader.space(folder) for folder in folders if folder}
    return saw("file system", disks={folder: space.free for folder, space in spaces.items() if space})
