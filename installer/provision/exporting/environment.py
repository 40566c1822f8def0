"""environment.yml: Python from conda, every package from pip with its hash."""

from __future__ import annotations

import json
from collections.abc import Mapping

from provision.exporting.heading import comments
from provision.exporting.requirements import entries, places
from provision.model.lock import Lock


def environment(lock: Lock, urls: Mapping[str, str]) -> str:
    lines = [
        *(f"# {text}" for text in comments(lock)),
        f"name: {json.dumps(lock.profile)}",
        "channels: [conda-forge]",
    ]
    lines += ["dependencies:", f"- python={lock.python}", "- pip", "- pip:"]
    lines += [f"  - {_quoted(place)}" for place in places(lock, urls)]
    pairs = iter(entries(lock, urls))
    # A requirement and its hash stand on two lines of a requirements file; here they are one item.
    lines += [
        f"  - {_quoted(f'{first.removesuffix(chr(92))}{second.strip()}')}"
        for first, second in zip(pairs, pairs, strict=True)
    ]
    if lock.variables:
        lines += [
            "variables:",
            *(f"  {key}: {_quoted(value)}" for key, value in sorted(lock.variables.items())),
        ]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
