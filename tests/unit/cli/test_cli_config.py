"""`elf check`, `elf up` and what every command does with a config file that cannot be used."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest
from command_line import CommandLine
from fake_service import FakeService

from elf.cli import main
from elf.config import Config, load
from elf.config.processes import Processes
from elf.core.api_key import hash_of, new_key
from elf.core.errors import StartupError
from tests.keys_kit import with_keys

EXAMPLE = Path(__file__).resolve().parents[3] / "elf.example.toml"
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


def test_without_c_the_config_is_that_of_the_folder_and_else_the_default(
    elf: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["check"]) == 0
    assert capsys.readouterr().out.startswith("elf.toml: fine\n")
    elf.config.unlink()
    assert main(["check"]) == 0
    assert capsys.readouterr().out.startswith(f"{EXAMPLE}: fine\n")


def test_the_default_config_of_an_installed_package_keeps_its_data_in_the_home_folder(
    elf: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(
        sys.modules["elf.config.load"], "PACKAGED", elf.config
    )  # the package has a function load
    assert load(elf.config).storage.postgres.place.folder == home / ".elf/postgres"


def test_a_service_that_is_away_is_named_with_the_config_that_was_chosen(
    elf: CommandLine,
    service: FakeService,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    elf.config.write_text(elf.config.read_text().replace(f"127.0.0.1:{service.port}", "127.0.0.1:1"))
    monkeypatch.chdir(elf.config.parent)
    assert main(["list"]) == 3
    *_, hint = capsys.readouterr().err.splitlines()
    assert hint == "elf: the config is elf.toml, for none was named; `elf up` starts its service"
    assert "for none was named" not in elf("list").err


def test_without_any_config_it_is_said_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("elf.config.example.PACKAGED", tmp_path / "a/b/none.toml")
    assert main(["list"]) == 2
    assert "name a config with -c FILE, or write one with `elf init`" in capsys.readouterr().err


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
        "  memory.top_k: must not be greater than candidate_k (90), not 99",
    ]
    assert service.asked == []


def test_check_finds_nothing_wrong_with_the_example(elf: CommandLine) -> None:
    fine, who, categories = elf("check").out.splitlines()
    assert categories == (
        "categories that only assistant.allowlists names: constraints, goals, history, interests, knowledge, "
        "preferences, projects, recent_activity, relationships, style, tasks, tone"
    )
    assert fine == f"{elf.config}: fine"
    assert who.startswith(
        "security.auth.mode is off: nobody has to prove who calls, so every program on this"
    )
    assert elf("check", "--json").data == {"ok": True, "faults": [], "warnings": []}


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
    text = text.replace(f"127.0.0.1:{service.port}", f"0.0.0.0:{service.port}")
    elf.config.write_text(with_keys(text, {"key": new_key()}))
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
    elf.config.write_text(elf.config.read_text() + "[processes]\napi = 0\nmcp = 0\n")
    ran: list[tuple[list[tuple[str, str]], str]] = []

    def run_processes(config: Config, processes: Processes, *, source: str) -> int:
        ran.append((list(processes.named()), source))
        return 5

    monkeypatch.setattr("actors.processes.several.run_processes", run_processes)
    assert elf("up").code == 5
    assert ran == [([("worker", "worker")], str(elf.config))]


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


@pytest.mark.parametrize("named", [[], ["own memory.toml"]], ids=["elf.toml", "named"])
def test_init_writes_the_whole_example_with_which_everything_works(
    named: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", *named]) == 0
    name = named[0] if named else "elf.toml"
    assert [file.name for file in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_bytes() == EXAMPLE.read_bytes()
    written, begin = capsys.readouterr().out.splitlines()
    assert written.startswith(f"{name} is written")
    commands = [shlex.split(command) for command in re.findall("`elf (.*?)`", begin)]
    assert [command[0] for command in commands] == ["up", "check"]
    assert main(commands[1]) == 0
    assert capsys.readouterr().out.startswith(f"{name}: fine\n")


def test_init_for_others_listens_everywhere_and_asks_for_the_key_that_it_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "elf.toml"
    assert main(["init", "--public", str(file)]) == 0
    key = capsys.readouterr().out.splitlines()[0]
    config = load(file)
    assert {config.service.http_address.host, config.service.mcp_address.host} == {"0.0.0.0"}
    (first,) = config.security.auth.keys
    assert (config.security.auth.mode, first.hash, first.role) == ("required", hash_of(key), "admin")
    assert key not in file.read_text()
    assert main(["init", "--public", str(file)]) == 2
    assert "elf_" not in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["file", "folder", "link to nowhere"])
def test_init_leaves_what_is_there_as_it_is(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    place = Path("elf.toml")
    match kind:
        case "file":
            place.write_text("mine")
        case "folder":
            place.mkdir()
        case _:
            place.symlink_to("nowhere")
    assert main(["init"]) == 2
    assert (
        capsys.readouterr().err == "elf: elf.toml is there already and is left as it is; name another file\n"
    )
    assert kind != "file" or place.read_text() == "mine"
    assert not Path("nowhere").exists()


@pytest.mark.parametrize("name", ["none/elf.toml", "a\0b.toml"])
def test_init_says_why_it_cannot_write(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", name]) == 2
    assert "cannot be written: " in capsys.readouterr().err


def test_check_and_up_name_a_model_that_the_package_lacks(elf: CommandLine) -> None:
    elf.config.write_text(elf.config.read_text().replace("rule-based-extractor", "gpt-5"))
    for command in ("check", "up"):
        outcome = elf(command)
        assert outcome.code == 2
        assert outcome.err.splitlines()[1:] == [
            "  providers.llm_extractor.model: must be rule-based-extractor, which is what local: has, not gpt-5"
        ]
