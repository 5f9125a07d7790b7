"""`elf check`, `elf up` and what every command does with a config file that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import CommandLine
from fake_service import FakeService

from elf.cli import main
from elf.config import Config
from elf.core.errors import StartupError

COMMANDS = [
    ("up",),
    ("check",),
    ("add", "x"),
    ("search", "x"),
    ("get", "x"),
    ("list",),
    ("import", __file__),
    ("status",),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_every_command_requires_a_config(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(command)
    assert ended.value.code == 2
    assert "-c/--config" in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_every_command_shows_every_fault_of_its_config(
    elf: CommandLine, service: FakeService, command: tuple[str, ...]
) -> None:
    text = elf.config.read_text()
    for sound, faulty in (
        ('"info"', '"loud"'),
        ("top_k = 12", "top_k = 99"),
    ):
        text = text.replace(sound, faulty)
    elf.config.write_text(text)
    outcome = elf(*command)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.splitlines() == [
        f"elf: {elf.config} cannot be used:",
        '  service.log_level: must be one of debug, info, warning, error, not "loud"',
        "  memory.top_k: must not be greater than candidate_k (80), not 99",
    ]
    assert service.asked == []


def test_check_finds_nothing_wrong_with_the_example(elf: CommandLine) -> None:
    assert elf("check") == (0, f"{elf.config}: fine\n", "")
    assert elf("check", "--json").data == {"ok": True, "faults": []}


def test_check_gives_faults_as_data(elf: CommandLine) -> None:
    elf.config.write_text("")
    outcome = elf("check", "--json")
    assert (outcome.code, outcome.data["ok"]) == (2, False)
    assert outcome.data["faults"][0]["key"] == "service"
    assert outcome.data["faults"][0]["problem"].startswith("this table is missing")


def test_a_service_on_a_port_that_the_system_chooses_cannot_be_found(
    elf: CommandLine, service: FakeService
) -> None:
    text = elf.config.read_text()
    elf.config.write_text(text.replace(f"127.0.0.1:{service.port}", "127.0.0.1:0"))
    outcome = elf("status")
    assert (outcome.code, outcome.err) == (
        2,
        "elf: service.http_bind has port 0, so nobody knows where the service listens\n",
    )


def test_a_service_that_listens_everywhere_is_found_on_this_machine(
    elf: CommandLine, service: FakeService
) -> None:
    text = elf.config.read_text().replace("bind_localhost_only = true", "bind_localhost_only = false")
    elf.config.write_text(text.replace(f"127.0.0.1:{service.port}", f"0.0.0.0:{service.port}"))
    assert elf("search", "x", "--json").code == 0
    assert len(service.asked) == 1


def test_up_runs_the_system_and_ends_as_it_ends(elf: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[Config] = []

    def run(config: Config, *, source: str) -> int:
        ran.append(config)
        return 7

    monkeypatch.setattr("actors.system.run", run)
    assert elf("up").code == 7
    assert ran[0].storage.postgres.place.folder == elf.config.parent / ".elf/postgres"


def test_up_starts_the_processes_that_a_config_names(
    elf: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, _, _ = elf.config.read_text().partition("[process]\n")
    elf.config.write_text(before + '[[processes]]\nname = "a"\nactors = ["indexer"]\n')
    ran: list[tuple[list[str], str]] = []

    def run_processes(config: Config, *, source: str) -> int:
        ran.append((config.processes[0].names, source))
        return 5

    monkeypatch.setattr("actors.processes.run_processes", run_processes)
    assert elf("up").code == 5
    assert ran == [(["a"], str(elf.config))]


def test_up_says_what_is_in_the_way(elf: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(config: Config, *, source: str) -> int:
        raise StartupError("port 8765 is taken")

    monkeypatch.setattr("actors.system.run", run)
    assert elf("up") == (3, "", "elf: port 8765 is taken\n")


def test_an_interrupted_command_ends_with_130(elf: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(config: Config, *, source: str) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("actors.system.run", run)
    assert elf("up").code == 130


def test_the_file_is_the_one_that_was_named_last(elf: CommandLine, tmp_path: Path) -> None:
    # ops/up puts its own -c before the user's.
    assert elf("check", "-c", str(tmp_path / "none.toml")).err.startswith(f"elf: {tmp_path / 'none.toml'}")
