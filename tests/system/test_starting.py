"""What a person sees who starts a service at a terminal, and what Ctrl-C does at any moment."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from elf.commands import INTERRUPTED
from tests.folders import fresh_folder
from tests.model_caches import linked_cache
from tests.system import nameless
from tests.system.addresses import free_addresses
from tests.system.fork_server import fork_server
from tests.system.service import REPO, RunningService, processes_of, up_command, write_config
from tests.system.several import split
from tests.system.terminal import Terminal

STOPPED = "elf: stopped"


@pytest.fixture
def folder() -> Iterator[Path]:
    with fresh_folder() as folder:
        yield folder
        left = processes_of(folder)
        for process in left:
            process.kill()
        assert left == []


@contextmanager
def up(config: Path, *, columns: int = 80) -> Iterator[Terminal]:
    command = fork_server().command("elf", "up", "-c", config)
    with Terminal(command, folder=config.parent, columns=columns) as terminal:
        yield terminal


def assert_readable(terminal: Terminal) -> None:
    assert "Traceback" not in terminal.text
    assert '{"' not in terminal.text


def test_a_start_says_what_it_does_what_runs_and_what_to_try_and_ctrl_c_ends_it(
    folder: Path, model_folder: Path
) -> None:
    with free_addresses(3) as (http, mcp, admin):
        binds = {"http_bind": f'"{http}"', "mcp_bind": f'"{mcp}"', "admin_bind": f'"{admin}"'}
        config = write_config(folder, cache_dir=f'"{model_folder}"', **binds)
        with up(config) as terminal:
            terminal.wait_for("Ctrl-C stops it.")
            assert f"making the database files in {folder}/.elf/postgres" in terminal.text
            rows = dict(line.split(maxsplit=1) for line in terminal.lines if "  " in line)
            assert rows["API"].split()[0] == f"http://{http}"
            assert rows["MCP"] == f"http://{mcp}/mcp"
            assert rows["admin"].split()[0] == f"http://{admin}"
            assert rows["Postgres"].startswith(f"embedded, in {folder}")
            assert rows["model"] == "all-MiniLM-L6-v2, in this process"
            told = [told_by(command, folder) for command in commands(terminal)]
            assert "I prefer green tea to coffee." in told[1]
            assert_one_line_refuses(config)
            assert_another_joins(config, folder)
            terminal.interrupt()
            terminal.interrupt()
            assert terminal.wait_exit() == 0
            assert STOPPED in terminal.lines
            assert_readable(terminal)


def commands(terminal: Terminal) -> list[str]:
    """What the screen offers to try: what was longer than a line stands on the next one, too."""
    _, _, offered = terminal.text.partition("Try in another terminal:")
    offered, _, _ = offered.partition("Ctrl-C stops it.")
    return [line.strip() for line in offered.splitlines() if line.strip()]


def told_by(command: str, folder: Path) -> str:
    result = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"{command}: {result.stderr}"
    return result.stdout


def assert_one_line_refuses(config: Path) -> None:
    with up(config) as second:
        assert second.wait_exit() == 3
        assert second.lines[-1].startswith("elf: service.http_bind: cannot listen on 127.0.0.1:")
        assert_readable(second)


def assert_another_joins(config: Path, folder: Path) -> None:
    other = folder / "other.toml"
    lines = [
        line if "_bind =" not in line else f'{line.split("=")[0]}= "127.0.0.1:0"'
        for line in config.read_text(encoding="utf-8").splitlines()
    ]
    other.write_text("\n".join(lines), encoding="utf-8")
    with up(other, columns=140) as second:
        second.wait_for("Ctrl-C stops it.")
        assert f"joined the Postgres in {folder}/.elf/postgres" in second.text
        assert f"joined the index in {folder}/.elf/index" in second.text
        assert commands(second) == []  # nobody could find it by its config
        second.interrupt()
        assert second.wait_exit() == 0


# What is imported, and the lines of the start: the moments at which Ctrl-C comes.
MOMENTS = [
    ("elf.config.model", INTERRUPTED),
    ("actors.system", INTERRUPTED),
    ("building the files of the model", 0),
    ("making the database files", 0),
    ("Postgres runs in", 0),
]


@pytest.mark.parametrize(("moment", "code"), MOMENTS)
def test_ctrl_c_at_any_moment_of_a_start_ends_it_in_a_line_and_leaves_nothing_behind(
    folder: Path, model_folder: Path, moment: str, code: int
) -> None:
    models = linked_cache(folder / "model") if "model" in moment else model_folder
    environment = os.environ | ({"PYTHONPROFILEIMPORTTIME": "1"} if code else {})
    command = up_command(write_config(folder, cache_dir=f'"{models}"'))
    with Terminal(command, folder=REPO, environment=environment) as terminal:
        terminal.wait_for(moment)
        terminal.interrupt()
        assert terminal.wait_exit() == code
        assert STOPPED in terminal.lines
        assert_readable(terminal)


def test_ctrl_c_ends_several_processes_without_a_word_of_theirs_but_lines(
    folder: Path, model_folder: Path
) -> None:
    config = split(write_config(folder, cache_dir=f'"{model_folder}"'), "worker = 0\nmcp = 0")
    with up(config) as terminal:
        terminal.wait_for("Postgres runs in")
        terminal.interrupt()
        assert terminal.wait_exit() == 0
        assert_readable(terminal)


def away(folder: Path, model_folder: Path, place: str) -> Path:
    dsn = f'"postgresql://elf:hidden@{place}/elf"'
    return write_config(folder, cache_dir=f'"{model_folder}"', dsn=dsn)


def test_a_postgres_that_is_away_is_named_while_it_is_waited_for(folder: Path, model_folder: Path) -> None:
    with free_addresses(1) as (place,), up(away(folder, model_folder, place)) as terminal:
        terminal.wait_for(f"waiting for Postgres at {place}")
        terminal.interrupt()
        assert terminal.wait_exit() == 0
        assert "hidden" not in terminal.text
        assert_readable(terminal)


def test_a_log_at_a_terminal_is_json_if_the_config_says_so(folder: Path, model_folder: Path) -> None:
    config = write_config(folder, cache_dir=f'"{model_folder}"', log_format='"json"')
    with up(config) as terminal:
        terminal.wait_for("service_starting")
        terminal.interrupt()
        terminal.wait_exit()
    line = next(line for line in terminal.lines if line.startswith("{"))
    assert json.loads(line)["event"] == "service_starting"


def test_a_user_without_a_name_is_told_what_to_do_and_needs_one_for_the_database_files_only(
    folder: Path, model_folder: Path
) -> None:
    config = write_config(folder, cache_dir=f'"{model_folder}"')
    refused = subprocess.run(as_user(unknown_uid(), config), capture_output=True, text=True, check=False)
    if refused.returncode == nameless.CANNOT:
        pytest.skip("no user namespace can be made here")
    assert refused.returncode == 3, refused.stderr
    assert f"user {unknown_uid()} has no name on this system" in refused.stderr.splitlines()[-1]
    for uid in (pwd.getpwall()[-1].pw_uid, unknown_uid()):
        with RunningService(config, command=as_user(uid, config)) as service:
            service.wait_ready()
    assert service.complaints()[:-1] == []


def as_user(uid: int, config: Path) -> list[str]:
    return [sys.executable, nameless.__file__, str(uid), *up_command(config)]


def unknown_uid() -> int:
    known = {entry.pw_uid for entry in pwd.getpwall()}
    return next(uid for uid in range(54_321, 60_000) if uid not in known)
