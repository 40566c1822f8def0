"""Is an archive safe to unpack? Judged by its directory alone, before the installer sees it. Pure."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from provision.messages import message
from provision.model.finding import Evidence, Finding, Remedy

if TYPE_CHECKING:
    from provision.ports import Contents, Member

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_DRIVE = re.compile(r"[A-Za-z]:")
#: File names that Windows takes for devices, whatever follows the first dot.
_RESERVED = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?$", re.IGNORECASE)
_WINDOWS_ONLY = re.compile(r'[<>:"|?*]|[. ]$')
#: What an environment itself is made of: no package may put something in its place.
_OWN = re.compile(
    r"(python|pythonw|python[0-9.]*t?|(de)?activate|activate\.\w+|activate_this\.py)(\.exe)?$", re.IGNORECASE
)


def hostile(file: str, contents: Contents, target: str) -> Finding | None:
    """The finding for an archive with a member that would land outside its folder, or be no plain file; None if all
    members are harmless on `target`."""
    for name, because in _faults(contents, target):
        return Finding(
            "hostile-archive",
            "error",
            message("applying.hostile-archive.summary", file=file, name=f"{name!r}", because=because),
            evidence=(Evidence(file, name),),
            remedies=(Remedy(message("applying.hostile-archive.way")),),
        )
    return None


def _faults(contents: Contents, target: str) -> Iterator[tuple[str, str]]:
    windows = target.startswith("windows")
    for member in contents.members:
        if (
            because := _bad_name(member.name)
            or _bad_kind(member)
            or (windows and _bad_on_windows(member.name))
        ):
            yield member.name, because
        if _replaces_own(member.name):
            yield member.name, message("applying.hostile.own-place")
    for script in contents.scripts:
        if "/" in script or "\\" in script or _bad_name(script) or (windows and _bad_on_windows(script)):
            yield script, message("applying.hostile.script-path")
        elif _OWN.match(script):
            yield script, message("applying.hostile.script-own")
    yield from _collisions(contents.members, folded=not target.startswith("linux"))


def _bad_name(name: str) -> str:
    parts = name.removesuffix("/").split("/")
    if name.startswith(("/", "\\")) or _DRIVE.match(name):
        return message("applying.hostile.absolute")
    if ".." in parts or ".." in name.split("\\"):
        return message("applying.hostile.outside")
    if "\\" in name or _CONTROL.search(name):
        return message("applying.hostile.ambiguous")
    if "" in parts or "." in parts:
        return message("applying.hostile.empty-part")
    return ""


def _bad_kind(member: Member) -> str:
    kind = stat.S_IFMT(member.mode)
    if kind == stat.S_IFLNK:
        return message("applying.hostile.link")
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return message("applying.hostile.special")
    if member.mode & (stat.S_ISUID | stat.S_ISGID):
        return message("applying.hostile.suid")
    return ""


def _bad_on_windows(name: str) -> str:
    for part in name.removesuffix("/").split("/"):
        if _RESERVED.match(part):
            return message("applying.hostile.device")
        if _WINDOWS_ONLY.search(part):
            return message("applying.hostile.not-windows")
    return ""


def _replaces_own(name: str) -> bool:
    """A wheel's `.data/data/` folder is unpacked over the environment's root."""
    top, _, rest = name.partition("/")
    scheme, _, path = rest.partition("/")
    if not top.endswith(".data"):
        return False
    if scheme == "scripts":
        return bool(_OWN.match(path))
    folder, _, leaf = path.rpartition("/")
    own_program = folder.lower() in ("bin", "scripts") and bool(_OWN.match(leaf))
    return scheme == "data" and (path.lower() == "pyvenv.cfg" or own_program)


def _collisions(members: Sequence[Member], folded: bool) -> Iterator[tuple[str, str]]:
    """Two members at one place: which of them stays depends on the program that unpacks."""
    seen: dict[str, Member] = {}
    folders: set[str] = set()
    for member in members:
        if member.name.endswith("/"):
            continue
        key = member.name.casefold() if folded else member.name
        other = seen.setdefault(key, member)
        if (other.size, other.crc) != (member.size, member.crc):
            yield member.name, message("applying.hostile.twice", other=repr(other.name))
        while "/" in key and (key := key.rpartition("/")[0]) not in folders:
            folders.add(key)
    for name in sorted(seen.keys() & folders):
        yield name, message("applying.hostile.file-and-folder")
