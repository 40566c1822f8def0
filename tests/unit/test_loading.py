"""Profiles: what is read, what is meant, and what is said about everything that is wrong."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import profiles

from provision.documents import dump_yaml
from provision.loading import load, load_file, profile_digest
from provision.loading.bases import LIMIT, MAX_BASES
from provision.model.finding import ProfileError
from provision.model.profile import Framework, Index, Profile

DATA = Path(__file__).parent.parent / "data" / "bad-profiles"


def screen(error: ProfileError) -> str:
    """The findings as a person sees them."""
    lines = []
    for finding in error.findings:
        lines.append(finding.summary)
        lines += [evidence.text for evidence in finding.evidence if evidence.text]
    return "\n".join(lines) + "\n"


def refused(text: str | bytes, origin: str = "p.yaml", files: dict[str, str] | None = None) -> ProfileError:
    with pytest.raises(ProfileError) as caught:
        load(text, origin, reader(files or {}))
    return caught.value


def codes(text: str | bytes, files: dict[str, str] | None = None) -> list[str]:
    return [finding.code for finding in refused(text, files=files).findings]


def reader(files: dict[str, str]):
    def read(path: str) -> bytes:
        if path not in files:
            raise FileNotFoundError(path)
        return files[path].encode()

    return read


# --- good profiles


def test_a_whole_profile():
    profile = load(
        """\
