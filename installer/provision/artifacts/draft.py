"""Draft the knowledge rows of a new release from its artifacts: for a person to review, complete and
commit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from provision.artifacts.covers import main_library, thorough, usual_architectures
from provision.artifacts.gpucode import numbers
from provision.artifacts.reading import ReadingRows, library_key, reading_rows
from provision.artifacts.wheel import file_tags
from provision.model.artifact import ArtifactFacts

#: Platform tags -> targets.
TARGETS = (
    (re.compile(r"(?:manylinux\w*|linux)_x86_64"), "linux-x86_64"),
    (re.compile(r"(?:manylinux\w*|linux)_aarch64"), "linux-aarch64"),
    (re.compile(r"win_amd64"), "windows-x86_64"),
    (re.compile(r"macosx_\w+_arm64"), "macos-arm64"),
    (re.compile(r"macosx_\w+_x86_64"), "macos-x86_64"),
)
INTERPRETER = re.compile(r"cp(\d)(\d+)")
PIN = re.compile(r"^nvidia-cudnn-cu\d+\s*\(?==\s*([\d.]+)")
RUNTIME_WHEEL = re.compile(r"^(?:nvidia-|cuda-toolkit|rocm|intel-sycl)")
#: What the markers of requirements ask about, by target: platform_system, sys_platform, platform_machine.
PLATFORMS = {
    "linux-x86_64": ("Linux", "linux", "x86_64"),
    "linux-aarch64": ("Linux", "linux", "aarch64"),
    "windows-x86_64": ("Windows", "win32", "AMD64"),
    "macos-arm64": ("Darwin", "darwin", "arm64"),
    "macos-x86_64": ("Darwin", "darwin", "x86_64"),
}
EXTRA = re.compile(r"extra == ['\"]([\w.-]+)['\"]")
NAME = re.compile(r"^[A-Za-z0-9._-]+")


def draft_rows(
    files: Iterable[str], facts: Sequence[ArtifactFacts], *, verified_on: str, rows: ReadingRows | None = None
) -> str:
    """The YAML of `builds` and `metadata` rows for a release.

    `files` are the names of all its wheels as the index lists them (they tell Pythons and targets), `facts`
    those of one inspected wheel a target. `verified_on` is a date, ISO 8601. What the artifacts do not say
    stands in the text as a comment.
    """
    import yaml

    rows, names = rows or reading_rows(), tuple(files)
    builds = [row for one in facts for row in _build_rows(one, names, rows)]
    document = {
        "verified-on": verified_on,
        "sources": {
            "artifact": {"text": "; ".join(_source(one) for one in facts), "evidence": "artifact"},
            "requires": {
                "text": "; ".join(f"METADATA of {one.file}" for one in facts),
                "evidence": "metadata",
            },
        },
        "builds": builds,
        "metadata": _distinct(_metadata_row(one) for one in facts if one.requires),
    }

    class Plain(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            return True

    text = yaml.dump(document, Dumper=Plain, sort_keys=False, default_flow_style=None, width=110)
    return "".join(f"# {line}\n" for line in _remarks(facts)) + text


def _build_rows(facts: ArtifactFacts, files: Sequence[str], rows: ReadingRows) -> list[dict[str, Any]]:
    """One row; a second for each extra that brings the runtime's libraries as wheels."""
    target = _target(facts.tags)
    base = _base_row(facts, files, target, rows)
    made = [base]
    for extra in _extras_with_runtime(facts) if base["runtime"]["kind"] != "cpu" else ():
        name = f"{base['id']}-{extra}"
        made.append({**base, "id": name, "extras": [extra], "libraries": "wheels", "cudnn": _cudnn(facts)})
    return [{key: value for key, value in row.items() if value not in ("", [], {}, None)} for row in made]


