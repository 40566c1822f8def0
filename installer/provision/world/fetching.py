"""Artifacts into the store: resumed, hashed while they stream, final only when their SHA-256 is right."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import queue
import re
import shutil
import threading
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import urlsplit

from provision.messages import message
from provision.model.finding import (
    ApplyError,
    BlockedError,
    Evidence,
    Finding,
    LockError,
    ProvisionError,
    Remedy,
)
from provision.world import store
from provision.world.indexes import IndexConfig, redact
from provision.world.store import Store, Wanted, megabytes
from provision.world.web import Limits, Trouble, Web, host_of, is_remote

if TYPE_CHECKING:
    import httpx

_BLOCK = 1 << 20
#: What a killed process may lose of a part.
_BUFFER = 1 << 17
#: Fewer new bytes than this do not count as getting on: a server may drop us after each handful for ever.
_PROGRESS = 1 << 16
#: How often a file may come whole and wrong when part of it is from an earlier connection.
_REPEATS = 2
_TICK = 0.1

Tell = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetcher:
    """Brings files into the store of `cache`. With `offline`, only says what is missing."""

    cache: Path
    config: IndexConfig = field(default_factory=IndexConfig)
    offline: bool = False
    threads: int = 8
    limits: Limits = field(default_factory=Limits)

    def fetch(self, wanted: Sequence[Wanted], progress: Tell | None = None) -> dict[str, Path]:
        """Bring all files and return their paths by key (SHA-256; `md5-...` where only that is known).

        `progress` is called from this thread with the bytes held so far of the files that were not in the
        store (it can step back when a download must start again). Raises LockError for a file that is not
        what its hash says, BlockedError where the machine's set-up bars the way (also offline), ApplyError
        for other trouble; each with a finding a file. What has come so far is kept and continued next time.
        """
        kept = Store(self.cache)
        paths = {w.key: kept.path(w) for w in wanted}
        missing = list({w.key: w for w in wanted if not kept.holds(w)}.values())
        missing = self.near(missing)
        if missing:
            self._check_space(missing, kept)
            self._bring(missing, paths, progress or _silent)
        return paths

    def near(self, wanted: Sequence[Wanted]) -> list[Wanted]:
        """The files with the places that may be asked: offline those of this machine. Raises BlockedError with every
        file that then is nowhere."""
        if not self.offline:
            return list(wanted)
        here = [replace(w, urls=tuple(u for u in w.urls if _on_disk(u, w.filename))) for w in wanted]
        if far := [w for w in here if not w.urls]:
            raise BlockedError([_offline(w) for w in far])
        return here

    def _bring(self, missing: Sequence[Wanted], paths: Mapping[str, Path], progress: Tell) -> None:
        # The biggest first: one big file that starts last would keep everybody waiting.
        jobs = sorted(missing, key=lambda w: -(w.size or 0))
        with Web(self.config, stall=self.limits.stall, connections=self.threads) as web:

            def work(job: Wanted, stop: threading.Event, tell: Tell) -> None:
                _Download(job, paths[job.key], web, self.limits, stop, tell).run()

            troubles = _Crew(jobs, work).work(min(self.threads, len(jobs)), progress, web.abort)
        if troubles:
            raise _error(troubles)

    def _check_space(self, missing: Sequence[Wanted], kept: Store) -> None:
        """Say at the start that the disk is too small, not after an hour."""
        remote = [w for w in missing if w.urls and is_remote(w.urls[0])]
        needed = sum((w.size or 0) - kept.held(w) for w in remote)
        free = store.free_space(self.cache)
        if free is not None and needed > free:
            raise ApplyError(store.disk_full(self.cache, needed, free))


def _silent(_: int) -> None:
    pass


class _StoppedError(Exception):
    """There is no point in going on: another thread has failed, or the user has interrupted."""


class _FailedError(Exception):
    """No place had the file."""

    def __init__(self, troubles: list[Trouble]) -> None:
        super().__init__()
        self.troubles = troubles


class _Crew:
    """Threads that work off jobs; the caller's thread waits, reports and can be interrupted."""

    def __init__(self, jobs: Sequence[Wanted], work: Callable[[Wanted, threading.Event, Tell], None]) -> None:
        self._jobs: queue.SimpleQueue[Wanted] = queue.SimpleQueue()
        self._ended: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        self._left = len(jobs)
        self._work = work
        self._stop = threading.Event()
        self._held = {job.key: 0 for job in jobs}
        for job in jobs:
            self._jobs.put(job)

    def work(self, threads: int, progress: Tell, abort: Callable[[], None]) -> list[Trouble]:
        """Work off all jobs; the troubles met. Any other error, and Ctrl-C, is raised."""
        # Daemons: one that waits in vain for a server must not keep the process from ending.
        crew = [threading.Thread(target=self._member, daemon=True) for _ in range(threads)]
        for member in crew:
            member.start()
        try:
            return self._wait(progress)
        finally:
            self._stop.set()
            if self._left:
                abort()
            for member in crew:
                member.join(2)

    def _wait(self, progress: Tell) -> list[Trouble]:
        troubles: list[Trouble] = []
        while self._left and not any(t.everywhere for t in troubles):
            try:
                # With a limit, so that Ctrl-C is heard on Windows too.
                error = self._ended.get(timeout=_TICK)
            except queue.Empty:
                progress(sum(self._held.values()))
                continue
            self._left -= 1
            troubles += _troubles(error)
        progress(sum(self._held.values()))
        return troubles

    def _member(self) -> None:
        while not self._stop.is_set():
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return
            try:
                self._work(job, self._stop, partial(self._held.__setitem__, job.key))
            except BaseException as error:
                self._ended.put(error)
            else:
                self._ended.put(None)


