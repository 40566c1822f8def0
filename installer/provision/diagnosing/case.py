"""All that `doctor` knows of one subject, and what follows from it before anything is judged. Pure values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from provision.diagnosing.environments import Environment, Files, events
from provision.diagnosing.facts import Facts, derive, facts_of
from provision.diagnosing.saying import PIP, Speaker
from provision.knowledge import Build, Knowledge
from provision.knowledge.checks import Importing, load_checks
from provision.knowledge.symptoms import load_symptoms
from provision.model.finding import Finding
from provision.model.machine import Machine, Occupancy
from provision.model.receipt import JobResult
from provision.ports import Output
from provision.shells import quoted

Event = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Heard:
    """What a child process of the environment's Python said when it imported a framework."""

    framework: str
    output: Output | None

    @property
    def events(self) -> tuple[Event, ...]:
        return events(self.output)

    def imported(self, module: str) -> Event | None:
        return self._one("imported", module)

    def failed(self, module: str) -> Event | None:
        return self._one("import-failed", module)

    def facts(self, module: str) -> Event:
        return self._one("framework", module) or {}

    def _one(self, event: str, module: str) -> Event | None:
        return next((e for e in self.events if e.get("event") == event and e.get("module") == module), None)

    @property
    def ended(self) -> bool:
        return any(e.get("event") == "end" for e in self.events)

    @property
    def log(self) -> str:
        """What the framework itself printed, and the traceback of each import that failed."""
        if self.output is None:
            return ""
        told = [str(e.get("traceback", "")) for e in self.events if e.get("event") == "import-failed"]
        errors = [str(v) for e in self.events for k, v in e.items() if k.endswith("_error")]
        plain = [line for line in self.output.stdout.splitlines() if not line.startswith("@provision ")]
        return "\n".join([*plain, self.output.stderr, *told, *errors])


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """A framework that is installed. `kind` is the runtime that it is built for (`cuda`, `cpu`; empty where
    nothing tells), `runtime` its version, `build` the row of the knowledge that it is, if one is known."""

    framework: str
    module: str
    distribution: str
    version: str
    kind: str = ""
    runtime: str = ""
    plugin: str = ""
    build: Build | None = None

    @property
    def public(self) -> str:
        return self.version.partition("+")[0]

    @property
    def local(self) -> str:
        return self.version.partition("+")[2]

    def __str__(self) -> str:
        return f"{self.distribution} {self.version}"


