"""provision report: secrets are planted everywhere, and looked for in what comes out."""

from __future__ import annotations

import io
import json
import socket
import zipfile
from pathlib import Path

import pytest

from provision.diagnosing.redacting import Redactor, hosts_in, secret_variables
from provision.model.state import Layout, Record
from provision.pipeline import reporting
from tests.cli.conftest import Here
from tests.cli.test_doctor import TORCH, Env

USER, HOST, PASSWORD, TOKEN = "ada.lovelace", "gpu-node-17", "hunter2-of-the-mirror", "hf_" + "Ab1" * 11
PROXY, MIRROR, VALUE = "proxy.analytical.example", "nexus.analytical.example", "0xDEADBEEF-value-of-a-secret"
CLIENT = "203.0.113.77"
PLANTED = (CLIENT, "198.51.100.2", USER, HOST, PASSWORD, TOKEN, PROXY, MIRROR, VALUE)


@pytest.fixture
def planted(tmp_path: Path, isolated_home: Path, monkeypatch: pytest.MonkeyPatch) -> Env:
    """An environment of an identifiable person on an identifiable machine, with secrets in all that is read."""
    home = tmp_path / "home" / USER
    (home / "project").mkdir(parents=True)
    values = {
        "HOME": str(home), "USERPROFILE": str(home), "USER": USER, "LOGNAME": USER, "MY_API_TOKEN": VALUE,
        "HTTPS_PROXY": f"http://{USER}:{PASSWORD}@{PROXY}:3128", "CUDA_HOME": str(home / "cuda"),
        "SSH_CONNECTION": f"{CLIENT} 51234 198.51.100.2 22", "TORCH_HOME": f"/mnt/{USER}/torch", "TF_NOTE": f"https://{USER}:{PASSWORD}@{MIRROR}/simple",
    }  # fmt: skip
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setattr(socket, "gethostname", lambda: f"{HOST}.analytical.example")
    env = Env(tmp_path / ".venv")
    env.add("torch", "2.5.1+cpu", {"torch/__init__.py": f"print('token={TOKEN} on {HOST}')\n{TORCH}"})
    layout = Layout(str(tmp_path / ".venv"))
    lock = home / "project" / "team.lock.yaml"
    lock.write_text(f"packages: [{{url: 'https://{USER}:{PASSWORD}@{MIRROR}/a.whl', version: 10.3.4.107}}]\n")
    record = Record(
        generation=1, profile="team", lock="x", python="3.11", created="", inputs={str(lock): "0"}
    )
    for path, text in (
        (
            layout.journal,
            json.dumps({"event": "begun", "path": str(home / "project"), "by": f"{USER}@{HOST}"}),
        ),
        (layout.record(1), json.dumps({s: getattr(record, s) for s in Record.__slots__})),
        (
            layout.receipt(1),
            json.dumps({"machine": {"uuid": "GPU-5f8a2c1e-aaaa", "serial": "1322618012345"}}),
        ),
    ):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text + "\n")
    return env


