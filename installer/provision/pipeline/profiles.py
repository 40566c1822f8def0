"""A path or a bundled name -> a profile, and where its locks stand."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from provision.messages import message
from provision.model.finding import Finding, ProfileError, Remedy

if TYPE_CHECKING:
    from provision.model.profile import Profile

_SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class Source:
    """A profile with the path it was read from. `bundled`: it came with provision, by name.

    `variant` names the variant that `profile` is, where the file has some (`variants_of` makes them).
    """

    profile: Profile
    path: Path
    bundled: bool = False
    variant: str | None = None

    def beside(self, folder: Path) -> Path:
        """The folder that relative paths of the profile mean: its own; for a bundled one, where the command is run."""
        return folder if self.bundled else self.path.parent.absolute()

    def lock_folders(self, folder: Path) -> tuple[Path, ...]:
        """Where locks of this profile are looked for, the place where new ones are written first.

        Beside the profile; for one that came with provision, under the folder that the command is run in
        (then the locks that came with it).
        """
        beside = self.path.parent / "locks" / self.profile.name
        return (folder / "locks" / self.profile.name, beside) if self.bundled else (beside,)


def bundled_folder() -> Path:
    """The profiles that came with provision: in the wheel, or in a working copy of the repository."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "profiles"
    return inside if inside.is_dir() else package.parent.parent / "profiles"


def bundled() -> tuple[str, ...]:
    return tuple(sorted(p.stem for p in bundled_folder().glob("*.yaml")))


def locate(reference: str, folder: Path) -> tuple[Path, bool]:
    """The path that a reference means, and whether it is a bundled name. Raises ProfileError for neither."""
    looks_like_path = os.sep in reference or "/" in reference or reference.endswith(_SUFFIXES)
    path = folder / reference
    if looks_like_path or path.is_file():
        return path, False
    named = bundled_folder() / f"{reference}.yaml"
    if named.is_file():
        return named, True
    raise ProfileError(_unknown(reference))


def is_profile(reference: str, folder: Path) -> bool:
    """Whether a word means a profile that is there."""
    try:
        path, _ = locate(reference, folder)
    except ProfileError:
        return False
    return path.is_file()


def _unknown(reference: str) -> Finding:
    near = difflib.get_close_matches(reference, bundled(), 1)
    return Finding(
        "no-such-profile",
        "error",
        message("pipeline.no-such-profile.summary-1", reference=f"{reference!r}")
        + (message("pipeline.no-such-profile.summary-2-if", near=near[0]) if near else ""),
        detail=message("pipeline.no-such-profile.detail", what=", ".join(bundled())),
        remedies=(Remedy(message("pipeline.no-such-profile.way")),),
    )


def read(reference: str, folder: Path) -> Source:
    """Load the profile that a reference means. Raises ProfileError with every fault placed."""
    from provision.loading import load_file

    path, named = locate(reference, folder)
    # Messages name the file as the person did; it is read from the folder that the command is run in.
    origin = str(path) if named else reference
    return Source(load_file(origin, lambda p: (folder / p).read_bytes()), path, named)


def variants_of(source: Source, chosen: str | None = None) -> tuple[Source, ...]:
    """The variants of a profile in order, or the profile itself if it has none; only `chosen` if it is named."""
    sources = tuple(replace(source, profile=v.profile, variant=v.name) for v in source.profile.variants)
    if chosen is None:
        return sources or (source,)
    found = tuple(s for s in sources if s.variant == chosen)
    if not found:
        raise ProfileError(_no_variant(source, chosen))
    return found


def _no_variant(source: Source, chosen: str) -> Finding:
    names = [v.name for v in source.profile.variants]
    near = difflib.get_close_matches(chosen, names, 1)
    return Finding(
        "no-such-variant",
        "error",
        message("pipeline.no-such-variant.summary-1", name=source.profile.name, chosen=f"{chosen!r}")
        + (message("pipeline.no-such-variant.summary-2-if", near=near[0]) if near else ""),
        detail=(
            message("pipeline.no-such-variant.detail-if", names=", ".join(names))
            if names
            else message("pipeline.no-such-variant.detail-else")
        ),
    )


def lock_name(target: str, python: str, variant: str | None = None) -> str:
    """One file for each variant, target and Python."""
    return f"{f'{variant}-' if variant else ''}{target}-py{python.replace('.', '')}.lock.yaml"


def lock_files(source: Source, folder: Path) -> Iterator[Path]:
    """Every lock of a profile that exists, one per target and Python: the first folder that has it wins."""
    seen: set[str] = set()
    for place in source.lock_folders(folder):
        for path in sorted(place.glob("*.lock.yaml")):
            if path.name not in seen:
                seen.add(path.name)
                yield path


def find_lock(source: Source, folder: Path, target: str, python: str) -> Path | None:
    name = lock_name(target, python, source.variant)
    return next((p / name for p in source.lock_folders(folder) if (p / name).is_file()), None)


def lock_place(source: Source, folder: Path, target: str, python: str) -> Path:
    """Where the lock is written: over the one that is there, or in the first place."""
    return source.lock_folders(folder)[0] / lock_name(target, python, source.variant)
