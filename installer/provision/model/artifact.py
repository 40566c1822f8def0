"""What a wheel or a library says of itself: the facts that `artifacts/` reads, as frozen values with JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from provision.model.finding import Finding, ProvisionError

#: Raised with every change of the facts' form or of how they are read, so that a cache forgets older ones.
FACTS_SCHEMA = 1

#: How much of a library was read: all of it, its first part, or nothing but its name.
Reading = Literal["whole", "part", "name"]
CodeKind = Literal["machine", "ptx", "lto", "gfx"]


class ArtifactError(ProvisionError):
    """A wheel or library cannot be read: broken, cut short, unreachable, or of a form that is not
    understood."""


def artifact_error(code: str, summary: str, detail: str = "") -> ArtifactError:
    """An `ArtifactError` with one finding of severity error."""
    return ArtifactError(Finding(code=code, severity="error", summary=summary, detail=detail))


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuCode:
    """GPU code of one architecture in a library. `arch` is the vendor's word: `sm_86`, `sm_90a`,
    `compute_90`, `lto_80`, `gfx90a`. `count` is the number of pieces of code seen. `isa` is the PTX ISA
    version (`8.5`)."""

    kind: CodeKind
    arch: str
    count: int = 1
    isa: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryFacts:
    """One shared library or DLL. Sizes are in bytes. `floors` maps GLIBC, GLIBCXX, CXXABI to the highest
    version that its symbols ask for. `needed` are sonames or DLL names; `delayed` are DLLs loaded at first
    use."""

    path: str
    format: Literal["elf", "pe", ""] = ""
    arch: str = ""
    size: int = 0
    soname: str = ""
    needed: tuple[str, ...] = ()
    delayed: tuple[str, ...] = ()
    runpaths: tuple[str, ...] = ()
    floors: dict[str, str] = field(default_factory=dict)
    code: tuple[GpuCode, ...] = ()
    reading: Reading = "whole"
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactFacts:
    """What one wheel says of itself. Absent facts are empty or None, never guessed.

    `build` holds every fact of the wheel's build file under its own name; `cuda`, `cudnn`, `rocm` are the
    versions it was built with, `is_cuda_build` and `is_rocm_build` None where nothing says. `declared` are
    architectures that the build file or a library states in words; `machine`, `ptx` and `gfx` were found as
    code. `needed` are sonames or DLLs that the wheel does not bring itself, `provided` those it brings.
    `glibc` is the floor measured over the libraries read, `tag_glibc` the floor that its manylinux tag
    claims. `unread` names the libraries that were read in part or not at all. `bytes_read` and `requests`
    say what reading cost."""

    schema: int = FACTS_SCHEMA
    file: str
    name: str = ""
    version: str = ""
    size: int = 0
    sha256: str = ""
    tags: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    requires_python: str = ""
    top_level: tuple[str, ...] = ()
    entry_points: tuple[str, ...] = ()
    build: dict[str, str] = field(default_factory=dict)
    cuda: str = ""
    cudnn: str = ""
    rocm: str = ""
    is_cuda_build: bool | None = None
    is_rocm_build: bool | None = None
    declared: tuple[str, ...] = ()
    machine: tuple[str, ...] = ()
    ptx: tuple[str, ...] = ()
    gfx: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()
    provided: tuple[str, ...] = ()
    runpaths: tuple[str, ...] = ()
    glibc: str = ""
    tag_glibc: str = ""
    libraries: tuple[LibraryFacts, ...] = ()
    unread: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    bytes_read: int = field(default=0, compare=False)
    requests: int = field(default=0, compare=False)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ArtifactFacts:
        """The facts again; raises ValueError for another schema, or what is not facts at all."""
        try:
            if data["schema"] != FACTS_SCHEMA:
                raise ValueError(f"facts of schema {data['schema']}, wanted {FACTS_SCHEMA}")
            libraries = tuple(_library(item) for item in data["libraries"])
            return cls(**{**_plain(cls, data), "libraries": libraries})
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not the facts of an artifact: {error}") from error


def _plain(noun: type, data: dict[str, Any]) -> dict[str, Any]:
    """JSON -> arguments of a noun: its own fields only, lists as tuples."""
    names = {f.name for f in fields(noun)}
    return {k: tuple(v) if isinstance(v, list) else v for k, v in data.items() if k in names}


def _library(data: dict[str, Any]) -> LibraryFacts:
    code = tuple(GpuCode(**_plain(GpuCode, item)) for item in data["code"])
    return LibraryFacts(**{**_plain(LibraryFacts, data), "code": code})


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Does an artifact hold code for a device? `how` is `machine-code`, `ptx-jit` (this driver compiles it at
    first use), `no`, or `unknown` where no code was read."""

    how: Literal["machine-code", "ptx-jit", "no", "unknown"]
    because: str
    arch: str = ""
