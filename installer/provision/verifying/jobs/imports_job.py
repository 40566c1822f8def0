"""Smoke job for packages without a framework: find what each distribution installs and import it.

Each distribution gets a process of its own: what one import does to the interpreter must not fail another, and a
crash must not hide the packages after it.
"""

import json
import os
import re
import subprocess
import sys
import time

import _report

#: Folders that sloppy distributions drop into site-packages; importing them proves nothing.
BYSTANDERS = ("test", "tests", "testing", "doc", "docs", "example", "examples", "benchmark", "benchmarks", "scripts", "bin")
SUFFIX = re.compile(r"\.(py|pyd|so|pyx?d)$|\.(cpython|abi3|cp\d+|pypy)[^/]*\.(so|pyd)$")


def extend(parser):
    parser.add_argument("names", nargs="*", metavar="NAME", help="names of distributions")
    parser.add_argument("--here", action="store_true", help="import in this process")


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def installed():
    """Canonical name -> (version, folder of the metadata) for each distribution on the path; the first one wins."""
    found = {}
    for place in sys.path:
        if not os.path.isdir(place or "."):
            continue
        for entry in sorted(os.listdir(place or ".")):
            if entry.endswith((".dist-info", ".egg-info")):
                metadata = os.path.join(place, entry)
                name, version = identity(metadata)
                found.setdefault(canonical(name), (version, metadata))
    return found


def identity(metadata):
    """Name and version of a distribution, from its metadata or else from the name of the folder."""
    stem = os.path.basename(metadata).rsplit(".", 1)[0]
    name, _, version = stem.partition("-")
    for file in ("METADATA", "PKG-INFO"):
        for line in lines(os.path.join(metadata, file)):
            if not line.strip():
                break
            key, _, value = line.partition(":")
            if key == "Name":
                name = value.strip()
            elif key == "Version":
                version = value.strip()
    return name, version


def lines(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read().splitlines()
    except (IOError, OSError):
        return []


def modules(name, metadata):
    """What to import for a distribution: the modules that bear its name, or else all that it brings."""
    return chosen(name, recorded(metadata) or declared(metadata))


def chosen(name, names):
    """Of importable names those that bear the package's name, or else all that are its own."""
    found = importable(names)
    usable = [one for one in found if not one.startswith("_") and one.lower() not in BYSTANDERS]
    wanted = canonical(name)
    own = [one for one in usable if canonical(one) == wanted]
    return own or usable or [one for one in found if one.startswith("_")]


def declared(metadata):
    """The words of top_level.txt that are there to be imported."""
    home = os.path.dirname(metadata)
    names = [line.strip() for line in lines(os.path.join(metadata, "top_level.txt")) if line.strip()]
    return [one for one in names if os.path.isdir(os.path.join(home, one)) or os.path.isfile(os.path.join(home, one + ".py"))]


def recorded(metadata):
    """Importable names in RECORD."""
    return outermost([split(line) for line in lines(os.path.join(metadata, "RECORD"))])


def outermost(files):
    """Importable names of files in site-packages: a module at the top, or the outermost folders that have an __init__."""
    parts = [file.replace("\\", "/").split("/") for file in files if SUFFIX.search(file)]
    parts = [one for one in parts if one[0] not in ("..", "") and not one[0].endswith((".data", ".libs", ".dist-info"))]
    packages = {tuple(one[:-1]) for one in parts if one[-1].split(".")[0] == "__init__"}
    outer = {one for one in packages if not any(one[:size] in packages for size in range(1, len(one)))}
    names = {".".join(one) for one in outer}
    names.update(one[0].split(".")[0] for one in parts if len(one) == 1)
    return sorted(names)


def importable(names):
    return [one for one in names if all(word.isidentifier() for word in one.split("."))]


def split(line):
    """The file of a RECORD line, which may be quoted."""
    if line.startswith('"'):
        return line[1:].split('"', 1)[0]
    return line.split(",", 1)[0]


def of_conda(name):
    """(version, modules) of a conda package that holds Python code without a distribution's metadata; else empty."""
    folder = os.path.join(sys.prefix, "conda-meta")
    for entry in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        parts = entry[: -len(".json")].rsplit("-", 2)
        if entry.endswith(".json") and len(parts) == 3 and canonical(parts[0]) == canonical(name):
            with open(os.path.join(folder, entry), encoding="utf-8") as stream:
                files = json.load(stream).get("files", ())
            return parts[1], chosen(name, outermost([one.partition("site-packages/")[2] for one in files]))
    return "", []


def run(report, chosen):
    if chosen.here:
        known = installed()
        for name in chosen.names:
            one(report.bind(package=name), name, known)
        return
    for name in chosen.names:
        child(report.bind(package=name), chosen, name)
    report.emit("result", packages=len(chosen.names))


def child(report, chosen, name):
    command = [sys.executable, os.path.abspath(__file__), "--device", chosen.device, "--level", chosen.level]
    if chosen.report:
        command += ["--report", chosen.report]
    sys.stdout.flush()
    code = subprocess.call(command + ["--here", "--", name])
    report.emit("package-ended", code=code)


def one(report, name, known):
    report.begin("import")
    if canonical(name) in known:
        version, metadata = known[canonical(name)]
        found = modules(name, metadata)
    else:
        version, found = of_conda(name)
    if not version:
        report.emit("missing")
        return
    started = time.time()
    for module in found:
        _report.import_module(report, module)
    report.emit("imported", version=version, modules=found, seconds=round(time.time() - started, 3))


if __name__ == "__main__":
    _report.finish(_report.main("imports", run, extend=extend))
