"""The facts of one computer, each with the place it was read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from provision.model.keys import YAML_CONFIG


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
class Holder:
    """A process that holds a device. `memory` is in bytes, None where the driver does not tell (WDDM)."""

    pid: int
    name: str = ""
    memory: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupancy:
    """Who uses a card just now: a moment's fact, so no part of the machine. `used` and `total` are in bytes, `mode`
    is NVIDIA's compute mode (`Default`, `Exclusive_Process`, `Prohibited`). `card` names it for people. No holder is
    named where its process belongs to another user or container."""

    vendor: str
    card: str
    source: str
    used: int | None = None
    total: int | None = None
    mode: str = ""
    holders: tuple[Holder, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Software:
    """One installed copy of an SDK or library that a framework may load (`cuda`, `cudnn`, `cann`, `msvc`).

    `place` says by which way a program reaches it: `path`, `ld-library-path`, `ld-cache`, `conda`, `venv`,
    `variable`, `folder` (a usual place that no search path names), `system`. `active`: this copy wins (for an
    SDK: it is sourced); False: another copy shadows it, no search path leads to it, or it is not sourced;
    None: not known.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = YAML_CONFIG
    name: str
    version: str = ""
    path: str = ""
    place: str = ""
    active: bool | None = None
    facts: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What provision knows of a computer. An absent fact is None or empty, never guessed.

    `os_version`: `ubuntu 22.04`, Windows `10.0.22631`, macOS `14.2`. `libc`: `glibc 2.36`, `musl 1.2.4`.
    `memory` and `disks` are in bytes (`disks`: free ones, by folder). `drivers`: vendor -> version.
    `runtimes`: name -> version of the copy in `software` that wins. `environment`: only the variables that
    steer accelerators. `evidence` maps a fact's name (`drivers.nvidia`, `libc`) to where it was read.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = YAML_CONFIG
    os: str
    arch: str
    os_version: str = ""
    kernel: str = ""
    libc: str = ""
    cpu: str = ""
    cpu_flags: tuple[str, ...] = ()
    memory: int | None = None
    disks: dict[str, int] = field(default_factory=dict)
    pythons: tuple[Interpreter, ...] = ()
    devices: tuple[Device, ...] = ()
    drivers: dict[str, str] = field(default_factory=dict)
    runtimes: dict[str, str] = field(default_factory=dict)
    software: tuple[Software, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    traits: tuple[str, ...] = ()
    evidence: dict[str, str] = field(default_factory=dict)

    @property
    def target(self) -> str:
        """The target that this machine is, such as `linux-x86_64`."""
        return f"{self.os}-{self.arch}"

    def vendor_devices(self, vendor: str) -> tuple[Device, ...]:
        """The devices of one vendor, in the order in which the vendor's tools number them."""
        return tuple(device for device in self.devices if device.vendor == vendor)

    def lowest_capability(self, vendor: str) -> str | None:
        """The capability that all devices of a vendor reach (dotted numbers, as NVIDIA writes them).

        None if there is no such device, or if one of them does not tell.
        """
        found = [device.capability for device in self.vendor_devices(vendor)]
        if not found or not all(_is_dotted(text) for text in found):
            return None
        return min(found, key=lambda text: tuple(int(part) for part in text.split(".")))


def _is_dotted(text: str) -> bool:
    return bool(text) and all(part.isascii() and part.isdigit() for part in text.split("."))
