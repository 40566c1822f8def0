"""A first profile as text: few lines, each with a comment that says why it is there. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from provision.documents.source import visible
from provision.model.profile import Hardware, Index

#: Where a comment behind a value begins, and where a comment of its own breaks.
_COLUMN, _WIDTH = 38, 110


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a profile says, and (`..._because`) the comments beside it.

    `frameworks` and `accelerator` map a name to a version; `held` versions of the runtime are written as a comment:
    the solver takes them by itself. `needs` are those of the stack.
    """

    name: str
    description: str
    targets: tuple[str, ...]
    hardware: Hardware
    hardware_because: str = ""
    python: str
    python_because: str = ""
    frameworks: Mapping[str, str] = field(default_factory=dict)
    packages_of: Mapping[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    frameworks_because: Mapping[str, str] = field(default_factory=dict)
    accelerator: Mapping[str, str] = field(default_factory=dict)
    accelerator_because: str = ""
    held: Mapping[str, str] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    indexes: tuple[Index, ...] = ()
    vendor_files: tuple[str, ...] = ()


def draft(what: Draft) -> str:
    """The text of the profile. It is not checked here: load it."""
    return "\n".join([*_head(what), *_hardware(what), *_frameworks(what), *_rest(what)]) + "\n"


def _head(what: Draft) -> Iterator[str]:
    yield "schema: 1"
    yield f"name: {_text(what.name)}"
    yield f"description: {_text(what.description)}"
    yield from _comment(
        "Systems to make locks for. A colleague's is one more word: windows-x86_64, linux-aarch64 ..."
    )
    yield f"targets: {_list(what.targets)}"


def _hardware(what: Draft) -> Iterator[str]:
    hardware = what.hardware
    yield ""
    yield from _comment(what.hardware_because)
    yield "hardware:"
    values = {
        "vendor": hardware.vendor, "compute-capability": hardware.compute_capability,
        "architecture": hardware.architecture, "libc": hardware.libc,
    }  # fmt: skip
    yield from (f"  {key}: {_text(value)}" for key, value in values.items() if value)
    yield from _comment(
        "The stack needs these; provision looks for them before each apply:" if what.needs else ""
    )
    yield from (line for need in what.needs for line in _comment(need, "#   "))


def _frameworks(what: Draft) -> Iterator[str]:
    yield ""
    yield _beside(f"python: {_text(what.python)}", what.python_because)
    yield ("frameworks:" if what.frameworks else "frameworks: {}")
    for name, version in what.frameworks.items():
        package, extras = what.packages_of.get(name, ("", ()))
        value = _text(version)
        if package:
            more = f", extras: {_list(extras)}" if extras else ""
            value = f"{{version: {value}, package: {_text(package)}{more}}}"
        yield _beside(f"  {name}: {value}", what.frameworks_because.get(name, ""))
    if what.accelerator:
        yield from _comment(what.accelerator_because)
        yield f"accelerator: {_mapping(what.accelerator)}"
    elif what.held:
        yield from _comment("What the stack is for; take the # away to hold it when knowledge grows:")
        yield f"# accelerator: {_mapping(what.held)}"


def _rest(what: Draft) -> Iterator[str]:
    yield ""
    yield from _comment("Further packages, as in requirements.txt.")
    yield f"packages: {_list(what.packages)}"
    if what.vendor_files:
        yield ""
        yield from _comment(
            "No index serves these: put them into ./vendor (another folder: wheels: {folder: ...}), then lock."
        )
        yield from (line for file in what.vendor_files for line in _comment(file, "#   "))
    if what.indexes:
        yield ""
        yield from _comment("These packages come from here and from nowhere else.")
        yield "indexes:"
        for index in what.indexes:
            yield f"  - name: {_text(index.name)}"
            yield f"    url: {_text(index.url)}"
            yield f"    packages: {_list(index.packages)}"


def _text(value: str) -> str:
    """A value in quotes where YAML could take it for something else."""
    plain = _PLAIN.fullmatch(value) and value.lower() not in _WORDS
    return value if plain else json.dumps(visible(value), ensure_ascii=False)


_PLAIN = re.compile(r"[A-Za-z][\w.-]*( [\w.-]+)*", re.ASCII)
_WORDS = ("true", "false", "yes", "no", "on", "off", "null", "y", "n")


def _list(values: Iterable[str]) -> str:
    return f"[{', '.join(map(_text, values))}]"


def _mapping(values: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{key}: {_text(value)}" for key, value in values.items()) + "}"


def _beside(line: str, comment: str) -> str:
    return f"{line.ljust(_COLUMN)} # {visible(comment)}" if comment else line


def _comment(text: str, prefix: str = "# ") -> Iterator[str]:
    """Lines of a comment, broken between words."""
    import textwrap

    yield from textwrap.wrap(
        visible(text), _WIDTH, initial_indent=prefix, subsequent_indent=prefix, break_long_words=False
    )


def names_of(frameworks: Sequence[str], vendor: str) -> str:
    """What a profile is called where no name is given: `nvidia-torch-tensorflow`."""
    return "-".join([vendor, *frameworks])
