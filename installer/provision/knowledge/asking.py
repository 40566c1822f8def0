"""The facts of one build, in the names that rules ask by (the header of rules.yaml). What is not known is left out.

The solver asks with what a profile states of the hardware, the gate with what a machine has: the same rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from provision.knowledge.builds import Build, gpu_code
from provision.knowledge.rows import RuleRow

#: Facts that a machine has, and a lock does not.
MACHINE_FACTS = ("capability", "architecture", "driver", "libc", "cpu-flags", "cann", "gpu-code")


def build_facts(
    build: Build, *, target: str, python: str, manager: str, hardware: Mapping[str, Any]
) -> dict[str, Any]:
    """`hardware` holds `vendor` and any of MACHINE_FACTS; None means not known.

    Without `gpu-code` in it the build's own lists of architectures say whether a capability is covered.
    """
    facts: dict[str, Any] = {
        "framework": build.framework,
        "version": build.version,
        "distribution": build.distribution,
        "extras": build.extras,
        "local": build.local,
        "index": build.index,
        "target": target,
        "python": python,
        "runtime": build.runtime.kind,
        "runtime-version": build.runtime.version or None,
        "cudnn": build.cudnn or None,
        "manager": manager,
        **hardware,
    }
    capability = facts.get("capability")
    if capability and "gpu-code" not in hardware and build.runtime.kind == "cuda":
        facts["gpu-code"] = gpu_code(build, capability)
    return {name: value for name, value in facts.items() if value is not None}


def asks_machine(rule: RuleRow) -> bool:
    """Does a rule ask for something that only a machine tells?"""
    return _asks(rule.when)


def _asks(when: Mapping[str, Any]) -> bool:
    return any(key in MACHINE_FACTS or (key == "not" and _asks(value)) for key, value in when.items())
