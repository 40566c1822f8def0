"""The facts of one computer, each with the place it was read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from provision.model.profile import YAML_CONFIG


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """A Python on the machine. `version` is full (3.10.13); `arch` is the machine it was built for."""

    __pydantic_config__: ClassVar[dict[str, Any]] = YAML_CONFIG
    path: str
    version: str
    implementation: str = "cpython"
    arch: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One accelerator. `memory` is in bytes; `capability` is what the vendor calls the architecture
    (NVIDIA compute capability `8.6`, AMD `gfx1030`, Ascend `910B`)."""

    __pydantic_config__: ClassVar[dict[str, Any]] = YAML_CONFIG
    vendor: str
    name: str = ""
    pci: str = ""
    capability: str = ""
    memory: int | None = None
    driver: str = ""
    facts: dict[str, str] = field(default_factory=dict)
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What provision knows of a computer. An absent fact is None or empty, never guessed.

    `evidence` maps a fact's name (`driver.nvidia`, `libc`) to where it was read.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = YAML_CONFIG
    os: str
    arch: str
    os_version: str = ""
    libc: str = ""
    cpu: str = ""
    cpu_flags: tuple[str, ...] = ()
    memory: int | None = None
    disks: dict[str, int] = field(default_factory=dict)
    pythons: tuple[Interpreter, ...] = ()
    devices: tuple[Device, ...] = ()
    drivers: dict[str, str] = field(default_factory=dict)
    runtimes: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    traits: tuple[str, ...] = ()
    evidence: dict[str, str] = field(default_factory=dict)

    @property
    def target(self) -> str:
        """The target that this machine is, such as `linux-x86_64`."""
        return f"{self.os}-{self.arch}"
