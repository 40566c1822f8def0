"""uv as the installer: environments, wheels from sources, exact installs without an index."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from provision.messages import message, stopped
from provision.model.finding import ApplyError, Evidence, Finding, Remedy
from provision.model.lock import PYPI
from provision.ports import Contents, LocalFile
from provision.prefix import site_packages
from provision.world import unpacked, uv
from provision.world.files import HostFiles, space

#: ioctl of Linux: make one file share another's blocks.
_FICLONE = 0x40049409


class UvInstaller:
    """Implements ports.Installer. `cache` is provision's own cache folder.

    Wheels are shown to uv in one flat folder per index that never moves, so that uv recognises what it has
    unpacked before and a warm install costs links only.
    """

    def __init__(self, cache: Path, link_mode: str | None = None) -> None:
        self._cache = cache
        self._link_mode = link_mode
        self._read: dict[str, Contents] = {}

    def create(self, environment: str, python: str, prompt: str, pip: bool) -> None:
        command = ["venv", "--quiet", "--no-project", "--python", python, f"--prompt={prompt}"]
        _checked(
            [*command, *(["--seed"] if pip else []), environment],
            "environment-failed",
            message("world.create.environment-cannot-be-made"),
        )

    def build(self, sdist: LocalFile, python: str, tools: Sequence[LocalFile]) -> LocalFile:
        """Built once per source, interpreter version and set of tools, then kept."""
        key = hashlib.sha256(
            "\n".join([python_tag(python), *sorted(t.artifact.sha256 for t in tools)]).encode()
        )
        out = self._cache / "built" / sdist.artifact.sha256 / key.hexdigest()[:16]
        if not (done := list(out.glob("*.whl"))):
            with self._temporary("build") as folder:
                self._build_in(Path(folder), sdist, python, tools, out)
            done = list(out.glob("*.whl"))
        wheel = done[0]
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        return LocalFile(replace(sdist.artifact, file=wheel.name, sha256=digest, kind="wheel"), str(wheel))

    def _build_in(
        self, folder: Path, sdist: LocalFile, python: str, tools: Sequence[LocalFile], out: Path
    ) -> None:
        constraints = folder / "constraints.txt"
        constraints.write_text(requirements(tools), encoding="utf-8")
        command = ["build", "--wheel", "--quiet", "--no-config", "--python", python, "--no-index"]
        command += [flag for place in self._shown(tools) for flag in ("--find-links", place)]
        command += [
            "--build-constraint",
            str(constraints),
            "--require-hashes",
            "--out-dir",
            str(folder / "out"),
            sdist.path,
        ]
        _checked(
            command,
            "build-failed",
            message("world.build-in.cannot-be-built-into-wheel", file=sdist.artifact.file),
            {"TMPDIR": str(folder)},
        )
        out.parent.mkdir(parents=True, exist_ok=True)
        built = next((folder / "out").glob("*.whl"))
        out.mkdir(exist_ok=True)
        temporary = out / f".{os.getpid()}.part"
        temporary.write_bytes(built.read_bytes())
        temporary.replace(out / built.name)

    @contextmanager
    def _temporary(self, what: str) -> Iterator[str]:
        """On the cache's disk: the system's temporary folder may be small, and lies on another disk perhaps."""
        parent = self._cache / "tmp"
        parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f"{what}-", dir=parent, ignore_cleanup_errors=True) as folder:
            yield folder

    def link_mode(self, environment: str) -> str:
        """How files get from the cache into an environment: as told (UV_LINK_MODE), else cloned where the file system
        can, else copied. A hard link would be cheaper, but an edit in one environment would reach every other.

        Measured on ext4 with TensorFlow 2.21 (16,557 files): hard links 4.7 s and 54 MB, copies 28 s and 1.5 GB on a
        busy machine; links with copies of the small files only took 80 s.
        """
        return self._link_mode or ("clone" if self._can_clone_to(environment) else "copy")

    def _can_clone_to(self, environment: str) -> bool:
        here, there = space(str(self._cache)), space(environment)
        return here is not None and there is not None and here[0] == there[0] and can_clone(self._cache)

    def install(self, environment: str, wheels: Sequence[LocalFile], again: bool = False) -> None:
        with self._temporary("install") as folder:
            listed = Path(folder, "requirements.txt")
            listed.write_text(requirements(wheels), encoding="utf-8")
            command = [
                "pip",
                "install",
                "--quiet",
                "--no-config",
                "--python",
                interpreter(environment),
                "--no-deps",
            ]
            command += ["--no-index", "--require-hashes", "--requirement", str(listed), "--no-build"]
            command += [flag for place in self._shown(wheels) for flag in ("--find-links", place)]
            command += [*self._engine_cache(), "--link-mode", self.link_mode(environment)]
            command += ["--reinstall"] if again else []
            _checked(
                command, "install-failed", message("world.install.packages-cannot-be-installed"),
                {"TMPDIR": folder},
            )  # fmt: skip

    def contents(self, wheel: LocalFile) -> Contents:
        if wheel.artifact.sha256 not in self._read:
            self._read[wheel.artifact.sha256] = unpacked.contents(wheel, self._cache)
        return self._read[wheel.artifact.sha256]

    def places(self, environment: str, wheels: Sequence[LocalFile]) -> tuple[str, ...]:
        packages = site_packages(HostFiles(), environment) or environment
        return unpacked.places(environment, packages, [self.contents(w) for w in wheels])

    def wrong_sizes(self, environment: str, wheels: Sequence[LocalFile]) -> tuple[str, ...]:
        return unpacked.wrong_sizes(environment, self._expected(environment, wheels))

    def begin_contents_check(
        self, environment: str, wheels: Sequence[LocalFile]
    ) -> Callable[[], tuple[str, ...]]:
        return unpacked.begin_contents_check(environment, self._expected(environment, wheels))

    def _expected(self, environment: str, wheels: Sequence[LocalFile]) -> unpacked.Expected:
        packages = site_packages(HostFiles(), environment) or environment
        return unpacked.expected(environment, packages, [(w, self.contents(w)) for w in wheels])

    def forget(self, wheels: Sequence[LocalFile]) -> None:
        for wheel in wheels:
            self._read.pop(wheel.artifact.sha256, None)
            unpacked.forget(wheel, self._cache)
        names = sorted({wheel.artifact.name for wheel in wheels})
        _checked(
            ["cache", "clean", "--quiet", *self._engine_cache(), *names],
            "cache-failed",
            message("world.forget.uvs-cache-cannot-be-cleaned"),
        )

    def _engine_cache(self) -> list[str]:
        """provision's own: nothing else links into it, so an edit in another environment cannot reach it."""
        return ["--cache-dir", str(self._cache / "uv")]

    def _shown(self, files: Sequence[LocalFile]) -> list[str]:
        return sorted({str(self._show(file)) for file in files})

    def _show(self, file: LocalFile) -> Path:
        """A link to the file in the flat folder of its index; two files of one name get folders of their own."""
        name = file.artifact.index or PYPI
        for folder in (
            self._cache / "flat" / name,
            self._cache / "flat" / f"{name}-{file.artifact.sha256[:12]}",
        ):
            folder.mkdir(parents=True, exist_ok=True)
            link = folder / file.artifact.file
            if _same(link, Path(file.path)) or _link(Path(file.path), link):
                return folder
        return Path(file.path).parent


