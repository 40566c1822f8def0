"""What the values of a profile may be: one small function a kind, from the written value to the meant one."""

from __future__ import annotations

import datetime
import os.path
import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from provision.documents.reading import BadValueError, Checks
from provision.messages import message
from provision.model.lock import PYPI, VENDOR
from provision.model.profile import (
    Environment,
    Framework,
    Hardware,
    Index,
    Profile,
    Smoke,
    VendorFile,
    VendorWheels,
)


def _specifiers(text: str) -> SpecifierSet:
    """A PEP 440 specifier set; the refusal names what was probably meant."""
    try:
        return SpecifierSet("" if text.strip() == "*" else text)
    except InvalidSpecifier:
        raise BadValueError(
            message("loading.specifiers.is-no-version-specifier", text=text), _meant(text)
        ) from None


def _meant(text: str) -> str:
    if text.strip() and _is_version(text):
        return message("loading.meant.did-you-mean", strip=text.strip())
    spaced = re.sub(r"(?<=[\w*])\s+(?=[<>=!~])", ", ", text.strip())
    single = re.sub(r"(?<![<>=!~])=(?!=)", "==", spaced.replace("=>", ">=").replace("=<", "<="))
    try:
        SpecifierSet(single)
    except InvalidSpecifier:
        return message("loading.meant.write-it-like-2-10")
    return message("loading.meant.did-you-mean-2", single=single)


def _is_version(text: str) -> bool:
    try:
        Version(text.removesuffix(".*"))
    except InvalidVersion:
        return False
    return True


def version_specifier(text: str) -> str:
    """`==2.10.0`, `>=2,<3`, `*`: normal form."""
    return str(_specifiers(text)) or "*"


def python_specifier(text: str) -> str:
    """Like a version specifier; `3.10` means `==3.10.*`, a full version exactly that one."""
    plain = text.strip()
    if re.fullmatch(r"3(\.\d+)?(\.\*)?", plain):
        return f"=={plain.removesuffix('.*')}.*"
    specifiers = _specifiers(f"=={plain}" if re.fullmatch(r"3\.\d+\.\d+\w*", plain) else text)
    if not any(specifiers.contains(v, prereleases=True) for v in _pythons(specifiers)):
        raise BadValueError(
            message("loading.python-specifier.no-python-3-is", text=text),
            message("loading.python-specifier.write-it-like-3-10"),
        )
    return str(specifiers) or "*"


def _pythons(specifiers: SpecifierSet) -> Iterator[str]:
    """Enough Pythons to see that a range is not empty: a few of each line, the neighbours of its bounds."""
    for spec in specifiers:
        yield spec.version.removesuffix(".*")
        release = (*Version(spec.version.removesuffix(".*")).release, 0, 0)[:3]
        yield from (f"{release[0]}.{release[1]}.{release[2] + step}" for step in (0, 1))
    yield from (f"3.{minor}.{patch}" for minor in range(60) for patch in (0, 5, 99))


def floor_specifier(text: str) -> str:
    """A version alone is a floor: `535.54` means `>=535.54`."""
    return str(_specifiers(f">={text}" if _is_version(text) else text))


def exact_specifier(text: str) -> str:
    """A version alone is exact: `8.6` means `==8.6`."""
    return str(_specifiers(f"=={text}" if _is_version(text) else text))


