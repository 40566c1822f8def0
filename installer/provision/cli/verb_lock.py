"""provision lock"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from provision.cli.common import complete_profiles, json_option, machine_option, quiet_option
from provision.cli.helping import verb
from provision.cli.language import word
from provision.messages import message
from provision.model.finding import Finding, LockError, Remedy, UnsatisfiableError, UsageError

if TYPE_CHECKING:
    from provision.pipeline.locks import Locked, Upgrade
    from provision.pipeline.profiles import Source
    from provision.pipeline.session import Session


#: What `--upgrade` without a name means.
EVERYTHING = "*"
_FOLDER = click.Path(file_okay=False, path_type=Path)


@verb("lock")
@click.argument("profiles", nargs=-1, shell_complete=complete_profiles)
@click.option("--all", "every", is_flag=True)
@click.option("--check", is_flag=True)
@click.option("--upgrade", multiple=True, is_flag=False, flag_value=EVERYTHING, metavar="[NAME]")
@click.option("--target", "targets", multiple=True)
@click.option("--python", "pythons", multiple=True)
@machine_option
@click.option("--offline", is_flag=True)
@click.option("--catalog", "replay", type=_FOLDER, metavar="DIR")
@click.option("--from", "taken", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE")
@click.option("--record", type=_FOLDER, metavar="DIR")
@json_option
@quiet_option
def command(
    profiles: tuple[str, ...], every: bool, check: bool, as_json: bool, quiet: bool, **chosen: Any
) -> int:
    from provision.cli.common import make_session
    from provision.pipeline.relocking import jobs_of, relock

    session = make_session(
        quiet=quiet, as_json=as_json, offline=chosen["offline"], machine_file=chosen["machine_file"]
    )
    session.replay, session.record = _absolute(chosen["replay"]), _absolute(chosen["record"])
    session.taken = _absolute(chosen["taken"])
    names, more = _upgraded(chosen["upgrade"], session)
    if every and not chosen["upgrade"]:
        names = replace(names, settled=True)
    references = _references((*profiles, *more), every, session)
    sources = [v for reference in references for v in _variants(reference, session)]
    if check:
        return _check(sources, session, as_json, quiet)
    targets = chosen["targets"] or ((session.host_target(),) if session.machine_file else ())
    jobs, failed = jobs_of(sources, session, targets, chosen["pythons"])
    if not jobs and not failed:
        raise UsageError(_nothing(chosen))
    done = relock(jobs, session, names, lambda locked: _tell(locked, session))
    return _report([*failed, *done], as_json, quiet)


def _variants(reference: str, session: Session) -> Sequence[Source]:
    """All variants of a profile; with `--machine` the one that this machine would take."""
    from provision.pipeline.profiles import read, variants_of

    source = read(reference, session.folder)
    if session.machine_file is None:
        return variants_of(source)
    from provision.pipeline.environments import Options, choose_variant

    return (choose_variant(source, session, Options())[0],)


def _upgraded(values: tuple[str, ...], session: Session) -> tuple[Upgrade, tuple[str, ...]]:
    """What `--upgrade` lets go. A profile behind a bare `--upgrade` is a profile, not the name of a package."""
    from packaging.utils import canonicalize_name

    from provision.pipeline.locks import Upgrade
    from provision.pipeline.profiles import is_profile

    profiles = tuple(v for v in values if v != EVERYTHING and is_profile(v, session.folder))
    names = frozenset(canonicalize_name(v) for v in values if v != EVERYTHING and v not in profiles)
    return Upgrade(everything=EVERYTHING in values or bool(profiles), names=names), profiles


def _absolute(folder: Path | None) -> Path | None:
    return folder.absolute() if folder else None


def _references(profiles: tuple[str, ...], every: bool, session: Session) -> list[str]:
    if every:
        return [str(Path("profiles") / p.name) for p in sorted((session.folder / "profiles").glob("*.yaml"))]
    if not profiles:
        raise UsageError(Finding("usage", "error", message("cli.usage.summary-2")))
    return list(profiles)


def _nothing(chosen: dict[str, Any]) -> Finding:
    targets, pythons = ", ".join(chosen["targets"]), ", ".join(chosen["pythons"])
    asked = message("cli.and", first=targets, second=pythons) if targets and pythons else targets or pythons
    return Finding(
        "nothing-to-lock", "error", message("cli.nothing-to-lock.summary", what=asked or message("cli.these-profiles")),
        detail=message("cli.nothing-to-lock.detail"),
        remedies=(Remedy(message("cli.nothing-to-lock.way"), "provision why PROFILE python"),),
    )  # fmt: skip


def _check(sources: list[Source], session: Session, as_json: bool, quiet: bool) -> int:
    from provision.cli.rendering import print_findings, print_json, say
    from provision.pipeline.relocking import check

    findings = check(sources, session)
    if any(finding.severity == "error" for finding in findings):
        raise LockError(findings)
    if as_json:
        shown = [finding.to_json() for finding in findings]
        print_json({"outcome": "matching", "profiles": [s.profile.name for s in sources], "findings": shown})
        return 0
    print_findings(findings)
    if not quiet:
        say(word("cli.lock.matching", count=len(sources)))
    return 0


def _tell(locked: Locked, session: Session) -> None:
    """One line of progress for each finished lock."""
    if locked.lock is None:
        session.reporter.stage(word("cli.stage.failed"), _title(locked))
        return
    status = word(f"cli.lock.{locked.status}")
    text = word("cli.lock.told", lock=_title(locked), count=len(locked.lock.pins), status=status)
    session.reporter.stage(word("cli.stage.locked"), text)


def _title(locked: Locked) -> str:
    python = f"Python {locked.python}" if locked.python else ""
    return " · ".join(filter(None, (locked.profile, locked.variant, locked.target, python)))


def _report(done: list[Locked], as_json: bool, quiet: bool) -> int:
    from provision.cli.rendering import print_findings, print_json

    failed = [locked for locked in done if locked.status == "failed"]
    findings = list(dict.fromkeys(f for locked in failed for f in locked.findings))
    advice = list(dict.fromkeys(f for d in done if d.status != "failed" for f in d.findings))
    if as_json:
        told = [f.to_json() for f in (*findings, *advice)]
        print_json({"locks": [_as_json(d) for d in done], "findings": told})
        return UnsatisfiableError.exit_code if failed else 0
    if not quiet:
        _show(done)
        print_findings(advice)
    if failed:
        raise UnsatisfiableError(findings)
    return 0


def _as_json(locked: Locked) -> dict[str, Any]:
    from provision.cli.verb_lock_diff import as_document
    from provision.locking.diffing import diff

    changed = locked.lock is not None and locked.status == "written"
    return {
        "profile": locked.profile,
        "variant": locked.variant,
        "target": locked.target,
        "python": locked.python,
        "status": locked.status,
        "path": str(locked.path),
        "packages": len(locked.lock.pins) if locked.lock else None,
        "changes": as_document(diff(locked.before, locked.lock)) if changed else None,
    }


def _show(done: list[Locked]) -> None:
    """What changed, as a review reads it; then how many locks there are, or where the only one is."""
    from provision.cli.rendering import say
    from provision.cli.showing import shown
    from provision.cli.verb_lock_diff import show
    from provision.locking.diffing import diff

    show([diff(d.before, d.lock) for d in done if d.lock is not None and d.status == "written"])
    if len(done) > 1:
        counts = {s: sum(d.status == s for d in done) for s in ("written", "unchanged", "failed")}
        told = [
            word("cli.lock.count", count=count, status=word(f"cli.lock.{status}"))
            for status, count in counts.items()
            if count
        ]
        say(word("cli.lock.several", count=len(done), told=told))
        return
    where = f"{word('cli.colon')}{shown(done[0].path)}" if done[0].lock else ""
    say(word("cli.lock.one", status=word(f"cli.lock.{done[0].status}")) + where)
