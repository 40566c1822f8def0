"""Build rows -> single builds, one per distribution, version and target, that a solver can compare."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from provision.knowledge.rows import BuildRow, Evidence, Runtime, Supplier, Tested, VendorFile, Wheels
from provision.model.gpucode import GpuCode, code_for, numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """One installable build of a framework. `row` is the id of the row that speaks for it.

    `version` is without local part; `requirement` is the PEP 508 text that asks for exactly this build.
    """

    row: str
    framework: str
    version: str
    distribution: str
    extras: tuple[str, ...]
    index: str
    local: str
    target: str
    pythons: tuple[str, ...]
    glibc: str
    runtime: Runtime
    cudnn: str
    libraries: Supplier
    architectures: tuple[str, ...]
    ptx: tuple[str, ...]
    capability_floor: str
    tested: Tested | None
    requires: tuple[str, ...]
    needs: dict[str, str] = field(hash=False)
    environment: dict[str, str] = field(hash=False)
    not_with: tuple[str, ...]
    vendor_files: tuple[VendorFile, ...]
    device: str
    experimental: bool
    source: str
    evidence: Evidence
    verified_on: str
    note: str

    @property
    def requirement(self) -> str:
        extras = f"[{','.join(self.extras)}]" if self.extras else ""
        local = f"+{self.local}" if self.local else ""
        return f"{self.distribution}{extras}=={self.version}{local}"


def gpu_code(build: Build, capability: str) -> GpuCode:
    """What a CUDA build holds for a compute capability (`8.6`).

    Without a list of machine code only the maker's floor is known.
    """
    if not build.architectures and not build.ptx:
        below = build.capability_floor and numbers(capability) < numbers(build.capability_floor)
        return "none" if below else "unknown"
    return code_for(build.architectures, build.ptx, capability)


def expand(row: BuildRow) -> Iterator[Build]:
    """All builds of a row: distributions x wheel groups x versions x targets."""
    for distribution in row.distributions:
        for group in row.wheels:
            for version in group.versions:
                for target in group.targets:
                    yield _build(row, group, distribution, version, target)


def _build(row: BuildRow, group: Wheels, distribution: str, version: str, target: str) -> Build:
    return Build(
        row=row.id,
        framework=row.framework,
        version=version,
        distribution=distribution,
        extras=row.extras,
        index=row.index if group.index is None else group.index,
        local=row.local if group.local is None else group.local,
        target=target,
        pythons=group.pythons,
        glibc=group.glibc,
        runtime=row.runtime,
        cudnn=row.cudnn,
        libraries="bundled" if target in row.bundled_on else row.libraries,
        architectures=group.architectures or row.architectures,
        ptx=group.ptx or row.ptx,
        capability_floor=row.capability_floor,
        tested=row.tested,
        requires=row.requires,
        needs=row.needs,
        environment=row.environment,
        not_with=row.not_with,
        vendor_files=_fitting(row.vendor_files, target),
        device=row.device,
        experimental=row.experimental,
        source=row.source,
        evidence=row.evidence,
        verified_on=row.verified_on,
        note=row.note,
    )


def _fitting(files: tuple[VendorFile, ...], target: str) -> tuple[VendorFile, ...]:
    return tuple(file for file in files if not file.targets or target in file.targets)
