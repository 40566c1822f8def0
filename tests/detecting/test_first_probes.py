"""The parsers of the system probes, and what they say when there is nothing to read."""

from __future__ import annotations

import pytest

from provision.detecting import cpu, detect, libc, memory, nvidia_proc, nvidia_smi, os
from provision.model.finding import UsageError
from provision.model.machine import Machine
from provision.ports import Host, Output, RegistryKey
from tests.support.fake_reader import LINUX, FakeReader

UBUNTU = """PRETTY_NAME="Ubuntu 22.04.4 LTS"
NAME="Ubuntu"
VERSION_ID="22.04"
VERSION="22.04.4 LTS (Jammy Jellyfish)"
ID=ubuntu
ID_LIKE=debian
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (UBUNTU, "ubuntu 22.04"),
        ('ID="centos"\nVERSION_ID="7"\n', "centos 7"),
        ("ID=arch\n", "arch"),
        ('NAME="openEuler"\nID="openEuler"\nVERSION_ID="22.03"\n', "openEuler 22.03"),
        ("", ""),
        ("no pairs here", ""),
    ],
)
def test_os_release(text: str, expected: str) -> None:
    assert os.parse_os_release(text) == expected


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("Linux version 5.15.167.4-microsoft-standard-WSL2 (root@f9c826d3017f)", "wsl2"),
        ("Linux version 4.4.0-19041-Microsoft (Microsoft@Microsoft.com)", "wsl1"),
        ("Linux version 6.1.0-18-amd64 (debian-kernel@lists.debian.org)", ""),
        ("Linux version 5.15.0-1053-azure (buildd@lcy02)", ""),
    ],
)
def test_wsl(version: str, expected: str) -> None:
    assert os.wsl_of(version) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("glibc 2.36\n", "glibc 2.36"),
        ("ldd (Ubuntu GLIBC 2.35-0ubuntu3.8) 2.35\nCopyright (C) 2022", "glibc 2.35"),
        ("ldd (GNU libc) 2.17\n", "glibc 2.17"),
        ("musl libc (x86_64)\nVersion 1.2.4_git20230717\nDynamic Program Loader\n", "musl 1.2.4"),
        ("", ""),
    ],
)
def test_libc(text: str, expected: str) -> None:
    assert libc.parse_libc(text) == expected


def test_libc_by_the_name_of_the_loader() -> None:
    loader = "/lib64/ld-linux-x86-64.so.2"
    reader = FakeReader(files={"/lib64/ld-2.17.so": ""}, links={loader: "ld-2.17.so"})
    assert libc.probe(reader, LINUX).facts == {"libc": "glibc 2.17"}
    assert reader.asked == []


def test_musl_by_its_loader() -> None:
    loader = "/lib/ld-musl-x86_64.so.1"
    output = Output(1, "", "musl libc (x86_64)\nVersion 1.2.3\nDynamic Program Loader")
    reader = FakeReader(files={loader: ""}, commands={loader: output})
    assert libc.probe(reader, LINUX).facts == {"libc": "musl 1.2.3"}


def test_cpuinfo_of_the_first_processor() -> None:
    text = (
        "processor\t: 0\nmodel name\t: Intel(R)  Xeon(R)\nflags\t\t: sse2 fpu avx\n\nprocessor: 1\nflags: x\n"
    )
    assert cpu.parse_cpuinfo(text) == ("Intel(R) Xeon(R)", ("avx", "fpu", "sse2"))


def test_cpuinfo_of_arm() -> None:
    text = "processor\t: 0\nBogoMIPS\t: 200.00\nFeatures\t: fp asimd aes\nCPU implementer\t: 0x48\n"
    assert cpu.parse_cpuinfo(text) == ("", ("aes", "asimd", "fp"))


def test_memory_of_a_container_is_its_limit() -> None:
    files = {"/proc/meminfo": "MemTotal:       32768 kB\n", "/sys/fs/cgroup/memory.max": "1048576\n"}
    assert memory.probe(FakeReader(files=files), LINUX).facts == {"memory": 1048576}


@pytest.mark.parametrize("limit", ["max\n", "9223372036854771712\n", ""])
def test_memory_without_a_limit(limit: str) -> None:
    files = {"/proc/meminfo": "MemTotal:       32768 kB\n", "/sys/fs/cgroup/memory.max": limit}
    assert memory.probe(FakeReader(files=files), LINUX).facts == {"memory": 32768 * 1024}


def test_windows_build_and_processor() -> None:
    current = r"HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows NT\CurrentVersion"
    processor = r"HKEY_LOCAL_MACHINE\HARDWARE\DESCRIPTION\System\CentralProcessor\0"
    host = Host(os="windows", arch="x86_64", release="10.0.22631", memory=1 << 34, cpu_flags=("avx", "avx2"))
    keys = {
        current: RegistryKey(
            {"CurrentMajorVersionNumber": "10", "CurrentBuildNumber": "22631", "UBR": "3296"}
        ),
        processor: RegistryKey({"ProcessorNameString": "AMD Ryzen 7 5800X 8-Core Processor             "}),
    }
    machine, findings = detect(FakeReader(machine=host, keys=keys))
    assert (machine.target, machine.os_version, machine.kernel) == (
        "windows-x86_64",
        "10.0.22631",
        "10.0.22631.3296",
    )
    assert (machine.cpu, machine.memory) == ("AMD Ryzen 7 5800X 8-Core Processor", 1 << 34)
    assert [finding.code for finding in findings] == ["msvc-missing"]


def test_macos() -> None:
    host = Host(os="macos", arch="arm64", release="23.2.0", version="14.2")
    commands = {
        "sysctl -n hw.memsize": Output(0, "17179869184\n", ""),
        "sysctl machdep.cpu.brand_string machdep.cpu.features machdep.cpu.leaf7_features": Output(
            1, "machdep.cpu.brand_string: Apple M2\n", "unknown oid"
        ),
        "sysctl -n sysctl.proc_translated": Output(0, "0\n", ""),
    }
    machine, _ = detect(FakeReader(machine=host, commands=commands))
    assert (machine.target, machine.os_version, machine.cpu) == ("macos-arm64", "14.2", "Apple M2")
    assert (machine.memory, machine.traits) == (17179869184, ())


def test_a_machine_that_tells_nothing() -> None:
    machine, findings = detect(FakeReader())
    assert machine == Machine(os="linux", arch="x86_64", kernel=LINUX.release, evidence={"kernel": "uname"})
    assert findings == ()


PROC = """NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.154.05  Thu Dec 28 15:37:48 UTC 2023
GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)
"""
OPEN = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  560.35.03  Release Build  (dvs-builder@U16)\n"
)


@pytest.mark.parametrize(
    ("text", "expected"), [(PROC, "535.154.05"), (OPEN, "560.35.03"), ("", ""), ("x", "")]
)
def test_nvidia_version_file(text: str, expected: str) -> None:
    assert nvidia_proc.parse_version(text) == expected


def test_nvidia_query_of_a_report() -> None:
    text = "name, driver_version, compute_cap\nNVIDIA GeForce GTX 1050, 550.163.01, 6.1\n"
    (device,) = nvidia_smi.parse_query(text)
    assert (device.name, device.driver, device.capability) == ("NVIDIA GeForce GTX 1050", "550.163.01", "6.1")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("00000000:01:00.0", "0000:01:00.0"),
        ("0000:C1:00.0", "0000:c1:00.0"),
        ("1:0.0", "0000:01:00.0"),
        ("00010002:01:00.0", "0002:01:00.0"),
        ("nonsense", ""),
    ],
)
def test_pci_address(text: str, expected: str) -> None:
    assert nvidia_smi.address(text) == expected


def test_stated_facts_replace_found_ones() -> None:
    stated = {"libc": "glibc 2.17", "drivers.nvidia": "470.86", "capability.nvidia": "8.6", "memory": "1024"}
    machine, _ = detect(FakeReader(), stated)
    assert (machine.libc, machine.drivers, machine.memory) == ("glibc 2.17", {"nvidia": "470.86"}, 1024)
    assert machine.lowest_capability("nvidia") == "8.6"
    assert machine.evidence["libc"] == "override"


@pytest.mark.parametrize(("name", "value", "hint"), [("lib", "x", "libc"), ("memory", "4 GB", "")])
def test_a_fact_that_cannot_be_stated(name: str, value: str, hint: str) -> None:
    with pytest.raises(UsageError) as error:
        detect(FakeReader(), {name: value})
    (finding,) = error.value.findings
    assert finding.code == "bad-override"
    assert hint in "".join(remedy.text for remedy in finding.remedies)