def _troubles(error: BaseException | None) -> list[Trouble]:
    if error is None:
        return []
    if isinstance(error, _FailedError):
        return error.troubles
    if isinstance(error, Trouble):
        return [error]
    raise error


class _Download:
    """One file on its way into the store, by one thread."""

    def __init__(
        self, wanted: Wanted, target: Path, web: Web, limits: Limits, stop: threading.Event, tell: Tell
    ) -> None:
        self._wanted = wanted
        self._target = target
        self._part = _Part(store.part_of(target), wanted.size, self._went_on, wanted.algorithm)
        self._web = web
        self._limits = limits
        self._stop = stop
        self._tell = tell
        self._ranges = True
        self._repeats = 0

    def run(self) -> None:
        """Bring the file, or raise _FailedError, Trouble (the disk) or _StoppedError."""
        with store.disk_errors(self._target):
            self._target.parent.mkdir(parents=True, exist_ok=True)
            with store.alone(self._target.with_name(".lock"), self._stop) as alone:
                if not alone:
                    raise _StoppedError
                if not store.is_complete(self._target, self._wanted.size):
                    self._try_all()
                self._tell(store.size_of(self._target))

    def _went_on(self, held: int) -> None:
        if self._stop.is_set():
            raise _StoppedError
        self._tell(held)

    def _try_all(self) -> None:
        troubles, absent = [], []
        for url in self._wanted.urls:
            source = None if is_remote(url) else _local(url, self._wanted.filename)
            if source is not None and not source.is_file():
                absent.append(Trouble(_absent(self._wanted, source)))
                continue
            try:
                return self._from_web(url) if source is None else self._from_disk(source)
            except Trouble as trouble:
                troubles.append(trouble)
        # That a folder lacks the file is news only where nothing else is wrong.
        raise _FailedError(troubles or absent or [Trouble(_nowhere(self._wanted))])

    def _from_disk(self, source: Path) -> None:
        # Not the `.part`: that is written to, and a link shares its bytes with somebody else's file.
        copy = self._target.with_name(self._target.name + ".copy")
        copy.unlink(missing_ok=True)
        try:
            os.link(os.path.realpath(source), copy)
        except OSError:
            shutil.copyfile(source, copy)
        part = _Part(copy, self._wanted.size, self._went_on, self._wanted.algorithm)
        part.take_up()
        if part.hex() != self._wanted.digest:
            part.drop()
            raise Trouble(_mismatch(self._wanted, str(source), part), kind=LockError)
        store.publish(copy, self._target)

    def _from_web(self, url: str) -> None:
        failures, best = 0, store.size_of(self._part.path)
        while True:
            try:
                self._transfer(url)
                if self._settle(url):
                    return
            except Trouble as trouble:
                if self._stop.is_set():
                    raise _StoppedError from trouble
                if not trouble.transient:
                    raise
                held = store.size_of(self._part.path)
                failures = 1 if held >= best + _PROGRESS else failures + 1
                best = max(best, held)
                if failures >= self._limits.attempts or (trouble.wait or 0) > self._limits.patience:
                    raise self._given_up(trouble, held) from trouble
                self._pause(self._limits.wait(failures, trouble.wait))

    def _pause(self, seconds: float) -> None:
        if self._stop.wait(seconds):
            raise _StoppedError

    def _given_up(self, last: Trouble, held: int) -> Trouble:
        kept = (
            message("world.given-up.are-kept", held=megabytes(held), size=megabytes(self._wanted.size))
            if held
            else ""
        )
        finding = Finding(
            last.finding.code,
            "error",
            message(
                "world.given-up.summary",
                filename=self._wanted.filename,
                summary=last.finding.summary,
                kept=kept,
            ),
            last.finding.detail,
            last.finding.evidence,
            (Remedy(message("world.given-up.way")), *last.finding.remedies),
        )
        return Trouble(finding, kind=last.kind, everywhere=True)

    def _transfer(self, url: str) -> None:
        """Bring the part from where it stands to its end; Trouble if the body ends before."""
        held = self._part.take_up()
        if self._wanted.size is not None and held > self._wanted.size:
            self._part.drop()
            held = self._part.take_up()
        if held and held == self._wanted.size:
            return
        asked = self._part.range_headers(host_of(url)) if held and self._ranges else {}
        with self._web.stream(url, {**self._wanted.headers, **asked}) as response:
            if response.status_code == 416:
                self._beyond(response, held, url)
                return
            self._check_start(response, held, url)
            self._part.write(response, host_of(url))
        if self._wanted.size is not None and self._part.held < self._wanted.size:
            raise Trouble(_short(self._wanted, url, self._part.held), transient=True)

    def _check_start(self, response: httpx.Response, held: int, url: str) -> None:
        """The answer must begin at the start of the file or at the end of what we hold."""
        if response.status_code != 206:
            self._part.start_over()
            return
        first = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
        if first is None or int(first[1]) != held:
            self._mixed_up(url)

    def _beyond(self, response: httpx.Response, held: int, url: str) -> None:
        """The server has nothing after what we hold: that may be right, wrong, or nonsense."""
        total = re.fullmatch(r"bytes \*/(\d+)", response.headers.get("Content-Range", ""))
        if total is None or int(total[1]) != held:
            self._mixed_up(url)
        if self._wanted.size not in (None, held):
            self._part.drop()
            raise Trouble(_mismatch(self._wanted, url, self._part), kind=LockError)

    def _mixed_up(self, url: str) -> None:
        # A server that answers with another part than was asked for is not asked for parts again.
        self._ranges = False
        self._part.drop()
        raise Trouble(_wrong_range(url), transient=True)

    def _settle(self, url: str) -> bool:
        """Give a right file its name; False if what was inherited may be wrong and all must come anew."""
        if self._part.hex() == self._wanted.digest:
            self._part.publish(self._target)
            return True
        self._part.drop()
        self._repeats += 1
        if self._part.inherited and self._repeats <= _REPEATS:
            return False
        raise Trouble(_mismatch(self._wanted, url, self._part), kind=LockError)


