"""provision status"""

from __future__ import annotations

from typing import TYPE_CHECKING

from provision.cli.common import environment_option, json_option, profile_argument, quiet_option
from provision.cli.helping import verb
from provision.cli.language import word

if TYPE_CHECKING:
    from provision.pipeline.session import Session


@verb("status")
@profile_argument(required=False)
@environment_option
@json_option
@quiet_option
def command(profile: str | None, environment: str | None, as_json: bool, quiet: bool) -> int:
    from dataclasses import asdict

    from provision.cli.rendering import print_json
    from provision.pipeline.places import current_state
    from provision.pipeline.session import Session

    session = Session()
    state = current_state(session, profile, environment)
    if state.kind == "foreign" and session.files.stat(f"{state.environment}/conda-meta") is not None:
        return _conda(state.environment, session, as_json, quiet)
    if state.kind == "foreign":
        return _foreign(state.environment, session, as_json, quiet)
    if as_json:
        print_json({**asdict(state), "drifted": state.drifted, "findings": []})
    elif not quiet:
        from provision.cli.showing import show_status

        show_status(state)
    return 0 if state.kind in ("ours", "adopted") and not state.drifted else 1


def _foreign(environment: str, session: Session, as_json: bool, quiet: bool) -> int:
    """An environment of another maker: what it is, and what is broken in it."""
    from provision.cli.rendering import print_findings, print_json, say
    from provision.cli.showing import shown
    from provision.pipeline.strangers import damage, stock_of, words

    stock = stock_of(session, environment)
    findings = tuple(damage(stock))
    if as_json:
        rows = [{"name": one.name, "version": one.version} for one in stock.distributions]
        print_json(
            {"kind": "foreign", "environment": environment, "manager": stock.maker, "python": stock.python,
             "packages": rows, "findings": [f.to_json() for f in findings]}
        )  # fmt: skip
    elif not quiet:
        say(f"{shown(environment)}   {word('cli.status.stranger', what=words(stock))}")
        print_findings(findings, err=False)
        if stock.packages and not stock.externally_managed:
            say(word("cli.status.in-place", environment=shown(environment)))
    return 1


def _conda(prefix: str, session: Session, as_json: bool, quiet: bool) -> int:
    """A conda environment that is not ours: what stands in it, and what two managers own."""
    from provision.cli.rendering import print_findings, print_json, say
    from provision.cli.showing import shown
    from provision.condaprefix import double_findings
    from provision.pipeline.exchange import foreign_conda

    found = foreign_conda(prefix, session)
    assert found is not None
    findings = double_findings(found)
    if as_json:
        rows = [
            dict(zip(("name", "version", "build", "channel"), row, strict=True)) for row in found.packages
        ]
        wheels = [{"name": name, "version": version} for name, version in found.wheels]
        print_json(
            {"kind": "foreign", "environment": prefix, "manager": "conda", "conda": rows, "wheels": wheels,
             "findings": [f.to_json() for f in findings]}
        )  # fmt: skip
    elif not quiet:
        key = "conda-wheels" if found.wheels else "conda"
        text = word(f"cli.status.{key}", count=len(found.packages), wheels=len(found.wheels))
        say(f"{shown(prefix)}   {text}")
        print_findings(findings, err=False)
    return 1
