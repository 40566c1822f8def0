"""provision completion"""

from __future__ import annotations

import click

from provision.cli.common import json_option
from provision.cli.helping import verb
from provision.cli.rendering import print_json

_SHELLS = ("bash", "fish", "zsh")


@verb("completion")
@click.argument("shell", type=click.Choice(_SHELLS))
@json_option
def command(shell: str, as_json: bool) -> int:
    from click.shell_completion import get_completion_class

    from provision.cli.group import command as group

    cls = get_completion_class(shell)
    assert cls is not None
    script = cls(group, {}, "provision", "_PROVISION_COMPLETE").source()
    if as_json:
        print_json({"shell": shell, "script": script, "findings": []})
    else:
        click.echo(script)
    return 0
