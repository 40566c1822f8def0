"""NVIDIA's real Windows libraries, placed as provision places them, found in Windows Pythons without activation.

About 740 MB are fetched. Proven: cudart and cuDNN load from the environment, by each of the ways in which frameworks load
them, before a copy that stands first on PATH, and cuDNN says its version. Not proven: that they compute.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from provision.applying.placing import PlaceLibraries
from provision.model.stack import Library
from provision.pipeline.session import Quiet
from provision.world import uv
from provision.world.files import HostFiles
from provision.world.unpacking import HostPlacer
from tests.wine.machine import Windows, seen

pytestmark = pytest.mark.wine

WHEELS = {"nvidia-cuda-runtime-cu11": "11.8.89", "nvidia-cudnn-cu11": "8.9.4.19"}
PARTS = [f"cudnn_{part}64_8.dll" for part in (
    "ops_infer", "ops_train", "cnn_infer", "cnn_train", "adv_infer", "adv_train",
)]  # fmt: skip
SETS = (
    Library(
        id="cuda", library="cuda", version="11.8", licence="", holds=("cudart64_110.dll",), source="test",
        packages=("nvidia-cuda-runtime-cu11",), because="",
    ),
    Library(
        id="cudnn", library="cudnn", version="8.9.4.19", licence="", holds=(*PARTS, "cudnn64_8.dll"), source="test",
        packages=("nvidia-cudnn-cu11",), because="",
    ),
)  # fmt: skip
#: Imports a framework, then loads by bare name. `ways`: how LoadLibraryEx is called: as ctypes does from 3.8 on, as
#: TensorFlow does (LOAD_WITH_ALTERED_SEARCH_PATH), and as ctypes did up to 3.7.
PROBE = """
import json, sys
if "--without-folders" in sys.argv:
    import os
    del os.add_dll_directory
if "--without-hook" in sys.argv:
    sys.meta_path = [one for one in sys.meta_path if type(one).__module__ != "_provision_libraries"]
before = "_provision_libraries" in sys.modules and "ctypes" not in sys.modules
import tensorflow
import ctypes
found = {}
for way, mode in {"ctypes": None, "tensorflow": 8, "old": 0}.items():
    for name in ("cudart64_110.dll", "cudnn64_8.dll"):
        try:
            library = ctypes.CDLL(name, winmode=mode)
        except OSError as error:
            found[way + " " + name] = str(error)
            continue
        buffer = ctypes.create_unicode_buffer(1000)
        ctypes.windll.kernel32.GetModuleFileNameW(ctypes.c_void_p(library._handle), buffer, 1000)
        found[way + " " + name] = buffer.value
        if name.startswith("cudnn"):
            library.cudnnGetVersion.restype = ctypes.c_size_t
            found["version"] = library.cudnnGetVersion()
        ctypes.windll.kernel32.FreeLibrary(ctypes.c_void_p(library._handle))
print(json.dumps({"waits": before, "found": found, "python": sys.version.split()[0]}))
"""


@pytest.fixture(scope="module")
def environments(windows: Windows, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Version -> a Windows Python with a stub of TensorFlow and the placed libraries in its site-packages."""
    home = tmp_path_factory.mktemp("dlls")
    wheels = home / "wheels"
    command = ["pip", "install", "--quiet", "--no-deps", "--python", sys.executable, "--target", str(wheels)]
    command += ["--python-platform", "windows", "--python-version", "3.8"]
    done = uv.run([*command, *(f"{name}=={version}" for name, version in WHEELS.items())])
    assert done.code == 0, done.stderr
    return {
        version: placed(windows, home / f"Ümlaut {version}", wheels, version) for version in ("3.8", "3.11")
    }


def placed(windows: Windows, prefix: Path, wheels: Path, version: str) -> Path:
    shutil.copytree(windows.python(version).parent, prefix, copy_function=linked)
    packages = prefix / "Lib" / "site-packages"
    shutil.copytree(wheels, packages, dirs_exist_ok=True, copy_function=linked)
    (packages / "tensorflow").mkdir()
    (packages / "tensorflow" / "__init__.py").write_text("")
    effects = SimpleNamespace(files=HostFiles(), placer=HostPlacer(), reporter=Quiet(), given={})
    lock = SimpleNamespace(libraries=SETS, frameworks={"tensorflow": "2.10.1"})
    context: Any = SimpleNamespace(effects=effects, folder=str(prefix), lock=lock, wheels={"": None})
    PlaceLibraries().do(context, ())
    assert PlaceLibraries().holds(context, ())
    return prefix


def linked(source: str, destination: str) -> str:
    Path(destination).hardlink_to(source)
    return destination


def ask(windows: Windows, prefix: Path, *words: str, **more: str) -> dict[str, Any]:
    script = prefix.parent / "probe.py"
    script.write_text(PROBE)
    ran = windows.run(prefix / "python.exe", script, *words, **more)
    assert ran.code == 0, ran.err
    answer: dict[str, Any] = json.loads(ran.out)
    return answer


@pytest.mark.parametrize("version", ["3.8", "3.11"])
@pytest.mark.parametrize("words", [(), ("--without-folders",)], ids=["3.8-and-later", "as-in-3.7"])
def test_they_load_without_activation(
    windows: Windows, environments: dict[str, Path], version: str, words: tuple[str, ...], tmp_path: Path
) -> None:
    """A Python without os.add_dll_directory stands for 3.7, of which there is no Windows build to be had here."""
    other = tmp_path / "other"
    other.mkdir()
    prefix = environments[version]
    (other / "cudart64_110.dll").write_bytes((prefix / "vcruntime140.dll").read_bytes())
    answer = ask(windows, prefix, *words, WINEPATH=seen(other))
    assert answer["waits"], "the hook has loaded nothing before a framework was imported"
    assert answer["found"]["version"] == 8904
    ways = ("tensorflow", "old") if words else ("ctypes", "tensorflow", "old")
    for way in ways:
        for name in ("cudart64_110.dll", "cudnn64_8.dll"):
            assert "\\nvidia\\" in answer["found"][f"{way} {name}"], (way, answer)


def test_the_trap_is_real(windows: Windows, environments: dict[str, Path], tmp_path: Path) -> None:
    """Without the hook nothing is found, or what stands on PATH."""
    prefix = environments["3.8"]
    (tmp_path / "cudart64_110.dll").write_bytes((prefix / "vcruntime140.dll").read_bytes())
    found = ask(windows, prefix, "--without-hook", WINEPATH=seen(tmp_path))["found"]
    assert "version" not in found
    assert found["tensorflow cudart64_110.dll"].endswith(f"{tmp_path.name}\\cudart64_110.dll")
