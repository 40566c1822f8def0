"""Sourced rows about packages, builds, runtimes and their pitfalls: loading them and asking them. Pure."""

from provision.knowledge.base import Knowledge, kind_of, load_knowledge
from provision.knowledge.builds import Build, gpu_code
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
    LintRow,
    LoaderRow,
    MetadataRow,
    NameRow,
    PatchRow,
    Row,
    RuleRow,
    Runtime,
    RuntimeRow,
    Tested,
    VendorFile,
)
from provision.model.gpucode import GpuCode

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
    "LintRow",
    "LoaderRow",
    "MetadataRow",
    "NameRow",
    "PatchRow",
    "Row",
    "RuleRow",
    "Runtime",
    "RuntimeRow",
    "Tested",
    "VendorFile",
    "gpu_code",
    "kind_of",
    "load_knowledge",
]
