"""Recorded machines (`tests/machines/*.yaml`): as a fake Reader, and as a real tree with programs that answer."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from provision.detecting.nvidia_smi import FIELDS
from provision.ports import Host, Output, RegistryKey
from provision.world import processes
from provision.world.reader import HostReader
from tests.support.fake_reader import FakeReader

FOLDER = Path(__file__).parent.parent / "machines"
_STUB = Path(__file__).parent / "stub_nvml.c"
_MIB = 1024 * 1024


def names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


@cache
def record(name: str) -> Mapping[str, Any]:
    document: Mapping[str, Any] = yaml.load(
        (FOLDER / f"{name}.yaml").read_text("utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    )
    return document


def fake(record: Mapping[str, Any]) -> FakeReader:
    """The machine over plain data."""
    return FakeReader(
        machine=_host(record),
        files=_files(record),
        links=record.get("links", {}),
        variables=record.get("env", {}),
        tools=record.get("tools", {}),
        commands=_commands(record),
        scripts=_scripts(record),
        keys={key: _key(values) for key, values in record.get("registry", {}).items()},
    )


def real(record: Mapping[str, Any], folder: Path) -> HostReader:
    """The machine as a tree of files below a folder, with programs on PATH. Needs a C compiler for `nvml`."""
    root, programs = folder / "root", folder / "programs"
    programs.mkdir()
    for path, text in _files(record).items():
        target = root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((text or "").encode("utf-8"))
    for path, to in record.get("links", {}).items():
        target = root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(to)
    commands = _commands(record)
    for name in record.get("tools", {}):
        _program(programs / name, name, commands)
    variables = {**record.get("env", {}), "PATH": str(programs)}
    return _StubbedReader(root, variables, _host(record), _stub_for(record, folder), commands)


class _StubbedReader(HostReader):
    """Asks the library of the record instead of this machine's, and answers for programs named by a path."""

    def __init__(
        self,
        root: Path,
        environ: Mapping[str, str],
        host: Host,
        stub: Mapping[str, str],
        commands: Mapping[str, Output],
    ) -> None:
        super().__init__(root, environ, host)
        self._stub = stub
        self._commands = commands

    def run(
        self, command: Sequence[str], timeout: float = 10.0, env: Mapping[str, str] | None = None
    ) -> Output | None:
        programs = self.environ()["PATH"]
        if command[0].startswith("/") and not command[0].startswith(programs):
            return self._commands.get(" ".join(command))
        return super().run(command, timeout, {"PATH": f"{programs}:/usr/bin:/bin", **(env or {})})

    def script(self, name: str, arguments: Sequence[str] = (), timeout: float = 10.0) -> Output | None:
        import sys

        path = Path(processes.__file__).parent / "scripts" / f"{name}.py"
        return processes.run([sys.executable, "-I", "-S", str(path), *arguments], timeout, self._stub)


def _host(record: Mapping[str, Any]) -> Host:
    told = dict(record["host"])
    return Host(**{**told, "cpu_flags": tuple(told.get("cpu_flags", ()))})


def _files(record: Mapping[str, Any]) -> dict[str, str | None]:
    files: dict[str, str | None] = dict(record.get("files", {}))
    for address, (ids, kind, driver) in record.get("pci", {}).items():
        lines = [f"DRIVER={driver}"] if driver else []
        # The kernel writes the class without leading zeros and the ids in capitals.
        lines += [f"PCI_CLASS={int(kind, 16):X}", f"PCI_ID={ids.upper()}", f"PCI_SLOT_NAME={address}"]
        files[f"/sys/bus/pci/devices/{address}/uevent"] = "\n".join(lines) + "\n"
    return files


def _commands(record: Mapping[str, Any]) -> dict[str, Output]:
    return {**dict(_plain(record)), **dict(_queries(record))}


def _plain(record: Mapping[str, Any]) -> Iterator[tuple[str, Output]]:
    for line, told in record.get("commands", {}).items():
        yield line, _output({"output": told} if isinstance(told, str) else told)


def _queries(record: Mapping[str, Any]) -> Iterator[tuple[str, Output]]:
    """The answers to nvidia-smi's queries, first with the fields that this release refuses."""
    if "query" not in record:
        return
    fields, refused = list(FIELDS), list(record.get("refuses", ()))
    tool = next((path for path in record.get("commands", {}) if path.endswith("/nvidia-smi")), "nvidia-smi")
    while refused:
        name = refused.pop(0)
        yield _query(tool, fields), Output(2, f'Field "{name}" is not a valid field to query.\n\n', "")
        fields.remove(name)
    told = record["query"]
    yield _query(tool, fields), _output({"output": told} if isinstance(told, str) else told)