# yaml-language-server: $schema=../schemas/profile.schema.json
schema: 1
name: nvidia-cuda118-dual
targets: [windows-x86_64, linux-x86_64]
hardware: {vendor: nvidia, compute-capability: "8.6", driver: "535.54"}
python: "3.10"
frameworks: {torch: "== 2.0.1", tensorflow: {version: "<2.11,>=2.10", package: tensorflow_cpu}}
accelerator: {cuda: "11.8", cudnn: "8.6"}
packages: [jupyterlab, "numpy < 2"]
absent: [TensorFlow_DirectML.plugin]
indexes:
- {name: pytorch-cu118, url: "https://example.org/whl/cu118", packages: [torch, torchvision]}
environment: {path: "环境 😀/.venv"}
variables: {TF_CPP_MIN_LOG_LEVEL: "1"}
smoke: {jobs: [torch, dual], device: gpu}
as-of: 2024-06-30
""",
        "profiles/a.yaml",
    )
    assert profile.python == "==3.10.*"
    assert profile.hardware.compute_capability == "==8.6"
    assert profile.hardware.driver == ">=535.54"
    assert profile.frameworks == {
        "torch": Framework(version="==2.0.1"),
        "tensorflow": Framework(version="<2.11,>=2.10", package="tensorflow-cpu"),
    }
    assert profile.packages == ("jupyterlab", "numpy<2")
    assert profile.absent == ("tensorflow-directml-plugin",)
    assert profile.indexes == (
        Index(name="pytorch-cu118", url="https://example.org/whl/cu118", packages=("torch", "torchvision")),
    )
    assert profile.environment.path == "环境 😀/.venv"
    assert profile.as_of == "2024-06-30"
    assert profile.smoke.level == "train"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("3.10", "==3.10.*"),
        ("3.10.*", "==3.10.*"),
        ("3", "==3.*"),
        ("3.10.4", "==3.10.4"),
        (">=3.10, <3.14", "<3.14,>=3.10"),
        ("<3.14,>=3.10", "<3.14,>=3.10"),
        ("~=3.10.2", "~=3.10.2"),
        ("*", "*"),
        ("==3.14.0rc1", "==3.14.0rc1"),
    ],
)
def test_python(written: str, meant: str):
    assert load(f'name: a\npython: "{written}"', "p.yaml").python == meant


def test_null_means_the_default():
    assert load("name: a\npackages:\nsmoke: {level: null}\npython: ~", "p.yaml") == Profile(name="a")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_names_the_encoding(encoding: str):
    assert load("name: a\ndescription: 你好".encode(encoding), "p.yaml").description == "你好"


def test_windows_line_ends_and_aliases():
    profile = load("name: a\r\npackages: &p [numpy]\r\nabsent: *p\r\n", "p.yaml")
    assert (profile.packages, profile.absent) == (("numpy",), ("numpy",))


# --- bad profiles


@pytest.mark.parametrize("path", sorted(DATA.glob("*.yaml")), ids=lambda path: path.stem)
def test_what_is_said_about_a_bad_profile(path: Path):
    error = refused(path.read_bytes(), f"profiles/{path.name}")
    assert error.exit_code == 2
    assert screen(error) == path.with_suffix(".txt").read_text(encoding="utf-8")


def test_the_screen_of_an_unknown_key():
    text = "name: a\nsmoke: {}\n  \n\n\n\nframework: {tensorflow: '==2.10.0'}\n"
    assert screen(refused(text, "profiles/team.yaml")) == (
        "profiles/team.yaml:7:1: unknown key 'framework'\n"
        "    7 | framework: {tensorflow: '==2.10.0'}\n"
        "      | ^^^^^^^^^ did you mean 'frameworks'?\n"
    )


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "empty"),
        ("# only a comment\n", "empty"),
        ("---\n", "empty"),
        (b"", "empty"),
        ("null", "wrong-type"),
        ("name", "wrong-type"),
        ("[" * 5000, "too-deep"),
        ("[" * 100 + "]" * 100, "too-deep"),
        ("name: *nowhere", "unknown-alias"),
        ("name: a\n? [b]\n: c", "wrong-type"),
        ("name: a\nb\x07: c", "control-character"),
        ("name: \x00", "control-character"),
        ("name: \ud800", "control-character"),
        ("name: a\ufeff", "control-character"),
        ("名字: 测试".encode("gbk"), "not-utf8"),
        (b"name: \xff", "not-utf8"),
        (b"name: a\ndescription: \xe4\xbd", "not-utf8"),
        (b"\xff\xfea", "not-utf8"),
        ("%YAML 3.0\n---\nname: a", "yaml-syntax"),
        ("name: [a]", "wrong-type"),
        ("name: true", "wrong-type"),
        ("name: a\nsmoke: train", "wrong-type"),
        ("name: a\nsmoke: {time-limit: '5'}", "wrong-type"),
        ("name: a\nsmoke: {time-limit: 1e3}", "wrong-type"),
        ("name: a\nsmoke: {time-limit: 99999999999999999999999}", "bad-value"),
        ("name: a\nenvironment: {pip: 1}", "wrong-type"),
        ("name: a\ntargets: [[linux-x86_64]]", "wrong-type"),
        ("name: a\ntargets: [null]", "wrong-type"),
        ("name: a\nframeworks: {torch: 2.0}", "wrong-type"),
        ("name: a\nframeworks: {torch: [a]}", "wrong-type"),
        ("name: a\nvariables: {A: 1:30}", "wrong-type"),
        ("name: a\nschema: one", "bad-value"),
        ("name: a\nextends: [b]", "wrong-type"),
        ("name: a/b", "bad-value"),
        ("name: .a", "bad-value"),
        (f"name: {'a' * 65}", "bad-value"),
        ("name: a\npython: '2.7'", "bad-value"),
        ("name: a\npython: py310", "bad-value"),
        ("name: a\nenvironment: {path: ~}", None),
        ("name: a\nenvironment: {path: '~'}", "bad-value"),
        ("name: a\nenvironment: {path: 'a/..'}", "bad-value"),
        ("name: a\nenvironment: {path: '../..'}", "bad-value"),
        ("name: a\nenvironment: {path: 'C:\\'}", "bad-value"),
        ("name: a\nhardware: {driver: new}", "bad-value"),
        ("name: a\nindexes: [{name: b, url: 'https://[', packages: [c]}]", "bad-value"),
        ("name: a\nindexes: [{name: b, url: 'https://e.org/a b', packages: [c]}]", "bad-value"),
        ("name: a\nindexes: [{name: b, url: '', packages: [c]}]", "bad-value"),
        ("name: a\nabsent: [numpy<2]", "bad-value"),
    ],
)
def test_each_fault_has_its_code(text: str | bytes, code: str | None):
    if code is None:
        load(text, "p.yaml")
    else:
        assert codes(text) == [code]


def test_a_profile_that_is_too_large_is_not_read():
    assert codes("#" * (LIMIT + 1)) == ["too-large"]


@pytest.mark.parametrize(
    "origin", ["my profiles/a b.yaml", "配置/显卡.yaml", "🚀/p.yaml", "C:\\我的 文件\\p.yaml"]
)
def test_any_path_may_be_the_origin(origin: str):
    assert refused("name: a\nfoo: 1", origin).findings[0].summary.startswith(f"{origin}:2:1: ")


def test_credentials_are_not_repeated():
    error = refused("name: a\nindexes: [{name: b, url: 'https://me:hunter2@e.org/s', packages: [c]}]")
    assert "hunter2" not in screen(error) + repr(error.findings)


def test_a_long_line_is_cut_around_the_fault():
    shown = refused(f"name: a\nvariables: {{{', '.join(f'V{n}: x' for n in range(90))}, W: 1}}").findings[0]
    line, carets = shown.evidence[0].text.splitlines()
    assert len(line) < 120
    assert line[carets.index("^")] == "1"


def test_findings_are_limited():
    assert len(refused("name: a\n" + "".join(f"k{n}: 1\n" for n in range(500))).findings) == 50


# --- files


def test_a_file_that_cannot_be_read(tmp_path: Path):
    def read(path: str) -> bytes:
        return Path(path).read_bytes()

    (tmp_path / "中文 dir").mkdir()
    for name, words in {"no.yaml": "no such file", "中文 dir": "folder", "a\0b": "no path"}.items():
        with pytest.raises(ProfileError, match=words):
            load_file(str(tmp_path / name), read)
    good = tmp_path / "中文 dir" / "🚀 p.yaml"
    good.write_text("name: a", encoding="utf-8")
    assert load_file(str(good), read).name == "a"


# --- extends


BASE = """\
name: base
description: of the base
python: "3.10"
frameworks: {torch: "==2.0.1", tensorflow: "==2.10.1"}
packages: [numpy, scipy]
environment: {path: .env, pip: true}
variables: {A: "1", B: "2"}
"""


def test_a_base_is_merged():
    child = """\