@dataclass(frozen=True, kw_only=True)
class Case:
    """One subject. What was not read is None or empty. `demanded` is the vendor that a profile asks for;
    `needs` are findings of needs that the machine does not meet, by layer; `beside` are the names in the folder
    that commands run in, which Python searches first."""

    knowledge: Knowledge
    speaker: Speaker = field(default_factory=Speaker)
    reference: str = ""
    machine: Machine | None = None
    machine_findings: tuple[Finding, ...] = ()
    environment: Environment | None = None
    files: Files | None = None
    heard: tuple[Heard, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    demanded: str = ""
    needs: tuple[tuple[str, Finding], ...] = ()
    drifted: bool = False
    ours: bool = False
    #: A change of provision's was killed in the middle.
    interrupted: bool = False
    beside: tuple[str, ...] = ()
    folder: str = ""
    #: Who uses the cards just now.
    occupied: tuple[Occupancy, ...] = ()
    trained: tuple[JobResult, ...] | None = None

    @cached_property
    def installed(self) -> dict[str, str]:
        return self.environment.installed if self.environment else {}

    @cached_property
    def facts(self) -> Facts:
        """Flat facts, as the rows of symptoms and checks ask for them."""
        found = facts_of(self.machine) if self.machine else {}
        found |= {f"installed.{name}": version for name, version in self.installed.items()}
        found |= {f"env.{name}": value for name, value in self.variables.items()}
        found |= {f"framework.{one.framework}": one.version for one in self.carried}
        if self.environment and self.environment.version:
            found["python"] = self.environment.version
        if self.environment and self.environment.target:
            found.setdefault("os", self.environment.target.partition("-")[0])
        return derive(found, load_symptoms())

    @property
    def os(self) -> str:
        return self.facts.get("os", "linux")

    @property
    def target(self) -> str:
        if self.environment and self.environment.target:
            return self.environment.target
        return self.machine.target if self.machine else ""

    @cached_property
    def commands(self) -> dict[str, Any]:
        """How packages are installed into and removed from this environment: words of a remedy's command."""
        env = self.environment
        if env is None or not env.python:
            return dict(PIP)
        python = quoted(env.python)
        if env.kind == "uv" or "pip" not in self.installed:
            return {verb: f"uv pip {verb} --python {python}" for verb in ("install", "uninstall")}
        if self.os == "windows" and python != env.python:
            python = f"& {python}"  # PowerShell takes a quoted path alone for a text.
        return {"install": f"{python} -m pip install", "uninstall": f"{python} -m pip uninstall -y"}

    def index_of(self, name: str, version: str) -> str:
        """The option that names the index of a local version of PyTorch's (`2.6.0+cu124`): no other has it."""
        local = version.partition("+")[2] if name in of_torch() else ""
        url = self.knowledge.index_url(f"pytorch-{local}") if local else None
        return f" --index-url {url}" if url else ""

    @cached_property
    def carried(self) -> tuple[Carried, ...]:
        """The frameworks that are installed."""
        return tuple(found for row in load_checks().imports if (found := _carried(self, row)))

    @cached_property
    def wanted(self) -> str:
        """The vendor whose device is to be used: the profile's, or that of what is installed and here."""
        if self.demanded:
            return self.demanded
        vendors = [v for one in self.carried if (v := load_checks().vendors.get(one.kind, ""))]
        here = {d.vendor for d in self.machine.devices} if self.machine else set()
        return next((v for v in vendors if v in here), "")

    def devices(self) -> Iterator[str]:
        """The wanted vendor's devices in words."""
        for device in self.machine.devices if self.machine else ():
            yield f"{device.vendor} {device.name} {device.capability}".strip()

    @cached_property
    def seen(self) -> bool:
        """True if a framework sees a device: then nothing below it can be broken."""
        return any(visible(one, self.of(one)) for one in self.carried)

    def of(self, one: Carried) -> Heard | None:
        return next((h for h in self.heard if h.framework == one.framework), None)

    def imports_well(self, one: Carried) -> bool:
        """Whether its import was tried, and went well."""
        heard = self.of(one)
        event = heard.imported(one.module) if heard else None
        return bool(event and event.get("file"))


def of_torch() -> frozenset[str]:
    """The distributions that PyTorch's own indexes hold."""
    rows = [row for row in load_checks().imports if row.framework == "torch"]
    return frozenset(name for row in rows for name in (*row.distributions, *row.after))


_AVAILABLE = {
    "cuda": "available", "rocm": "available", "mps": "mps", "xpu": "xpu", "cann": "npu", "neuware": "mlu",
    "musa": "musa",
}  # fmt: skip


def visible(one: Carried, heard: Heard | None) -> bool | None:
    """Whether a framework sees a device of the kind that it is built for; None where nobody asked it."""
    facts = heard.facts(one.module) if heard else {}
    if not facts:
        return None
    if one.framework == "tensorflow":
        devices = facts.get("devices")
        return None if devices is None else any(kind != "CPU" for kind, _ in devices)
    return facts.get(_AVAILABLE.get(one.kind, "available"))


def _carried(case: Case, row: Importing) -> Carried | None:
    name = next((n for n in row.distributions if n in case.installed), None)
    if name is None:
        return None
    version = case.installed[name]
    plugin, kind = _plugin(case, row.framework)
    build = _build(case, row.framework, name, version, kind)
    told = case_facts(case, row)
    own = kind or _told_kind(told) or (build.runtime.kind if build else "") or _of_local(version)
    own = own or ("cuda" if _conda_cuda(case) else "")
    return Carried(
        framework=row.framework,
        module=row.module,
        distribution=name,
        version=version,
        kind=own,
        runtime=_runtime(case, told, build, version, own),
        plugin=plugin,
        build=build,
    )


def case_facts(case: Case, row: Importing) -> Event:
    heard = next((h for h in case.heard if h.framework == row.framework), None)
    return heard.facts(row.module) if heard else {}


def _plugin(case: Case, framework: str) -> tuple[str, str]:
    plugins = load_checks().plugins.get(framework, {})
    return next(((name, kind) for name, kind in plugins.items() if name in case.installed), ("", ""))


def _told_kind(told: Event) -> str:
    """What the framework says of its own build."""
    if not told:
        return ""
    if told.get("cuda") or told.get("built_with_cuda"):
        return "cuda"
    if told.get("hip"):
        return "rocm"
    return ""


def _of_local(version: str) -> str:
    local = version.partition("+")[2]
    return next((k for mark, k in (("cu", "cuda"), ("rocm", "rocm"), ("cpu", "cpu"), ("xpu", "xpu"))
                 if local.startswith(mark)), "")  # fmt: skip


def _build(case: Case, framework: str, name: str, version: str, kind: str) -> Build | None:
    public, _, local = version.partition("+")
    minor = ".".join((case.environment.version if case.environment else "").split(".")[:2])
    found = [
        b
        for b in case.knowledge.builds(framework)
        if (b.distribution, b.version, b.local) == (name, public, local)
        and b.target == case.target
        and (not minor or minor in b.pythons)
        and (b.index == "vendor" or b.runtime.kind in ("cuda", "cpu", "rocm", "mps", "xpu", kind))
    ]
    found = [b for b in found if _brought(b, case.installed)] or found
    return min(found, key=lambda b: _preference(b, case.installed, kind), default=None)


def _preference(build: Build, installed: Mapping[str, str], kind: str) -> tuple[bool, bool, bool]:
    """The plugin's own build first, then one whose extras are there, then that of a public index."""
    has_wheels = any(name.startswith("nvidia-cudnn") for name in installed)
    return (
        build.runtime.kind != (kind or build.runtime.kind),
        bool(build.extras) != has_wheels,
        build.index == "vendor",
    )


def _brought(build: Build, installed: Mapping[str, str]) -> bool:
    """What the row requires beside the framework is there."""
    names = [r.partition("=")[0].partition("[")[0].replace("_", "-").lower() for r in build.requires]
    return all(name in installed for name in names)


def _runtime(case: Case, told: Event, build: Build | None, version: str, kind: str) -> str:
    local = version.partition("+")[2]
    if kind != "cuda":
        return build.runtime.version if build else ""
    built = told.get("build") or {}
    named = str(told.get("cuda") or built.get("cuda_version") or "")
    if not named and local.startswith("cu") and local[2:].isdigit():
        named = f"{local[2:-1]}.{local[-1]}"
    return _conda_cuda(case) or named or (build.runtime.version if build else "")


def _conda_cuda(case: Case) -> str:
    """The CUDA version that conda brought."""
    found = next((case.installed[n] for n in ("cuda-version", "cudatoolkit") if n in case.installed), "")
    return ".".join(found.split(".")[:2])
