"""provision profiles"""

from __future__ import annotations

from provision.cli.common import json_option
from provision.cli.helping import verb


@verb("profiles")
@json_option
def command(as_json: bool) -> int:
    from provision.cli.rendering import print_json, say, table
    from provision.pipeline.profiles import bundled, read
    from provision.pipeline.session import Session

    found = [read(name, Session().folder).profile for name in bundled()]
    if as_json:
        rows = [{"name": p.name, "targets": list(p.targets), "description": p.description} for p in found]
        print_json({"profiles": rows, "findings": []})
    else:
        for line in table([(p.name, ", ".join(p.targets), p.description) for p in found]):
            say(line)
    return 0
