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
    vendor: Vendor = "cpu"
    compute_capability: str | None = None
    architecture: str | None = None
    driver: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Framework:
    """A wanted framework: a version specifier, and where it matters the distribution that carries it."""

    __pydantic_config__: ClassVar[dict[str, Any]] = YAML_CONFIG
    version: str = "*"
    package: str | None = None
    extras: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """A named index beside the default one (`pypi`), bound to its packages: they come from there only."""

    __pydantic_config__: ClassVar[dict[str, Any]] = YAML_CONFIG
    name: str
    url: str
    packages: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Where and how the environment is made; a relative path starts at the folder `provision` is run in."""

    __pydantic_config__: ClassVar[dict[str, Any]] = YAML_CONFIG
    manager: Manager = "venv"
    path: str = ".venv"
    pip: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Smoke:
    """The job that proves the environment. An empty `jobs` means: one per framework, and dual for two."""

    __pydantic_config__: ClassVar[dict[str, Any]] = YAML_CONFIG
    jobs: tuple[JobName, ...] = ()
    level: Level = "train"
    device: DeviceKind | None = None
    time_limit: int = 900


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A hardware profile. Everything but `name` has a default; `origin` is where it was read."""

    __pydantic_config__: ClassVar[dict[str, Any]] = YAML_CONFIG
    schema_: Literal[1] = 1
    name: str
    description: str = ""
    extends: str | None = None
    targets: tuple[Target, ...] = ()
    hardware: Hardware = field(default_factory=Hardware)
    python: str = ">=3.10"
    frameworks: dict[Literal["torch", "tensorflow"], Framework] = field(default_factory=dict)
    accelerator: dict[str, str] = field(default_factory=dict)
    packages: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    indexes: tuple[Index, ...] = ()
    environment: Environment = field(default_factory=Environment)
    variables: dict[str, str] = field(default_factory=dict)
    smoke: Smoke = field(default_factory=Smoke)
    as_of: str | None = None
