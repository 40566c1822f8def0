"""Hypothesis strategies that several tests share: values as `load` would leave them, and any of our nouns."""

from __future__ import annotations

import dataclasses
import types
import typing
from typing import Any, Literal

from hypothesis import strategies as st

from provision.documents.reading import hints
from provision.model.profile import Environment, Framework, Hardware, Index, Profile, Smoke

#: Text that a YAML or JSON document can hold: everything but lone surrogates.
TEXT = st.text(st.characters(codec="utf-8"), max_size=20) | st.sampled_from(
    [
        "on",
        "no",
        "null",
        "~",
        "3.10",
        "1:30",
        "0x1",
        "1e3",
        ".5",
        "- a",
        "a: b",
        "a #b",
        " a ",
        "'",
        '"',
        "\\",
        "=",
        "\x85",
    ]
)
VERSIONS = st.sampled_from(["*", "==2.10.1", "<2.12,>=2.10", "~=1.4", "==2.*", "!=1.5"])
NAMES = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True).filter(
    lambda name: "--" not in name and name not in ("con", "prn", "aux", "nul", "pypi")
)
LINES = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp", "Zs"]), min_size=1, max_size=9
)


def unique(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(strategy, max_size=3, unique=True).map(tuple)


def indexes() -> st.SearchStrategy[tuple[Index, ...]]:
    """Indexes with names of their own, no package in two of them."""
    urls = st.sampled_from(["https://example.org/simple", "http://localhost:8080/a", "file:///wheels"])
    return st.lists(
        st.tuples(NAMES, urls, NAMES), max_size=3, unique_by=(lambda i: i[0], lambda i: i[2])
    ).map(lambda rows: tuple(Index(name=name, url=url, packages=(package,)) for name, url, package in rows))


def literals(cls: Any, attribute: str) -> st.SearchStrategy[Any]:
    hint = hints(cls)[attribute]
    args = [a for arg in (hint, *typing.get_args(hint)) for a in (arg, *typing.get_args(arg))]
    return st.sampled_from([a for a in args if isinstance(a, str)])


def profiles() -> st.SearchStrategy[Profile]:
    framework = st.builds(
        Framework, version=VERSIONS, package=st.none() | NAMES.map(lambda n: f"x{n}"), extras=unique(NAMES)
    )
    return st.builds(
        Profile,
        name=NAMES,
        description=TEXT,
        targets=unique(literals(Profile, "targets")),
        hardware=st.builds(
            Hardware,
            vendor=literals(Hardware, "vendor"),
            compute_capability=st.none() | st.sampled_from(["==8.6", ">=5.0"]),
            architecture=st.none() | LINES,
            driver=st.none() | st.just(">=535.54"),
        ),
        python=st.sampled_from(["==3.10.*", "<3.14,>=3.10", ">=3.10", "*"]),
        frameworks=st.dictionaries(st.sampled_from(["torch", "tensorflow"]), framework),
        accelerator=st.dictionaries(NAMES, LINES, max_size=2),
        packages=unique(
            st.sampled_from(["numpy<2", "a[b]==1; python_version < '3'", "jupyterlab"]).map(_normal)
        ),
        absent=unique(st.sampled_from(["keras-nightly", "opencv-python"])),
        indexes=indexes(),
        environment=st.builds(Environment, path=LINES.map(lambda t: f"e/{t}e"), pip=st.booleans()),
        variables=st.dictionaries(
            st.from_regex(r"[A-Za-z_][A-Za-z0-9_]*", fullmatch=True), LINES | st.just(""), max_size=2
        ),
        smoke=st.builds(
            Smoke,
            jobs=unique(literals(Smoke, "jobs")),
            level=literals(Smoke, "level"),
            device=st.none() | literals(Smoke, "device"),
            time_limit=st.integers(1, 604800),
        ),
        as_of=st.none() | st.dates().map(lambda d: d.isoformat()),
    )


def _normal(requirement: str) -> str:
    from packaging.requirements import Requirement

    return str(Requirement(requirement))


def nouns(hint: Any) -> st.SearchStrategy[Any]:
    """Any value of a type that our nouns use, from its hints alone."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return st.one_of([st.none() if arg is type(None) else nouns(arg) for arg in args])
    if origin is Literal:
        return st.sampled_from(args)
    if origin is tuple:
        return st.lists(nouns(args[0]), max_size=2).map(tuple)
    if origin is dict:
        return st.dictionaries(nouns(args[0]), nouns(args[1]), max_size=2)
    if dataclasses.is_dataclass(hint):
        return st.deferred(lambda: st.builds(hint, **{name: nouns(t) for name, t in hints(hint).items()}))
    return BASIC[hint]


ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**18), 10**18) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
BASIC: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXT,
    int: st.integers(-(10**18), 10**18),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    Any: ANY,
}
