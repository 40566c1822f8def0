"""What the resolver says when there is no closure -> findings that say what is so and what to do."""

from __future__ import annotations

import pytest

from provision.locking.failures import closure_findings
from provision.ports import Catalog, CatalogFailure, ClosureRequest, Release

BUILD = """\
  x Failed to build `tensorflow-gpu==2.12.0`
  |-> The build backend returned an error
  `-> Call to `setuptools.build_meta:__legacy__.get_requires_for_build_wheel` failed (exit status: 1)

      [stderr]
      Traceback (most recent call last):
        File "<string>", line 14, in <module>
        File "setuptools/_reqs.py", line 84, in __init__
      packaging._tokenizer.ParserSyntaxError: Expected semicolon
          python_version>"3.7"

      The above exception was the direct cause of the following exception:

      Traceback (most recent call last):
        File "setuptools/requirements.py", line 86, in __init__
      packaging.requirements.InvalidRequirement: Expected semicolon (after name with no version specifier) or end

      hint: Build failures usually indicate a problem with the package or the build environment
"""


class Empty(Catalog):
    """An index that holds nothing."""

    def releases(self, name: str, index: str) -> tuple[Release, ...]:
        return ()


REQUEST = ClosureRequest(requirements=("tensorflow-gpu==2.12.0",), python="3.10", target="linux-x86_64")


def test_a_source_that_cannot_be_asked_is_told_by_its_last_error() -> None:
    (found,) = closure_findings(CatalogFailure(text=BUILD), REQUEST, Empty(), {})
    assert found.code == "source-not-built"
    assert "tensorflow-gpu 2.12.0" in found.summary
    (proof,) = found.evidence
    assert proof.text.startswith("packaging.requirements.InvalidRequirement: Expected semicolon (after name")
    assert "Traceback" not in proof.text


class Released(Empty):
    """An index with candidates beside a release."""

    def releases(self, name: str, index: str) -> tuple[Release, ...]:
        return tuple(
            Release(version=v, file=f"{name}-{v}-py3-none-any.whl") for v in ("2.20.0", "2.21.0rc0", "2.21.0")
        )


@pytest.mark.parametrize(("wanted", "near"), [("2.21.1", "2.21.0"), ("2.21.0rc1", "2.21.0rc0")])
def test_the_nearest_of_a_release_is_a_release(wanted: str, near: str) -> None:
    pin = f"tensorflow-cpu=={wanted}"
    text = f"error: Because there is no version of {pin} and the-profile depends on {pin}, no"
    (found,) = closure_findings(CatalogFailure(text=text), REQUEST, Released(), {})
    assert (found.code, found.remedies[0].text) == ("no-such-version", f"Ask for tensorflow-cpu=={near}.")


def test_what_the_cache_lacks_is_no_conflict() -> None:
    text = (
        "error: Because all versions of six need to be downloaded from a registry and the-profile depends on six, no. "
        "hint: Packages were unavailable because the network was disabled."
    )
    (found,) = closure_findings(CatalogFailure(text=text), REQUEST, Empty(), {})
    assert found.code == "offline-missing"
    assert "six" in found.summary


def test_the_resolvers_words_are_cut_where_nobody_reads_on() -> None:
    text = "error: because " + "a depends on b and " * 200
    (found,) = closure_findings(CatalogFailure(text=text), REQUEST, Empty(), {})
    assert found.code == "conflict"
    assert len(found.evidence[0].text) < 700
    assert found.evidence[0].text.endswith(" ...")


def test_a_name_is_to_be_used_and_words_say_themselves_what_to_do() -> None:
    names = {"tf-estimator": ("no such project", ("leave the line out", "tensorflow-estimator"))}
    text = (
        "Because tf-estimator was not found in the package registry and the-profile depends on tf-estimator"
    )
    (found,) = closure_findings(CatalogFailure(text=text), REQUEST, Empty(), names)
    assert [way.text for way in found.remedies] == ["Leave the line out.", "Use tensorflow-estimator."]
