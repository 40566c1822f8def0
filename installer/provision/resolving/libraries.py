"""Which library sets are placed beside builds that bring no CUDA of their own, by NVIDIA's rule: the same major,
and at least the minor that a program was built with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from provision.knowledge import Build, Knowledge, LibraryFile, LibraryRow, LoaderRow, ReachRow
from provision.knowledge.versions import holds, version_key
from provision.messages import message
from provision.model.profile import Profile
from provision.model.stack import Archive, Library, Note
from provision.resolving.wanted import Wanted

#: `accelerator: {libraries: system}` leaves them to the machine.
LEFT_TO_MACHINE = "system"


def placed(
    combo: Sequence[Build], ask: Wanted, profile: Profile, knowledge: Knowledge
) -> tuple[tuple[Library, ...], tuple[Note, ...]]:
    """The sets to place for a combination of builds, CUDA before cuDNN, and what they leave open."""
    users = [b for b in combo if b.runtime.kind == ask.runtime == "cuda" and b.libraries == "system"]
    left = profile.accelerator.get("libraries") == LEFT_TO_MACHINE or profile.environment.manager != "venv"
    if left or not users:
        return (), ()
    system = ask.target.split("-")[0]
    rows = [row for row in knowledge.rows(LibraryRow) if _serves(row, ask.target)]
    cuda = _best([r for r in rows if _has_names(r, users, system, knowledge)], ask.target)
    line = max((b.runtime.version for b in users), key=version_key)
    cudnn = _best([r for r in rows if _fits_cudnn(r, line, combo, users, ask)], ask.target)
    reach = tuple(_reach(users, system, knowledge))
    chosen = [row for row in (cuda, cudnn) if row is not None]
    libraries = tuple(_library(row, ask.target, reach, users) for row in chosen)
    return libraries, tuple(_open_ends(libraries, cuda, cudnn, line, users, ask))


def _serves(row: LibraryRow, target: str) -> bool:
    return target in row.targets or any(file.target == target for file in row.files)


def _has_names(row: LibraryRow, users: Sequence[Build], system: str, knowledge: Knowledge) -> bool:
    """Whether a CUDA set holds every file name that the builds open."""
    wanted = {
        n
        for b in users
        for names in knowledge.loaders("cuda", b.runtime.version)
        for n in _names(names, system)
    }
    return row.library == "cuda" and bool(wanted) and wanted <= set(row.holds.get(system, ()))


def _names(row: LoaderRow, system: str) -> tuple[str, ...]:
    return tuple((row.windows if system == "windows" else row.linux).values())


def _fits_cudnn(
    row: LibraryRow, line: str, combo: Sequence[Build], users: Sequence[Build], ask: Wanted
) -> bool:
    """The same major as every build's, at least the highest minor that one of this process was built with."""
    built = [b.cudnn for b in users if b.cudnn]
    if row.library != "cudnn" or not built or not f"{line}.".startswith(f"{row.cuda}."):
        return False
    beside = [b.cudnn for b in combo if b.cudnn and b.cudnn.split(".")[0] == built[0].split(".")[0]]
    return not_below(row.version, beside) and holds(ask.cudnn, row.version)


def not_below(version: str, built: Sequence[str]) -> bool:
    """NVIDIA's rule: the major that each was built with, and no lower minor."""
    have = _minor(version)
    return all(have[0] == _minor(one)[0] and have >= _minor(one) for one in built)


def _minor(version: str) -> tuple[int, int]:
    parts = version_key(version).release
    return parts[0], parts[1] if len(parts) > 1 else 0


def _best(rows: Sequence[LibraryRow], target: str) -> LibraryRow | None:
    """Complete by itself, from an index rather than from an address, then the nearest to what builds were made with."""
    system = target.split("-")[0]
    return min(
        rows,
        key=lambda r: (len(r.needs.get(system, ())), target not in r.targets, version_key(r.version)),
        default=None,
    )


def _reach(users: Sequence[Build], system: str, knowledge: Knowledge) -> Iterator[str]:
    for row in knowledge.rows(ReachRow):
        if row.os == system and any(
            b.framework == row.framework and holds(row.versions, b.version) for b in users
        ):
            yield row.folder


def _library(row: LibraryRow, target: str, reach: tuple[str, ...], users: Sequence[Build]) -> Library:
    system = target.split("-")[0]
    wheels = target in row.targets
    return Library(
        id=row.id,
        library=row.library,
        version=row.version,
        licence=row.licence,
        holds=row.holds.get(system, ()),
        packages=tuple(sorted(row.wheels)) if wheels else (),
        archive=None if wheels else _archive(next(f for f in row.files if f.target == target)),
        reach=reach,
        needs=row.needs.get(system, ()),
        because=_because(row, users, wheels),
        source=row.source,
    )


def _archive(file: LibraryFile) -> Archive:
    return Archive(file=file.file, url=file.url, sha256=file.sha256, folder=file.folder, size=file.size)


def _because(row: LibraryRow, users: Sequence[Build], wheels: bool) -> str:
    built = {b.cudnn if row.library == "cudnn" else b.runtime.version for b in users}
    made = sorted(built, key=version_key)
    whose = sorted(b.distribution for b in users)
    if wheels:
        return message("resolving.library.with-wheels", whose=whose, made=made)
    return message("resolving.library.with-archive", whose=whose, made=made)


def requirements(libraries: Sequence[Library], knowledge: Knowledge) -> Iterator[str]:
    """The wheels of the sets as requirements."""
    rows = {row.id: row for row in knowledge.rows(LibraryRow)}
    for library in libraries:
        yield from (f"{name}=={rows[library.id].wheels[name]}" for name in library.packages)


def _open_ends(
    libraries: Sequence[Library], cuda: LibraryRow | None, cudnn: LibraryRow | None, line: str,
    users: Sequence[Build], ask: Wanted,
) -> Iterator[Note]:  # fmt: skip
    ways = (
        message("resolving.open-ends.install-that-cuda-on-machine"),
        message("resolving.open-ends.or-let-conda-bring-it"),
    )
    if cuda is None:
        yield Note(
            severity="warning", rule=users[0].row, source=users[0].source, instead=ways,
            because=message("resolving.open-ends.no-wheel-or-archive-is", line=line, target=ask.target),
        )  # fmt: skip
    if cudnn is None and any(b.cudnn for b in users):
        asked = f" {ask.cudnn}" if ask.cudnn else ""
        yield Note(
            severity="warning", rule=users[0].row, source=users[0].source,
            because=message("resolving.open-ends.no-cudnn-for-cuda-on", asked=asked, line=line, target=ask.target),
        )  # fmt: skip
    for one in libraries:
        if one.needs:
            yield Note(
                severity="warning", rule=one.id, source=one.source,
                because=message(
                    'resolving.open-ends.opens-which-no-source-it',
                    library=one.library, version=one.version, needs=one.needs,
                ),
                instead=(message("resolving.open-ends.give-file-when-you-apply", needs=one.needs[0]),),
            )  # fmt: skip
