"""provision doctor on real environments of any maker, holding tiny packages that are broken in every known way."""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from provision.pipeline import doctor
from tests.cli.conftest import Here
from tests.support.command import Ran

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the trees are those of POSIX")
TORCH = "__version__ = '2.5.1+cpu'\nclass version: cuda = None; hip = None\n"


class Env:
    """A venv with whatever is put into it."""

    def __init__(self, prefix: Path) -> None:
        self.prefix = prefix
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(prefix)], check=True)
        self.site = next(prefix.glob("lib/python3*/site-packages"))

    def add(
        self, name: str, version: str, files: dict[str, str] | None = None, requires: tuple[str, ...] = (),
        installer: str = "pip", site: Path | None = None,
    ) -> Path:  # fmt: skip
        """Install a distribution as pip would; gives its metadata folder."""
        site = site or self.site
        info = site / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir(parents=True)
        lines = [f"Name: {name}", f"Version: {version}", *(f"Requires-Dist: {r}" for r in requires)]
        (info / "METADATA").write_text("\n".join(["Metadata-Version: 2.1", *lines]) + "\n\nText.\n")
        (info / "INSTALLER").write_text(installer + "\n")
        record = [f"{info.name}/METADATA,,", f"{info.name}/RECORD,,"]
        for path, text in (files or {}).items():
            (site / path).parent.mkdir(parents=True, exist_ok=True)
            (site / path).write_text(text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
            record.append(f"{path},sha256={digest},{len(text)}")
        (info / "RECORD").write_text("\n".join(record) + "\n")
        return info


@pytest.fixture
def env(tmp_path: Path, isolated_home: Path, monkeypatch: pytest.MonkeyPatch) -> Env:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return Env(tmp_path / ".venv")


def layers(ran: Ran) -> dict[str, str]:
    return {layer["layer"]: layer["verdict"] for layer in ran.document["layers"]}


def finding(ran: Ran, code: str) -> dict[str, Any]:
    return next(f for f in ran.document["findings"] if f["code"] == code)


def tree(folder: Path) -> dict[str, tuple[int, int]]:
    found = (p for p in folder.rglob("*") if not p.is_symlink())
    return {str(p): (p.stat().st_mtime_ns, p.stat().st_size) for p in found}


def test_a_sound_environment_and_nothing_is_written(
    here: Here, env: Env, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Only provision's own cache may be: its rows, parsed.
    monkeypatch.setenv("PROVISION_CACHE", str(tmp_path.parent / f"{tmp_path.name}-cache"))
    env.add("torch", "2.5.1+cpu", {"torch/__init__.py": TORCH, "torch/nn.py": "x = 1\n"})
    before = tree(tmp_path)
    ran = here("doctor", "--json")
    assert (ran.code, ran.document["cause"], ran.document["kind"]) == (0, None, "venv")
    assert layers(ran)["environment"] == layers(ran)["framework"] == "ok"
    assert tree(tmp_path) == before
    people = here("doctor", ".venv")
    assert people.code == 0
    assert "torch 2.5.1+cpu (cpu), imports in" in people.out
    assert people.out.endswith("No broken link found.\n")


def test_an_import_that_fails_is_explained(here: Here, env: Env) -> None:
    error = "numpy.core.umath failed to import"
    env.add("torch", "2.5.1+cpu", {"torch/__init__.py": f"raise ImportError({error!r})\n"})
    ran = here("doctor", "--json")
    assert (ran.code, layers(ran)["framework"], layers(ran)["device"]) == (1, "broken", "not-reached")
    assert ran.document["cause"] == "numpy-umath-failed"
    assert error in str(finding(ran, "numpy-umath-failed")["evidence"])


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("raise ValueError('nobody knows this')\n", "import-failed", "ValueError: nobody knows this"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)\n", "import-crashed", "signal 11"),
    ],
)
def test_an_import_that_nobody_knows_is_told_as_it_is(
    here: Here, env: Env, text: str, code: str, words: str
) -> None:
    env.add("torch", "2.5.1+cpu", {"torch/__init__.py": text})
    ran = here("doctor", "--json")
    assert words in finding(ran, code)["summary"]
    assert layers(ran)["framework"] == "broken"


