"""The lock: a stack with every artifact pinned by name, size and SHA-256 for one target and Python."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from provision.model.profile import YAML_CONFIG, Index, Manager, Smoke
from provision.model.stack import Choice, Library, Need, Note, Patch

#: The name of the default index, whatever address a machine gives it.
PYPI = "pypi"
#: Where the archives of library sets come from: their maker, by address.
MAKER = "maker"
#: The folder of files that a vendor hands out and people fetch by hand.
VENDOR = "vendor"


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """One file of a distribution. `index` names where it comes from; `url` only for files outside the
    default index. `size` is in bytes, None where no source states it. A `kind: sdist` is built on the
    target with the locked `build` requirements of the lock. A `kind: archive` is a library set's. `where` says
    where a file of the index `vendor` is to be had."""

    __pydantic_config__: ClassVar[dict[str, Any]] = YAML_CONFIG
    name: str
    version: str
    index: str
    file: str
    size: int | None
    sha256: str
    kind: Literal["wheel", "sdist", "archive"] = "wheel"
    url: str | None = None
    where: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CondaArtifact:
    """One conda package. `channel` is its channel as the profile names it, `url` the file at the channel's own
    address (a mirror serves as well: the hash decides). `size` is in bytes. At least one of `sha256` and `md5`
    is there. `depends` and `constrains` are match specs, empty where no record of them was found."""

    __pydantic_config__: ClassVar[dict[str, Any]] = YAML_CONFIG
    name: str
    version: str
    build: str
    build_number: int = 0
    subdir: str
    channel: str
    url: str
    size: int | None = None
    sha256: str | None = None
    md5: str | None = None
    noarch: Literal["python", "generic"] | None = None
    depends: tuple[str, ...] = ()
    constrains: tuple[str, ...] = ()

    @property
    def file(self) -> str:
        return self.url.rsplit("/", 1)[-1]

    @property
    def key(self) -> str:
        """What the file is known by: its SHA-256, or its MD5 where no other is known."""
        return self.sha256 or f"md5-{self.md5}"

    @property
    def label(self) -> str:
        """`name-version-build`, as in the names of files and records."""
        return f"{self.name}-{self.version}-{self.build}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Digests:
    """What the lock was made from: SHA-256 of the profile's meaning and of the knowledge rows it used."""

    __pydantic_config__: ClassVar[dict[str, Any]] = YAML_CONFIG
    profile: str
    knowledge: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """Left of it is reasoning, right of it mechanics: nothing reads the profile after it."""

    __pydantic_config__: ClassVar[dict[str, Any]] = YAML_CONFIG
    schema_: Literal[1] = 1
    profile: str
    variant: str | None = None
    target: str
    python: str
    digests: Digests
    manager: Manager = "venv"
    path: str = ".venv"
    pip: bool = False
    stack: tuple[Choice, ...] = ()
    patches: tuple[Patch, ...] = ()
    needs: tuple[Need, ...] = ()
    notes: tuple[Note, ...] = ()
    absent: tuple[str, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)
    smoke: Smoke = field(default_factory=Smoke)
    #: The vendor whose device the smoke job demands.
    hardware: str = "cpu"
    frameworks: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    indexes: tuple[Index, ...] = ()
    #: The folder of vendor files, relative to the profile; empty where the lock has none.
    wheels: str = ""
    packages: tuple[Artifact, ...] = ()
    build: tuple[Artifact, ...] = ()
    #: Conda packages; `packages` then are the wheels on top of them.
    conda: tuple[CondaArtifact, ...] = ()
    channels: tuple[str, ...] = ()
    #: What the solve took the machine to have: `__cuda` -> `11.8`.
    virtual_packages: dict[str, str] = field(default_factory=dict)
    #: Conda packages whose post-link scripts may run.
    link_scripts: tuple[str, ...] = ()
    #: Shared libraries that are placed beside the packages.
    libraries: tuple[Library, ...] = ()

    @property
    def archives(self) -> tuple[Artifact, ...]:
        """The archives of the library sets, as files to fetch."""
        return tuple(
            Artifact(
                name=one.library, version=one.version, index=MAKER, file=one.archive.file, size=one.archive.size,
                sha256=one.archive.sha256, kind="archive", url=one.archive.url,
            )
            for one in self.libraries
            if one.archive is not None
        )  # fmt: skip

    @property
    def artifacts(self) -> tuple[Artifact, ...]:
        """Every file that an apply needs."""
        return (*self.packages, *self.build, *self.archives)

    @property
    def pins(self) -> tuple[tuple[str, str], ...]:
        """(name, version) of everything that will be installed, whoever installs it."""
        mine = tuple((a.name, a.version) for a in self.conda)
        return (*mine, *((a.name, a.version) for a in self.packages))
