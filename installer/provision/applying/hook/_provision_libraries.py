"""Found without activation: placed libraries win in every process of this environment that imports a framework.

A copy of this file stands in the environment, where a line of a `.pth` file imports it at every start: so it does
next to nothing until one of FRAMEWORKS is imported. Python 3.5 and later, standard library only.

Linux: links beside the framework's own libraries are found by its run path. LD_LIBRARY_PATH may come before that: only
where a folder on it has a library of the same name, ours are loaded first, by their full paths.
Windows: their folders are put before all others, for this process and its children.
Both: XLA takes ptxas from PATH, then from the folder that XLA_FLAGS names, then from a CUDA of the machine; libdevice
from the last two. So both name ours.
"""

import sys

FRAMEWORKS = ()
#: File name -> path from this file's folder, each after those that it needs.
LIBRARIES = ()
#: The folder of the compilers (bin/ptxas, nvvm/libdevice) from this file's; empty for none.
COMPILERS = ""


class _Finder(object):
    def find_spec(self, name, path=None, target=None):
        if name in FRAMEWORKS and self in sys.meta_path:
            sys.meta_path.remove(self)
            prepare()
        return None


_kept = []


def prepare():
    """Make this process find the placed libraries; nothing that fails here may keep Python from starting."""
    import os

    home = os.path.dirname(os.path.abspath(__file__))
    try:
        if os.name == "nt":
            _folders(os, home)
        elif shadows(os.environ.get("LD_LIBRARY_PATH", "")):
            _load(os, home)
        if COMPILERS:
            _name_compilers(os, os.path.join(home, *COMPILERS.split("/")))
    except Exception as error:
        sys.stderr.write("provision: placed libraries: %s\n" % (error,))


def shadows(search):
    """Paths on a search path that bear the name of a placed library, in the order in which they are found."""
    import os

    names = [name for name, _ in LIBRARIES]
    here = [os.path.join(folder, name) for folder in search.split(os.pathsep) if folder for name in names]
    return [path for path in here if os.path.exists(path)]


def _folders(os, home):
    folders = []
    for _, place in LIBRARIES:
        folder = os.path.dirname(os.path.join(home, *place.split("/")))
        if folder not in folders:
            folders.append(folder)
    if hasattr(os, "add_dll_directory"):
        for folder in folders:
            _kept.append(os.add_dll_directory(folder))
    os.environ["PATH"] = os.pathsep.join(folders + [os.environ.get("PATH", "")])


def _name_compilers(os, folder):
    """In PATH, and in XLA_FLAGS unless that names a folder already or is the name of a file with flags."""
    os.environ["PATH"] = os.pathsep.join([os.path.join(folder, "bin"), os.environ.get("PATH", os.defpath)])
    flags = os.environ.get("XLA_FLAGS", "").strip()
    if "xla_gpu_cuda_data_dir" in flags or (flags and not flags.startswith("-")):
        return
    place = folder.replace("\\", "/")
    flag = "--xla_gpu_cuda_data_dir=" + ('"%s"' % (place,) if " " in place else place)
    os.environ["XLA_FLAGS"] = (flags + " " + flag).strip()


def _load(os, home):
    import ctypes

    for _, place in LIBRARIES:
        _kept.append(ctypes.CDLL(os.path.join(home, *place.split("/")), mode=ctypes.RTLD_GLOBAL))


if FRAMEWORKS:
    sys.meta_path.insert(0, _Finder())
