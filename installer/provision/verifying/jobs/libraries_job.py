"""Smoke job for placed libraries: load each one the way a framework would find it, ask the versions, say whose copy it was.

No card and no driver is needed: cudnnGetVersion answers without either.
"""

import ctypes
import glob
import os
import re
import shutil
import subprocess
import sys
import time

import _report

#: What each library answers to: function, and whether the version comes back through a pointer.
ASKED = (("cudnn", "cudnnGetVersion", False), ("cudart", "cudaRuntimeGetVersion", True))
HOOK = "_provision_libraries"


def run(report, chosen):
    report.begin("libraries")
    hook = _report.import_module(report, HOOK)
    home = os.path.dirname(os.path.abspath(hook.__file__))
    search = os.environ.get("PATH" if os.name == "nt" else "LD_LIBRARY_PATH", "")
    report.emit("search-path", shadows=others(hook.shadows(search), home))
    began = time.time()
    hook.prepare()
    report.emit("prepared", seconds=round(time.time() - began, 4))
    handles = [load(report, name, os.path.join(home, *place.split("/"))) for name, place in hook.LIBRARIES]
    for name, handle in handles:
        ask(report, name, handle)
    if getattr(hook, "COMPILERS", ""):
        assembler(report, os.path.join(home, *hook.COMPILERS.split("/")))
    loaded = sum(1 for _, handle in handles if handle is not None)
    report.emit("result", asked=len(handles), loaded=loaded)


def assembler(report, folder):
    """Whether the placed ptxas runs, is what a framework that looks on PATH finds, and has libdevice beside it."""
    place = os.path.join(folder, "bin", "ptxas" + (".exe" if os.name == "nt" else ""))
    facts = {"path": place, "found": shutil.which("ptxas"), "version": None}
    facts["libdevice"] = bool(glob.glob(os.path.join(glob.escape(folder), "nvvm", "libdevice", "libdevice*.bc")))
    facts["named"] = "xla_gpu_cuda_data_dir" in os.environ.get("XLA_FLAGS", "")
    try:
        said = subprocess.check_output([place, "--version"], stderr=subprocess.STDOUT).decode("utf-8", "replace")
        found = re.search(r"release ([0-9.]+)", said)
        facts.update(version=found.group(1) if found else "", error="" if found else said[-500:])
    except (OSError, subprocess.CalledProcessError) as error:
        facts["error"] = _report.describe(error)
    report.emit("assembler", **facts)


def others(paths, home):
    """Those of the paths that are not the placed copies themselves."""
    inside = os.path.realpath(home)
    return [path for path in paths if not os.path.realpath(path).startswith(inside)]


def load(report, name, path):
    """By bare name where the placed copy is loaded already or its folder is searched, else by its full path."""
    began = time.time()
    try:
        handle = ctypes.CDLL(path)
    except OSError as error:
        report.emit("library", name=name, path=path, loaded=False, error=str(error))
        return name, None
    report.emit("library", name=name, path=path, loaded=True, seconds=round(time.time() - began, 4))
    return name, handle


def ask(report, name, handle):
    for word, function, pointer in ASKED:
        if handle is None or not hasattr(handle, function) or word not in name:
            continue
        call = getattr(handle, function)
        if pointer:
            value = ctypes.c_int()
            code = call(ctypes.byref(value))
            report.emit("library-version", name=name, library=word, number=value.value, code=code)
        else:
            call.restype = ctypes.c_size_t
            report.emit("library-version", name=name, library=word, number=int(call()), code=0)


if __name__ == "__main__":
    sys.exit(_report.main("libraries", run))
