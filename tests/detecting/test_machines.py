"""Every recorded machine, through the fake Reader and (Linux) through the real one."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from provision.detecting import detect, rows, tools
from provision.model.finding import Finding
from provision.model.machine import Machine
from tests.support import machines

_MIB = 1024 * 1024
_PLAIN = ("os_version", "kernel", "libc", "cpu", "memory", "drivers", "runtimes", "environment")
#: Facts that a record need not name: what they are when it does not.
_DEFAULTS: Mapping[str, Any] = {"drivers": {}, "runtimes": {}, "traits": ()}


@pytest.mark.parametrize("name", machines.names())
def test_machine(name: str) -> None:
    record = machines.record(name)
    _check(record["expected"], *detect(machines.fake(record)))


def _on_linux() -> list[str]:
    return [
        name
        for name in machines.names()
        if machines.record(name)["host"]["os"] == "linux" and machines.record(name).get("only") != "fake"
    ]


@pytest.mark.skipif(
    sys.platform != "linux", reason="fake programs are shell scripts, the stub library is ELF"
)
@pytest.mark.parametrize("name", _on_linux())
def test_machine_for_real(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = machines.record(name)
    if "nvml" in record and machines.compiler() is None:
        pytest.skip("no C compiler for the stub of NVIDIA's library")
    monkeypatch.setattr(tools, "TIME_LIMIT", 1.0)
    _check(record["expected"], *detect(machines.real(record, tmp_path)))


def _check(expected: Mapping[str, Any], machine: Machine, findings: tuple[Finding, ...]) -> None:
    assert sorted(finding.code for finding in findings) == sorted(expected["findings"]), findings
    for name in _PLAIN:
        if name in expected or name in _DEFAULTS:
            assert _shown(machine, expected, name) == expected.get(name, _DEFAULTS.get(name)), name
    assert sorted(machine.traits) == sorted(expected.get("traits", ())), "traits"
    assert set(expected.get("flags", ())) <= set(machine.cpu_flags)
    for vendor, capability in expected.get("lowest", {}).items():
        assert machine.lowest_capability(vendor) == capability
    _check_devices(expected["devices"], machine)
    for part in expected.get("software", ()):
        assert any(_holds(part, asdict(copy)) for copy in machine.software), (part, machine.software)
    _check_evidence(machine)


def _shown(machine: Machine, expected: Mapping[str, Any], name: str) -> Any:
    value = getattr(machine, name)
    if name == "environment":
        return {key: value[key] for key in value if key in expected["environment"]}
    return value


def _check_devices(expected: list[Mapping[str, Any]], machine: Machine) -> None:
    assert len(machine.devices) == len(expected), machine.devices
    for part in expected:
        mib = part.get("mib")
        wanted = {key: value for key, value in part.items() if key != "mib"}
        if "mib" in part:
            wanted["memory"] = None if mib is None else mib * _MIB
        assert any(_holds(wanted, asdict(device)) for device in machine.devices), (wanted, machine.devices)


def _holds(part: Mapping[str, Any], whole: Mapping[str, Any]) -> bool:
    return all(
        _holds(value, whole[key]) if isinstance(value, Mapping) else whole.get(key) == value
        for key, value in part.items()
    )


def _check_evidence(machine: Machine) -> None:
    """No fact without the place where it was read."""
    for name in ("os_version", "libc", "cpu", "memory"):
        assert not getattr(machine, name) or machine.evidence.get(name), name
    for field in ("drivers", "runtimes", "environment", "disks"):
        for key in getattr(machine, field):
            assert machine.evidence.get(f"{field}.{key}"), f"{field}.{key}"
    assert all(device.source for device in machine.devices)


def test_every_vendor_and_trouble_is_on_record() -> None:
    records = [machines.record(name) for name in machines.names()]
    vendors = {device["vendor"] for record in records for device in record["expected"]["devices"]}
    assert vendors >= {
        *("nvidia", "amd", "intel", "apple", "ascend", "cambricon", "moorethreads", "biren", "hygon"),
        *("metax", "iluvatar", "kunlunxin", "enflame"),
    }
    assert len(records) >= 40
    assert {record["basis"] for record in records} == {"recorded", "rebuilt"}
    assert all(record["what"] and record["source"] for record in records)


def test_a_machine_without_any_sign_is_spared_the_knowledge_of_devices() -> None:
    rows.table.cache_clear()
    rows._document.cache_clear()
    detect(machines.fake(machines.record("linux-core2-no-avx")))
    assert rows._document.cache_info().misses == 0
    detect(machines.fake(machines.record("linux-centos7")))
    assert rows._document.cache_info().misses == 1


def test_a_library_that_hangs_is_not_waited_for_twice() -> None:
    reader = machines.fake(machines.record("nvidia-tools-hang"))
    detect(reader)
    assert [line for line in reader.asked if line.startswith(("nvml", "nvidia-smi"))] == [reader.asked[-1]]


def test_what_the_library_has_told_costs_one_start_of_the_tool() -> None:
    reader = machines.fake(machines.record("nvidia-rtx4090-pair"))
    detect(reader)
    assert len([line for line in reader.asked if "nvidia-smi" in line]) == 1


def test_every_code_is_documented_and_on_record() -> None:
    text = (machines.FOLDER.parent.parent / "docs" / "detection.md").read_text("utf-8")
    documented = set(re.findall(r"^\| `([a-z-]+)` \|", text, re.MULTILINE))
    recorded = {code for name in machines.names() for code in machines.record(name)["expected"]["findings"]}
    assert documented == recorded
