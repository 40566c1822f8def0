"""What the stages ask of the outside world. Real ones live in `world/`, fakes in the tests.

Reader < World: a stage that takes a Reader cannot write. Nothing here does anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

# Only for types: who speaks to a Reader need not pay for the nouns of the other ports.
if TYPE_CHECKING:
    from provision.model.finding import Finding
    from provision.model.lock import Artifact, CondaArtifact, Lock
    from provision.model.machine import Interpreter
    from provision.model.profile import Index
    from provision.model.state import Stat


@dataclass(frozen=True, slots=True)
class Output:
    """The end of a process. `code` is negative for a signal; None when the time limit ended it."""

    code: int | None
    stdout: str
    stderr: str
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What the running system says of itself, beside its files. Absent facts are empty or None.

    `os` and `arch` as in a target (`windows`, `x86_64`); `release` is the kernel's (`6.1.0-18-amd64`, Windows
    `10.0.22631`, Darwin `23.2.0`); `version` the product's where a call tells it (macOS `14.2`). `memory` in
    bytes and `cpu_flags` are filled only where no file tells them (Windows).
    """

    os: str
    arch: str
    release: str = ""
    version: str = ""
    memory: int | None = None
    cpu_flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RegistryKey:
    """A key of the Windows registry: values as text (numbers in decimal) and the names of its subkeys."""

    values: Mapping[str, str] = field(default_factory=dict)
    subkeys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Space:
    """Bytes of the file system that holds a path."""

    total: int
    free: int


class Reader(Protocol):
    """Reads the machine: files, environment variables, the output of tools. Never writes."""

    def host(self) -> Host: ...

    def read_text(self, path: str, limit: int = 1 << 20) -> str | None:
        """Text of a file (UTF-8, bad bytes replaced), or None if it is absent or unreadable."""

    def exists(self, path: str) -> bool: ...

    def listdir(self, path: str) -> tuple[str, ...]:
        """Sorted names in a folder; empty if it is absent or unreadable."""

    def sizes(self, path: str) -> Mapping[str, int]:
        """Names in a folder, each with its bytes (a link: of what it leads to; -1 if that is nothing); empty if the
        folder is absent or unreadable."""

    def sha256(self, path: str) -> str | None:
        """Digest of a file in hexadecimal; None if it is absent or unreadable."""

    def glob(self, pattern: str) -> tuple[str, ...]:
        """Sorted absolute paths that match an absolute glob pattern."""

    def realpath(self, path: str) -> str: ...

    def environ(self) -> Mapping[str, str]: ...

    def which(self, name: str) -> str | None: ...

    def run(
        self, command: Sequence[str], timeout: float = 10.0, env: Mapping[str, str] | None = None
    ) -> Output | None:
        """Run a tool without a shell; None if it cannot be started."""

    def script(self, name: str, arguments: Sequence[str] = (), timeout: float = 10.0) -> Output | None:
        """Run one of our own small probes (`world/scripts/NAME.py`) in a child Python, so that a library that
        crashes or hangs takes only the child with it. None if it cannot be started."""

    def usable(self, path: str) -> bool:
        """May this user open the file (a device node) for reading and writing?"""

    def space(self, path: str) -> Space | None:
        """Size of the file system that holds a path, or None if the path is absent."""

    def registry(self, key: str) -> RegistryKey | None:
        """A registry key by its full name (`HKEY_LOCAL_MACHINE\\...`, 64-bit view); None if absent."""


