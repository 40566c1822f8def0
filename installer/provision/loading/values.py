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
        raise BadValueError(f"'{text}' is no version specifier", _meant(text)) from None


def _meant(text: str) -> str:
    if text.strip() and _is_version(text):
        return f'did you mean "=={text.strip()}"?'
    spaced = re.sub(r"(?<=[\w*])\s+(?=[<>=!~])", ", ", text.strip())
    single = re.sub(r"(?<![<>=!~])=(?!=)", "==", spaced.replace("=>", ">=").replace("=<", "<="))
    try:
        SpecifierSet(single)
    except InvalidSpecifier:
        return 'write it like "==2.10.0" or ">=2.10,<2.12"'
    return f'did you mean "{single}"?'


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
        raise BadValueError(f"no Python 3 is '{text}'", 'write it like "3.10" or ">=3.10,<3.14"')
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
        raise BadValueError(f"'{text}' is no name", "use up to 64 letters (a-z), digits, '-', '_' and '.'")
    if re.fullmatch(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?", text):
        raise BadValueError(f"'{text}' is a device of Windows", "choose another name")
    return text


def index_name(text: str) -> str:
    if text == PYPI:
        raise BadValueError(
            f"'{PYPI}' is the default index of each machine", "map it in pip.conf; name only others here"
        )
    if text == VENDOR:
        raise BadValueError(f"'{VENDOR}' is the folder of files under 'wheels'", "choose another name")
    return slug(text)


def exact_version(text: str) -> str:
    if not _is_version(text):
        raise BadValueError(f"'{text}' is no version", 'write it as the file name has it, like "1.22.0+torch2.4.0"')
    return str(Version(text))


def wheel_tags(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_.]+-[A-Za-z0-9_.]+-[A-Za-z0-9_.]+", text):
        raise BadValueError(f"'{text}' are no tags of a wheel", "write them like cp310-cp310-linux_x86_64")
    return text


def sha256(text: str) -> str:
    if not re.fullmatch(r"[0-9a-fA-F]{64}", text):
        raise BadValueError(f"'{text}' is no SHA-256", "64 digits and letters a-f")
    return text.lower()


def index_url(text: str) -> str:
    """An http(s) or file URL without credentials."""
    try:
        url = urlsplit(text)
        port, host = url.port, url.hostname
    except ValueError:
        raise BadValueError(f"'{text}' is no URL", "write it like https://example.org/simple") from None
    if url.username is not None or url.password is not None:
        raise BadValueError(
            "a profile is committed: its URLs may hold no credentials", "put them into ~/.netrc or a keyring"
        )
    good = url.scheme == "file" if not host else url.scheme in ("http", "https") and port != 0
    if not good or re.search(r"\s", text):
        raise BadValueError(f"'{text}' is no URL of an index", "write it like https://example.org/simple")
    return text


def requirement(text: str) -> str:
    """A PEP 508 requirement, in normal form."""
    from packaging.requirements import InvalidRequirement, Requirement

    if text.lstrip().startswith("-"):
        raise BadValueError(
            f"'{text}' is an option of pip", "name packages here, and indexes under 'indexes'"
        )
    try:
        found = Requirement(text)
    except InvalidRequirement:
        doubled = re.sub(r"(?<![<>=!~])=(?!=)", "==", text)
        hint = f'did you mean "{doubled}"?' if doubled != text else 'write it like "numpy>=1.26,<2"'
        raise BadValueError(f"'{text}' is no requirement", hint) from None
    if found.url and urlsplit(found.url).password is not None:
        raise BadValueError(
            "a profile is committed: its URLs may hold no credentials", "put them into ~/.netrc or a keyring"
        )
    return str(found)


def match_spec(text: str) -> str:
    """A conda match spec: `[channel::]name`, then a version and a build. conda's own reader judges the rest."""
    if not re.fullmatch(r"(?:[\w./:-]+::)?[A-Za-z0-9_][\w.-]*(?:\s*[=<>!~ ].*|\s*\[[^\]]+\])?", text.strip()):
        raise BadValueError(f"'{text}' is no conda package", 'write it like "numpy >=1.26,<2" or "pytorch=2.4=cuda*"')
    return re.sub(r"\s+", " ", text.strip())


def channel(text: str) -> str:
    """A channel's name (`conda-forge`, `pkgs/main`) or its http(s) or file URL, without credentials."""
    if "://" in text:
        return index_url(text).rstrip("/")
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*(?:/[\w.-]+)*", text):
        raise BadValueError(f"'{text}' is no channel", "write it like conda-forge")
    return text


def conda_name(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_][\w.-]*", text):
        raise BadValueError(f"'{text}' is no conda package name", "a name alone, without version")
    return text.lower()


def canonical_name(name: str) -> str:
    """PEP 503, in one line: to import the library's takes longer than to read a profile."""
    return re.sub(r"[-_.]+", "-", name).lower()


def package_name(text: str) -> str:
    if not re.fullmatch(r"(?i)[a-z0-9]([a-z0-9._-]*[a-z0-9])?", text):
        raise BadValueError(f"'{text}' is no package name", "a name alone, without version or extras")
    return canonical_name(text)


def variable_name(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text):
        raise BadValueError(f"'{text}' is no name of an environment variable", "letters, digits and '_'")
    return text


def single_line(text: str) -> str:
    if not text.strip() or re.search(r"[\n\r\0]", text):
        raise BadValueError("one line of text is wanted here")
    return text.strip()


def variable_value(text: str) -> str:
    if re.search(r"[\n\r\0]", text):
        raise BadValueError("a variable holds one line of text")
    return text


def environment_path(text: str) -> str:
    """Never a folder that holds other things: the environment is replaced as a whole."""
    if os.path.normpath(single_line(text)).strip("/\\.") == "" or re.fullmatch(r"~|[A-Za-z]:[\\/]?", text):
        raise BadValueError(f"'{text}' cannot be an environment", "name a folder of its own, such as .venv")
    return text


def inner_folder(text: str) -> str:
    """A folder below the profile's own: a profile reads nothing else of the machine it comes to."""
    parts = re.split(r"[\\/]", single_line(text))
    if text[:1] in "/\\~" or ".." in parts or re.match(r"[A-Za-z]:", text):
        raise BadValueError(
            f"'{text}' is not below the profile's folder", "name a folder beside the profile: knowledge"
        )
    return text


def day(text: str) -> str:
    try:
        return datetime.date.fromisoformat(text).isoformat()
    except ValueError:
        raise BadValueError(f"'{text}' is no day", 'write it like "2024-06-30"') from None


def time_limit(seconds: int) -> int:
    if not 1 <= seconds <= 7 * 86400:
        raise BadValueError(f"{seconds} seconds is no time limit", "1 second to 7 days (604800)")
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
