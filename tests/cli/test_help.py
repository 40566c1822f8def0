"""What `--help` says: every verb has an example that it takes."""

from __future__ import annotations

import re

import click
import pytest

from provision.cli.group import PAIRS, VERBS, command
from tests.cli.conftest import Here

ALL = [*VERBS, *PAIRS]


def found(verb: str) -> click.Command:
    with click.Context(command) as context:
        name, one, _ = command.resolve_command(context, verb.split())
    assert (name, one is not None) == (verb, True)
    assert one is not None
    return one


@pytest.mark.parametrize("verb", ALL)
def test_every_verb_has_an_example_with_words_that_it_knows(verb: str, here: Here) -> None:
    ran = here(*verb.split(), "--help")
    assert ran.code == 0
    examples = re.findall(rf"^ {{6,}}.*?(provision {verb}(?: .*|$))", ran.out, re.MULTILINE)
    assert examples, ran.out
    one = found(verb)
    options = {word for param in one.params for word in (*param.opts, *param.secondary_opts)}
    if isinstance(one, click.Group):
        options |= {w for sub in one.commands.values() for param in sub.params for w in param.opts}
    for example in examples:
        words = re.split(r"\s{3,}|\s\|\s| -- ", example)[0].split()
        assert [
            w for w in words if w.startswith("-") and w not in ("-", "--") and w.split("=")[0] not in options
        ] == []


def test_the_list_of_verbs_is_short_enough_to_read(here: Here) -> None:
    ran = here("--help")
    assert all(verb in ran.out for verb in VERBS)
    assert all(text[0].isupper() and text.endswith(".") for text in VERBS.values())