class Interpreters(Protocol):
    """The Pythons of the machine."""

    def find(self) -> tuple[Interpreter, ...]:
        """All usable interpreters, newest version first; broken ones are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosureRequest:
    """Ask for the full set of files for one Python and target. Requirements are PEP 508 strings."""

    requirements: tuple[str, ...]
    constraints: tuple[str, ...] = ()
    overrides: tuple[str, ...] = ()
    python: str
    target: str
    indexes: tuple[Index, ...] = ()
    #: Only files uploaded before this day (YYYY-MM-DD).
    as_of: str | None = None
    #: name -> version to keep where it still fits (a former lock).
    preferences: Mapping[str, str] = field(default_factory=dict)
    #: False: only the packages named, to learn where their files are.
    dependencies: bool = True
    #: name -> version of distributions that are there already: they count, are not replaced and not returned.
    provided: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedFile:
    """A file as an index lists it. `size` in bytes and `sha256` are None where the index does not say."""

    name: str
    url: str
    sha256: str | None = None
    size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedPackage:
    """One member of a closure with the files that may fit, wheels first; `index` as in a lock."""

    name: str
    version: str
    index: str
    wheels: tuple[ListedFile, ...] = ()
    sdist: ListedFile | None = None


@dataclass(frozen=True, slots=True)
class CatalogFailure:
    """The engine's own words for why a closure does not exist; `locking` turns them into findings."""

    text: str
    #: True when an index could not be asked (network), False when it answered and the answer is no.
    unreachable: bool = False
    #: What the catalog itself knows of the reason; then the text is only evidence.
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A file that an index lists for a project."""

    version: str
    file: str
    yanked: str | None = None
    requires_python: str | None = None
    uploaded: str | None = None


class Catalog(Protocol):
    """Package indexes as data."""

    def close(self, request: ClosureRequest) -> tuple[ClosedPackage, ...] | CatalogFailure:
        """The closure. A package that is bound to an index comes from there, whoever asks for it: the default
        index is not even asked for its name."""

    def releases(self, project: str, index: Index | None = None) -> tuple[Release, ...] | None:
        """All files of a project, or None when the index does not know the name or cannot be asked."""

    def build_requires(self, package: ClosedPackage) -> tuple[str, ...]:
        """What building a package's sdist asks for (PEP 518), read from the sdist itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CondaRequest:
    """Ask channels for an environment. Specs are conda match specs, `channels` names or addresses, best first.

    `virtual_packages` (`__cuda` -> `11.8`) are what the target machine has, whatever the machine that solves is.
    """

    specs: tuple[str, ...]
    channels: tuple[str, ...]
    subdir: str
    virtual_packages: Mapping[str, str] = field(default_factory=dict)
    #: Only packages built before this day (YYYY-MM-DD).
    as_of: str | None = None
    #: Packages of a former lock, to keep where they still fit.
    preferences: tuple[CondaArtifact, ...] = ()


class Channels(Protocol):
    """Conda channels as data."""

    def solve(self, request: CondaRequest) -> tuple[CondaArtifact, ...] | CatalogFailure:
        """The whole environment, sorted by name. An artifact without any hash has neither of the two."""


class CondaInstaller(Protocol):
    """The engine that makes conda environments."""

    def present(self, artifacts: Sequence[CondaArtifact]) -> frozenset[str]:
        """Keys of those that need no download."""

    def fetch(self, artifacts: Sequence[CondaArtifact], advance: Callable[[int], None]) -> Mapping[str, str]:
        """Key -> path of the file, its hash checked. Raises ProvisionError leaves."""

    def install(
        self,
        prefix: str,
        environment: str,
        artifacts: Sequence[CondaArtifact],
        files: Mapping[str, str],
        requested: Sequence[str],
    ) -> int:
        """Make a prefix hold exactly these packages; paths inside their files say `environment`. Returns how many
        packages were linked or unlinked. Raises ApplyError."""

    def run_script(self, prefix: str, script: str, artifact: CondaArtifact) -> None:
        """Run a package's post-link script. Raises ApplyError."""


class Reporter(Protocol):
    """Progress for people or programs; events are facts, the reporter decides how they look."""

    def stage(self, title: str, text: str) -> None:
        """A finished stage in one line: `Installed`, `61 wheels in 1.4s`."""

    def start(self, title: str, total: int | None = None) -> None:
        """A stage begins; `total` is in bytes where it is known."""

    def advance(self, done: int) -> None:
        """Bytes done so far in the current stage."""

    def note(self, finding: Finding) -> None: ...


@dataclass(frozen=True, slots=True)
class JobRequest:
    """A smoke job to run inside an environment: the script, its arguments, the interpreter, the limit in seconds."""

    job: str
    python: Path
    arguments: tuple[str, ...]
    variables: Mapping[str, str]
    time_limit: float


@dataclass(frozen=True, slots=True)
class JobOutput:
    """What a smoke job left: its JSON report lines, the log, and how it ended (`code` as in Output)."""

    code: int | None
    report: tuple[dict[str, Any], ...]
    log: str
    seconds: float


class SmokeRunner(Protocol):
    def run(self, request: JobRequest) -> JobOutput: ...


class ByteSource(Protocol):
    """The bytes of one file, local or remote, read where they are wanted."""

    @property
    def name(self) -> str:
        """The file's name, without folder or address."""

    def size(self) -> int:
        """Bytes in all. Raises ArtifactError when the file cannot be reached."""

    def read(self, offset: int, length: int) -> bytes:
        """`length` bytes from `offset`, fewer only where the file ends. Raises ArtifactError."""


class FactStore(Protocol):
    """Keeps small texts under keys between runs: a cache, free to forget."""

    def get(self, key: str) -> str | None: ...

    def put(self, key: str, text: str) -> None: ...


Clock = Callable[[], str]


