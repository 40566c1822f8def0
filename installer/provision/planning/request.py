"""What the person asked for beside the lock, and what the world offers for it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """`free` and `cache_free` are bytes on the disks of the environment and of the cache, None if not known."""

    device: str | None = None
    #: SHA-256 of artifacts that need no download.
    present: frozenset[str] = frozenset()
    free: int | None = None
    cache_free: int | None = None
    #: Environment and cache lie on one file system; None if not known (then equal room means one).
    one_disk: bool | None = None
    #: False where files of an environment share their bytes with the cache (clones, hard links).
    copies: bool = True
    #: An interpreter that can be fetched if the machine has none that fits.
    fetchable_python: str | None = None
    offline: bool = False
    interpreter: str | None = None
    reinstall: bool = False
    #: The smoke jobs that will prove the environment, and the device they must run on.
    jobs: tuple[str, ...] = ()
    proof_device: str = "cpu"
    #: Why what the gate holds against the machine is overridden; empty if it is not.
    force: str = ""
    #: The machine is another one, which the environment is built for; `host` is the target of this one.
    elsewhere: bool = False
    host: str = ""

    @property
    def without_device(self) -> bool:
        """Only the software half is asked for, so that this machine needs no device."""
        return self.device == "cpu" and not self.elsewhere
