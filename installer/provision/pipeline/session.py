"""What one run of the command has: its folder, its options, and the real world, each part made when first needed."""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from provision.messages import message
from provision.model.finding import Finding, UsageError

if TYPE_CHECKING:
    from provision.knowledge import Knowledge
    from provision.model.machine import Interpreter, Machine
    from provision.model.receipt import JobResult
    from provision.pipeline.profiles import Source
    from provision.ports import Catalog, Channels, FactStore, Files, Reporter, Store
    from provision.world.bundles import Bundle
    from provision.world.catalog import HostCatalog
    from provision.world.conda import RattlerEngine
    from provision.world.indexes import IndexConfig
    from provision.world.installing import UvInstaller


class Quiet:
    """A Reporter that says nothing."""

    def stage(self, title: str, text: str) -> None: ...

    def start(self, title: str, total: int | None = None) -> None: ...

    def advance(self, done: int) -> None: ...

    def note(self, finding: Finding) -> None: ...


@dataclass(kw_only=True)
class Session:
    """One run. Nothing is read before it is asked for, so that quick verbs stay quick."""

    folder: Path = field(default_factory=Path.cwd)
    offline: bool = False
    reporter: Reporter = field(default_factory=Quiet)
    machine_file: Path | None = None
    #: The folder that relative paths of the profile at hand mean.
    beside: Path = field(default_factory=Path.cwd)
    #: Facts that are stated instead of found (`capability.nvidia`).
    overrides: Mapping[str, str] = field(default_factory=dict)
    #: Library -> a file, or a folder with files, that the user has of it.
    libraries: dict[str, Path] = field(default_factory=dict)
    #: A recorded catalogue to take index pages and metadata from, and one to write.
    replay: Path | None = None
    #: A conda-lock.yml whose pins a lock takes over.
    taken: Path | None = None
    record: Path | None = None
    #: A folder with the files of locks, made by `provision bundle`.
    bundle_folder: Path | None = None
    #: Interpreters that the user named by path and no search finds, and their paths by minor version.
    named: dict[str, Interpreter] = field(default_factory=dict)
    named_paths: dict[str, str] = field(default_factory=dict)
    #: Called with a question; True means yes.
    confirm: Callable[[str], bool] = lambda question: False
    #: Told of each smoke job as soon as it is judged.
    judged: Callable[[JobResult], None] = lambda result: None

    @cached_property
    def files(self) -> Files:
        from provision.world.files import HostFiles

        return HostFiles()

    @cached_property
    def cache(self) -> Path:
        """provision's own cache: PROVISION_CACHE, else the user's cache folder."""
        if named := os.environ.get("PROVISION_CACHE"):
            return Path(named).expanduser().absolute()
        from platformdirs import user_cache_path

        return user_cache_path("provision", appauthor=False)

    def remember(self) -> None:
        """Knowledge is kept parsed in the cache."""
        from provision.parsed import keep_parsed
        from provision.world.kept import KeptFiles

        keep_parsed(KeptFiles(self.cache / "knowledge"))

    #: (origin, text) of a team's own knowledge rows.
    overlays: tuple[tuple[str, str], ...] = ()

    @cached_property
    def knowledge(self) -> Knowledge:
        from provision.knowledge import load_knowledge

        self.remember()
        return load_knowledge(self.overlays)

    def serving(self, source: Source) -> Session:
        """This session with the knowledge rows and the folder of a profile; all that is made already is shared."""
        texts, beside = overlay_texts(source), source.beside(self.folder)
        if texts == self.overlays and beside == self.beside:
            return self
        other = copy(self)
        other.beside = beside
        other.__dict__.pop("store", None)
        if texts != self.overlays:
            other.__dict__.pop("knowledge", None)
        other.overlays = texts
        return other

    @cached_property
    def indexes(self) -> IndexConfig:
        from provision.world.indexes import read_configuration
        from provision.world.reader import HostReader

        return read_configuration(os.environ, HostReader())

    @cached_property
    def detected(self) -> tuple[Machine, tuple[Finding, ...]]:
        """The machine: read here, or the one of `--machine FILE`."""
        if self.machine_file is not None:
            from provision.detecting.overriding import overridden

            return overridden(read_machine_file(self.machine_file), self.overrides), ()
        self.remember()
        from provision.detecting import detect
        from provision.world.interpreters import HostInterpreters
        from provision.world.reader import HostReader

        return detect(HostReader(), self.overrides, HostInterpreters(self.cache / "interpreters.json"))

    @property
    def machine(self) -> Machine:
        found = self.detected[0]
        return replace(found, pythons=(*found.pythons, *self.named.values())) if self.named else found

    def admit(self, python: str) -> Interpreter | None:
        """The interpreter at a path that the user named: where no search finds it, it is asked, and known from then on."""
        from provision.world.interpreter_facts import describe

        found = next((p for p in self.machine.pythons if p.path == python), None)
        if found is None and self.machine_file is None and (found := describe(Path(python), "named")):
            self.named[python] = found
            self.named_paths[".".join(found.version.split(".")[:2])] = python
        return found

    def host_target(self) -> str:
        if self.machine_file is not None:
            return self.machine.target
        from provision.world.reader import this_host

        host = this_host()
        return f"{host.os}-{host.arch}"

    @cached_property
    def host_catalog(self) -> HostCatalog:
        from provision.world.catalog import HostCatalog

        return HostCatalog(self.indexes, self.cache, offline=self.offline, interpreters=self.interpreters)

    @cached_property
    def catalog(self) -> Catalog:
        """The indexes as locking asks them: the machine's, through a recorded catalogue where one is named."""
        if self.replay is None and self.record is None:
            return self.host_catalog
        from provision.world.recorded import RecordedCatalog

        return RecordedCatalog(self.host_catalog, self.replay, self.record, offline=self.offline)

    @cached_property
    def bundle(self) -> Bundle | None:
        from provision.world.bundles import Bundle

        return Bundle(self.bundle_folder) if self.bundle_folder else None

    @cached_property
    def conda(self) -> RattlerEngine:
        """Channels and the installer of conda environments; needs the extra `conda` when it is used."""
        from provision.world.channels import host_channels
        from provision.world.conda import RattlerEngine
        from provision.world.recorded_channels import replayed

        settings = host_channels(self.indexes.mapped)
        if self.replay is not None:
            settings = replace(settings, replay=replayed(self.replay, self.cache))
        return RattlerEngine(settings, self.indexes, self.cache, offline=self.offline, bundle=self.bundle)

    @property
    def channels(self) -> Channels:
        return self.conda

    @cached_property
    def interpreters(self) -> Mapping[str, str]:
        """`major.minor` -> an interpreter of this machine (not of a machine file), the newest patch release."""
        from provision.world.interpreters import HostInterpreters

        found = sorted(
            HostInterpreters(self.cache / "interpreters.json").find(),
            key=lambda p: [int(n) for n in p.version.split(".") if n.isdigit()],
        )
        here = {".".join(p.version.split(".")[:2]): p.path for p in found if p.implementation == "cpython"}
        return ChainMap(here, self.named_paths)

    @cached_property
    def store(self) -> Store:
        from provision.world.supply import HostSupply

        return HostSupply(
            self.indexes, self.cache, self.host_catalog, offline=self.offline, given=self.libraries,
            beside=self.beside, bundle=self.bundle,
        )  # fmt: skip

    @cached_property
    def facts(self) -> FactStore:
        """What artifacts said of themselves when they were read."""
        from provision.world.factstore import FolderFactStore

        return FolderFactStore(self.cache / "facts")

    @cached_property
    def installer(self) -> UvInstaller:
        from provision.world.installing import UvInstaller

        return UvInstaller(self.cache, os.environ.get("UV_LINK_MODE"))

    def now(self) -> str:
        from datetime import datetime, timezone

        return datetime.now(timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z")


def read_machine_file(path: Path) -> Machine:
    """A machine from a file made by `detect --save` or by hand. Raises UsageError."""
    from provision.documents import read_machine

    return read_machine(path.read_text(encoding="utf-8"), str(path))


def overlay_texts(source: Source) -> tuple[tuple[str, str], ...]:
    """The files of the folder that a profile names for its own knowledge rows, by name."""
    named = source.profile.knowledge
    if named is None:
        return ()
    folder = source.path.parent / named
    found = sorted(folder.glob("*.yaml"))
    if not found:
        text = message("pipeline.no-knowledge.summary", profile=source.profile.name, folder=repr(named))
        raise UsageError(Finding("no-knowledge", "error", text))
    return tuple((str(Path(named) / path.name), path.read_text(encoding="utf-8")) for path in found)


def environment_path(session: Session, lock_path: str, override: str | None) -> str:
    """Absolute path of the environment, its parents' links resolved, the environment's own link not."""
    path = (session.folder / (override or lock_path)).absolute()
    return str(path.parent.resolve() / path.name)


def as_json(value: Any) -> Any:
    from provision.documents import to_json

    return to_json(value)
