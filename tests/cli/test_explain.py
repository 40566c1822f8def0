"""provision explain: logs from files and pipes, codes, and the facts that decide."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Here
from tests.cli.test_doctor import Env

NUMPY2 = (
    "A module that was compiled using NumPy 1.x cannot be run in\n"
    "NumPy 2.0.0 as it may crash. To support both 1.x and 2.x\n"
    "versions of NumPy, modules must be compiled with NumPy 2.0.\n"
    "ImportError: numpy.core.umath failed to import\n"
)
FACTORY = (
    "E tensorflow/compiler/xla/stream_executor/cuda/cuda_dnn.cc:9342] Unable to register cuDNN factory: "
    "Attempting to register factory for plugin cuDNN when one has already been registered\n"
)


def test_a_log_and_a_pipe_say_the_same(here: Here, tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(NUMPY2)
    ran = here("explain", "train.log", "--json")
    assert (ran.code, ran.document["verdict"]) == (1, "fault")
    assert here("explain", "-", "--json", stdin=NUMPY2).document == ran.document
    people = here("explain", "train.log")
    assert people.out.startswith("The log shows a known fault.\n\nerror: ")
    assert "--installed FILE" in people.out


def test_no_fault_is_exit_0(here: Here) -> None:
    ran = here("explain", "-", stdin=FACTORY)
    assert (ran.code, ran.out.splitlines()[0]) == (0, "No fault found; known harmless lines.")
    assert "Harmless:" in ran.out
    assert here("explain", "-", stdin="epoch 1 loss 0.3\n").code == 0


def test_an_unknown_error_is_said_to_be_unknown(here: Here) -> None:
    ran = here("explain", "-", "--json", stdin="Traceback (most recent call last):\nZorkError: no lamp\n")
    assert (ran.code, ran.document["verdict"], ran.codes) == (1, "unknown", ["unknown-error"])
    assert "ZorkError: no lamp" in str(ran.document["findings"][0]["evidence"])


def test_the_installed_packages_decide(here: Here, tmp_path: Path) -> None:
    log = "RuntimeError: Failed to import transformers.models.bert.modeling_tf_bert because of the following error:\n"
    log += "Your currently installed version of Keras is Keras 3, but this is not yet supported in Transformers. "
    log += "Please install the backwards-compatible tf-keras package with `pip install tf-keras`.\n"
    (tmp_path / "freeze.txt").write_text("tensorflow==2.17.0\nkeras==3.4.1\ntransformers==4.44.2\n")
    ran = here("explain", "-", "--installed", "freeze.txt", "--json", stdin=log)
    assert ran.codes[0] == "transformers-keras3"
    assert "2.17" in str(ran.document["findings"][0]["remedies"])


def test_the_environment_decides(here: Here, tmp_path: Path, isolated_home: Path) -> None:
    env = Env(tmp_path / "env")
    env.add("tensorflow", "2.14.0", {"tensorflow/__init__.py": ""})
    env.add("keras", "3.0.0", {"keras/__init__.py": ""})
    log = "ModuleNotFoundError: No module named 'keras.legacy_tf_layers'\n"
    said = here("explain", "-", "--env", "env", "--json", stdin=log).document["findings"][0]
    assert said["code"] == "keras3-beside-old-tf"
    assert "3.0.0" in said["summary"] + said["detail"] + str(said["evidence"])


def test_the_machine_decides(here: Here, tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(
        "os: linux\narch: x86_64\nenvironment: {LD_LIBRARY_PATH: /usr/local/cuda-12.1/lib64}\n"
    )
    log = "ImportError: libcusparse.so.12: undefined symbol: __nvJitLinkAddData_12_1, version libnvJitLink.so.12\n"
    assert "/usr/local/cuda-12.1/lib64" not in here("explain", "-", stdin=log).out
    assert "/usr/local/cuda-12.1/lib64" in here("explain", "-", "--machine", "m.yaml", stdin=log).out


def test_codes_have_pages_in_both_languages(here: Here) -> None:
    symptom = here("explain", "tf-duplicate-op-kernel")
    assert symptom.code == 0
    assert "ways out" in symptom.out
    check = here("explain", "family-conflict", "--lang", "zh")
    assert "<names>" in check.out
    assert "解决办法" in check.out
    assert here("explain", "family-conflict", "--json").document["code"] == "family-conflict"


def test_what_is_neither_a_file_nor_a_code(here: Here) -> None:
    ran = here("explain", "tf-duplicate-op-kernal", "--json")
    assert (ran.code, ran.codes) == (2, ["no-such-log"])
    assert "tf-duplicate-op-kernel" in ran.document["findings"][0]["detail"]
    ran = here("explain", "nothing/there.log", "--json")
    assert (ran.code, ran.codes) == (2, ["unreadable"])


def test_the_language_of_the_answer(here: Here, monkeypatch: object) -> None:
    ran = here("explain", "-", "--lang", "zh", stdin=NUMPY2)
    assert ran.out.startswith("日志中有已知故障。")
    english = here("explain", "-", "--json", stdin=NUMPY2)
    assert here("explain", "-", "--lang", "zh", "--json", stdin=NUMPY2).out == english.out