def _base_row(facts: ArtifactFacts, files: Sequence[str], target: str, rows: ReadingRows) -> dict[str, Any]:
    kind = _runtime(facts, rows)
    public, _, local = facts.version.partition("+")
    version = {"cuda": facts.cuda, "rocm": facts.rocm}.get(kind, "")
    wheels = {
        "versions": [public],
        "pythons": _pythons(facts, files, target),
        "targets": [target],
        "glibc": _glibc(facts),
    }
    return {
        "id": "-".join(filter(None, (facts.name.lower(), facts.version.replace("+", "-"), kind, target))),
        "framework": _framework(facts),
        "distributions": [facts.name.lower().replace("_", "-")],
        "extras": [],
        "local": local,
        "runtime": {"kind": kind, "version": _short(version)} if version else {"kind": kind},
        "cudnn": (facts.cudnn or _cudnn(facts, with_extras=False)) if kind == "cuda" else "",
        "libraries": _supplier(facts, kind),
        "wheels": [{key: value for key, value in wheels.items() if value}],
        "architectures": list(usual_architectures(facts, "machine")) or list(facts.gfx),
        "ptx": list(usual_architectures(facts, "ptx")),
        "needs": _needs(facts),
        "source": "artifact",
    }


def _framework(facts: ArtifactFacts) -> str:
    """The framework, or what a plugin of one belongs to."""
    names = {facts.name, *facts.top_level, *(_name(line) for line in facts.requires)}
    return "torch" if any(re.match(r"torch\b|torch_", name) for name in names) else "tensorflow"


def _runtime(facts: ArtifactFacts, rows: ReadingRows) -> str:
    if facts.is_rocm_build:
        return "rocm"
    if facts.is_cuda_build is not None:
        return "cuda" if facts.is_cuda_build else "cpu"
    needed, provided = map(library_key, facts.needed), map(library_key, facts.provided)
    have, bring = tuple(needed), tuple(provided)
    for sign in rows.runtime_signs:
        if any(map(sign.needs.fullmatch, have)) or any(map(sign.brings.fullmatch, bring)):
            return sign.kind
    return "cpu"


def _supplier(facts: ArtifactFacts, kind: str) -> str:
    if kind == "cpu":
        return ""
    if any(re.match(r"(?:lib)?(?:cudart|amdhip)", library_key(name)) for name in facts.provided):
        return "bundled"
    plain = [line for line in _required(facts) if RUNTIME_WHEEL.match(line)]
    return "wheels" if plain else "system"


def _required(facts: ArtifactFacts) -> list[str]:
    """The requirements that hold on the wheel's target, without those of extras; any Python counts."""
    from packaging.requirements import InvalidRequirement, Requirement

    target, found = _target(facts.tags), []
    system, platform, machine = PLATFORMS.get(target, PLATFORMS["linux-x86_64"])
    where = {"platform_system": system, "sys_platform": platform, "platform_machine": machine, "extra": ""}
    for line in facts.requires:
        try:
            marker = Requirement(line).marker
        except InvalidRequirement:  # old metadata; a person will see it
            marker = None
        if marker is None or any(
            marker.evaluate({**where, "python_version": v}) for v in _marker_pythons(facts)
        ):
            found.append(line)
    return found


def _marker_pythons(facts: ArtifactFacts) -> list[str]:
    return _pythons(facts, (), _target(facts.tags)) or ["3.12"]


def _extras_with_runtime(facts: ArtifactFacts) -> list[str]:
    lines = [line for line in facts.requires if RUNTIME_WHEEL.match(line)]
    return sorted({found[1] for line in lines if (found := EXTRA.search(line))})


def _cudnn(facts: ArtifactFacts, with_extras: bool = True) -> str:
    lines = facts.requires if with_extras else _required(facts)
    return next((found[1] for line in lines if (found := PIN.match(line))), "")


def _needs(facts: ArtifactFacts) -> dict[str, str]:
    """On Windows, the parts of the Visual C++ runtime."""
    parts = sorted(
        {name.lower() for name in facts.needed if name.lower().startswith(("msvcp140", "vcruntime140"))}
    )
    return {"msvc": ", ".join(parts)} if parts else {}