class _Part:
    """The unfinished file, and the digest of what it holds."""

    def __init__(self, path: Path, size: int | None, went_on: Tell, algorithm: str) -> None:
        self.path = path
        self.held = 0
        #: Bytes from an earlier connection or run: if the sum is wrong in the end, they may be why.
        self.inherited = 0
        self._size = size
        self._went_on = went_on
        self._algorithm = algorithm
        self._digest = self._fresh()
        self._note = path.with_name(path.name + ".json")

    def _fresh(self) -> hashlib._Hash:
        return hashlib.new(self._algorithm, usedforsecurity=False)

    def hex(self) -> str:
        return self._digest.hexdigest()

    def take_up(self) -> int:
        """Bytes held on the disk, which the digest then covers."""
        on_disk = store.size_of(self.path)
        if on_disk != self.held:
            self.start_over()
            if on_disk:
                self._read()
        self.inherited = self.held
        self._went_on(self.held)
        return self.held

    def _read(self) -> None:
        with self.path.open("rb") as file:
            while chunk := file.read(_BLOCK):
                self._feed(chunk)

    def _feed(self, chunk: bytes) -> None:
        self._digest.update(chunk)
        self.held += len(chunk)
        self._went_on(self.held)

    def start_over(self) -> None:
        self._digest, self.held, self.inherited = self._fresh(), 0, 0

    def drop(self) -> None:
        """Throw the file away; the digest is kept until something new is written, for the message."""
        self.path.unlink(missing_ok=True)
        self._note.unlink(missing_ok=True)

    def write(self, response: httpx.Response, host: str) -> None:
        """Append an answer's body (or begin with it, after `start_over`)."""
        if not self.held:
            self._remember(response, host)
        with self.path.open("r+b" if self.held else "wb", buffering=_BUFFER) as file:
            file.seek(self.held)
            self._copy(response, file)

    def _copy(self, response: httpx.Response, file: BinaryIO) -> None:
        size = self._size
        left = "" if size is None else str(size - self.held)
        # Read to the end where the end is known, so that the connection can serve the next file; but do
        # not wait for bytes that a wrong length promises.
        honest = size is None or response.headers.get("Content-Length") == left
        for chunk in response.iter_raw():
            file.write(chunk)
            self._feed(chunk)
            if not honest and size is not None and self.held >= size:
                return

    def range_headers(self, host: str) -> dict[str, str]:
        """What asks a host for the rest; for all, if the file there is not the one we have a part of."""
        headers = {"Range": f"bytes={self.held}-"}
        with contextlib.suppress(OSError, ValueError, AttributeError):
            note = json.loads(self._note.read_text(encoding="utf-8"))
            if note.get("host") == host and isinstance(note.get("tag"), str) and note["tag"]:
                headers["If-Range"] = note["tag"]
        return headers

    def _remember(self, response: httpx.Response, host: str) -> None:
        tag = response.headers.get("ETag", "")
        # A weak tag promises less than the same bytes.
        note = {"host": host, "tag": "" if tag.startswith("W/") else tag}
        self._note.write_text(json.dumps(note), encoding="utf-8")

    def publish(self, target: Path) -> None:
        store.publish(self.path, target)
        self._note.unlink(missing_ok=True)


