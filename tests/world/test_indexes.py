"""The machine's configuration of indexes: pip's files and variables as pip reads them, uv's, provision's."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from provision.model.finding import UsageError
from provision.world.indexes import IndexConfig, read_configuration, redact, redact_text, shown

LINUX = {"HOME": "/home/me"}
WINDOWS = {
    "USERPROFILE": r"C:\Users\me",
    "APPDATA": r"C:\Users\me\AppData\Roaming",
    "PROGRAMDATA": r"C:\ProgramData",
}


class Tree:
    """Files by path; a path that ends in a slash is a folder."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.files = files

    def read_text(self, path: str, limit: int = 1 << 20) -> str | None:
        return self.files.get(path)

    def exists(self, path: str) -> bool:
        return path in self.files or f"{path}/" in self.files


class Disk:
    def read_text(self, path: str, limit: int = 1 << 20) -> str | None:
        try:
            return Path(path).read_text()
        except OSError:
            return None

    def exists(self, path: str) -> bool:
        return Path(path).exists()


def read(
    files: Mapping[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
    platform: str = "linux",
    prefixes: tuple[str, ...] = (),
) -> IndexConfig:
    home = WINDOWS if platform == "win32" else LINUX
    return read_configuration(
        {**home, **(environ or {})},
        Tree(files or {}),
        platform=platform,
        prefixes=prefixes,
        user_config="/conf",
    )


def index_in(*paths: str) -> dict[str, str]:
    """pip files that each name an index after their own path."""
    return {path: f"[global]\nindex-url = {path}\n" for path in paths}


def test_nothing_configured() -> None:
    assert read() == IndexConfig()


@pytest.mark.parametrize(
    ("platform", "paths"),
    [
        ("linux", ["/etc/xdg/pip/pip.conf", "/etc/pip.conf", "/home/me/.pip/pip.conf",
                   "/home/me/.config/pip/pip.conf", "/venv/pip.conf"]),
        ("win32", [r"C:\ProgramData\pip\pip.ini", r"C:\Users\me\pip\pip.ini",
                   r"C:\Users\me\AppData\Roaming\pip\pip.ini", r"\venv\pip.ini"]),
        ("darwin", ["/Library/Application Support/pip/pip.conf", "/home/me/.pip/pip.conf",
                    "/home/me/.config/pip/pip.conf", "/venv/pip.conf"]),
    ],
)  # fmt: skip
def test_later_files_of_pip_win(platform: str, paths: list[str]) -> None:
    prefix = "\\venv" if platform == "win32" else "/venv"
    for end in range(1, len(paths) + 1):
        config = read(index_in(*paths[:end]), platform=platform, prefixes=(prefix,))
        assert config.default_url == paths[end - 1]
        assert config.origins["default_url"] == paths[end - 1]


def test_the_library_folder_of_a_mac_hides_dot_config() -> None:
    library = "/home/me/Library/Application Support/pip/"
    files = index_in(library + "pip.conf", "/home/me/.config/pip/pip.conf") | {library: ""}
    assert read(files, platform="darwin").default_url == library + "pip.conf"


def test_a_named_pip_file_replaces_the_users() -> None:
    files = index_in("/home/me/.config/pip/pip.conf", "/mine.conf")
    assert read(files, {"PIP_CONFIG_FILE": "/mine.conf"}).default_url == "/mine.conf"
    assert read(files, {"PIP_CONFIG_FILE": "/absent.conf"}).default_url == "/home/me/.config/pip/pip.conf"
    assert read(files, {"PIP_CONFIG_FILE": os.devnull}) == IndexConfig()


def test_a_section_for_install_beats_the_general_one_of_a_later_file() -> None:
    files = {
        "/etc/pip.conf": "[install]\nindex-url = https://install.example\n[download]\nproxy = other:1\n",
        "/home/me/.config/pip/pip.conf": "[global]\nindex-url = https://global.example/simple\n",
    }
    config = read(files)
    assert (config.default_url, config.proxy) == ("https://install.example", None)
    assert read(files, {"PIP_INDEX_URL": "https://env.example"}).default_url == "https://env.example"


def test_all_options_of_pip() -> None:
    text = (
        "[global]\nextra_index_url =\n    https://a.example/simple\n    file:///srv/b\n"
        "Find-Links = /wheels /more\ntrusted-host = a.example b.example:8080\ncert = /ca.pem\n"
        "proxy = http://me:pw@proxy.example:3128\n"
        "default-timeout = 7.5\nno-index = Yes\nclient-cert = /me.pem\nindex-url =\n"
    )
    config = read({"/etc/pip.conf": text})
    assert config.extra_urls == ("https://a.example/simple", "file:///srv/b")
    assert config.find_links == ("/wheels", "/more")
    assert (config.cert, config.client_cert, config.timeout, config.no_index) == (
        "/ca.pem",
        "/me.pem",
        7.5,
        True,
    )
    assert config.proxy == "http://me:pw@proxy.example:3128"
    assert config.default_url is None
    assert config.origins["/more"] == "/etc/pip.conf"
    assert config.trusts("a.example", 80)
    assert config.trusts("b.example", 8080)
    assert not config.trusts("b.example", 80)


def test_a_variable_of_pip_replaces_the_list_of_a_file() -> None:
    files = {"/etc/pip.conf": "[global]\nfind-links = /file\n"}
    assert read(files, {"PIP_FIND_LINKS": "/env"}).find_links == ("/env",)
    assert read(files, {"PIP_FIND_LINKS": ""}).find_links == ("/file",)


def test_uv_counts_too_and_variables_beat_files() -> None:
    uv = {"/home/me/.config/uv/uv.toml": 'index-url = "https://uv-file.example"\nfind-links = ["/uv"]\n'}
    pip = {"/etc/pip.conf": "[global]\nindex-url = https://pip-file.example\nfind-links = /pip\n"}
    assert read(uv | pip).default_url == "https://uv-file.example"
    assert read(uv | pip).find_links == ("/uv", "/pip")
    assert read(uv | pip, {"PIP_INDEX_URL": "https://pip.example"}).default_url == "https://pip.example"
    both = {"PIP_INDEX_URL": "https://pip.example", "UV_INDEX_URL": "https://uv.example"}
    assert read(uv | pip, both).default_url == "https://uv.example"
    assert (
        read(uv | pip, both | {"UV_DEFAULT_INDEX": "https://new.example"}).default_url
        == "https://new.example"
    )
    assert read(uv, {"UV_NO_CONFIG": "1"}) == IndexConfig()


def test_lists_of_uv() -> None:
    environ = {
        "UV_INDEX": "https://a.example corp=https://b.example/simple",
        "UV_INDEX_CORP_USERNAME": "me@corp",
        "UV_INDEX_CORP_PASSWORD": "p w",
        "UV_EXTRA_INDEX_URL": "https://c.example",
        "UV_FIND_LINKS": "/x y,/z",
        "UV_INSECURE_HOST": "b.example",
        "UV_HTTP_TIMEOUT": "9",
    }
    config = read({}, environ)
    login = "https://me%40corp:p%20w@b.example/simple"
    assert config.extra_urls == ("https://a.example", login, "https://c.example")
    assert config.find_links == ("/x y", "/z")
    assert config.timeout == 9
    assert config.trusts("b.example")
    assert "p%20w" not in str(list(shown(config)))


def test_tables_of_uv() -> None:
    text = """
        [[index]]
        name = "bound"
        url = "https://bound.example"
        explicit = true
        [[index]]
        url = "https://plain.example"
        [[index]]
        url = "https://default.example"
        default = true
        [pip]
        extra-index-url = ["https://pip-table.example"]
    """
    config = read({"/etc/uv/uv.toml": text})
    assert config.default_url == "https://default.example"
    assert config.extra_urls == ("https://plain.example", "https://pip-table.example")
    windows = read({r"C:\ProgramData\uv\uv.toml": text}, platform="win32")
    assert windows.default_url == "https://default.example"


def test_provisions_own_mapping() -> None:
    files = {
        "/conf/config.yaml": "indexes:\n  pytorch-cu118: mirror/cu118\n  pytorch-cpu: https://m.example/cpu\n"
    }
    config = read(files, {"PROVISION_INDEX_PYTORCH_CPU": "/wheels"})
    assert config.named("pytorch-cpu") == "/wheels"
    assert config.named("pytorch-cu118") == str(Path("/conf/mirror/cu118"))
    assert config.named("other") is None
    assert config.origins["mapped.PYTORCH_CPU"] == "PROVISION_INDEX_PYTORCH_CPU"
    mapped = read(
        files, {"PROVISION_INDEX_PYPI": "https://m.example", "UV_DEFAULT_INDEX": "https://uv.example"}
    )
    assert mapped.default_url == "https://m.example"


@pytest.mark.parametrize(
    ("path", "text", "environ"),
    [
        ("/etc/pip.conf", "index-url = https://a.example\n", {}),
        ("/etc/pip.conf", "[global]\nno-index = perhaps\n", {}),
        ("/etc/pip.conf", "[global]\ntimeout = soon\n", {}),
        ("/etc/uv/uv.toml", "index-url = \n", {}),
        ("/conf/config.yaml", "indexes: [\n", {}),
        ("/conf/config.yaml", "indexes: [a, b]\n", {}),
        ("/conf/config.yaml", "- indexes\n", {}),
    ],
)
def test_a_bad_file_is_an_error_that_names_it(path: str, text: str, environ: dict[str, str]) -> None:
    with pytest.raises(UsageError) as error:
        read({path: text}, environ)
    (finding,) = error.value.findings
    assert finding.code == "bad-configuration"
    assert path in finding.summary
    assert finding.remedies


def test_redaction() -> None:
    assert redact("https://me:pw@host.example:8080/a?token=1#x") == "https://***@host.example:8080/a?***"
    assert redact("https://token@host.example") == "https://***@host.example"
    assert redact("https://host.example/simple") == "https://host.example/simple"
    assert redact("/wheels") == "/wheels"
    assert redact("https://[bad") == "(unreadable URL)"
    assert redact_text("for url (https://a:b@c.example/x) and http://d@e") == (
        "for url (https://***@c.example/x) and http://***@e"
    )


ORACLE = """
import json, os, sys
from pip._internal.commands import create_command
for environ in json.load(sys.stdin):
    os.environ.clear(); os.environ.update(environ)
    o, _ = create_command("install").parse_args([])
    print(json.dumps([o.index_url, o.extra_index_urls, o.find_links, o.trusted_hosts, o.cert, o.client_cert,
                      o.proxy, o.timeout, o.no_index]))
"""

USER = "home/.config/pip/pip.conf"
LEGACY = "home/.pip/pip.conf"
CONFIGURATIONS: list[tuple[dict[str, str], dict[str, str]]] = [
    ({}, {}),
    ({"site/pip/pip.conf": "[global]\nindex-url=https://a.example\ntimeout=3\ndefault-timeout=4\n"}, {}),
    ({LEGACY: "[global]\nINDEX_URL: https://b.example\n--extra-index-url=https://c.example\n"}, {}),
    ({USER: "[install]\nfind-links = /a\n  /b\n[global]\nfind-links=/c\nno-index=on\n"}, {}),
    (
        {
            LEGACY: "[install]\npypi-url=https://d.example\n",
            USER: "[global]\nindex-url=https://e.example\ntrusted-host=e.example f\n",
        },
        {},
    ),
    (
        {
            "site/pip/pip.conf": "[global]\ncert=/site.pem\nproxy=p:1\n",
            "named.conf": "[global]\ncert=/named.pem\n",
            USER: "[global]\nproxy=q:2\n",
        },
        {"PIP_CONFIG_FILE": "named.conf"},
    ),
    (
        {USER: "[install]\nindex-url=https://g.example\n[freeze]\nproxy=r:3\n"},
        {
            "PIP_INDEX_URL": "https://h.example",
            "PIP_EXTRA_INDEX_URL": "https://i.example  https://j.example",
            "PIP_FIND_LINKS": "",
            "PIP_NO_INDEX": "0",
            "PIP_DEFAULT_TIMEOUT": "60",
            "PIP_CLIENT_CERT": "/k.pem",
        },
    ),
    ({USER: "[global]\nindex-url=https://l.example\n"}, {"PIP_CONFIG_FILE": os.devnull}),
]


@pytest.mark.skipif(
    sys.platform != "linux" or not importlib.util.find_spec("pip"), reason="needs pip, on Linux"
)
def test_pip_itself_reads_the_same(tmp_path: Path) -> None:
    environs = []
    for number, (files, variables) in enumerate(CONFIGURATIONS):
        folder = tmp_path / str(number)
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        environ = {"HOME": f"{folder}/home", "XDG_CONFIG_DIRS": f"{folder}/site", **variables}
        if variables.get("PIP_CONFIG_FILE") == "named.conf":
            environ["PIP_CONFIG_FILE"] = f"{folder}/named.conf"
        environs.append(environ)
    asked = json.dumps(environs)
    done = subprocess.run(
        [sys.executable, "-c", ORACLE], input=asked, capture_output=True, text=True, check=True
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    unset = answers[0]
    for environ, answer in zip(environs, answers, strict=True):
        config = read_configuration(
            environ, Disk(), prefixes=(sys.prefix,), user_config=str(tmp_path / "none")
        )
        ours = [
            config.default_url or unset[0], list(config.extra_urls), list(config.find_links),
            list(config.trusted_hosts), config.cert, config.client_cert, config.proxy or unset[6],
            config.timeout or unset[7], config.no_index,
        ]  # fmt: skip
        assert ours == answer
