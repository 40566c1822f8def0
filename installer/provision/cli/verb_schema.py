"""provision schema"""

from __future__ import annotations

import click

from provision.cli.common import json_option
from provision.cli.helping import verb

_DOCUMENTS = ("profile", "lock", "plan", "saved-plan", "receipt", "knowledge")


@verb("schema")
@click.argument("document", type=click.Choice(_DOCUMENTS), default="profile", metavar="[DOCUMENT]")
@json_option
def command(document: str, as_json: bool) -> int:
    """The schema is JSON with and without `--json`."""
    from provision.schemas import schemas, text

    if document == "knowledge":
        from provision.knowledge.schema import file_schema

        made = file_schema()
    else:
        made = schemas()[f"{document}.schema.json"]
    click.echo(text(made), nl=False)
    return 0
