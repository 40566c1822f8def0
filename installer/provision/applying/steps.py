"""One handler per kind of step: do it, and look whether it holds. Undo is the transaction's (delete the generation)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import PurePath
from typing import TYPE_CHECKING, Protocol

from provision.applying.archives import hostile
from provision.applying.conda import CreatePrefix, FetchConda, InstallConda, check_owners
from provision.applying.placing import PlaceLibraries
from provision.applying.scripts import redirect
from provision.messages import joined, message
from provision.model.finding import ApplyError, Evidence, Finding, Remedy
from provision.model.inventory import Inventory
from provision.model.lock import Artifact, Lock
from provision.model.plan import Plan, Step
from provision.model.receipt import Receipt
from provision.model.state import Layout
from provision.ports import LocalFile
from provision.prefix import site_packages

if TYPE_CHECKING:
    from provision.applying.engine import Effects


@dataclass(slots=True, kw_only=True)
class Context:
    """What the steps of one transaction hand to each other."""

    plan: Plan
    lock: Lock
    layout: Layout
    folder: str
    effects: Effects
    python: str = ""
    wheels: dict[str, LocalFile] = field(default_factory=dict)
    conda_files: dict[str, str] = field(default_factory=dict)
    receipt: Receipt | None = None
    #: For a change in place: what the environment held when the plan was made.
    inventory: Inventory | None = None
    #: The comparison of what was installed with the wheels, which runs beside the proof.
    begun_check: Callable[[], tuple[str, ...]] | None = None


class Handler(Protocol):
    def do(self, context: Context, steps: Sequence[Step]) -> None: ...

    def holds(self, context: Context, steps: Sequence[Step]) -> bool: ...


def group(steps: Sequence[Step]) -> Iterator[tuple[Step, ...]]:
    """Neighbouring steps of one kind are one effect: all downloads together, all installs in one run."""
    for _, same in groupby(steps, key=lambda s: (s.action, s.kind)):
        yield tuple(same)


class FetchInterpreter:
    def do(self, context: Context, steps: Sequence[Step]) -> None:
        context.python = context.effects.fetch_python(steps[0].args["python"])
        context.effects.reporter.stage(message("applying.stage.fetched"), steps[0].subject)

    def holds(self, context: Context, steps: Sequence[Step]) -> bool:
        return bool(context.python)


class CreateEnvironment:
    def do(self, context: Context, steps: Sequence[Step]) -> None:
        python = steps[0].args["python"] or context.python
        prompt = (
            PurePath(context.layout.environment).name
            if context.lock.path == ".venv"
            else context.lock.profile
        )
        context.effects.installer.create(context.folder, python, prompt, context.lock.pip)

    def holds(self, context: Context, steps: Sequence[Step]) -> bool:
        return context.effects.files.stat(str(PurePath(context.folder) / "pyvenv.cfg")) is not None


class FetchPackages:
    """Downloads; also finds the files that are in the cache already, so it runs before every install."""

    def do(self, context: Context, steps: Sequence[Step]) -> None:
        total = sum(step.args["size"] or 0 for step in steps)
        reporter = context.effects.reporter
        reporter.start(message("applying.stage.fetching"), total or None)
        gather(context)
        reporter.stage(
            message("applying.stage.fetched"),
            message("applying.fetched.files", count=len(steps), size=f"{total / 1e6:,.1f}"),
        )

    def holds(self, context: Context, steps: Sequence[Step]) -> bool:
        return all(context.effects.files.stat(file.path) for file in context.wheels.values())


def gather(context: Context) -> None:
    """Every artifact of the lock as a local file, its hash checked."""
    if context.wheels:
        return
    found = context.effects.store.fetch(context.lock, context.effects.reporter.advance)
    context.wheels = {file.artifact.sha256: file for file in found}


class BuildPackages:
    def do(self, context: Context, steps: Sequence[Step]) -> None:
        gather(context)
        tools = [context.wheels[a.sha256] for a in context.lock.build]
        for step in steps:
            sdist = context.wheels[step.args["sha256"]]
            built = context.effects.installer.build(sdist, python_of(context), tools)
            context.wheels[step.args["sha256"]] = built
        context.effects.reporter.stage(
            message("applying.stage.built"), message("applying.built.wheels", count=len(steps))
        )

    def holds(self, context: Context, steps: Sequence[Step]) -> bool:
        return all(context.wheels[s.args["sha256"]].path.endswith(".whl") for s in steps)


def python_of(context: Context) -> str:
    folder = PurePath(context.folder)
    if not context.lock.target.startswith("windows"):
        return str(folder / "bin" / "python")
    return str(
        folder / "python.exe" if context.lock.manager == "conda" else folder / "Scripts" / "python.exe"
    )


class InstallPackages:
    def do(self, context: Context, steps: Sequence[Step]) -> None:
        gather(context)
        wheels = [context.wheels[a.sha256] for a in context.lock.packages]
        refuse_hostile(context, wheels)
        context.effects.installer.install(context.folder, wheels)
        mend_sizes(context, wheels)
        context.begun_check = context.effects.installer.begin_contents_check(context.folder, wheels)
        redirect(context.effects.files, context.folder, context.layout.environment)
        context.effects.reporter.stage(
            message("applying.stage.installed"),
            message("applying.installed.python", count=len(steps), python=context.lock.python),
        )

    def holds(self, context: Context, steps: Sequence[Step]) -> bool:
        """Every locked distribution is there with its RECORD, and nothing that must be absent is."""
        files = context.effects.files
        folder = site_packages(files, context.folder)
        if folder is None:
            return False
        found = {info_key(name) for name in files.listdir(folder) if name.endswith(".dist-info")}
        missing = [a.name for a in context.lock.packages if artifact_key(a) not in found]
        unwanted = sorted({key[0] for key in found} & set(context.lock.absent))
        if missing or unwanted:
            raise ApplyError(_not_installed(missing, unwanted))
        if context.lock.manager == "conda":
            check_owners(context)
        return True


def refuse_hostile(context: Context, wheels: Sequence[LocalFile]) -> None:
    for wheel in wheels:
        contents = context.effects.installer.contents(wheel)
        if (finding := hostile(wheel.artifact.file, contents, context.lock.target)) is not None:
            raise ApplyError(finding)


def mend_sizes(context: Context, wheels: Sequence[LocalFile]) -> None:
    """An unpacked copy in the engine's cache that lost or gained bytes is thrown away and made again, once."""
    installer = context.effects.installer
    if not installer.wrong_sizes(context.folder, wheels):
        return
    installer.forget(wheels)
    installer.install(context.folder, wheels, again=True)
    if wrong := installer.wrong_sizes(context.folder, wheels):
        raise ApplyError(_altered(wrong))
    context.effects.reporter.stage(message("applying.stage.mended"), message("applying.mended.cache"))