def _target(tags: Iterable[str]) -> str:
    platforms = [tag.rsplit("-", 1)[-1] for tag in tags]
    return next((target for p in platforms for form, target in TARGETS if form.fullmatch(p)), "any")


def _pythons(facts: ArtifactFacts, files: Sequence[str], target: str) -> list[str]:
    """The Pythons for which the release has a wheel of this target. Free-threaded builds are left out."""
    stem, found = _stem(facts.file), set()
    for name in (facts.file, *files):
        stated = file_tags(name)
        if _stem(name) == stem and _target(stated) == target:
            abis = [tag.split("-")[1] for tag in stated]
            found |= {m.groups() for abi in abis if (m := INTERPRETER.fullmatch(abi.rstrip("mu")))}
    return [f"{major}.{minor}" for major, minor in sorted(found, key=lambda v: (int(v[0]), int(v[1])))]


def _stem(file: str) -> str:
    return "-".join(file.split("-")[:2]).lower()


def _glibc(facts: ArtifactFacts) -> str:
    """The floor that holds: of the tag's and the measured one the higher."""
    return max(facts.glibc, facts.tag_glibc, key=numbers)


def _metadata_row(facts: ArtifactFacts) -> dict[str, Any]:
    """What the release requires on this target, by name; a person keeps what decides compatibility."""
    declares = {}
    for line in _required(facts):
        head = line.split(";")[0]
        bounds = re.sub(r"\[[^\]]*\]", "", head[len(_name(head)) :]).strip(" ()")
        declares[_name(head).lower()] = bounds or "*"
    return {
        "id": f"{facts.name.lower()}-{facts.version}-requires",
        "packages": [facts.name.lower().replace("_", "-")],
        "versions": [f"=={facts.version.partition('+')[0]}"],
        "targets": [_target(facts.tags)],
        "declares": {name: bounds for name, bounds in declares.items() if bounds != "*"},
        "source": "requires",
    }


def _distinct(found: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows that declare the same stand once, for all their targets."""
    merged: dict[str, dict[str, Any]] = {}
    for row in found:
        key = str((row["packages"], row["versions"], sorted(row["declares"].items())))
        if key in merged:
            merged[key]["targets"] += row["targets"]
        else:
            merged[key] = {**row, "id": f"{row['id']}-{len(merged) + 1}" if merged else row["id"]}
    return [row for row in merged.values() if row["declares"]]


def _name(line: str) -> str:
    found = NAME.match(line.strip())
    return found[0] if found else ""


def _short(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _source(facts: ArtifactFacts) -> str:
    parts = sum(library.reading == "whole" for library in facts.libraries)
    read = f"{parts} of {len(facts.libraries)} libraries read whole"
    return f"{facts.file} (sha256 {facts.sha256[:12]}), {read}"


def _remarks(facts: Sequence[ArtifactFacts]) -> list[str]:
    lines = ["Drafted from the artifacts named under `sources`. Review each row before it is committed."]
    for one in facts:
        lines += [f"{one.file}: {words}" for words in _doubts(one)]
    return [*lines, "Not in any artifact: what the maker tested (`tested`), CPU flags, the driver floor."]


def _doubts(facts: ArtifactFacts) -> list[str]:
    """What a person should look at, in words."""
    found = list(facts.notes)
    if main_library(facts) and not thorough(facts):
        found.append("its GPU code was seen in few samples: read it whole before trusting the lists")
    if facts.is_cuda_build and not main_library(facts):
        found.append(f"no GPU code was seen; its build file says {' '.join(facts.declared)}")
    if facts.is_cuda_build and not facts.cuda:
        found.append("nothing says which CUDA it was built with")
    if facts.is_cuda_build and not (facts.cudnn or _cudnn(facts)):
        found.append("nothing says which cuDNN it was built with")
    if not _pythons(facts, (), _target(facts.tags)):
        found.append(f"its tags name no Python: see Requires-Python {facts.requires_python}")
    return found
