"""Sourced rows about packages, builds, runtimes and their pitfalls: loading them and asking them. Pure."""

from provision.knowledge.base import Knowledge, kind_of, load_knowledge
from provision.knowledge.builds import Build, GpuCode, gpu_code
from provision.knowledge.reading import KnowledgeError
from provision.knowledge.rows import (
    ArchitectureRow,
    BuildRow,
    CompanionRow,
    CudnnRow,
    FactRow,
    FamilyRow,
    IndexRow,
    LibraryFile,
    LibraryRow,
    LoaderRow,
    MetadataRow,
    NameRow,
    PatchRow,
    Row,
    RuleRow,
    Runtime,
    RuntimeRow,
    Tested,
)

__all__ = [
    "ArchitectureRow",
    "Build",
    "BuildRow",
    "CompanionRow",
    "CudnnRow",
    "FactRow",
    "FamilyRow",
    "GpuCode",
    "IndexRow",
    "Knowledge",
    "KnowledgeError",
    "LibraryFile",
    "LibraryRow",
    "LoaderRow",
    "MetadataRow",
    "NameRow",
    "PatchRow",
    "Row",
    "RuleRow",
    "Runtime",
    "RuntimeRow",
    "Tested",
    "gpu_code",
    "kind_of",
    "load_knowledge",
]