def slug(text: str) -> str:
    """A word that is safe as a file name everywhere: letters, digits and `._-`."""
    if not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9])?", text):
        raise BadValueError(
            message("loading.slug.is-no-name", text=text), message("loading.slug.use-up-to-64-letters")
        )
    if re.fullmatch(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?", text):
        raise BadValueError(
            message("loading.slug.is-device-windows", text=text),
            message("loading.common.choose-another-name"),
        )
    return text


def index_name(text: str) -> str:
    if text == PYPI:
        raise BadValueError(
            message("loading.index-name.is-default-index-each-machine", pypi=PYPI),
            message("loading.index-name.map-it-in-pip-conf"),
        )
    if text == VENDOR:
        raise BadValueError(
            message("loading.index-name.is-folder-files-under-wheels", vendor=VENDOR),
            message("loading.common.choose-another-name"),
        )
    return slug(text)


def exact_version(text: str) -> str:
    if not _is_version(text):
        raise BadValueError(
            message("loading.exact-version.is-no-version", text=text),
            message("loading.exact-version.write-it-as-file-name"),
        )
    return str(Version(text))


def wheel_tags(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_.]+-[A-Za-z0-9_.]+-[A-Za-z0-9_.]+", text):
        raise BadValueError(
            message("loading.wheel-tags.are-no-tags-wheel", text=text),
            message("loading.wheel-tags.write-them-like-cp310-cp310"),
        )
    return text


def sha256(text: str) -> str:
    if not re.fullmatch(r"[0-9a-fA-F]{64}", text):
        raise BadValueError(
            message("loading.sha256.is-no-sha-256", text=text),
            message("loading.sha256.64-digits-and-letters-f"),
        )
    return text.lower()


def index_url(text: str) -> str:
    """An http(s) or file URL without credentials."""
    try:
        url = urlsplit(text)
        port, host = url.port, url.hostname
    except ValueError:
        raise BadValueError(
            message("loading.index-url.is-no-url", text=text),
            message("loading.index-url.write-it-like-https-example"),
        ) from None
    if url.username is not None or url.password is not None:
        raise BadValueError(
            message("loading.common.profile-is-committed-its-urls"),
            message("loading.common.put-them-into-netrc-or"),
        )
    good = url.scheme == "file" if not host else url.scheme in ("http", "https") and port != 0
    if not good or re.search(r"\s", text):
        raise BadValueError(
            message("loading.index-url.is-no-url-index", text=text),
            message("loading.index-url.write-it-like-https-example"),
        )
    return text


def requirement(text: str) -> str:
    """A PEP 508 requirement, in normal form."""
    from packaging.requirements import InvalidRequirement, Requirement

    if text.lstrip().startswith("-"):
        raise BadValueError(
            message("loading.requirement.is-option-pip", text=text),
            message("loading.requirement.name-packages-here-and-indexes"),
        )
    try:
        found = Requirement(text)
    except InvalidRequirement:
        doubled = re.sub(r"(?<![<>=!~])=(?!=)", "==", text)
        hint = (
            message("loading.requirement.did-you-mean", doubled=doubled)
            if doubled != text
            else message("loading.requirement.write-it-like-numpy-1")
        )
        raise BadValueError(message("loading.requirement.is-no-requirement", text=text), hint) from None
    if found.url and urlsplit(found.url).password is not None:
        raise BadValueError(
            message("loading.common.profile-is-committed-its-urls"),
            message("loading.common.put-them-into-netrc-or"),
        )
    return str(found)


def match_spec(text: str) -> str:
    """A conda match spec: `[channel::]name`, then a version and a build. conda's own reader judges the rest."""
    if not re.fullmatch(r"(?:[\w./:-]+::)?[A-Za-z0-9_][\w.-]*(?:\s*[=<>!~ ].*|\s*\[[^\]]+\])?", text.strip()):
        raise BadValueError(
            message("loading.match-spec.is-no-conda-package", text=text),
            message("loading.match-spec.write-it-like-numpy-1"),
        )
    return re.sub(r"\s+", " ", text.strip())


def channel(text: str) -> str:
    """A channel's name (`conda-forge`, `pkgs/main`) or its http(s) or file URL, without credentials."""
    if "://" in text:
        return index_url(text).rstrip("/")
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*(?:/[\w.-]+)*", text):
        raise BadValueError(
            message("loading.channel.is-no-channel", text=text),
            message("loading.channel.write-it-like-conda-forge"),
        )
    return text


def conda_name(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_][\w.-]*", text):
        raise BadValueError(
            message("loading.conda-name.is-no-conda-package-name", text=text),
            message("loading.conda-name.name-alone-without-version"),
        )
    return text.lower()


def canonical_name(name: str) -> str:
    """PEP 503, in one line: to import the library's takes longer than to read a profile."""
    return re.sub(r"[-_.]+", "-", name).lower()


def package_name(text: str) -> str:
    if not re.fullmatch(r"(?i)[a-z0-9]([a-z0-9._-]*[a-z0-9])?", text):
        raise BadValueError(
            message("loading.package-name.is-no-package-name", text=text),
            message("loading.package-name.name-alone-without-version-or"),
        )
    return canonical_name(text)


def variable_name(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text):
        raise BadValueError(
            message("loading.variable-name.is-no-name-environment-variable", text=text),
            message("loading.variable-name.letters-digits-and"),
        )
    return text


def single_line(text: str) -> str:
    if not text.strip() or re.search(r"[\n\r\0]", text):
        raise BadValueError(message("loading.single-line.one-line-text-is-wanted"))
    return text.strip()


def variable_value(text: str) -> str:
    if re.search(r"[\n\r\0]", text):
        raise BadValueError(message("loading.variable-value.variable-holds-one-line-text"))
    return text


def environment_path(text: str) -> str:
    """Never a folder that holds other things: the environment is replaced as a whole."""
    if os.path.normpath(single_line(text)).strip("/\\.") == "" or re.fullmatch(r"~|[A-Za-z]:[\\/]?", text):
        raise BadValueError(
            message("loading.environment-path.cannot-be-environment", text=text),
            message("loading.environment-path.name-folder-its-own-such"),
        )
    return text


def inner_folder(text: str) -> str:
    """A folder below the profile's own: a profile reads nothing else of the machine it comes to."""
    parts = re.split(r"[\\/]", single_line(text))
    if text[:1] in "/\\~" or ".." in parts or re.match(r"[A-Za-z]:", text):
        raise BadValueError(
            message("loading.inner-folder.is-not-below-profiles-folder", text=text),
            message("loading.inner-folder.name-folder-beside-profile-knowledge"),
        )
    return text


def day(text: str) -> str:
    try:
        return datetime.date.fromisoformat(text).isoformat()
    except ValueError:
        raise BadValueError(
            message("loading.day.is-no-day", text=text), message("loading.day.write-it-like-2024-06")
        ) from None


def time_limit(seconds: int) -> int:
    if not 1 <= seconds <= 7 * 86400:
        raise BadValueError(
            message("loading.time-limit.seconds-is-no-time-limit", seconds=seconds),
            message("loading.time-limit.1-second-to-7-days"),
        )
    return seconds


CHECKS: Checks = {
    (Profile, "name"): slug,
    (Profile, "python"): python_specifier,
    (Profile, "accelerator"): single_line,
    (Profile, "accelerator", "key"): slug,
    (Profile, "packages"): requirement,
    (Profile, "absent"): package_name,
    (Profile, "variables"): variable_value,
    (Profile, "variables", "key"): variable_name,
    (Profile, "as_of"): day,
    (Profile, "knowledge"): inner_folder,
    (Hardware, "compute_capability"): exact_specifier,
    (Hardware, "architecture"): single_line,
    (Hardware, "driver"): floor_specifier,
    (Hardware, "libc"): floor_specifier,
    (Framework, "version"): version_specifier,
    (Framework, "package"): package_name,
    (Framework, "extras"): package_name,
    (Index, "name"): index_name,
    (Index, "url"): index_url,
    (Index, "packages"): package_name,
    (VendorWheels, "folder"): single_line,
    (VendorFile, "name"): package_name,
    (VendorFile, "version"): exact_version,
    (VendorFile, "tags"): wheel_tags,
    (VendorFile, "where"): single_line,
    (VendorFile, "sha256"): sha256,
    (Environment, "path"): environment_path,
    (Environment, "channels"): channel,
    (Environment, "wheels"): requirement,
    (Environment, "link_scripts"): conda_name,
    (Smoke, "time_limit"): time_limit,
}
#: In a conda environment, packages are conda's.
CONDA_CHECKS: Checks = {**CHECKS, (Profile, "packages"): match_spec}