class Files(Protocol):
    """The file system as the transaction needs it. Paths are absolute.

    Every write is complete or absent: a crash leaves the old content or the new, never half of one.
    """

    def read_text(self, path: str, limit: int = 1 << 20) -> str | None: ...

    def stat(self, path: str) -> Stat | None:
        """None if it is absent; a link is described itself, not what it points to."""

    def listdir(self, path: str) -> tuple[str, ...]: ...

    def make_folder(self, path: str) -> None: ...

    def write(self, path: str, text: str) -> None:
        """Replace a file's content at once and durably."""

    def write_script(self, path: str, text: str) -> None:
        """Replace a text file's content at once, its permissions kept. A hard link is not written through."""

    def append(self, path: str, line: str) -> None:
        """Add one line durably (fsync before this returns). A torn last line is closed first, not lengthened."""

    def remove(self, path: str) -> None:
        """Remove a file, a link or a whole folder; nothing happens if it is absent. Links are never followed."""

    def rename(self, source: str, destination: str) -> None: ...

    def point(self, pointer: str, destination: str) -> None:
        """Make `pointer` a link to a folder at once (symlink, a junction on Windows), replacing such a link."""

    def pointed(self, pointer: str) -> str | None:
        """The absolute folder that a pointer shows to; None if it is no link."""

    def free(self, path: str) -> int | None:
        """Free bytes on the file system of a path (or of its nearest existing parent)."""


@dataclass(frozen=True, slots=True)
class LocalFile:
    """An artifact as a file on this machine, its hash checked."""

    artifact: Artifact
    path: str


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an archive as its directory states it. `mode` holds a Unix file's type and permissions, 0 where the
    archive does not say."""

    name: str
    size: int
    crc: int
    mode: int = 0


@dataclass(frozen=True, slots=True)
class Contents:
    """What an archive would put into an environment: its members and the scripts made from its entry points."""

    members: tuple[Member, ...]
    scripts: tuple[str, ...] = ()


class Store(Protocol):
    """The artifacts of this machine: a cache by hash, filled from the indexes."""

    def present(self, artifacts: Sequence[Artifact]) -> frozenset[str]:
        """SHA-256 of those that need no download."""

    def place(self, artifact: Artifact) -> str | None:
        """Path of an artifact that is here; None if it would have to be downloaded."""

    def check_here(self, lock: Lock) -> None:
        """Offline: raises BlockedError with every file that no place of this machine has."""

    def fetch(self, lock: Lock, advance: Callable[[int], None]) -> tuple[LocalFile, ...]:
        """Packages and build tools of a lock as local files. Raises ProvisionError leaves."""


class Installer(Protocol):
    """The engine that makes environments and installs wheels (uv)."""

    def create(self, environment: str, python: str, prompt: str, pip: bool) -> None: ...

    def build(self, sdist: LocalFile, python: str, tools: Sequence[LocalFile]) -> LocalFile:
        """A wheel of an sdist, built by that interpreter with these build tools and no index."""

    def install(self, environment: str, wheels: Sequence[LocalFile], again: bool = False) -> None:
        """Install exactly these wheels, hashes enforced, dependencies not looked at, no index. `again` replaces what
        is installed already, and reads the wheels anew."""

    def contents(self, wheel: LocalFile) -> Contents:
        """What a wheel holds, by its own directory; nothing is unpacked. Raises ApplyError for what is no wheel."""

    def places(self, environment: str, wheels: Sequence[LocalFile]) -> tuple[str, ...]:
        """Everything that installing these wheels writes, relative to the environment; a metadata folder as a whole."""

    def wrong_sizes(self, environment: str, wheels: Sequence[LocalFile]) -> tuple[str, ...]:
        """Installed files that are absent or have another size than in the wheel."""

    def begin_contents_check(
        self, environment: str, wheels: Sequence[LocalFile]
    ) -> Callable[[], tuple[str, ...]]:
        """Start comparing what was installed with the wheels, beside what else happens; calling the result waits for
        the end and gives the paths that differ."""

    def forget(self, wheels: Sequence[LocalFile]) -> None:
        """Drop what the engine keeps of these wheels unpacked: it is not what the wheels hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedFile:
    """A file that was put into an environment, with its size in bytes and hash; or a symbolic link's target."""

    path: str
    size: int = 0
    sha256: str = ""
    link: str | None = None


class Placer(Protocol):
    """Puts shared libraries where a framework finds them."""

    def unpack(self, archive: str, sha256: str, folder: str, destination: str) -> tuple[PlacedFile, ...]:
        """The shared libraries of one folder of an archive, into a folder that is made. The hash is checked first.

        Raises LockError for another file than the lock's, ApplyError for an archive that is not plain; then
        nothing of it is left.
        """

    def link(self, path: str, target: str) -> None:
        """A symbolic link to a file, with this very text. Raises FileExistsError where something stands."""

    def copy(self, source: str, path: str) -> PlacedFile:
        """A file of the user, copied. Raises FileExistsError where something stands."""

    def digest(self, path: str) -> str | None:
        """SHA-256 of a file in hexadecimal; None if it is absent or unreadable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFact:
    """A file as it is on disk: size in bytes, SHA-256 of what it (or its link) holds; `link` is a symbolic link's text."""

    size: int
    sha256: str
    link: str | None = None
    dead: bool = False
