"""No text makes a parser raise, whatever a tool, a file or a registry says."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from provision.detecting import (
    cpu,
    detect,
    kfd,
    libc,
    loader,
    memory,
    nvidia_proc,
    nvidia_smi,
    nvml,
    os,
    pci,
    pnp,
    tables,
    visible,
)
from provision.detecting.rows import table
from provision.detecting.told import Told, address, mebibytes
from provision.model.machine import Device
from provision.ports import Host, Output, RegistryKey
from tests.support import machines
from tests.support.fake_reader import FakeReader

_TOOL_PARSERS = tuple(dict.fromkeys([row["parser"] for row in table("tools")] + ["rocminfo"]))
_OTHERS: tuple[Callable[[str], Any], ...] = (
    *(os.parse_os_release, os.wsl_of, libc.parse_libc, cpu.parse_cpuinfo, memory.parse_meminfo),
    *(
        nvidia_proc.parse_version,
        nvidia_proc.parse_information,
        nvidia_smi.parse_query,
        nvidia_smi.parse_list,
    ),
    *(nvidia_smi.refused_field, nvml.parse, address, mebibytes, pnp.location, pnp.nvidia_version),
    *(lambda text: pci.parse_uevent(text, "0000:01:00.0"), lambda text: kfd.parse_node(text, "x")),
    *(lambda text: loader.parse(text, "x86-64"), lambda text: list(tables.pairs(text))),
)


@cache
def _recorded_outputs() -> list[str]:
    records = (machines.record(name) for name in machines.names())
    told = [value for record in records for value in record.get("commands", {}).values()]
    texts = [value if isinstance(value, str) else value.get("output", "") for value in told]
    return sorted(text for text in texts if text)


@st.composite
def _damaged(draw: st.DrawFn) -> str:
    """A real output with lines dropped, cells cut and characters replaced."""
    text = draw(st.sampled_from(_recorded_outputs()))
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, max(0, len(text) - 1)))
        end = min(len(text), start + draw(st.integers(0, 40)))
        text = (
            text[:start]
            + draw(st.text(max_size=6) | st.sampled_from(["|", "\n", "N/A", "0/0", "::"]))
            + text[end:]
        )
    return text


_TEXTS = _damaged() | st.text(max_size=300) | st.text("|/-+=:.0123456789abcdef MiB\n", max_size=300)


@pytest.mark.parametrize("name", _TOOL_PARSERS)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=_TEXTS)
def test_no_output_makes_a_tool_parser_raise(name: str, text: str) -> None:
    told = import_module(f"provision.detecting.{name}").parse(text)
    assert isinstance(told, Told)
    for device in told.devices:
        assert device.vendor
        assert device.memory is None or device.memory >= 0
        assert re.fullmatch(r"(?:[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])?", device.pci)


@pytest.mark.parametrize("parse", _OTHERS)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=_TEXTS)
def test_no_text_makes_a_parser_raise(parse: Callable[[str], Any], text: str) -> None:
    parse(text)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 70), 1 << 70) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(["devices", "errors", "driver", "cuda", "name", "pci", "pci_id", "memory", "capability",
                         "mig", "instances", "driver_model", "index", "uuid", "call", "code"]),
        inner,
        max_size=6,
    ),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(document=_JSON)
def test_no_document_makes_the_nvml_parser_raise(document: Any) -> None:
    import json

    told = nvml.parse(json.dumps(document))
    assert isinstance(told, Told)


@settings(max_examples=40, deadline=None)
@given(
    value=st.text(max_size=20)
    | st.sampled_from(["0,1", "all", "-1", "GPU-a", "MIG-1", "0,GPU-a,9", "1,0,x"]),
    uuids=st.lists(st.sampled_from(["GPU-a", "GPU-b", ""]), max_size=4),
)
def test_visible_devices_are_never_more_than_asked_for(value: str, uuids: list[str]) -> None:
    devices = [Device(vendor="nvidia", facts={"uuid": uuid} if uuid else {}) for uuid in uuids]
    count = visible.visible_count(value, devices)
    assert count is None or 0 <= count <= value.count(",") + 1


@pytest.mark.parametrize(
    ("value", "count"),
    [
        ("", 0), ("-1", 0), ("NoDevFiles", 0), ("all", None), ("0", 1), ("0,1", 2), ("1,0", 2), ("0,2,1", 1),
        ("2", 0), ("GPU-aa", 1), ("GPU-x", 0), ("GPU-aa,1", 2), ("GPU-aa GPU-bb", 0), ("device=0", None),
    ],
)  # fmt: skip
def test_visible_count(value: str, count: int | None) -> None:
    devices = [Device(vendor="nvidia", facts={"uuid": uuid}) for uuid in ("GPU-aa11", "GPU-bb22")]
    assert visible.visible_count(value, devices) == count


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_no_machine_makes_detection_raise(data: st.DataObject) -> None:
    """A machine whose files, variables and tools all say anything at all."""
    record = machines.record(data.draw(st.sampled_from(machines.names())))
    reader = machines.fake(record)
    text = st.none() | st.text(max_size=60)
    noisy = {path: data.draw(text) for path in reader.files if data.draw(st.booleans())}
    reader.files = {**reader.files, **noisy}
    code = st.sampled_from([None, 0, 1, -11])
    reader.commands = {
        line: Output(data.draw(code), data.draw(_TEXTS), data.draw(st.text(max_size=20)))
        for line in reader.commands
    }
    reader.scripts = {name: Output(data.draw(code), data.draw(_TEXTS), "") for name in reader.scripts}
    machine, _ = detect(reader)
    assert machine.target


@settings(max_examples=40, deadline=None)
@given(values=st.dictionaries(st.sampled_from(["Service", "Driver", "CompatibleIDs", "LocationInformation",
                                               "DriverVersion", "HardwareInformation.qwMemorySize",
                                               "ProviderName", "DeviceDesc"]), st.text(max_size=30)))  # fmt: skip
def test_no_registry_makes_detection_raise(values: dict[str, str]) -> None:
    bus = r"HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Enum\PCI"
    keys = {
        rf"{bus}\VEN_10DE&DEV_2684&SUBSYS_1\x": RegistryKey(values),
        rf"{bus}\VEN_ZZ\y": RegistryKey(values),
    }
    machine, _ = detect(FakeReader(machine=Host(os="windows", arch="x86_64"), keys=keys))
    assert machine.os == "windows"