def check_contents(context: Context) -> None:
    """Wait for the comparison with the wheels. Raises ApplyError if a file is not what its wheel holds."""
    if context.begun_check is None:
        return
    wrong = context.begun_check()
    # Scripts and their RECORD lines were redirected on purpose; the wheels' own scripts are not compared.
    if wrong:
        context.effects.installer.forget([context.wheels[a.sha256] for a in context.lock.packages])
        raise ApplyError(_altered(wrong))


def _altered(places: Sequence[str]) -> Finding:
    return Finding(
        "cache-altered",
        "error",
        message("applying.cache-altered.summary", places=len(places)),
        detail="\n".join(places[:8]),
        evidence=(Evidence(message("applying.cache-altered.evidence")),),
        remedies=(Remedy(message("applying.cache-altered.way"), "provision apply PROFILE"),),
    )


def artifact_key(artifact: Artifact) -> tuple[str, str]:
    from packaging.utils import canonicalize_name, canonicalize_version

    return canonicalize_name(artifact.name), canonicalize_version(artifact.version)


def info_key(folder: str) -> tuple[str, str]:
    """(name, version) of a `.dist-info` folder, both canonical."""
    from packaging.utils import canonicalize_name, canonicalize_version

    name, _, version = folder.removesuffix(".dist-info").rpartition("-")
    return canonicalize_name(name), canonicalize_version(version.replace("_", "+"))


def _not_installed(missing: Sequence[str], unwanted: Sequence[str]) -> Finding:
    parts = [message("applying.install-incomplete.missing", names=missing)] if missing else []
    parts += [message("applying.install-incomplete.unwanted", names=unwanted)] if unwanted else []
    return Finding(
        "install-incomplete",
        "error",
        message("applying.install-incomplete.summary", parts=joined(parts, "; ")),
    )


class Prove:
    def do(self, context: Context, steps: Sequence[Step]) -> None:
        context.receipt = context.effects.prove(context.folder, context.plan.generation)

    def holds(self, context: Context, steps: Sequence[Step]) -> bool:
        return context.receipt is not None


class Switch:
    def do(self, context: Context, steps: Sequence[Step]) -> None:
        check_contents(context)
        context.effects.files.point(context.layout.environment, context.folder)
        context.effects.reporter.stage(
            message("applying.stage.switched"),
            message(
                "applying.switched.generation",
                environment=context.layout.environment,
                generation=context.plan.generation,
            ),
        )

    def holds(self, context: Context, steps: Sequence[Step]) -> bool:
        return context.effects.files.pointed(context.layout.environment) == context.folder


HANDLERS: dict[tuple[str, str], Handler] = {
    ("fetch", "interpreter"): FetchInterpreter(),
    ("create", "environment"): CreateEnvironment(),
    ("create", "prefix"): CreatePrefix(),
    ("fetch", "conda"): FetchConda(),
    ("install", "conda"): InstallConda(),
    ("fetch", "package"): FetchPackages(),
    ("build", "package"): BuildPackages(),
    ("install", "package"): InstallPackages(),
    ("place", "library"): PlaceLibraries(),
    ("prove", "job"): Prove(),
    ("switch", "pointer"): Switch(),
}
