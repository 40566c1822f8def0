from __future__ import annotations

from artifact_builders import quick
from hypothesis import given
from hypothesis import strategies as st

from provision.artifacts import build_info

TENSORFLOW = """
import collections
is_rocm_build = False
build_info = collections.OrderedDict([('cpu_compiler', '/usr/bin/gcc-9'), ('cuda_compute_capabilities',
  ['sm_35', 'sm_50', 'compute_80']), ('cuda_version', '11.2'), ('cudnn_version', '8'),
  ('is_cuda_build', True)])
"""
TORCH = """
from typing import Optional
__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip']
__version__ = '2.0.1+cu117'
debug = False
cuda: Optional[str] = '11.7'
git_version = 'e9ebda29d87ce0916ab08c06ab26fd3766a870e5'
hip: Optional[str] = None
"""


def test_tensorflow_of_today():
    words = build_info.parse(TENSORFLOW)
    assert words["cuda_version"] == "11.2"
    assert words["is_cuda_build"] == "True"
    assert build_info.architectures(words["cuda_compute_capabilities"]) == ("sm_35", "sm_50", "compute_80")


def test_other_ways_to_write_it():
    assert build_info.parse("build_info = {'cuda_version': '11.2'}")["cuda_version"] == "11.2"
    assert build_info.parse("build_info = dict(cuda_version='11.2')")["cuda_version"] == "11.2"
    old = build_info.parse("is_cuda_build = True\ncuda_version_number = '10.1'\ncudnn_version_number = '7'\n")
    assert old == {"is_cuda_build": "True", "cuda_version_number": "10.1", "cudnn_version_number": "7"}


def test_torch():
    words = build_info.parse(TORCH)
    assert words["cuda"] == "11.7"
    assert "hip" not in words
    assert build_info.nothing(TORCH) == {"hip"}


def test_nothing_is_run():
    words = build_info.parse("import os\nx = os.getcwd()\ncuda = 'a' + 'b'\nraise SystemExit\ncudnn = '8'\n")
    assert words == {"cudnn": "8"}


def test_versions_as_windows_files_write_them():
    assert [build_info.version(v) for v in ("64_112", "64_8", "11.2", "64_101", "12.5.1", "")] == [
        "11.2",
        "8",
        "11.2",
        "10.1",
        "12.5.1",
        "",
    ]


def test_capabilities_written_as_numbers():
    assert build_info.architectures("3.5,7.0 sm_80") == ("sm_35", "sm_70", "sm_80")


@quick
@given(st.text(max_size=300) | st.text("()[]{}'=:,\n ab1", max_size=200))
def test_junk_gives_no_facts_and_no_crash(text):
    assert isinstance(build_info.parse(text), dict)
    build_info.nothing(text)
    build_info.parse_header("#define " + text)
    build_info.version(text)
    build_info.architectures(text)