def can_clone(cache: Path) -> bool:
    """True if the file system makes copies that share their blocks (btrfs, XFS, APFS); tried with one file."""
    source, copy = cache / f".clone-{os.getpid()}", cache / f".clone-{os.getpid()}-copy"
    try:
        cache.mkdir(parents=True, exist_ok=True)
        source.write_bytes(b"x" * 4096)
        _clone(source, copy)
    except (OSError, AttributeError, ImportError):
        return False
    else:
        return True
    finally:
        for path in (source, copy):
            path.unlink(missing_ok=True)


if sys.platform == "linux":

    def _clone(source: Path, copy: Path) -> None:
        import fcntl

        with source.open("rb") as old, copy.open("wb") as new:
            fcntl.ioctl(new.fileno(), _FICLONE, old.fileno())

elif sys.platform == "darwin":

    def _clone(source: Path, copy: Path) -> None:
        import ctypes

        library = ctypes.CDLL(None, use_errno=True)
        if library.clonefile(os.fsencode(source), os.fsencode(copy), 0) != 0:
            raise OSError(ctypes.get_errno(), "clonefile")

else:

    def _clone(source: Path, copy: Path) -> None:
        raise OSError("not known here")


def _same(link: Path, file: Path) -> bool:
    try:
        return link.samefile(file)
    except OSError:
        return False


def _link(file: Path, link: Path) -> bool:
    """Show `file` at `link`; False if another file has that name. A dead link is replaced."""
    if link.exists():
        return False
    link.unlink(missing_ok=True)
    try:
        link.hardlink_to(file)
    except FileExistsError:
        return _same(link, file)
    except OSError:
        link.symlink_to(file)
    return True


def interpreter(environment: str) -> str:
    """The Python of an environment; conda's stands at its top on Windows."""
    on_windows = (Path(environment, "Scripts", "python.exe"), Path(environment, "python.exe"))
    found = next((path for path in on_windows if path.exists()), None)
    return str(found or Path(environment, "bin", "python"))


def python_tag(python: str) -> str:
    """Version and build of an interpreter, to tell builds apart. The real file behind the link names both."""
    return str(Path(python).resolve())


def requirements(files: Sequence[LocalFile]) -> str:
    return "".join(
        f"{f.artifact.name}=={f.artifact.version} --hash=sha256:{f.artifact.sha256}\n" for f in files
    )


def managed_python(version: str) -> str | None:
    """The managed CPython that uv knows how to fetch for a missing minor version, as people call it; or None."""
    import json

    done = uv.run(["python", "list", version, "--only-downloads", "--output-format", "json"])
    try:
        found = json.loads(done.stdout) if done.code == 0 else []
    except ValueError:
        return None
    return (
        message("world.managed-python.cpython-uvs-managed-build", version=found[0]["version"])
        if found
        else None
    )


def fetch_python(version: str) -> str:
    """Have uv fetch a managed CPython; returns its path. Raises ApplyError where it cannot be had."""
    _checked(
        ["python", "install", version],  # With --quiet it would not say why it failed.
        "interpreter-failed",
        message("world.fetch-python.cpython-cannot-be-fetched", version=version),
        ways=(
            Remedy(message("world.fetch-python.way", version=version)),
            Remedy(message("world.fetch-python.way-2")),
        ),
    )
    found = uv.run(["python", "find", version, "--managed-python"])
    return found.stdout.strip()


def _checked(
    command: Sequence[str], code: str, summary: str, variables: Mapping[str, str] | None = None,
    ways: tuple[Remedy, ...] = (),
) -> None:  # fmt: skip
    done = uv.run(command, extra=variables)
    if done.code == 0:
        return
    text = done.stderr.strip()
    raise ApplyError(
        Finding(
            "disk-full" if "No space left on device" in text else code,
            "error",
            stopped(summary),
            detail=_last_lines(text),
            evidence=(Evidence("uv", message("world.common.exit-code", code=done.code)),),
            remedies=(*ways, Remedy(message("world.common.nothing-was-switched-environment-is"))),
        )
    )


def _last_lines(text: str, most: int = 12) -> str:
    return "\n".join(text.splitlines()[-most:])