def test_an_import_that_hangs_is_not_judged(here: Here, env: Env, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "LIMIT", 0.5)
    env.add("torch", "2.5.1+cpu", {"torch/__init__.py": "import time; time.sleep(60)\n"})
    ran = here("doctor", "--json")
    assert ran.codes == ["import-too-long"]
    assert layers(ran)["framework"] == "warning"


def test_what_works_is_believed_more_than_a_row(here: Here, env: Env) -> None:
    env.add("tensorflow", "2.10.1", {"tensorflow/__init__.py": "__version__ = '2.10.1'\n"})
    env.add("numpy", "2.0.0", {"numpy/__init__.py": ""})
    env.add("keras", "2.10.0", {"keras/__init__.py": ""})
    assert finding(here("doctor", "--json"), "version-conflict")["severity"] == "note"
    (env.site / "tensorflow" / "__init__.py").write_text("import numpy.nothing\n")
    ran = here("doctor", "--json")
    assert ran.document["cause"] == "version-conflict"
    assert "numpy<2" in finding(ran, "version-conflict")["remedies"][0]["command"]


def test_what_an_interrupted_installer_leaves(here: Here, env: Env) -> None:
    env.add("torch", "2.5.1+cpu", {"torch/__init__.py": TORCH})
    env.add("torch", "2.4.0+cpu")
    (env.site / "~umpy").mkdir()
    (env.site / "h5py-3.11.0.dist-info").mkdir()
    ran = here("doctor", "--json")
    assert ran.codes == ["distribution-broken", "distribution-twice", "litter"]
    assert finding(ran, "distribution-twice")["summary"].endswith("2.4.0+cpu, 2.5.1+cpu")
    assert layers(ran)["framework"] == "not-reached"


def test_files_that_are_gone(here: Here, env: Env) -> None:
    env.add(
        "torch", "2.5.1+cpu", {"torch/__init__.py": TORCH, "torch/lib/libc10.so": "", "torch/LICENSE": ""}
    )
    (env.site / "torch" / "LICENSE").unlink()
    assert here("doctor", "--json").code == 0
    (env.site / "torch" / "lib" / "libc10.so").unlink()
    ran = here("doctor", "--json")
    assert ran.document["cause"] == "files-missing"
    assert "torch/lib/libc10.so" in str(finding(ran, "files-missing")["evidence"])


def test_two_distributions_on_one_folder(here: Here, env: Env) -> None:
    env.add("tensorflow", "2.10.1", {"tensorflow/__init__.py": "a = 1\n"})
    env.add("tensorflow-cpu", "2.10.0", {"tensorflow/__init__.py": "a = 2\n"})
    env.add("one", "1", {"same/__init__.py": "a = 1\n"})
    env.add("two", "1", {"same/__init__.py": "a = 2\n"})
    ran = here("doctor", "--json")
    assert ran.codes == ["family-conflict", "files-shared"]
    assert finding(ran, "files-shared")["summary"].startswith("one, two wrote the same files")


def test_what_lies_beside_the_script_is_imported_first(here: Here, env: Env, tmp_path: Path) -> None:
    env.add("torch", "2.5.1+cpu", {"torch/__init__.py": TORCH})
    (tmp_path / "torch").mkdir()
    assert here("doctor", "--json").code == 0, "a folder of that name that is no package hides nothing"
    (tmp_path / "torch").rmdir()
    (tmp_path / "torch.py").write_text("x = 1\n")
    ran = here("doctor", "--json")
    assert ran.document["cause"] == "module-shadowed"
    assert str(tmp_path / "torch.py") in finding(ran, "module-shadowed")["summary"]