name: child
extends: ../base.yaml
frameworks: {tensorflow: {package: tensorflow-cpu}, torch: null}
packages: [pandas]
environment: {pip: null}
variables: {B: "3", C: "4"}
"""
    profile = load(child, "profiles/team/child.yaml", reader({"profiles/base.yaml": BASE}))
    assert (profile.name, profile.description, profile.python) == ("child", "of the base", "==3.10.*")
    assert profile.frameworks == {"tensorflow": Framework(version="==2.10.1", package="tensorflow-cpu")}
    assert profile.packages == ("pandas",)
    assert (profile.environment.path, profile.environment.pip) == (".env", False)
    assert profile.variables == {"A": "1", "B": "3", "C": "4"}
    assert profile.extends is None


def test_a_fault_in_a_base_points_into_the_base():
    files = {"base.yaml": 'name: base\npython: "2.7"\npackage: [a]\n'}
    error = refused("name: child\nextends: base.yaml\nfoo: 1\n", "p.yaml", files)
    places = [finding.evidence[0].source for finding in error.findings]
    assert places == ["p.yaml:3:1", "base.yaml:2:9", "base.yaml:3:1"]


def test_a_name_is_not_inherited():
    assert codes("extends: base.yaml", {"base.yaml": BASE}) == ["missing-key"]


def test_a_broken_base_hides_no_fault_of_the_profile():
    error = refused("name: child\nextends: base.yaml\nfoo: 1\n", "p.yaml", {"base.yaml": "a: b: c"})
    assert [f.code for f in error.findings] == ["unknown-key", "yaml-syntax"]


@pytest.mark.parametrize(
    ("extends", "code"),
    [
        ("missing.yaml", "unreadable"),
        ("p.yaml", "extends-circle"),
        ("./x/../p.yaml", "extends-circle"),
        ("round.yaml", "extends-circle"),
        ("https://example.org/base.yaml", "bad-value"),
        ("file:///base.yaml", "bad-value"),
        ("/base.yaml", "bad-value"),
        ("\\\\server\\share\\base.yaml", "bad-value"),
        ("C:/base.yaml", "bad-value"),
        ("'~/base.yaml'", "bad-value"),
        ("''", "bad-value"),
    ],
)
def test_bases_that_cannot_be(extends: str, code: str):
    assert codes(f"name: a\nextends: {extends}", {"round.yaml": "name: b\nextends: p.yaml"}) == [code]


def test_the_chain_of_bases_is_limited():
    files = {f"b{n}.yaml": f"name: b\nextends: b{n + 1}.yaml" for n in range(MAX_BASES + 3)}
    assert codes("name: a\nextends: b0.yaml", files) == ["extends-depth"]


def test_without_a_reader_nothing_is_extended():
    with pytest.raises(ProfileError, match="cannot be read here"):
        load("name: a\nextends: b.yaml", "p.yaml")


# --- the digest


def test_the_digest_is_of_the_meaning():
    written = load("name: a\npython: '3.10'\npackages: ['numpy < 2']", "p.yaml")
    same = load("# a comment\npackages:\n- numpy<2\npython: '==3.10.*'\nname: a\nsmoke: {}", "q.yaml")
    assert profile_digest(written) == profile_digest(same)
    assert profile_digest(written) == profile_digest(replace(same, description="for people"))
    assert profile_digest(written) != profile_digest(replace(same, packages=()))
    assert profile_digest(written) != profile_digest(replace(same, name="b"))


def test_the_digest_stays_what_it_was():
    """Locks in people's repositories hold it: it may change with the meaning of a profile only."""
    profile = load("name: a\npython: '3.10'\nframeworks: {torch: '==2.0.1'}", "p.yaml")
    assert profile_digest(profile) == "c85f409e5cd7ac5e5f900d0829dfcfd3989bb429a8a5e20e521c0f9612c4c168"


# --- properties


@given(st.text(st.characters(codec=None)) | st.binary())
def test_any_text_is_a_profile_or_a_profile_error(text: str | bytes):
    with contextlib.suppress(ProfileError):
        load(text, "p.yaml", reader({}))


WORDS = (
    "name python packages smoke jobs level frameworks torch indexes url extends &a *a << - [ ] { } : , ? ! "
    "| > ' \" # % @ ` --- ... 3.10 on null ~ !!str .inf 0x1 1_000 \\x 你 😀"
)
BREAKS = ["\n", "\n ", "\n  ", "\r\n", "\t", "\x85"]


@settings(max_examples=400)
@given(st.lists(st.sampled_from(WORDS.split(" ") + BREAKS), max_size=30), st.sampled_from(["", " ", ": "]))
def test_any_broken_yaml_is_a_profile_error(words: list[str], glue: str):
    with contextlib.suppress(ProfileError):
        load("name: a\n" + glue.join(words), "p.yaml", reader({}))


@given(profiles())
def test_a_dumped_profile_is_read_back(profile: Profile):
    assert load(dump_yaml(profile), "p.yaml") == profile
