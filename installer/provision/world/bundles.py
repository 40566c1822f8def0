"""A bundle: a folder with the files of locks, to be carried to a machine without a network.

`files/<index>/<file>`, so that pip's --find-links takes such a folder as well; a second file of one name has a folder
of its own, named by the beginning of its hash. `SHA256SUMS` is for people: an apply believes hashes of the lock only.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from provision.messages import message
from provision.model.finding import ApplyError, Evidence, Finding, LockError, Remedy
from provision.shells import quoted
from provision.world.store import Store, Wanted, free_space, is_complete, megabytes, publish

_CHUNK = 1 << 20


class Bundle:
    """The files below a folder. Reading takes nothing on trust: who uses a file holds it against its hash."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find(self, wanted: Wanted) -> Path | None:
        """The file of that name and size; None if there is none. One in a folder of its hash comes first."""
        return next((p for p in reversed(self._places(wanted)) if is_complete(p, wanted.size)), None)

    def altered(self, wanted: Wanted) -> Path | None:
        """A file of that name which is of another size, where none of the right size is."""
        there = [p for p in reversed(self._places(wanted)) if p.is_file()]
        return there[0] if there and not self.find(wanted) else None

    def put(self, source: Path, wanted: Wanted) -> bool:
        """Copy a file that has the wanted hash; False if it is there already. A copy, never a link: the bundle leaves
        this machine. Raises LockError for a source of another content, ApplyError where it cannot be written."""
        plain, own = self._places(wanted)
        with _told(plain):
            target = own if self._is_another(plain, wanted) else plain
            if target.is_file() and _is(target, wanted):
                return False
            target.parent.mkdir(parents=True, exist_ok=True)
            part = target.with_name(f"{target.name}.part")
            shutil.copyfile(source, part)
            if not _is(part, wanted):
                part.unlink()
                raise LockError(_altered(source))
            publish(part, target)
        return True

    def check_room(self, files: Iterable[Wanted]) -> None:
        """Raises ApplyError where the disk cannot hold what is missing: at the start, not after an hour."""
        needed = sum(one.size or 0 for one in files if not self.find(one))
        free = free_space(self.folder)
        if free is not None and needed > free:
            said = message("world.bundle-not-written.room", needed=megabytes(needed), free=megabytes(free))
            raise ApplyError(_not_written(self.folder, said))

    def list_sums(self, files: Iterable[Wanted]) -> Path:
        """Add files to SHA256SUMS, as `sha256sum -c` reads it. What it says of others stays: to hash them again would
        call right what was altered since."""
        sums = self._sums()
        for wanted in files:
            path = self.find(wanted)
            if path is not None:
                sums[self._name(path)] = wanted.sha256 or _hash(path, "sha256")
        target = self.folder / "SHA256SUMS"
        with _told(target):
            part = target.with_name("SHA256SUMS.part")
            text = "".join(f"{digest}  {name}\n" for name, digest in sorted(sums.items()))
            part.write_text(text, encoding="utf-8", newline="\n")
            part.replace(target)
        return target

    def _is_another(self, path: Path, wanted: Wanted) -> bool:
        """Whether a rightful file of another content has the name; one that was altered since is replaced."""
        if not path.is_file() or _is(path, wanted):
            return False
        return self._sums().get(self._name(path)) in (None, _hash(path, "sha256"))

    def _name(self, path: Path) -> str:
        return path.relative_to(self.folder).as_posix()

    def _sums(self) -> dict[str, str]:
        try:
            lines = (self.folder / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
        except OSError:
            return {}
        return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}

    def _places(self, wanted: Wanted) -> tuple[Path, Path]:
        """Raises LockError for a name that would lead out of the folder."""
        Store(self.folder).path(wanted)
        folder = self.folder / "files" / wanted.index
        return folder / wanted.filename, folder / wanted.digest[:12] / wanted.filename


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """The disk's errors as findings, with the way out that holds for a bundle."""
    try:
        yield
    except OSError as error:
        # Of a copy the error may name the source.
        where, said = path, error.strerror or str(error)
        raise ApplyError(_not_written(where, said)) from error


def _not_written(where: Path, said: str) -> Finding:
    return Finding(
        "bundle-not-written", "error", message("world.bundle-not-written.summary", where=where),
        evidence=(Evidence(str(where), said),), remedies=(Remedy(message("world.bundle-not-written.way")),),
    )  # fmt: skip


def _altered(source: Path) -> Finding:
    return Finding(
        "hash-mismatch", "error", message("world.bundle.altered", name=source.name),
        evidence=(Evidence(str(source)),),
        remedies=(Remedy(message("world.bundle.altered.way"), f"rm {quoted(source)}"),),
    )  # fmt: skip


def of_bundle(bundle: Bundle | None, wanted: Iterable[Wanted]) -> dict[str, str]:
    """File name -> its path in the bundle. Raises LockError with every file that was altered or cut on the way."""
    if bundle is None:
        return {}
    asked = list(wanted)
    if bad := [(one, path) for one in asked if (path := bundle.altered(one))]:
        raise LockError([_cut(one, path) for one, path in bad])
    return {one.filename: str(path) for one in asked if (path := bundle.find(one))}


def _cut(wanted: Wanted, path: Path) -> Finding:
    said = message("world.bundle-altered.size", size=path.stat().st_size, wanted=wanted.size)
    return Finding(
        "bundle-altered", "error", message("world.bundle-altered.summary", name=wanted.filename),
        evidence=(Evidence(str(path), said),),
        remedies=(Remedy(message("world.bundle-altered.way"), "provision bundle PROFILE -o DIR"),),
    )  # fmt: skip


def in_bundle(bundle: Bundle | None, wanted: Iterable[Wanted]) -> frozenset[str]:
    """The digests of the files that a bundle has."""
    return frozenset(w.key for w in wanted if bundle.find(w)) if bundle else frozenset()


def _is(path: Path, wanted: Wanted) -> bool:
    return is_complete(path, wanted.size) and _hash(path, wanted.algorithm) == wanted.digest


def _hash(path: Path, algorithm: str) -> str:
    digest = hashlib.new(algorithm, usedforsecurity=False)
    with path.open("rb") as stream:
        while block := stream.read(_CHUNK):
            digest.update(block)
    return digest.hexdigest()
