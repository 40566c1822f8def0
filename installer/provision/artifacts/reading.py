"""The knowledge rows about reading artifacts (knowledge/artifacts.yaml, knowledge/sonames.yaml), as
values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from provision.artifacts.gpucode import numbers
from provision.parsed import parsed


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildFile:
    """A member that states what a wheel was built for; the tuples name what in it holds each fact."""

    id: str
    member: str
    cuda: tuple[str, ...] = ()
    cudnn: tuple[str, ...] = ()
    rocm: tuple[str, ...] = ()
    is_cuda: tuple[str, ...] = ()
    is_rocm: tuple[str, ...] = ()
    architectures: tuple[str, ...] = ()
    cuda_none: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeSign:
    """Libraries that tell the runtime (`kind`) of a wheel which needs or brings one of them."""

    kind: str
    needs: re.Pattern[str]
    brings: re.Pattern[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingRows:
    """How to read an artifact. `legacy_tags` maps old manylinux tags to the glibc they stand for,
    `ptx_first_cuda` a PTX version to the first CUDA release that knows it."""

    build_files: tuple[BuildFile, ...] = ()
    architecture_lists: frozenset[str] = frozenset()
    kernel_files: tuple[re.Pattern[str], ...] = ()
    legacy_tags: Mapping[str, str]
    ptx_first_cuda: Mapping[str, str]
    runtime_signs: tuple[RuntimeSign, ...] = ()

    def kernel_target(self, member: str) -> str:
        """The AMD target that a member's name states, or nothing."""
        for pattern in self.kernel_files:
            if found := pattern.fullmatch(member):
                return found[1]
        return ""


@cache
def reading_rows() -> ReadingRows:
    """The packaged rows."""
    document = packaged("artifacts.yaml")
    return ReadingRows(
        build_files=tuple(_build_file(row) for row in document["build-files"]),
        architecture_lists=frozenset(row["member"] for row in document["architecture-lists"]),
        kernel_files=tuple(re.compile(row["member"]) for row in document["kernel-files"]),
        legacy_tags={tag: glibc for row in document["manylinux"] for tag, glibc in row["tags"].items()},
        ptx_first_cuda={isa: cuda for row in document["ptx"] for isa, cuda in row["first-cuda"].items()},
        runtime_signs=tuple(_sign(row) for row in document["runtime-signs"]),
    )


def ptx_isa(cuda: str, rows: ReadingRows | None = None) -> str:
    """The highest PTX version that a driver compiles, by the highest CUDA version it supports (`12.2`).

    Empty where no CUDA version is given or the rows know none so old."""
    first = (rows or reading_rows()).ptx_first_cuda
    known = [isa for isa, least in first.items() if cuda and numbers(least) <= numbers(cuda)]
    return max(known, key=numbers, default="")


def packaged(name: str) -> dict[str, Any]:
    """A packaged knowledge file as plain values."""
    text = resources.files("provision").joinpath("knowledge").joinpath(name).read_text(encoding="utf-8")
    document: dict[str, Any] = parsed(text)
    return document


def pattern(names: Iterable[str]) -> re.Pattern[str]:
    """A pattern for any of these names, in which `*` stands for anything; none of them fits nothing."""
    parts = [re.escape(name).replace(r"\*", ".*") for name in names]
    return re.compile("|".join(parts) or r"(?!)")


def library_key(name: str) -> str:
    """A library's name as it is compared: Windows does not tell cases apart."""
    return name.lower() if name.lower().endswith((".dll", ".pyd")) else name


def _sign(row: dict[str, Any]) -> RuntimeSign:
    return RuntimeSign(
        kind=row["kind"], needs=pattern(row.get("needs", ())), brings=pattern(row.get("brings", ()))
    )


def _build_file(row: dict[str, Any]) -> BuildFile:
    names = ("cuda", "cudnn", "rocm", "is-cuda", "is-rocm", "architectures")
    lists = {name.replace("-", "_"): tuple(row.get(name, ())) for name in names}
    return BuildFile(id=row["id"], member=row["member"], cuda_none=row.get("cuda-none", ""), **lists)
