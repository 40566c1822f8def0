"""Driver model, remote session, cards that others hold, Visual C++: what doctor says of them, and when it keeps still."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from provision.diagnosing.case import Case, Heard
from provision.diagnosing.doctor import Examination, examine
from provision.diagnosing.environments import MARK, Distribution, Environment, of_list
from provision.knowledge import load_knowledge
from provision.model.finding import Finding
from provision.model.machine import Device, Holder, Machine, Occupancy
from provision.ports import Output

KNOWLEDGE = load_knowledge()
GIB = 1 << 30
CARD = Device(vendor="nvidia", name="NVIDIA RTX A4000", capability="8.6", facts={"index": "0"})
LINUX = Machine(os="linux", arch="x86_64", devices=(CARD,), drivers={"nvidia": "570.86"})
WINDOWS = Machine(os="windows", arch="x86_64", devices=(CARD,), drivers={"nvidia": "572.61"})


def case(machine: Machine, installed: dict[str, str], **more: Any) -> Case:
    environment = of_list(installed, machine.target, "3.10.11")
    return Case(knowledge=KNOWLEDGE, machine=machine, environment=environment, **more)


def severities(found: Examination) -> dict[str, str]:
    return {f.code: f.severity for f in found.findings}


def one(found: Examination, code: str) -> Finding:
    return next(f for f in found.findings if f.code == code)


def heard(framework: str, **facts: Any) -> Heard:
    events = [
        {"event": "imported", "module": framework, "file": "/x/__init__.py"},
        {"event": "framework", "module": framework, **facts},
    ]
    text = "".join(f"{MARK}{json.dumps(e)}\n" for e in [*events, {"event": "end"}])
    return Heard(framework, Output(0, text, ""))


TORCH = {"torch": "2.6.0", "numpy": "2.2.0"}
BUSY = Occupancy(
    vendor="nvidia", card="0 RTX", source="nvidia-smi", used=9 * GIB, total=16 * GIB, mode="Exclusive_Process",
    holders=(Holder(pid=4242, name="python3.8"),),
)  # fmt: skip
FREE = replace(BUSY, card="1 RTX", used=0, mode="Default", holders=())


def test_a_card_in_exclusive_mode_that_another_process_has() -> None:
    found = examine(case(LINUX, TORCH, occupied=(BUSY,)))
    assert found.cause is not None
    assert (found.cause.code, "python3.8 (4242)" in found.cause.summary) == ("device-busy", True)


def test_one_free_card_is_enough() -> None:
    assert severities(examine(case(LINUX, TORCH, occupied=(BUSY, FREE))))["device-busy"] == "note"


def test_a_card_that_no_program_may_use() -> None:
    closed = replace(FREE, mode="Prohibited")
    assert severities(examine(case(LINUX, TORCH, occupied=(closed,))))["device-prohibited"] == "error"


@pytest.mark.parametrize(
    ("used", "holders", "expected"),
    [
        (12 * GIB, BUSY.holders, "warning"),
        (12 * GIB, (), "warning"),
        (1 * GIB, BUSY.holders, "note"),
        (1 * GIB, (), None),
        (None, BUSY.holders, "note"),
    ],
)
def test_memory_that_others_hold(used: int | None, holders: tuple[Holder, ...], expected: str | None) -> None:
    card = replace(BUSY, mode="Default", used=used, holders=holders)
    found = examine(case(LINUX, TORCH, occupied=(card,)))
    assert severities(found).get("device-held") == expected
    if expected and used:
        assert f"{used / GIB:.1f} / 16.0 GiB" in one(found, "device-held").summary


def test_who_computes_on_the_cpu_does_not_mind() -> None:
    found = examine(case(LINUX, {"torch": "2.6.0+cpu"}, occupied=(BUSY,)))
    assert "device-busy" not in severities(found)


DIRECTML = {"tensorflow-cpu": "2.10.0", "tensorflow-directml-plugin": "0.4.0.dev230202", "keras": "2.10.0",
            "numpy": "1.23.5", "protobuf": "3.19.6"}  # fmt: skip


def windows(model: str, *traits: str) -> Machine:
    card = replace(CARD, facts={"index": "0", "driver-model": model})
    return replace(
        WINDOWS, devices=(card,), traits=traits, evidence={"traits": "$SESSIONNAME"} if traits else {}
    )


def test_directml_sees_no_card_in_tcc_mode_and_cuda_does() -> None:
    found = examine(case(windows("TCC"), DIRECTML))
    assert found.cause is not None
    assert found.cause.code == "driver-model-without-directx"
    assert "driver-model-without-directx" not in severities(examine(case(windows("WDDM"), DIRECTML)))
    assert examine(case(windows("TCC"), {"torch": "2.6.0+cu124"})).cause is None


def test_the_driver_model_is_told_and_wddm_is_no_fault() -> None:
    found = examine(case(windows("WDDM"), {"torch": "2.6.0+cu124"}))
    layer = next(layer for layer in found.layers if layer.name == "driver")
    assert "NVIDIA RTX A4000 WDDM" in [e.text for e in layer.read]
    assert found.sound


@pytest.mark.parametrize(("available", "expected"), [(None, "note"), (False, "warning"), (True, None)])
def test_a_remote_session_counts_only_where_no_card_is_seen(
    available: bool | None, expected: str | None
) -> None:
    said = () if available is None else (heard("torch", cuda="12.4", available=available),)
    machine = windows("WDDM", "remote-session")
    found = examine(
        case(machine, {"torch": "2.6.0+cu124"}, heard=said, variables={"SESSIONNAME": "RDP-Tcp#0"})
    )
    assert severities(found).get("remote-session") == expected
    if expected:
        assert one(found, "remote-session").evidence[0].text == "RDP-Tcp#0"
    assert "remote-session" not in severities(
        examine(case(replace(LINUX, traits=("remote-session",)), TORCH))
    )


MISSING = Finding(
    "msvc-missing", "warning", "The Microsoft Visual C++ runtime (2015 to 2022) is not installed"
)


@pytest.mark.parametrize(
    ("installed", "expected"),
    [
        ({"torch": "2.6.0+cpu"}, "error"),
        ({"tensorflow-intel": "2.13.0", "numpy": "1.24.3"}, "error"),
        ({"numpy": "2.2.0"}, "warning"),
        ({"torch": "2.6.0+cpu", "vc14-runtime": "14.40"}, "note"),
        ({"torch": "2.6.0+cpu", "msvc-runtime": "14.40"}, "note"),
    ],
)
def test_the_visual_c_runtime_is_needed_by_every_framework(installed: dict[str, str], expected: str) -> None:
    found = examine(case(replace(WINDOWS, devices=()), installed, machine_findings=(MISSING,)))
    assert severities(found)["msvc-missing"] == expected


def test_hidden_error_messages_are_told() -> None:
    variables = {"TF_CPP_MIN_LOG_LEVEL": "3"}
    installed = {"tensorflow-cpu": "2.18.1", "numpy": "2.0.2"}
    assert severities(examine(case(LINUX, installed, variables=variables)))["tf-errors-hidden"] == "note"
    assert "tf-errors-hidden" not in severities(examine(case(LINUX, TORCH, variables=variables)))


def test_packages_of_the_user_in_front_of_those_of_conda() -> None:
    """A conda environment looks into the user's own folder first, unless it is told not to."""
    user, own = "/home/u/.local/lib/python3.11/site-packages", "/opt/conda/lib/python3.11/site-packages"
    environment = Environment(
        prefix="/opt/conda", kind="conda", version="3.11.7", target="linux-x86_64", user_site=user, sites=(user, own),
        distributions=(
            Distribution(name="numpy", version="1.26.4", site=user, info=f"{user}/numpy-1.26.4.dist-info"),
            Distribution(name="numpy", version="2.1.3", site=own, info=f"{own}/numpy-2.1.3.dist-info"),
        ),
        conda={"numpy": "2.1.3"},
    )  # fmt: skip
    found = examine(Case(knowledge=KNOWLEDGE, environment=environment))
    shadow = one(found, "distribution-shadowed")
    assert "numpy 1.26.4" in shadow.summary
    assert [r.command for r in shadow.remedies] == ["export PYTHONNOUSERSITE=1"]