def test_a_copy_on_pythonpath_hides_that_of_the_environment(
    here: Here, env: Env, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env.add("numpy", "1.26.4", {"numpy/__init__.py": ""})
    elsewhere = tmp_path / "old" / "site-packages"
    env.add("numpy", "1.19.5", {"numpy/__init__.py": ""}, site=elsewhere)
    monkeypatch.setenv("PYTHONPATH", str(elsewhere))
    ran = here("doctor", "--json")
    assert ran.codes == ["distribution-shadowed", "pythonpath-set"]
    assert finding(ran, "distribution-shadowed")["remedies"][0]["command"] == "unset PYTHONPATH"


def test_conda_and_pip_on_one_package(here: Here, env: Env) -> None:
    (env.prefix / "conda-meta").mkdir()
    for name in ("numpy-1.22.0-py310_0", "cudatoolkit-11.2.2-hbe64b41_10"):
        (env.prefix / "conda-meta" / f"{name}.json").write_text("{}")
    env.add("numpy", "1.26.4", {"numpy/__init__.py": ""})
    ran = here("doctor", ".venv", "--json")
    assert (ran.document["kind"], ran.codes) == ("conda", ["two-managers"])
    assert "conda 1.22.0, pip 1.26.4" in str(finding(ran, "two-managers")["evidence"])


def test_requirements_that_do_not_hold(here: Here, env: Env) -> None:
    needs = ("filelock", "sympy>=1.13", "colorama; sys_platform == 'win32'", "optree; extra == 'optree'")
    env.add("torch", "2.5.1+cpu", {"torch/__init__.py": TORCH}, requires=needs)
    env.add("sympy", "1.12")
    ran = here("doctor", "--json")
    assert ran.codes == ["requirement-missing", "requirement-conflict"]
    assert "requires filelock" in finding(ran, "requirement-missing")["summary"]
    assert "sympy>=1.13, installed is 1.12" in finding(ran, "requirement-conflict")["summary"]


def test_an_environment_whose_python_has_gone(here: Here, env: Env, tmp_path: Path) -> None:
    env.add("torch", "2.5.1+cpu", {"torch/__init__.py": TORCH})
    text = (env.prefix / "pyvenv.cfg").read_text()
    home = next(line for line in text.splitlines() if line.startswith("home"))
    (env.prefix / "pyvenv.cfg").write_text(text.replace(home, f"home = {tmp_path / 'gone'}"))
    for name in os.listdir(env.prefix / "bin"):
        if name.startswith("python"):
            (env.prefix / "bin" / name).unlink()
    (env.prefix / "bin" / "python").symlink_to(tmp_path / "gone" / "python3")
    ran = here("doctor", "--json")
    assert ran.document["cause"] == "interpreter-gone"


def test_an_interpreter_and_a_list(here: Here, env: Env, tmp_path: Path) -> None:
    env.add("torch", "2.5.1+cpu", {"torch/__init__.py": TORCH})
    ran = here("doctor", str(env.prefix / "bin" / "python"), "--json")
    assert (ran.code, ran.document["environment"]) == (0, str(env.prefix))
    (tmp_path / "freeze.txt").write_text("tensorflow==2.10.1\nnumpy==2.0.0\n")
    ran = here("doctor", "--installed", "freeze.txt", "--json")
    assert (ran.code, ran.document["cause"]) == (1, "version-conflict")
    assert "不能一起用" in here("doctor", "--installed", "freeze.txt", "--lang", "zh").out
    assert here("doctor", "--installed", "freeze.txt", "--json", "--lang", "zh").out == ran.out


def test_a_profile_that_was_not_applied(here: Here, tmp_path: Path, isolated_home: Path) -> None:
    (tmp_path / "team.yaml").write_text("schema: 1\nname: team\nframeworks: {torch: '*'}\n")
    ran = here("doctor", "team.yaml", "--json")
    assert (ran.code, ran.document["cause"]) == (1, "environment-absent")
    assert finding(ran, "environment-absent")["remedies"][0]["command"] == "provision apply team.yaml"


def test_what_is_no_environment(here: Here, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    ran = here("doctor", "src", "--json")
    assert (ran.code, ran.codes) == (2, ["no-environment"])


def test_files_of_another_size_or_content(here: Here, env: Env) -> None:
    files = {"torch/__init__.py": TORCH, "torch/lib/libc10.so": "library", "torch/LICENSE": "text"}
    env.add("torch", "2.5.1+cpu", files, requires=("filelock",))
    env.add("filelock", "3.1", {"filelock/__init__.py": "x = 1\n"})
    env.add("other", "1", {"other/__init__.py": "x = 1\n"})
    (env.site / "torch" / "LICENSE").write_text("another text")
    said = " ".join(e["text"] for layer in here("doctor", "--json").document["layers"] for e in layer["read"])
    assert "3 of them compared by content too" in said, (
        "the framework's own files and those of what it requires"
    )

    (env.site / "filelock" / "__init__.py").write_text("x = 2\n")
    (env.site / "other" / "__init__.py").write_text("x = 2\n")
    ran = here("doctor", "--json")
    assert (ran.document["cause"], ran.codes) == (None, ["files-changed"])
    assert finding(ran, "files-changed")["summary"].startswith("files of filelock")
    ran = here("doctor", "--files", "--json")
    assert [f["summary"].split()[2] for f in ran.document["findings"]] == ["filelock", "other"]

    (env.site / "torch" / "lib" / "libc10.so").write_text("lib")
    ran = here("doctor", "--json")
    assert ran.document["cause"] == "files-changed", "a library of another size cannot be loaded"
    assert "torch/lib/libc10.so" in str(finding(ran, "files-changed")["evidence"])
    command = finding(ran, "files-changed")["remedies"][0]["command"]
    assert "torch==2.5.1+cpu --index-url https://download.pytorch.org/whl/cpu" in command


def test_files_that_two_wrote_are_no_damage(here: Here, env: Env) -> None:
    env.add("one", "1", {"same/__init__.py": "a = 1\n"})
    env.add("two", "1", {"same/__init__.py": "a = 222\n"})
    assert here("doctor", "--files", "--json").codes == ["files-shared"]


def test_the_commands_are_those_of_the_environment(here: Here, env: Env) -> None:
    env.add("tensorflow", "2.10.1", {"tensorflow/__init__.py": "a = 1\n"})
    env.add("tensorflow-cpu", "2.10.1", {"tensorflow/__init__.py": "a = 2\n"})
    python = env.prefix / "bin" / "python"
    command = finding(here("doctor", "--json"), "family-conflict")["remedies"][0]["command"]
    uv = f"uv pip {{}} --python {python}"
    assert command == (
        f"{uv.format('uninstall')} tensorflow tensorflow-cpu && {uv.format('install')} tensorflow-cpu==2.10.1"
    )
    env.add("pip", "24.0", {"pip/__init__.py": ""})
    command = finding(here("doctor", "--json"), "family-conflict")["remedies"][0]["command"]
    pip = f"{python} -m pip"
    assert command == f"{pip} uninstall -y tensorflow tensorflow-cpu && {pip} install tensorflow-cpu==2.10.1"


def test_a_stub_in_front_of_the_wheels_library(
    here: Here, env: Env, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cuda = TORCH.replace("+cpu", "+cu124").replace("cuda = None", "cuda = '12.4'")
    env.add("torch", "2.5.1+cu124", {"torch/__init__.py": cuda})
    wheel = {"nvidia/cudnn/lib/libcudnn.so.9": "the wheel's", "nvidia/cudnn/__init__.py": ""}
    env.add("nvidia-cudnn-cu12", "9.1.0.70", wheel)
    assert here("doctor", "--json").document["cause"] is None
    (tmp_path / "modules" / "lib").mkdir(parents=True)
    (tmp_path / "modules" / "lib" / "libcudnn.so.9").write_text("a stub")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path / "modules" / "lib"))
    ran = here("doctor", "--json")
    assert (ran.document["cause"], layers(ran)["environment"]) == ("library-shadowed", "not-reached")
    assert "LD_LIBRARY_PATH" in finding(ran, "library-shadowed")["summary"]
