"""The profile: what a person writes. See docs/architecture.md and schemas/profile.schema.json.

Documents in YAML use kebab-case keys (`compute-capability`), attributes the same words with underscores.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from provision.model.keys import YAML_CONFIG as YAML_CONFIG
from provision.model.keys import kebab as kebab

Vendor = Literal[
    "cpu", "nvidia", "amd", "intel", "apple", "ascend", "cambricon", "moorethreads", "biren",
    "hygon", "metax", "iluvatar", "kunlunxin", "enflame",
]  # fmt: skip
Target = Literal["linux-x86_64", "linux-aarch64", "windows-x86_64", "macos-arm64", "macos-x86_64"]
Manager = Literal["venv", "conda"]
Level = Literal["quick", "train", "full"]
DeviceKind = Literal["cpu", "gpu", "cuda", "directml", "rocm", "xpu", "npu", "mlu", "musa", "supa", "mps"]
JobName = Literal["torch", "tensorflow", "dual", "imports"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """The accelerator that a profile is for. `driver` may raise the floor that the solver derives."""

    __pydantic_config__: ClassVar[dict[str, Any]] = YAML_CONFIG
    #: Who made the accelerator; `cpu` for none.
    vendor: Vendor = "cpu"
    #: NVIDIA: the compute capabilities of the cards, as a version specifier. One alone (`8.6`) is exact.
    compute_capability: str | None = None
    #: The vendor's name of the chip, where its capability is no number: `gfx1030`, `910B`.
    architecture: str | None = None
    #: A driver version that the machine must have at least. Without it the floor follows from the stack.
    driver: str | None = None
    #: The C library of the machines it is for, where it is older than usual: `==2.17`.
    libc: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Framework:
    """A wanted framework: a version specifier, and where it matters the distribution that carries it."""

    __pydantic_config__: ClassVar[dict[str, Any]] = YAML_CONFIG
    #: A version specifier; `*` is any.
    version: str = "*"
    #: The distribution, where it is not the one of the same name: `tensorflow-cpu`.
    package: str | None = None
    #: Extras of the distribution.
    extras: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """A named index beside the default one (`pypi`), bound to its packages: they come from there only."""

    __pydantic_config__: ClassVar[dict[str, Any]] = YAML_CONFIG
    #: A word for this index; locks and machine settings refer to it.
    name: str
    #: Where its simple pages are. No credentials: they belong into ~/.netrc or a keyring.
    url: str
    #: The packages that come from this index, and from nowhere else.
    packages: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class VendorFile:
    """A wheel that no index serves. `version` may leave out a local part: 2.5.0 takes 2.5.0+abc123 too."""

    __pydantic_config__: ClassVar[dict[str, Any]] = YAML_CONFIG
    #: The distribution.
    name: str
    #: Its version, as the file's name has it.
    version: str
    #: The end of the file's name: `cp310-cp310-linux_x86_64`.
    tags: str
    #: Where its maker hands it out: an address, or words.
    where: str
    #: The file's SHA-256, where its maker states it: another file is then refused.
    sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VendorWheels:
    """Wheels that their maker hands out and no index serves: people fetch them into a folder, `lock` pins them."""

    __pydantic_config__: ClassVar[dict[str, Any]] = YAML_CONFIG
    #: The folder they are put in, relative to this profile.
    folder: str = "./vendor"
    #: The files; those for another target or Python are left out of a lock.
    files: tuple[VendorFile, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Where and how the environment is made; a relative path starts at the folder `provision` is run in."""

    __pydantic_config__: ClassVar[dict[str, Any]] = YAML_CONFIG
    #: What makes the environment.
    manager: Manager = "venv"
    #: The folder of the environment, replaced as a whole by each apply.
    path: str = ".venv"
    #: Whether pip stands in the environment.
    pip: bool = False
    #: conda: where packages come from, best first; a name or an address. By default `conda-forge`.
    channels: tuple[str, ...] = ()
    #: conda: packages of the default index on top of the conda packages, as in requirements.txt.
    wheels: tuple[str, ...] = ()
    #: conda: packages whose post-link scripts may run. They are programs of their makers, and run unwatched.
    link_scripts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Smoke:
    """The job that proves the environment. An empty `jobs` means: one per framework, and dual for two."""

    __pydantic_config__: ClassVar[dict[str, Any]] = YAML_CONFIG
    #: Which jobs run; by default one per framework, and `dual` for two.
    jobs: tuple[JobName, ...] = ()
    #: `quick`: import and one step. `train`: the loss must fall. `full`: longer, and more operations.
    level: Level = "train"
    #: Where training must run; by default what the hardware is.
    device: DeviceKind | None = None
    #: Seconds after which a job has failed.
    time_limit: int = 900


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A hardware profile. Everything but `name` has a default."""

    __pydantic_config__: ClassVar[dict[str, Any]] = YAML_CONFIG
    #: The version of this format.
    schema_: Literal[1] = 1
    #: The profile's name, also that of its folder of locks.
    name: str
    #: For people; changes nothing.
    description: str = ""
    #: A profile to start from: a path relative to this file. Mappings merge, lists replace, null takes back.
    extends: str | None = None
    #: The systems to make locks for; by default the one that `provision` runs on.
    targets: tuple[Target, ...] = ()
    #: Targets whose lock is not committed, each with the reason: `lock --check` repeats it and is content.
    unlocked: dict[Target, str] = field(default_factory=dict)
    #: The accelerator.
    hardware: Hardware = field(default_factory=Hardware)
    #: A version (`3.10`) or a range (`>=3.10,<3.14`); quote it, or YAML reads a number.
    python: str = ">=3.10"
    #: The deep-learning frameworks, each with a version specifier or a mapping.
    frameworks: dict[Literal["torch", "tensorflow"], Framework] = field(default_factory=dict)
    #: Versions of the runtime below the frameworks: CUDA, cuDNN, ROCm, CANN. By default the best that fit.
    accelerator: dict[str, str] = field(default_factory=dict)
    #: Further packages, as in requirements.txt.
    packages: tuple[str, ...] = ()
    #: Packages that must not be in the environment.
    absent: tuple[str, ...] = ()
    #: Package indexes beside the default one.
    indexes: tuple[Index, ...] = ()
    #: Wheels that no index serves.
    wheels: VendorWheels = field(default_factory=VendorWheels)
    #: Where and how the environment is made.
    environment: Environment = field(default_factory=Environment)
    #: Environment variables that are set whenever the environment is used.
    variables: dict[str, str] = field(default_factory=dict)
    #: The job that proves the environment.
    smoke: Smoke = field(default_factory=Smoke)
    #: A day (YYYY-MM-DD): nothing that was published later is used.
    as_of: str | None = None
    #: A folder below the profile's own with a team's knowledge rows: they add to the packaged rows or replace them.
    knowledge: str | None = None
    #: Named overlays in order: the first whose needs a machine meets is applied there.
    variants: tuple[Variant, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One variant: its name, and the whole profile that it makes of the base (`loading` lays it over)."""

    name: str
    profile: Profile
