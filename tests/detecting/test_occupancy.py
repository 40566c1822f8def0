"""Who uses the cards: nvidia-smi's words, and the device nodes that processes hold open."""

from __future__ import annotations

from provision.detecting import occupancy
from provision.model.machine import Device, Holder, Machine
from provision.ports import Host, Output
from tests.support.fake_reader import FakeReader

GIB, MIB = 1 << 30, 1 << 20
CARDS = "nvidia-smi --query-gpu=uuid,index,name,memory.used,memory.total,compute_mode --format=csv,noheader,nounits"
APPS = "nvidia-smi --query-compute-apps=gpu_uuid,pid,process_name,used_memory --format=csv,noheader,nounits"


def reader(os: str, cards: str = "", apps: str = "", **more: object) -> FakeReader:
    commands = {CARDS: Output(0, cards, ""), APPS: Output(0, apps, "")} if cards else {}
    return FakeReader(
        machine=Host(os=os, arch="x86_64"),
        tools={"nvidia-smi": "nvidia-smi"} if cards else {},
        commands=commands,
        **more,  # type: ignore[arg-type]
    )


def machine(os: str, *vendors: str) -> Machine:
    return Machine(os=os, arch="x86_64", devices=tuple(Device(vendor=v, name="card") for v in vendors))


def test_two_cards_of_a_cluster_in_exclusive_mode() -> None:
    told = reader(
        "linux",
        "GPU-aa, 0, Tesla V100-SXM2-16GB, 9000, 16152, Exclusive_Process\n"
        "GPU-bb, 1, Tesla V100-SXM2-16GB, 3, 16152, Default\n",
        "GPU-aa, 4242, /usr/bin/python3.8, 8997\n",
    )
    first, second = occupancy.probe(told, machine("linux", "nvidia"))
    assert (first.card, first.mode, first.used) == ("0 Tesla V100-SXM2-16GB", "Exclusive_Process", 9000 * MIB)
    assert first.holders == (Holder(pid=4242, name="python3.8", memory=8997 * MIB),)
    assert (second.holders, second.total) == ((), 16152 * MIB)


def test_wddm_does_not_tell_the_memory_of_a_process() -> None:
    told = reader(
        "windows",
        "GPU-cc, 0, NVIDIA GeForce RTX 3060, 1475, 12288, Default\n",
        "GPU-cc, 9184, C:\\Users\\u\\env\\python.exe, [N/A]\nGPU-cc, 1200, [Insufficient Permissions], [N/A]\n",
    )
    (card,) = occupancy.probe(told, machine("windows", "nvidia"))
    assert card.holders == (Holder(pid=9184, name="python.exe"), Holder(pid=1200))


def test_words_that_are_no_rows_are_no_processes() -> None:
    cards = "GPU-dd, 0, NVIDIA H200, [N/A], 143771, [N/A]\nUnable to determine the device handle for GPU1\n"
    (card,) = occupancy.probe(
        reader("linux", cards, "No running processes found\n"), machine("linux", "nvidia")
    )
    assert (card.used, card.mode, card.holders) == (None, "", ())


def test_nodes_that_processes_hold_open_where_no_tool_tells() -> None:
    links = {
        "/proc/77/fd/3": "/dev/davinci1",
        "/proc/77/fd/9": "/dev/davinci1",
        "/proc/78/fd/4": "/dev/null",
        "/proc/79/fd/4": "/dev/nvidia0",
    }
    files = {
        "/dev/davinci0": "",
        "/dev/davinci1": "",
        "/dev/nvidia0": "",
        "/dev/null": "",
        "/proc/77/comm": "python\n",
    }
    told = reader("linux", links=links, files=files)
    (card,) = occupancy.probe(told, machine("linux", "ascend", "nvidia"))
    assert (card.vendor, card.card, card.source) == ("ascend", "/dev/davinci1", "/proc/*/fd")
    assert card.holders == (Holder(pid=77, name="python"),)


def test_a_machine_without_cards_is_not_asked() -> None:
    assert occupancy.probe(reader("linux"), machine("linux")) == ()