def unpacked(data: bytes) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_no_secret_comes_out(here: Here, planted: Env, tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(
        f"Authorization: Bearer {TOKEN}\nat C:\\Users\\{USER}\\x on 10.20.30.40\n"
    )
    ran = here("report", ".venv", "--log", "train.log", "--json")
    assert ran.code == 0
    packed = (tmp_path / "provision-report.zip").read_bytes()
    files = unpacked(packed)
    assert not any(secret.encode() in packed for secret in PLANTED)
    everything = "\n".join([*files, *files.values()])
    for secret in (*PLANTED, "5f8a2c1e", "1322618012345", "10.20.30.40", "analytical"):
        assert secret not in everything, secret
    assert str(tmp_path / "home" / USER) not in everything


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32", "gbk"])
def test_no_encoding_hides_a_secret(here: Here, planted: Env, tmp_path: Path, encoding: str) -> None:
    coloured = f"{USER[:3]}\x1b[31m{USER[3:]}\x1b[0m"
    text = (
        f"训练 at /home/{USER}/x on {HOST}, {coloured}: Bearer {TOKEN}\nhttp://{USER}:{PASSWORD}@{PROXY}\n"
        * 300
    )
    (tmp_path / "train.log").write_bytes(text.encode(encoding))
    assert here("report", ".venv", "--log", "train.log", "--json").code == 0
    files = unpacked((tmp_path / "provision-report.zip").read_bytes())
    log = files["provision-report/log.txt"]
    assert log.count("训练 at /home/USER/x on HOST, USER: Bearer SECRET") >= 299
    assert not [secret for secret in PLANTED if secret in log]


def test_only_the_end_of_a_huge_log_is_taken(
    here: Here, planted: Env, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reporting, "_LIMIT", 1000)
    (tmp_path / "train.log").write_bytes(("first\n" + "step\n" * 2000 + "the end\n").encode("utf-16"))
    here("report", ".venv", "--log", "train.log")
    log = unpacked((tmp_path / "provision-report.zip").read_bytes())["provision-report/log.txt"]
    assert len(log) <= 1000
    assert log.endswith("step\nthe end\n")
    assert "first" not in log


def test_what_is_needed_comes_out(here: Here, planted: Env, tmp_path: Path) -> None:
    here("report", "--output", "bug.zip")
    files = {
        n.removeprefix("provision-report/"): t
        for n, t in unpacked((tmp_path / "bug.zip").read_bytes()).items()
    }
    assert {"about.txt", "machine.json", "doctor.json", "findings.json", "variables.json", "installed.txt",
            "journal.jsonl", "records/1.json", "receipts/1.json"} <= set(files)  # fmt: skip
    assert files["installed.txt"] == "torch==2.5.1+cpu  pip\n"
    assert json.loads(files["machine.json"])["os"]
    assert json.loads(files["records/1.json"])["profile"] == "team"
    assert "version: 10.3.4.107" in next(text for name, text in files.items() if name.startswith("inputs/"))


def test_the_report_is_for_reading(here: Here, planted: Env) -> None:
    ran = here("report", ".venv")
    assert "Look through it before you send it." in ran.out
    assert here("report", ".venv", "--output", "no/such/folder.zip", "--json").codes == ["unwritable"]


HOMES = ("/data/kim", "C:\\Users\\Kim Lee")
REDACTOR = Redactor({"kim": "USER", "box7": "HOST"}, HOMES, frozenset({"download.pytorch.org"}))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/data/kim/x /data/kimono/x", "~/x /data/kimono/x"),
        ('"C:\\\\Users\\\\Kim Lee\\\\x" C:\\Users\\Kim Lee\\x', '"~\\\\x" ~\\x'),
        ("C:\\Users\\Max Muster\\a", "C:\\Users\\USER\\a"),
        ("/home/max/a:/Users/max/b", "/home/USER/a:/Users/USER/b"),
        ("https://download.pytorch.org/whl/cu118", "https://download.pytorch.org/whl/cu118"),
        ("https://a:b@download.pytorch.org/whl", "https://CREDENTIALS@download.pytorch.org/whl"),
        ("https://oauth2:x@git.acme.example:8443/r", "https://CREDENTIALS@HOST/r"),
        ("password=abc&next=1", "password=SECRET&next=1"),
        ('{"api_key": "abc def"}', '{"api_key": "SECRET def"}'),
        ("kim@acme.example, KIM, kimono, box7", "EMAIL, USER, kimono, HOST"),
        ("nvidia-curand-cu12==10.3.4.107 cudnn 8.9.7.29", "nvidia-curand-cu12==10.3.4.107 cudnn 8.9.7.29"),
        ("via 192.168.1.20 fe80:0:0:0:1:2:3:4 00:1a:2b:3c:4d:5e", "via ADDRESS ADDRESS MAC"),
        ("GPU-12345678-1234-1234-1234-123456789abc", "UUID"),
        ("Serial Number : 0324\nserial: 132261", "Serial Number : SERIAL\nserial: SERIAL"),
        ("cannot resolve 'nexus.corp'", "cannot resolve 'HOST'"),
        ("\\\\fileserver\\share\\x", "\\\\HOST\\share\\x"),
        ("author: somebody", "author: somebody"),
        ("tokenizers==0.15.0 secretstorage==3.3.3", "tokenizers==0.15.0 secretstorage==3.3.3"),
        ("sha256:0123456789abcdef tensorflow 2.10.1", "sha256:0123456789abcdef tensorflow 2.10.1"),
    ],
)
def test_one_text(text: str, expected: str) -> None:
    assert REDACTOR.text(text) == expected


def test_what_variables_tell() -> None:
    assert secret_variables({"HF_TOKEN": "abcdefg", "PATH": "/usr/bin", "X_PASSWORD": "abcdef"}) == {
        "abcdefg": "SECRET", "abcdef": "SECRET",
    }  # fmt: skip
    assert hosts_in(["http://u:p@proxy:3128/x"]) == {"proxy", "u", "p"}
