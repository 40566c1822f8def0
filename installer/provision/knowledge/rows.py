"""What a knowledge row may hold, one dataclass a kind of row. docs/knowledge.md says how to add one.

A row in YAML has these attributes as kebab-case keys (`verified_on` is `verified-on`). A row without
`source` and `evidence` is not a fact and is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from provision.messages import LANGUAGES
from provision.model.profile import YAML_CONFIG

#: How a fact is known, best first: read out of the artifact (or run), index metadata, the maker's own
#: table, others.
Evidence = Literal["artifact", "metadata", "official-table", "community"]
EVIDENCE: tuple[Evidence, ...] = ("artifact", "metadata", "official-table", "community")

RuntimeKind = Literal[
    "cpu", "cuda", "rocm", "directml", "xpu", "mps", "cann", "neuware", "musa", "supa", "dtk", "maca", "corex"
]  # fmt: skip
#: Who brings the accelerator's libraries: the machine, wheels beside the framework, the framework's own
#: wheel, nobody.
Supplier = Literal["system", "wheels", "bundled", "none"]


class _InBothLanguages:
    """The schema of a text for people: plain English, or both languages."""

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> dict[str, Any]:
        properties = {lang: {"type": "string"} for lang in LANGUAGES}
        both = {
            "type": "object",
            "properties": properties,
            "required": list(LANGUAGES),
            "additionalProperties": False,
        }
        return {"anyOf": [{"type": "string"}, both]}


#: A text that people read. A row has it as a text, in English, or as `{en: ..., zh: ...}`; the reader makes one string
#: of both (`provision.messages.Bilingual`).
Words = Annotated[str, _InBothLanguages()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What every row has. `origin` is the file it stands in; `verified_on` a date, ISO 8601; `cases` are the
    recorded real-world reports that the row answers.
    """

    __pydantic_config__ = YAML_CONFIG
    id: str
    source: str
    evidence: Evidence
    verified_on: str
    origin: str = ""
    note: str = ""
    cases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchRow(Row):
    """What package metadata lacks for some versions of some packages.

    `versions` are PEP 440 specifier sets, one of which must hold; `python` is one set; an empty `python` or
    `targets` means every one. `verified` says what was run, or that it was not.
    """

    packages: tuple[str, ...]
    versions: tuple[str, ...]
    python: str = ""
    targets: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    overrides: tuple[str, ...] = ()
    add_requirements: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    why: Words
    stage: str = ""
    verified: str = ""
    instead: Words = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NameRow(Row):
    """A name or pin that is not what it seems. Without `versions` the whole name; `instead` are ways out.

    `unpinned_only`: the name is right with a version and wrong without one.
    """

    name: str
    kind: Literal["dead", "never-existed", "look-alike", "placeholder", "yanked", "hostile"]
    versions: tuple[str, ...] = ()
    unpinned_only: bool = False
    what_is_so: Words
    instead: tuple[Words, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyRow(Row):
    """Distributions that write the same folder: at most one of `members` may be installed.

    `pairs` are members that belong together on purpose (a stub and the distribution it brings).
    """

    folder: str
    members: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...] = ()
    why: Words

    def partners(self, name: str) -> frozenset[str]:
        """The members that belong to one on purpose. Names are canonical."""
        return frozenset(member for pair in self.pairs if name in pair for member in pair) - {name}

    def clash(self, first: str, second: str) -> bool:
        """Whether two distributions of other names must not both be there. Names are canonical."""
        both = first in self.members and second in self.members and first != second
        return both and second not in self.partners(first)


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """The accelerator runtime that a build is for."""

    __pydantic_config__ = YAML_CONFIG
    kind: RuntimeKind
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """The pair that the maker's own table names as tested."""

    __pydantic_config__ = YAML_CONFIG
    runtime: str
    cudnn: str = ""
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheels:
    """Which wheels exist: every version x Python x target of one group. `pythons` may be a range
    (`3.7-3.10`).

    `architectures`, `ptx`, `index` and `local`, where given, replace those of the row for these wheels.
    """

    __pydantic_config__ = YAML_CONFIG
    versions: tuple[str, ...]
    pythons: tuple[str, ...]
    targets: tuple[str, ...]
    glibc: str = ""
    architectures: tuple[str, ...] = ()
    ptx: tuple[str, ...] = ()
    index: str | None = None
    local: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VendorFile:
    """A file that no index serves: its name and where its maker hands it out. `sha256` where known."""

    __pydantic_config__ = YAML_CONFIG
    package: str
    version: str
    file: str
    where: Words
    targets: tuple[str, ...] = ()
    pythons: tuple[str, ...] = ()
    sha256: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRow(Row):
    """Builds of one framework that differ only in version, Python and target.

    `index` is `pypi`, a named index (`pytorch-cu118`) or `vendor` (files that the vendor hands out).
    `local` is the local version of the wheels (`cu118`), `requires` what must be installed with them,
    `needs` what the machine must have (`cpu-flags`; `msvc` on Windows; `os`), `environment` variables to
    set. `not_with` names distributions it cannot share an environment with. `capability_floor` is the
    lowest NVIDIA compute capability by the maker's word, for wheels whose machine code (`architectures`)
    was not read. `bundled_on` are targets whose wheels hold the libraries themselves. `vendor_files` must be
    fetched by hand from the maker. `device` is what the framework calls the device.
    """

    framework: Literal["torch", "tensorflow"]
    distributions: tuple[str, ...]
    extras: tuple[str, ...] = ()
    index: str = "pypi"
    local: str = ""
    runtime: Runtime
    cudnn: str = ""
    libraries: Supplier = "none"
    bundled_on: tuple[str, ...] = ()
    wheels: tuple[Wheels, ...]
    architectures: tuple[str, ...] = ()
    ptx: tuple[str, ...] = ()
    tested: Tested | None = None
    capability_floor: str = ""
    requires: tuple[str, ...] = ()
    needs: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    not_with: tuple[str, ...] = ()
    vendor_files: tuple[VendorFile, ...] = ()
    device: str = ""
    experimental: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataRow(Row):
    """The part of a package's own Requires-Dist that decides compatibility: name -> specifier set.

    `extra`: what the extra of that name adds. `local`: only for builds with this local version.
    """

    packages: tuple[str, ...]
    versions: tuple[str, ...]
    extra: str = ""
    local: str = ""
    targets: tuple[str, ...] = ()
    declares: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompanionRow(Row):
    """Packages that belong to one version of another: `torchvision` to `torch`, `tf-keras` to `tensorflow`.

    `match` maps the leader's version (or specifier set) to what goes with it.
    """

    leader: str
    package: str
    match: dict[str, str]
    same_index: bool = False
    why: Words = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRow(Row):
    """A named package index: `name` and `url` may hold `{variant}` (`pytorch-{variant}` ->
    `.../whl/{variant}`).
    """

    name: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeRow(Row):
    """One version of an accelerator runtime and the driver it needs. Keys of the driver maps are operating
    systems.

    `driver` is what the maker packs with this version, `driver_floor` the lowest that can run it (CUDA 11
    and later: minor-version compatibility); `driver_lines` are the driver versions that the maker names for
    it. `capabilities` is a specifier set for NVIDIA compute capability, `hardware` the cards otherwise.
    `updates` are driver maps of later updates of the version, `requires` Python requirements of its own
    (PEP 508), `needs` what the system must have, `scripts` what must be sourced before use.
    """

    kind: RuntimeKind
    version: str
    exists: bool = True
    driver: dict[str, str] = field(default_factory=dict)
    driver_floor: dict[str, str] = field(default_factory=dict)
    driver_lines: tuple[str, ...] = ()
    capabilities: str = ""
    hardware: tuple[str, ...] = ()
    pythons: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    needs: dict[str, str] = field(default_factory=dict)
    updates: dict[str, dict[str, str]] = field(default_factory=dict)
    scripts: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchitectureRow(Row):
    """One hardware architecture: the first runtime with native code for it, and the cards that have it."""

    vendor: str
    name: str
    first_runtime: str = ""
    driver_floor: dict[str, str] = field(default_factory=dict)
    cards: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderRow(Row):
    """File names that a program opens for a library line: `component` -> name, by operating system."""

    library: str
    versions: str
    windows: dict[str, str] = field(default_factory=dict)
    linux: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CudnnRow(Row):
    """A cuDNN line: `versions` is a specifier set, `cuda` the CUDA versions it is for."""

    versions: str
    cuda: tuple[str, ...]
    driver_floor: dict[str, str] = field(default_factory=dict)
    capabilities: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryFile:
    """One archive of a library set. `folder` is where its libraries stand in it; `size` is in bytes, None
    where no source states it.
    """

    __pydantic_config__ = YAML_CONFIG
    target: str
    url: str
    sha256: str
    folder: str
    size: int | None = None

    @property
    def file(self) -> str:
        return self.url.rpartition("/")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryRow(Row):
    """A library (`cudnn`, `cuda`) of one version that can be placed beside an environment, from archives of
    its maker (`files`) or from wheels of the default index (`wheels`: package -> version, for `targets`).

    `cuda` is the CUDA version or major it is for; `holds` the names of all its libraries, by operating
    system, each after those that it needs: a set is whole or it is not placed. `needs` are files that it opens
    and no source of it holds.
    """

    library: str
    version: str
    cuda: str
    licence: str
    files: tuple[LibraryFile, ...] = ()
    wheels: dict[str, str] = field(default_factory=dict)
    targets: tuple[str, ...] = ()
    holds: dict[str, tuple[str, ...]] = field(default_factory=dict)
    needs: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachRow(Row):
    """The run path of a framework's loader: links in `folder` (of site-packages) are found by it."""

    framework: str
    versions: str
    os: str
    folder: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleRow(Row):
    """When / then / because. See `rules.py` for what `when` may ask; `then` is what follows.

    `instead` are ways out in words, best first; `require` are requirements that make it work.
    """

    when: dict[str, Any]
    then: Literal["reject", "warn", "prefer", "require", "note"]
    because: Words
    axis: str = ""
    code: str = ""
    instead: tuple[Words, ...] = ()
    never: tuple[str, ...] = ()
    require: tuple[str, ...] = ()
    prefer: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CondaSpecRow(Row):
    """What an axis of a profile is called as a conda package, for some versions and one runtime. `build` is a
    glob that the build string must match, so that no build for another runtime slips in. With `channels`, it
    speaks only for a profile that names one of them.
    """

    axis: Literal["torch", "tensorflow", "cuda", "cudnn"]
    runtime: RuntimeKind
    package: str
    build: str = ""
    versions: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CondaNameRow(Row):
    """The Python distribution that a conda package of another name installs; empty where it installs none."""

    package: str
    distribution: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LintRow(Row):
    """Something in a file, or a path, that is known to end badly; `linting` says it before anything runs.

    It speaks when one of `packages` (in `versions`, if given) is wanted and everything else that the row names
    holds: the `manager` of the package, the `os`, that none of `without_channels` is configured, that the
    environment's `path` is of a kind, that its name holds one of `name_characters`, that a `development` version is
    pinned. `longest_member` is the longest path inside the package, in characters, for `path: long`.
    """

    code: str
    severity: Literal["error", "warning", "note"] = "warning"
    packages: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    manager: Literal["", "pip", "conda"] = ""
    os: str = ""
    without_channels: tuple[str, ...] = ()
    development: bool = False
    path: Literal["", "long", "non-ascii", "space"] = ""
    longest_member: int = 0
    name_characters: str = ""
    because: Words
    instead: tuple[Words, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FactRow(Row):
    """A fact that no other kind of row holds; `about` are words to find it by. `not_so` is the wrong claim
    it mends.
    """

    fact: str
    about: tuple[str, ...] = ()
    not_so: str = ""


#: The key of a file under which rows of a kind stand.
KINDS: Mapping[str, type[Row]] = {
    "patches": PatchRow,
    "names": NameRow,
    "families": FamilyRow,
    "builds": BuildRow,
    "metadata": MetadataRow,
    "companions": CompanionRow,
    "indexes": IndexRow,
    "runtimes": RuntimeRow,
    "architectures": ArchitectureRow,
    "loaders": LoaderRow,
    "cudnn": CudnnRow,
    "libraries": LibraryRow,
    "reaches": ReachRow,
    "rules": RuleRow,
    "conda-specs": CondaSpecRow,
    "conda-names": CondaNameRow,
    "lints": LintRow,
    "facts": FactRow,
}
