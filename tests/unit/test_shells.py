"""Commands of remedies as PowerShell takes them."""

from __future__ import annotations

import io
import shlex

import pytest

from provision.cli.rendering import way_lines
from provision.diagnosing.explain import explain_bytes
from provision.diagnosing.saying import Speaker
from provision.model.finding import Remedy
from provision.shells import powershell, quoted


@pytest.mark.parametrize(
    ("posix", "windows"),
    [
        ("export PYTHONUTF8=1", "$env:PYTHONUTF8 = '1'"),
        ("export A=1 B=/x", "$env:A = '1'; $env:B = '/x'"),
        ("unset CUDA_VISIBLE_DEVICES", "Remove-Item Env:CUDA_VISIBLE_DEVICES"),
        (r"rm -r 'C:\a b\~umpy' 'C:\c'", r"Remove-Item -Recurse 'C:\a b\~umpy', 'C:\c'"),
        ("CUDA_VISIBLE_DEVICES= python train.py", "$env:CUDA_VISIBLE_DEVICES = ''; python train.py"),
        ("pip install 'numpy<2'", 'pip install "numpy<2"'),
        ("pip uninstall -y a b && pip install a==1", "pip uninstall -y a b; pip install a==1"),
        (r'"C:\a b\python.exe" -m pip check', r'& "C:\a b\python.exe" -m pip check'),
        (r'& "C:\a b\python.exe" -m pip check', r'& "C:\a b\python.exe" -m pip check'),
        ("env | grep -i proxy; pip config list", "Get-ChildItem Env: | Select-String proxy; pip config list"),
        ('python -c "import torch; print(torch.version.cuda)"', 'python -c "import torch; print(torch.version.cuda)"'),
        ('python -c "print(\'a\' && 1); x"', 'python -c "print(\'a\' && 1); x"'),
        (r"C:\O'Brien\python.exe -m pip install 'numpy<2'", r"C:\O'Brien\python.exe -m pip install 'numpy<2'"),
        ("nvidia-smi", "nvidia-smi"),
        ("", ""),
    ],
)  # fmt: skip
def test_a_command_in_powershell(posix: str, windows: str) -> None:
    assert powershell(posix) == windows
    assert powershell(windows) == windows


LOG = "UnicodeDecodeError: 'gbk' codec can't decode byte 0x80 in position 21: illegal multibyte sequence\n"


def commands(log: str, facts: dict[str, str]) -> list[str]:
    return [
        r.command for f in explain_bytes(io.BytesIO(log.encode()), None, facts).findings for r in f.remedies
    ]


@pytest.mark.parametrize(
    ("log", "facts"),
    [
        (LOG, {"os": "windows"}),
        (LOG, {"shell": "powershell"}),
        (f'  File "C:\\Users\\me\\x.py", line 1, in <module>\n{LOG}', {}),
    ],
)
def test_a_log_of_windows_has_commands_for_windows(log: str, facts: dict[str, str]) -> None:
    assert "$env:PYTHONUTF8 = '1'" in commands(log, facts)


@pytest.mark.parametrize(
    ("log", "facts"),
    [
        (LOG, {}),
        (LOG, {"os": "linux", "shell": "powershell"}),
        (f'  File "C:\\Users\\me\\x.py", line 1, in <module>\n{LOG}', {"os": "linux"}),
        (f"see https://example.org/c:/x\n{LOG}", {}),
    ],
)
def test_any_other_log_has_them_for_posix(log: str, facts: dict[str, str]) -> None:
    assert "export PYTHONUTF8=1" in commands(log, facts)


def test_doctor_speaks_for_the_machine_that_it_examines() -> None:
    words = {"value": "x"}
    assert [r.command for r in Speaker("en", "windows").finding("pythonhome-set", **words).remedies] == [
        "Remove-Item Env:PYTHONHOME"
    ]
    assert [r.command for r in Speaker("en").finding("pythonhome-set", **words).remedies] == [
        "unset PYTHONHOME"
    ]


@pytest.mark.parametrize(
    ("path", "word"),
    [
        (".venv", ".venv"),
        ("项目/环境-1_x.yaml", "项目/环境-1_x.yaml"),
        ("my env/.venv", "'my env/.venv'"),
        ("it's", "'it'\\''s'"),
        ("a$b;c", "'a$b;c'"),
        (r"C:\Users\A B\env", '"C:\\Users\\A B\\env"'),
        (r"C:\envs\x", r"C:\envs\x"),
        (r"my env\x", r'"my env\x"'),
        ("a\\b$(echo HACK)", "'a\\b$(echo HACK)'"),
        (r"C:\Users\O'Brien\x", r'''"C:\Users\O'Brien\x"'''),
        ("a[1]", "'a[1]'"),
        ("", "''"),
    ],
)
def test_a_path_is_one_word_of_a_command(path: str, word: str) -> None:
    assert quoted(path) == word
    if word.startswith("'") or (word == path and "\\" not in path):
        assert shlex.split(quoted(path)) == [path]


def test_screens_on_windows_speak_its_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    """But for what may be about another machine."""
    ways = (Remedy("Set it.", "export PROVISION_CACHE=/path"),)
    assert way_lines(ways, io.StringIO())[-1].endswith("  export PROVISION_CACHE=/path")
    monkeypatch.setattr("sys.platform", "win32")
    assert way_lines(ways, io.StringIO())[-1].endswith("  $env:PROVISION_CACHE = '/path'")
    assert way_lines(ways, io.StringIO(), elsewhere=True)[-1].endswith("  export PROVISION_CACHE=/path")
