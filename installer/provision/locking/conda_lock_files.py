"""conda-lock.yml (version 1) -> the packages that it pins for one platform."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

from packaging.utils import canonicalize_name

from provision.messages import message
from provision.model.finding import Finding, UsageError
from provision.model.lock import PYPI, Artifact, CondaArtifact

_ALIASES = ("https://conda.anaconda.org/", "https://repo.anaconda.com/")


def read_conda_lock(
    text: str, origin: str, subdir: str
) -> tuple[tuple[CondaArtifact, ...], tuple[Artifact, ...]]:
    """Conda packages and wheels of a platform; of categories only `main`. Raises UsageError for another format, a
    platform that is not in it, or a package that is pinned by a version control system."""
    document = _document(text, origin)
    rows = [row for row in document["package"] if _mine(row, subdir)]
    if not rows:
        platforms = sorted({str(row.get("platform")) for row in document["package"]})
        raise UsageError(
            _bad(
                origin,
                message("locking.read-conda-lock.it-pins-nothing-for-it", subdir=subdir, platforms=platforms),
            )
        )
    try:
        conda = tuple(_conda(row) for row in rows if row["manager"] == "conda")
        return conda, tuple(_wheels(rows, origin))
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(
            _bad(origin, message("locking.read-conda-lock.package-is-not-described-as", error=error))
        ) from None


def _document(text: str, origin: str) -> dict[str, Any]:
    import yaml

    try:
        document = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    except yaml.YAMLError as error:
        raise UsageError(_bad(origin, str(error))) from None
    if (
        not isinstance(document, dict)
        or document.get("version") != 1
        or not isinstance(document.get("package"), list)
    ):
        raise UsageError(_bad(origin, message("locking.document.it-is-not-version-1")))
    return document


def _mine(row: Mapping[str, Any], subdir: str) -> bool:
    return row.get("platform") == subdir and row.get("category", "main") == "main" and not row.get("optional")


def _conda(row: Mapping[str, Any]) -> CondaArtifact:
    url = str(row["url"])
    base, subdir, file = url.split("#")[0].rsplit("/", 2)
    name, version, build = file.removesuffix(".conda").removesuffix(".tar.bz2").rsplit("-", 2)
    number = re.search(r"(?:^|_)(\d+)(?:_[a-z]\w*)?$", build)
    depends = tuple(f"{key} {spec}".strip() for key, spec in (row.get("dependencies") or {}).items())
    python = any(spec.split(" ")[0] == "python" for spec in depends)
    kind: Literal["python", "generic"] = "python" if python else "generic"
    return CondaArtifact(
        name=name,
        version=version,
        build=build,
        build_number=int(number[1]) if number else 0,
        subdir=subdir,
        channel=next((base.removeprefix(a) for a in _ALIASES if base.startswith(a)), base),
        url=url.split("#")[0],
        sha256=row["hash"].get("sha256"),
        md5=row["hash"].get("md5"),
        noarch=kind if subdir == "noarch" else None,
        depends=depends,
    )


def _wheels(rows: list[dict[str, Any]], origin: str) -> Iterator[Artifact]:
    for row in rows:
        if row["manager"] != "pip":
            continue
        url = str(row["url"])
        file = unquote(urlsplit(url).path.rsplit("/", 1)[-1])
        if not file.endswith(".whl") or not row["hash"].get("sha256"):
            raise UsageError(_bad(origin, message("locking.wheels.is-no-wheel-with-sha", row=row["name"])))
        yield Artifact(
            name=canonicalize_name(row["name"]),
            version=str(row["version"]),
            index=PYPI,
            file=file,
            size=None,
            sha256=row["hash"]["sha256"],
            url=url,
        )


def _bad(origin: str, why: str) -> Finding:
    return Finding(
        "bad-conda-lock", "error", message("locking.bad-conda-lock.summary", origin=origin, why=why)
    )