def _query(tool: str, fields: list[str]) -> str:
    return f"{tool} --query-gpu={','.join(fields)} --format=csv,nounits"


def _output(told: Mapping[str, Any]) -> Output:
    return Output(
        told.get("code", 0), told.get("output", ""), told.get("error", ""), told.get("seconds", 0.0)
    )


def _key(values: Mapping[str, Any] | None) -> RegistryKey:
    return RegistryKey({name: str(value) for name, value in (values or {}).items()})


def _program(path: Path, name: str, commands: Mapping[str, Output]) -> None:
    """A shell script that answers each recorded command line, and fails for others."""
    cases = []
    for line, output in commands.items():
        if line.split(" ")[0] == name:
            arguments = line[len(name) :].strip()
            wait = f"sleep {output.seconds};" if output.seconds else ""
            say = f"printf %s {shlex.quote(output.stdout)}; printf %s {shlex.quote(output.stderr)} >&2"
            end = f"kill {-output.code} $$" if output.code and output.code < 0 else f"exit {output.code or 0}"
            cases.append(f"{shlex.quote(arguments)}) {say}; {wait} {end};;")
    path.write_text(
        '#!/bin/sh\ncase "$*" in\n' + "\n".join(cases) + "\nesac\necho not on record >&2; exit 1\n"
    )
    path.chmod(0o755)


def _scripts(record: Mapping[str, Any]) -> dict[str, Output]:
    """What the NVML script prints on this machine."""
    told = record.get("nvml")
    if told is None:
        return {}
    if told.get("hangs"):
        return {"nvml": Output(None, "", "", 1000.0)}
    if told.get("crashes"):
        return {"nvml": Output(-6, "", "")}
    return {"nvml": Output(0, json.dumps(_printed(told)), "")}


def _printed(told: Mapping[str, Any]) -> dict[str, Any]:
    errors = [{"call": call, "code": code} for call, code in told.get("fails", {}).items()]
    document: dict[str, Any] = {"library": "libnvidia-ml.so.1", "devices": [], "errors": errors}
    if "nvmlInit_v2" in told.get("fails", {}):
        return document
    devices = [_printed_device(index, device) for index, device in enumerate(told.get("devices", ()))]
    return {**document, "driver": told["driver"], "cuda": told["cuda"], "devices": devices}


def _printed_device(index: int, device: Mapping[str, Any]) -> dict[str, Any]:
    vendor, _, chip = device["id"].partition(":")
    printed: dict[str, Any] = {
        "index": index,
        "name": device["name"],
        "uuid": device["uuid"],
        "pci": device["bus"],
        "pci_id": int(chip + vendor, 16),
        "memory": device["mib"] * _MIB,
        "capability": [int(part) for part in device["capability"].split(".")],
    }
    if "mig" in device:
        printed["mig"] = 1
        printed["instances"] = [{"name": name, "memory": mib * _MIB} for name, mib in device["mig"].items()]
    return printed


def _stub_for(record: Mapping[str, Any], folder: Path) -> dict[str, str]:
    """The environment in which the child finds the stub and what it should tell."""
    told = record.get("nvml")
    if told is None:
        return {}
    (folder / "nvml.txt").write_text("".join(f"{line}\n" for line in _stub_lines(told)))
    return {"LD_LIBRARY_PATH": str(compiled_stub().parent), "STUB_NVML": str(folder / "nvml.txt")}


def _stub_lines(told: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"{word}|" for word in ("hangs", "crashes") if told.get(word))
    yield from (f"fail|{call}|{code}" for call, code in told.get("fails", {}).items())
    yield f"driver|{told.get('driver', '')}"
    yield f"cuda|{told.get('cuda', 0)}"
    for device in told.get("devices", ()):
        vendor, _, chip = device["id"].partition(":")
        major, _, minor = device["capability"].partition(".")
        memory = device["mib"] * _MIB
        ids = f"{device['name']}|{device['uuid']}|{device['bus']}|{chip}{vendor}"
        yield f"device|{ids}|{memory}|{major}|{minor}|{int('mig' in device)}"
        yield from (f"instance|{name}|{mib * _MIB}" for name, mib in device.get("mig", {}).items())


def compiler() -> str | None:
    return shutil.which("cc") or shutil.which("gcc")


@cache
def compiled_stub() -> Path:
    """The stub of libnvidia-ml, compiled once a session."""
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="stub-nvml-"))
    library = folder / "libnvidia-ml.so.1"
    command = [
        compiler() or "cc",
        "-shared",
        "-fPIC",
        "-O1",
        "-Wall",
        "-Werror",
        "-o",
        str(library),
        str(_STUB),
    ]
    subprocess.run(command, check=True)
    return library
