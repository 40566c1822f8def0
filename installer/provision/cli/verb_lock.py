"""provision lock"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from provision.cli.common import complete_profiles, json_option, quiet_option
from provision.model.finding import Finding, LockError, ProvisionError, UnsatisfiableError, UsageError

if TYPE_CHECKING:
    from provision.pipeline.locks import Locked
    from provision.pipeline.profiles import Source
    from provision.pipeline.session import Session


_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command("lock", short_help="Pin the stack: every file with its hash, for each target and Python.")
@click.argument("profiles", nargs=-1, shell_complete=complete_profiles)
@click.option("--all", "every", is_flag=True, help="Every profile in the folder profiles/.")
@click.option(
    "--check", is_flag=True, help="Only say whether the locks match their profiles (exit 4 if not)."
)
@click.option("--upgrade", is_flag=True, help="Take the newest versions, not those of the former lock.")
@click.option(
    "--target", "targets", multiple=True, help="Only this target (linux-x86_64, windows-x86_64, ...)."
)
@click.option("--python", "pythons", multiple=True, help="Only this Python (3.10).")
@click.option("--offline", is_flag=True, help="Use caches only, no network.")
@click.option(
    "--catalog", "replay", type=_FOLDER, metavar="DIR",
    help="Take what this recorded catalogue holds from it, and only the rest from the indexes.",
)  # fmt: skip
@click.option(
    "--record",
    type=_FOLDER,
    metavar="DIR",
    help="Add the index pages and metadata that are used to a catalogue.",
)
@json_option
@quiet_option
def command(
    profiles: tuple[str, ...], every: bool, check: bool, as_json: bool, quiet: bool, **chosen: Any
) -> int:
    """Lock PROFILES: one file for each target and Python, beside the profile in locks/, to be committed."""
    from provision.cli.common import make_session
    from provision.pipeline.profiles import read, variants_of

    session = make_session(quiet=quiet, as_json=as_json, offline=chosen["offline"])
    session.replay, session.record = _absolute(chosen["replay"]), _absolute(chosen["record"])
    references = _references(profiles, every, session)
    sources = [v for reference in references for v in variants_of(read(reference, session.folder))]
    if check:
        return _check(sources, session, as_json, quiet)
    done = [locked for source in sources for locked in _lock(source, session, chosen)]
    return _report(done, as_json, quiet)


def _absolute(folder: Path | None) -> Path | None:
    return folder.absolute() if folder else None


def _references(profiles: tuple[str, ...], every: bool, session: Session) -> list[str]:
    if every:
        return [str(p) for p in sorted((session.folder / "profiles").glob("*.yaml"))]
    if not profiles:
        raise UsageError(
            Finding("usage", "error", "Name a profile, or --all for every profile in profiles/.")
        )
    return list(profiles)


def _lock(source: Source, session: Session, chosen: dict[str, Any]) -> list[Locked]:
    from provision.pipeline.locks import combinations, lock_pair

    pairs = combinations(source.profile, session, chosen["targets"])
    wanted = [pair for pair in pairs if not chosen["pythons"] or pair[1] in chosen["pythons"]]
    return [lock_pair(source, session, target, python, chosen["upgrade"]) for target, python in wanted]


def _check(sources: list[Source], session: Session, as_json: bool, quiet: bool) -> int:
    from provision.cli.rendering import print_findings, print_json, say
    from provision.pipeline.locks import check_profile

    findings = [finding for source in sources for finding in check_profile(source, session)]
    if any(finding.severity == "error" for finding in findings):
        raise LockError(findings)
    if as_json:
        shown = [finding.to_json() for finding in findings]
        print_json({"outcome": "matching", "profiles": [s.profile.name for s in sources], "findings": shown})
        return 0
    print_findings(findings)
    if not quiet:
        say(f"{len(sources)} {'profile matches its' if len(sources) == 1 else 'profiles match their'} locks.")
    return 0


def _report(done: list[Locked], as_json: bool, quiet: bool) -> int:
    from provision.cli.rendering import print_json

    failed = [locked for locked in done if locked.status == "failed"]
    if as_json:
        print_json(
            {
                "locks": [_as_json(d) for d in done],
                "findings": [f.to_json() for d in failed for f in d.findings],
            }
        )
        return UnsatisfiableError.exit_code if failed else 0
    if not quiet:
        _show(done)
    if failed:
        findings = {f.summary: f for locked in failed for f in locked.findings}
        raise _error(list(findings.values()))
    return 0


def _error(findings: list[Finding]) -> ProvisionError:
    return UnsatisfiableError(findings)


def _as_json(locked: Locked) -> dict[str, Any]:
    return {
        "profile": locked.profile,
        "target": locked.target,
        "python": locked.python,
        "status": locked.status,
        "path": str(locked.path),
        "packages": len(locked.lock.packages) if locked.lock else None,
    }


def _show(done: list[Locked]) -> None:
    from provision.cli.rendering import say, table
    from provision.cli.showing import shown

    rows = [
        (
            d.status,
            d.profile,
            d.target,
            f"Python {d.python}",
            f"{len(d.lock.packages)} packages" if d.lock else "",
            shown(d.path),
        )
        for d in done
    ]
    for line in table(rows):
        say(line)