def _local(url: str, filename: str) -> Path:
    parts = urlsplit(url)
    path = Path(urllib.request.url2pathname(parts.path) if parts.scheme == "file" else url)
    return path / filename if path.is_dir() else path


def _on_disk(url: str, filename: str) -> bool:
    return not is_remote(url) and _local(url, filename).is_file()


# Findings.


def _error(troubles: Sequence[Trouble]) -> ProvisionError:
    """One error for all: a wrong file weighs most, a barred way least."""
    kinds = {t.kind for t in troubles}
    kind = next((k for k in (LockError, ApplyError) if k in kinds), BlockedError)
    return kind(dict.fromkeys(t.finding for t in troubles))


def _mismatch(wanted: Wanted, url: str, part: _Part) -> Finding:
    place = host_of(url) if is_remote(url) else url
    stated = (
        message("world.mismatch.size-not-stated")
        if wanted.size is None
        else message("world.mismatch.bytes", size=wanted.size)
    )
    got = message("world.mismatch.bytes-2", hex=part.hex(), held=part.held)
    kind = wanted.algorithm.upper().replace("SHA", "SHA-")
    return Finding(
        "hash-mismatch",
        "error",
        message("world.hash-mismatch.summary", filename=wanted.filename, place=place),
        message("world.hash-mismatch.detail", kind=kind, digest=wanted.digest, stated=stated, got=got),
        (Evidence(redact(url), message("world.mismatch.expected-got", digest=wanted.digest, got=got)),),
        (
            Remedy(message("world.hash-mismatch.way")),
            Remedy(message("world.hash-mismatch.way-2")),
        ),
    )


def _short(wanted: Wanted, url: str, held: int) -> Finding:
    said = message("world.short.bytes", held=held, size=wanted.size)
    summary = message("world.short.ended-file-early", host_of=host_of(url))
    return Finding("network", "error", summary, said, (Evidence(redact(url), said),))


def _wrong_range(url: str) -> Finding:
    said = message("world.wrong-range.range-in-answer-is-not")
    summary = message("world.wrong-range.mixes-up-parts-files", host_of=host_of(url))
    return Finding("network", "error", summary, said, (Evidence(redact(url), said),))


def _absent(wanted: Wanted, source: Path) -> Finding:
    summary = message("world.absent.is-not-where-it-should", filename=wanted.filename, source=source)
    return Finding(
        "not-found", "error", summary, evidence=(Evidence(str(source), message("world.absent.no-such-file")),)
    )


def _nowhere(wanted: Wanted) -> Finding:
    remedy = Remedy(message("world.nowhere.way", index=wanted.index))
    return Finding(
        "not-found", "error", message("world.not-found.summary", filename=wanted.filename), remedies=(remedy,)
    )


def _offline(wanted: Wanted) -> Finding:
    return Finding(
        "offline-missing",
        "error",
        message("world.offline-missing.summary", filename=wanted.filename),
        message("world.offline-missing.detail", megabytes=megabytes(wanted.size), index=wanted.index),
        remedies=(Remedy(message("world.offline-missing.way"), "provision bundle PROFILE -o DIR"),),
    )
