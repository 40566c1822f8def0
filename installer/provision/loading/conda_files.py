"""environment.yml -> Profile: channels and conda packages as they stand, the pip section as wheels on top."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from provision.documents.reading import BadValueError
from provision.loading.values import channel, match_spec, requirement, slug, variable_name
from provision.messages import message
from provision.model.finding import Evidence, Finding, ProfileError, Remedy
from provision.model.profile import Environment, Framework, Hardware, Profile

#: A conda name of a framework -> the framework. A build string in the file keeps the package as it stands.
_FRAMEWORKS = {"pytorch": "torch", "tensorflow": "tensorflow", "tensorflow-gpu": "tensorflow"}
#: conda packages that say which CUDA is wanted.
_CUDA = ("cudatoolkit", "cuda-version", "pytorch-cuda")
_SPEC = re.compile(
    r"(?P<name>[\w.-]+)\s*(?P<version>[=<>!~][^=\s]*(?:=(?=[\d*]))?[^=\s]*)?(?:[=\s](?P<build>\S+))?"
)
_PYTHON = "3.12"
#: Name and password, or a token, in an address; none may reach a screen.
_CREDENTIALS = re.compile(r"(\w://)[^/@\s]+@")


@dataclass(frozen=True, slots=True)
class Spec:
    """One conda package as a file asks for it."""

    text: str
    name: str
    version: str = ""
    build: str = ""


def import_environment(text: str, origin: str, name: str) -> tuple[Profile, tuple[Finding, ...]]:
    """A profile that means what the file says, and findings for lines that it cannot take over. Raises ProfileError
    for a file that is no environment.yml."""
    document = _document(text, origin)
    findings: list[Finding] = []
    conda, pip = _dependencies(document, origin, findings)
    specs = [_spec(line) for line in conda]
    cuda = next((s for s in specs if s.name in _CUDA), None)
    frameworks = {_FRAMEWORKS[s.name]: Framework(version=_pep440(s)) for s in specs if _is_framework(s)}
    python = next((s for s in specs if s.name == "python"), None)
    gpu = cuda is not None or any("cuda" in s.build or s.name == "tensorflow-gpu" for s in specs)
    rest = [s for s in specs if s.name not in ("python", "pip") and not _is_framework(s) and s is not cuda]
    rest += [cuda] if cuda and not _pep440(cuda).startswith("==") else []
    profile = Profile(
        name=_name(document, name),
        hardware=Hardware(vendor="nvidia" if gpu else "cpu"),
        python=_minor(python),
        frameworks=frameworks,  # type: ignore[arg-type]
        accelerator={"cuda": _minor_of(cuda)} if cuda and cuda not in rest else {},
        packages=tuple(dict.fromkeys(s.text for s in rest)),
        environment=Environment(
            manager="conda",
            path=".conda",
            channels=tuple(dict.fromkeys(_channels(document, origin, findings))),
            wheels=tuple(_wheels(pip, origin, findings)),
        ),
        variables=dict(_variables(document, origin, findings)),
    )
    return profile, tuple(findings)


def _document(text: str, origin: str) -> dict[str, Any]:
    import yaml

    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ProfileError(Finding("bad-environment-file", "error", f"{origin}: {error}")) from None
    if not isinstance(document, dict) or not isinstance(document.get("dependencies"), list):
        said = message("loading.document.is-no-environment-yml-it", origin=origin)
        raise ProfileError(Finding("bad-environment-file", "error", said))
    return document


def _dependencies(
    document: Mapping[str, Any], origin: str, findings: list[Finding]
) -> tuple[list[str], list[str]]:
    conda: list[str] = []
    pip: list[str] = []
    for entry in document["dependencies"]:
        if isinstance(entry, Mapping):
            pip += _section(entry, origin, findings)
            continue
        if not isinstance(entry, str):
            findings.append(_left(origin, repr(entry), message("loading.dependencies.no-text")))
            continue
        try:
            conda.append(match_spec(str(entry)))
        except BadValueError as error:
            findings.append(_left(origin, str(entry), error.what))
    return conda, pip


def _section(entry: Mapping[str, Any], origin: str, findings: list[Finding]) -> Iterator[str]:
    """The lines of a pip section; conda knows no other."""
    for key, lines in entry.items():
        if key != "pip" or not isinstance(lines, list):
            findings.append(_left(origin, f"{key}:", message("loading.dependencies.no-section")))
            continue
        for line in lines:
            if isinstance(line, str):
                yield line.strip()
            else:
                findings.append(_left(origin, repr(line), message("loading.dependencies.no-text")))


def _spec(text: str) -> Spec:
    plain = text.rsplit("::", 1)[-1]
    match = _SPEC.match(plain)
    assert match is not None, "match_spec has looked at it"
    return Spec(text, match["name"].lower(), (match["version"] or "").strip(), match["build"] or "")


def _is_framework(spec: Spec) -> bool:
    return spec.name in _FRAMEWORKS and not spec.build and "::" not in spec.text and bool(_pep440(spec))


def _pep440(spec: Spec) -> str:
    """conda's version in PEP 440 terms; `=2.1` is a prefix there. Empty for what has no such form."""
    version = spec.version
    if not version:
        return "*"
    if re.fullmatch(r"=[\w.]+", version):
        return f"=={version[1:].removesuffix('.*')}.*"
    if re.fullmatch(r"(?:(?:[<>!~]=?|==)[\w.]+(?:\.\*)?,?)+", version):
        return version
    return ""


def _minor(python: Spec | None) -> str:
    found = re.search(r"3\.\d+", python.version) if python else None
    return f"=={found[0]}.*" if found else f"=={_PYTHON}.*"


def _minor_of(cuda: Spec) -> str:
    found = re.search(r"\d+(?:\.\d+)?", cuda.version)
    return found[0] if found else "*"


def _name(document: Mapping[str, Any], name: str) -> str:
    try:
        return slug(str(document.get("name") or name))
    except BadValueError:
        return slug(re.sub(r"[^A-Za-z0-9._-]+", "-", str(document.get("name"))).strip("-._") or name)


def _channels(document: Mapping[str, Any], origin: str, findings: list[Finding]) -> Iterator[str]:
    for entry in document.get("channels") or ():
        if str(entry) == "nodefaults":
            continue
        try:
            yield channel(str(entry))
        except BadValueError as error:
            findings.append(_left(origin, str(entry), error.what))


def _wheels(pip: Sequence[str], origin: str, findings: list[Finding]) -> Iterator[str]:
    for line in pip:
        try:
            yield requirement(line)
        except BadValueError as error:
            findings.append(_left(origin, line, _why(_CREDENTIALS.sub(r"\1***@", line)) or error.what))


def _why(line: str) -> str:
    """Why a line is no requirement, in words that quote no credentials."""
    try:
        requirement(line)
    except BadValueError as error:
        return error.what
    return ""


def _variables(
    document: Mapping[str, Any], origin: str, findings: list[Finding]
) -> Iterator[tuple[str, str]]:
    for key, value in (document.get("variables") or {}).items():
        try:
            yield variable_name(str(key)), str(value)
        except BadValueError as error:
            findings.append(_left(origin, str(key), error.what))


def _left(origin: str, line: str, why: str) -> Finding:
    line = _CREDENTIALS.sub(r"\1***@", line)
    return Finding(
        "not-taken-over", "warning", message("loading.not-taken-over.summary", origin=origin, line=line, why=why),
        evidence=(Evidence(origin, line),),
        remedies=(Remedy(message("loading.not-taken-over.way")),),
    )  # fmt: skip
